"""A spool that feeds a socket: what is put for it, and what became of that.

Not here: the socket (_delivery/spooled.py). Law: a feed ends before its spool, whoever closes
which first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from meshmsg._binding.core import EAGAIN, ESTATE, ffi, lib, native
from meshmsg._binding.data import size_of
from meshmsg._binding.errors import ClosedError, UsageError
from meshmsg._spool.held import SLICE_MS
from meshmsg._spool.spool import Spool

_IN_A_ROW: int = lib.MM_SPOOL_IN_A_ROW
_GROUP_COUNTS = (
    "members",
    "unacked",
    "acked",
    "redelivered",
    "unwanted",
    "removed",
    "harmed",
    "expired",
    "attempts",
)


def put_frames(
    spool: Spool,
    packed: tuple[bytes, Any, int],
    meta: bytes,
    timeout: float | None,
    *,
    doing: str,
    due_us: int = 0,
    priority: int = 0,
    wait: bool = True,
    check: Callable[[], None] | None = None,
) -> int | None:
    """Put one message of frames, and wait until it is kept; None: it was dropped.

    `check` raises when it is to end while it waits for room.
    """
    octets = ffi.from_buffer("uint8_t[]", meta)
    plan = ffi.new("mm_spool_plan *", (octets, due_us, len(meta), priority))
    did = ffi.new("mm_spool_did *")

    def call(pointer: Any, ms: int) -> int:
        if did.done:  # a wait goes on
            return int(lib.mm_spool_flush(pointer, spool._level, ms, SLICE_MS))
        if check is not None:
            check()
        rc = int(lib.mm_spool_append_frames(pointer, *packed, plan, wait, ms, SLICE_MS, did))
        if rc == lib.MM_EMSGSIZE:
            raise spool._too_large(len(packed[0]))
        return rc

    try:
        spool._until(call, timeout, doing)
    except BaseException as error:
        vars(error)["sent"] = int(did.done)
        raise
    return int(did.last) or None


class Feed:
    """Gives a socket the messages of a spool that are not done."""

    _kind, _role = "mm_feed", "Push"
    _end: Any = lib.mm_feed_close
    _inspect: Any = lib.mm_feed_inspect

    def __init__(self, spool: Spool, handle: int, cursor: str = "") -> None:
        self._spool, self._handle = spool, handle
        self._key = id(self)
        out = ffi.new(f"{self._kind} **")
        with spool._in_use() as pointer:
            rc = self._open(handle, pointer, cursor, out)
            if rc in (EAGAIN, ESTATE):
                raise UsageError(f"{spool.path} feeds another socket already", code=rc)
            spool._raise_for(rc, "feeding a socket")
            spool._feeds[self._key] = out[0], self._end

    def _open(self, handle: int, pointer: Any, cursor: str, out: Any) -> int:
        return int(lib.mm_feed_open(handle, pointer, cursor.encode(), out))

    def put(
        self,
        packed: tuple[bytes, Any, int],
        meta: bytes,
        due_us: int,
        priority: int,
        timeout: float | None,
        *,
        wait: bool,
    ) -> int | None:
        """Put one message of frames, and wait until it is kept; None: it was dropped."""
        return put_frames(
            self._spool,
            packed,
            meta,
            timeout,
            doing="sending",
            due_us=due_us,
            priority=priority,
            wait=wait,
            check=self.check_open,
        )

    def put_run(
        self, run: list[bytes], at: int, meta: bytes, timeout: float | None
    ) -> tuple[int, int, int]:
        """Put some of a list, from `at` on, in a row: up to where, the first and the last number.

        Does not wait until they are kept. Behind those that were put there may be one that was
        dropped.
        """
        spool = self._spool
        first = last = 0

        def call(pointer: Any, ms: int) -> int:
            nonlocal at, first, last
            self.check_open()
            rc, at, first, last = native.spool_append(
                spool._address, run, at, meta, _IN_A_ROW, ms, SLICE_MS
            )
            if rc == lib.MM_EMSGSIZE:
                raise spool._too_large(size_of(run[at]))
            return 0 if first else int(rc)  # what was put is told first

        spool._until(call, timeout, "sending")
        return at, first, last

    def kept(self, timeout: float | None) -> None:
        """Wait until all that was put is kept, as the spool's durability says."""
        spool = self._spool
        spool._until(
            lambda pointer, ms: lib.mm_spool_flush(pointer, spool._level, ms, SLICE_MS),
            timeout,
            "waiting until they are kept",
        )

    def receipts(self, first: int, count: int) -> None:
        """Open receipts, in the socket, for messages that were put."""
        with self._spool._in_use():
            rc = int(lib.mm_feed_receipts(self._own(), first, count))
            if rc == lib.MM_ECLOSED:
                raise self._closed()
            self._spool._raise_for(rc, "asking for receipts")

    def info(self) -> Any:
        """Return an mm_feed_info, or of a Replay an mm_replay_info; None: it was closed."""
        out = ffi.new(f"{self._kind}_info *")
        try:
            with self._spool._in_use():
                self._inspect(self._own(), out)
        except ClosedError:
            return None
        return out

    def check_open(self) -> None:
        """Refuse to go on for a socket, or a spool, that was closed. Thread-safe: yes."""
        if lib.mm_peer_count(self._handle, ffi.new("uint32_t *")) == lib.MM_ECLOSED:
            raise self._closed()
        if self._key not in self._spool._feeds:  # it is closed behind its socket, or by the spool
            raise ClosedError(f"the spool {self._spool.path} was closed", code=lib.MM_ECLOSED)

    def _own(self) -> Any:
        """Its pointer; in use."""
        feed = self._spool._feeds.get(self._key)
        if feed is None:
            self.check_open()
            raise self._closed()
        return feed[0]

    @classmethod
    def _closed(cls) -> ClosedError:
        return ClosedError(
            f"sending: this {cls._role} was closed; open a new one", code=lib.MM_ECLOSED
        )

    def __del__(self) -> None:
        if hasattr(self, "_key"):
            self.close()

    def close(self) -> None:
        """End it; the spool stays open. Again: nothing."""
        spool = self._spool
        if os.getpid() != spool._pid:
            return
        with spool._idle:
            feed = spool._feeds.pop(self._key, None)
            token = object()
            spool._inside.add(token)  # the spool stays while its thread ends
        try:
            if feed is not None:
                self._end(feed[0])
        finally:
            spool._leaves(token)


class Replay(Feed):
    """Publishes the messages of a spool, and again those of before to whoever asks."""

    _kind, _role = "mm_replay", "Pub"
    _end: Any = lib.mm_replay_close
    _inspect: Any = lib.mm_replay_inspect

    def __init__(self, spool: Spool, handle: int) -> None:
        self._asking = threading.RLock()
        """Held while somebody asks about groups, which may wait for the disk; `close` waits."""
        super().__init__(spool, handle)

    def _open(self, handle: int, pointer: Any, cursor: str, out: Any) -> int:
        return int(lib.mm_replay_open(handle, pointer, out))

    def close(self) -> None:
        """End it; the spool stays open. Again: nothing."""
        if os.getpid() == self._spool._pid:
            with self._asking:
                super().close()

    def groups(self) -> list[dict[str, Any]]:
        """Return what the core knows of the groups that somebody was in."""
        out = ffi.new("mm_group_info[]", lib.MM_GROUPS_MAX)
        count = ffi.new("uint32_t *")
        with self._spool._in_use(), self._asking:
            rc = int(lib.mm_replay_groups(self._own(), out, lib.MM_GROUPS_MAX, count))
            self._spool._raise_for(rc, "listing groups")
        found = []
        for info in out[0 : min(count[0], lib.MM_GROUPS_MAX)]:
            one = {name: int(getattr(info, name)) for name in _GROUP_COUNTS}
            found.append({"name": ffi.string(info.name).decode(), **one})
        return found

    def seek_group(self, name: str, seq: int) -> int:
        """Have a group go on elsewhere; the code of it."""
        with self._spool._in_use(), self._asking:
            return int(lib.mm_group_seek(self._own(), name.encode(), seq))

    def forget_group(self, name: str) -> int:
        """Forget a group; the code of it."""
        with self._spool._in_use(), self._asking:
            return int(lib.mm_group_forget(self._own(), name.encode()))
