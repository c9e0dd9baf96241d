"""A Push or Pub whose messages are in a spool: what is put there, and how the socket gets it.

Not here: waiting (_sync/spooled.py, aio/_spooled.py), spools (_spool), the thread that feeds the
socket (csrc/api/feed_run.c, csrc/api/replay_run.c).
Law: what was accepted is in the spool, as its durability says, before a call returns; its number
there is that of its receipt.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from meshmsg._binding.core import EINTR, lib, native
from meshmsg._binding.data import Data, encode_topic, is_topic, pack_frames, size_of
from meshmsg._binding.errors import (
    ClosedError,
    MeshError,
    SpoolCorruptError,
    SpoolFailedError,
    UsageError,
)
from meshmsg._binding.note import MessageOptions, note_of
from meshmsg._delivery.feeds import Feed, Replay
from meshmsg._delivery.group_lag import PREFIX, GroupLag, is_group
from meshmsg._delivery.pushing import PushOptions, push_opts
from meshmsg._delivery.run_receipts import ReceiptsForm
from meshmsg._roles.unsent import Taken
from meshmsg._socket.base import SocketBase
from meshmsg._socket.peers import is_open
from meshmsg._spool.cursor import names_of
from meshmsg._spool.puts import Frames, Put, Run
from meshmsg._spool.spool import Durability, Spool
from meshmsg._spool.told import SpoolRecovery

if TYPE_CHECKING:
    from meshmsg._socket.options import SocketOptions
    from meshmsg._spool.cursor import SpoolCursorInfo

FULL = "the spool has no room for a message"
IN_A_ROW = 256
"""Messages with receipts that an event loop puts at once."""
CURSOR = "push"
"""What a Push is done with stands under this name in its spool."""
_MS = 1000
_US = 1_000_000


class AnySpool(Protocol):
    """A spool: `meshmsg.Spool`, or `meshmsg.aio.Spool` where the socket is of asyncio."""

    path: str
    recovery: SpoolRecovery


@dataclass(frozen=True)
class Plan:
    """A message as it is put: its frames, what goes with it, when it is to go."""

    packed: tuple[bytes, Any, int]
    meta: bytes
    due_us: int
    priority: int


class Spooled:
    """What a Push has of its spool; a Pub: `Published`."""

    def __init__(self, socket: SocketBase, given: Any) -> None:
        if socket._slice_ms == 0:
            raise UsageError("a simulated world has no threads, and so no spools")
        self._socket = socket
        self.given = given
        """The spool, of threads or of asyncio as the socket is."""
        self.spool: Spool = spool_of(given)
        self._feed = self._fed()
        socket._puts_into, socket._puts_max = self.spool, socket._opts.message_size_max

    def _fed(self) -> Feed:
        feed = Feed(self.spool, self._socket._handle, CURSOR)
        self._socket._outlet.settle = weakref.WeakMethod(feed.settle)  # it may outlive the Push
        return feed

    def plan(self, frames: Sequence[Data], options: PushOptions) -> Plan:
        """Return a message as it is put, if it may be sent at all.

        Raises:
            TooLargeError, UsageError, TypeError: It may not.
        """
        self.check()
        packed = pack_frames(frames)
        if not packed[2]:
            raise UsageError("a message has one frame at least")
        self.check_size(size_of(packed[0]), packed[2])
        opts, note = push_opts(self._socket, options, confirm=False)
        due_us = math.ceil(time.time() * _US) + int(opts.delay_ms) * _MS if opts.delay_ms else 0
        return Plan(packed, note, due_us, int(opts.priority))

    def noted(self, frames: list[bytes], note: bytes) -> Plan:
        """Return a message that came from elsewhere, and what came with it, as it is put."""
        self.check()
        packed = pack_frames(frames)
        self.check_size(size_of(packed[0]), packed[2])
        return Plan(packed, note, 0, 0)

    def meta(self, options: MessageOptions) -> bytes:
        """Return the octets of what goes with each of a run."""
        self.check()
        return note_of(self._socket._handle, options) if options else b""

    def check(self) -> None:
        """Refuse to put what nobody would send."""
        socket = self._socket
        if socket._finished:
            raise socket._error(lib.MM_ESTATE, "sending")
        if socket.closed:
            raise socket._error(lib.MM_ECLOSED, "sending")

    def check_size(self, size: int, count: int) -> None:
        """Refuse what the socket would not send."""
        opts = self._socket._opts
        if size > opts.message_size_max or count > opts.frames_max:
            raise self._socket._too_large(size, count)

    def single(self, plan: Plan, *, wait: bool) -> Put:
        """Return what puts one message; `wait`: until it is kept."""
        spool, (body, _, count) = self.spool, plan.packed
        if count == 1 and not plan.due_us and not plan.priority:
            return Run(
                spool, [body], plan.meta, wait=wait, check=self._feed.check_open, doing="sending"
            )
        return Frames(
            spool,
            plan.packed,
            plan.meta,
            due_us=plan.due_us,
            priority=plan.priority,
            wait=wait,
            check=self._feed.check_open,
        )

    def rows(self, taken: Taken, meta: bytes, receipts: ReceiptsForm[Any] | None) -> Rows:
        """Return what puts those of a chunk in front of the first that the socket would not send,
        with receipts, if those are given."""
        return Rows(self, self._sendable(taken.chunk), taken.counts, meta, receipts)

    def _sendable(self, chunk: list[bytes]) -> list[bytes]:
        """Return those of a list in front of the first that the socket would not send."""
        most = int(self._socket._opts.message_size_max)
        stop = next((i for i, body in enumerate(chunk) if size_of(body) > most), len(chunk))
        return chunk if stop == len(chunk) else chunk[:stop]

    def check_next(self, chunk: list[bytes], at: int) -> None:
        """Refuse the one that is next, if there is one; those before it are put."""
        if at < len(chunk):
            self.check_size(size_of(chunk[at]), 1)

    def note(self, receipts: ReceiptsForm[Any], first: int, last: int, done: int) -> None:
        """Open receipts for messages that were put in a row; those behind them were dropped."""
        put = last - first + 1 if last else 0
        try:
            if put:
                self._feed.receipts(first, put)
        finally:
            receipts._put(first, put, done - put)
            receipts._kept = "buffered"  # until the call has waited for more

    def kept(self, timeout: float | None) -> None:
        """Wait until all that was put is kept, as the spool's durability says."""
        self.spool._flush(self.spool._level, timeout, "waiting until they are kept")

    @property
    def durability(self) -> Durability:
        """As what a call that returned has its messages kept."""
        return self.spool._durability

    def told_kept(self, receipts: ReceiptsForm[Any] | None) -> None:
        """Have the receipts of a call that is to return say as what its messages are kept."""
        if receipts is not None:
            receipts._kept = self.durability

    def receipt(self, seq: int) -> None:
        """Open a receipt for a message that was put, which an error says."""
        try:
            self._feed.receipts(seq, 1)
        except BaseException as error:
            vars(error)["sent"] = 1
            raise

    def failure(self, code: int, doing: str) -> MeshError | None:
        """Return the error of a call that failed because the spool does; None: it is not that."""
        path = self.spool.path
        info = self._feed.info()
        if info is None:
            if code != lib.MM_ECLOSED or not is_open(self._socket._handle):
                return None
            return ClosedError(f"{doing}: the spool {path} was closed", code=code)
        if code != info.failed:
            return None
        first, last = int(info.failed_first), int(info.failed_last)
        if code == lib.MM_SPOOL_HARMED:
            return SpoolCorruptError(
                f"{doing}: messages {first} to {last} of {path} are harmed, and this Push goes no "
                'further; Spool(on_corruption="gap") leaves them out',
                first=first,
                last=last,
            )
        if code in (0, lib.MM_ECLOSED):
            return None
        return SpoolFailedError(
            f"{doing}: the disk failed, and this Push goes no further; close both, and open {path} "
            "again",
            code=code,
        )

    def close(self) -> None:
        """Give the socket nothing more."""
        self._socket._puts_max = -1
        self._feed.close()


class Rows(Run):
    """A list of a send_many. With receipts it is put in rows, each of which has its receipts as
    soon as it is put."""

    def __init__(
        self,
        spooled: Spooled,
        run: list[bytes],
        counts: list[int],
        meta: bytes,
        receipts: ReceiptsForm[Any] | None,
    ) -> None:
        self._flags = 0 if receipts is None else lib.MM_SPOOL_IN_A_ROW
        check = spooled._feed.check_open
        super().__init__(spooled.spool, run, meta, check=check, doing="sending")
        self._told = counts  # where this list is, and how many of all lists were sent
        self._spooled, self._receipts = spooled, receipts

    def at_once(self, pointer: Any) -> int:
        """Put those that have room at this moment."""
        rc = EINTR
        while rc == EINTR:
            rc = super().at_once(pointer) if self._receipts is None else self._row_at_once()
        return rc

    def _row_at_once(self) -> int:
        row = self._run[self.at : self.at + IN_A_ROW]
        rc, done, *did = native.spool_put(self._spool._address, row, 0, self._told, self._plan)
        return self._did(rc, done, *did)

    def _did(self, rc: int, done: int, first: int, last: int, *once: int) -> int:
        """Note those that were put; what ended it comes up again with the next call."""
        if not done:
            return super()._did(rc, 0, 0, 0)
        super()._did(lib.MM_OK, done, first, last, *once)
        if self._receipts is not None:
            self._spooled.note(self._receipts, first, last, done)
        return EINTR if self.at < len(self._run) else int(lib.MM_OK)


class Published(Spooled):
    """What a Pub has of its spool."""

    def __init__(
        self, socket: SocketBase, given: Any, places: Mapping[str, SpoolCursorInfo]
    ) -> None:
        super().__init__(socket, given)
        self.lag = GroupLag(self.spool, places)
        """How far its groups are behind; `places`: where they were before it."""

    def plan_of(self, frames: Sequence[Data], topic: str | bytes, options: MessageOptions) -> Plan:
        """Return a message as it is put, with its topic in front, if it may be sent at all."""
        first: list[Data] = [encode_topic(topic)] if is_topic(topic) else []
        return self.plan([*first, *frames], cast("PushOptions", options))

    def _fed(self) -> Feed:
        return Replay(self.spool, self._socket._handle)

    @property
    def feed(self) -> Replay:
        """What publishes it."""
        return cast("Replay", self._feed)


def spool_of(given: Any) -> Spool:
    """Return the spool of threads that one of asyncio is made of, or itself."""
    return given if isinstance(given, Spool) else given._spool


def check_spool_of_pub(given: object, options: SocketOptions, *, awaited: bool) -> None:
    """Refuse what is no spool for a Pub, and an option that it has no use for."""
    check_kind(given, awaited=awaited)
    if given is None:
        return
    if options.get("overflow") == "error":
        raise UsageError(
            "overflow is 'error': with spool= no send meets a full queue of a subscriber; it is "
            "'drop_newest', 'drop_oldest' or 'block'"
        )
    spool = spool_of(given)
    if CURSOR in _cursors_of(spool):
        raise UsageError(
            f"{spool.path} is the spool of a Push: it has the cursor {CURSOR!r}, and a Pub would "
            f"not send what that is not done with; if that is given up, delete_cursor({CURSOR!r}) "
            "of the spool, and open the Pub then"
        )


def check_spool(given: object, options: SocketOptions, *, awaited: bool) -> None:
    """Refuse what is no spool for a Push, and options that it has no use for."""
    check_kind(given, awaited=awaited)
    if given is None:
        return
    for option in ("overflow", "no_peer"):
        if options.get(option) not in (None, "block", "as_full"):
            raise UsageError(
                f"{option} is {options.get(option)!r}: with spool= a message waits in the spool; "
                "what a full one does is Spool(overflow=)"
            )
    spool = spool_of(given)
    groups = [name for name in _cursors_of(spool) if is_group(name)]
    if groups:
        named = ", ".join(name[len(PREFIX) :] for name in groups)
        raise UsageError(
            f"{spool.path} is the spool of a Pub: it has places of groups ({named}), and a Push "
            "would remove what those are not done with. Open it with a Pub; if the groups are "
            f"given up, delete_cursor({groups[0]!r}) of the spool for each, and open the Push then"
        )


def _cursors_of(spool: Spool) -> list[str]:
    """Return the names of its cursors; looks into its folder."""
    return names_of(spool, lib.mm_spool_cursor_names)


def check_kind(given: object, *, awaited: bool) -> None:
    """Refuse what is no spool for a socket of threads, or of asyncio."""
    if given is None:
        return
    name = "meshmsg.aio.Spool" if awaited else "meshmsg.Spool"
    own = hasattr(given, "__aenter__") if awaited else isinstance(given, Spool)
    if not own or not isinstance(getattr(given, "_spool", given), Spool):
        raise TypeError(f"spool is {given!r}; it is a {name}")
