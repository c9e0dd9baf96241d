"""A spool that is open: who is in a call with it, its readers, and what its errors are.

Not here: what the calls do (spool.py, reader.py). Law: nothing is closed while somebody is in a
call with it, and nothing of the parent's is touched in the child of a fork.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from meshmsg._binding.core import (
    EAGAIN,
    EINTR,
    SLICE_MS,
    NativeInside,
    NativeSpool,
    ends_of,
    ffi,
    left_of,
    lib,
    text_of,
    to_ms,
)
from meshmsg._binding.errors import (
    ClosedError,
    ForkedError,
    MeshError,
    SpoolError,
    SpoolFailedError,
    SpoolFullError,
    TimedOutError,
    TooLargeError,
    WouldBlockError,
)
from meshmsg._hints.unshared import Unshared
from meshmsg._spool.arguments import Folder, no_spool
from meshmsg._spool.full import PUTS, Room, why_full, why_late

if TYPE_CHECKING:
    from typing_extensions import Self


_FoundT = TypeVar("_FoundT")


class Inside(NativeInside):
    """Who is in a call with what others may close: it is closed once nobody is.

    Who closes it waits for the others. Below a call of its own thread (a signal's function, or what
    the call called) it cannot: then the last one that leaves closes it.

    Law: it changes by steps that a signal's function cannot split; a call that such a function
    breaks off, also as it begins, has ended.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Under it one enters; who closes sees to it there that nobody does any more."""
        self._out = threading.Condition(self.lock)
        """Told as nobody is. It is not entered itself: that a signal's function can split."""
        self._tokens: dict[object, int] = {}
        """Each call, and its thread."""
        self._then: Callable[[], object] | None = None
        """What the last one that leaves does."""

    def __len__(self) -> int:
        return len(self._tokens)

    @contextmanager
    def entered(self, look: Callable[[], _FoundT]) -> Iterator[_FoundT]:
        """Be in a call, with what `look` finds under the lock; it raises if it is closed."""
        token = object()
        try:
            with self.lock:
                # In this order: what is found is not freed by a signal's function behind it.
                self._tokens[token] = threading.get_ident()
                found = look()
            yield found
        finally:
            if token in self._tokens:  # no call is before it, behind which a signal's would run
                del self._tokens[token]
            self._leave(token)

    def left(self) -> None:
        """Note that the last native call is over, as somebody closes it."""
        self._leave(None)

    def _busy(self) -> bool:
        return bool(self._tokens) or self._calls > 0

    def _leave(self, token: object) -> None:
        self._tokens.pop(token, None)
        if self._busy():
            return
        with self.lock:
            then = None if self._busy() else self.take()
            if then is not None:
                self._tokens[token] = threading.get_ident()  # who closes it once more waits for it
            self._out.notify_all()
        if then is not None:
            try:
                then()
            finally:
                self._leave(token)

    @property
    def mine(self) -> bool:
        """Whether this thread is in a call, further up its stack."""
        return threading.get_ident() in tuple(self._tokens.values())

    def later(self, then: Callable[[], object]) -> None:
        """Have the last one that leaves do that; under the lock."""
        self._then = then

    def take(self) -> Callable[[], object] | None:
        """Return what nobody did yet that was to be done later; under the lock."""
        then, self._then = self._then, None
        return then

    def wait(self) -> None:
        """Wait until nobody is in a call; under the lock, which others have meanwhile."""
        self._out.wait_for(lambda: not self._busy())


class Putting(Protocol):
    """What one call puts (puts.py)."""

    doing: str
    """What the errors say of it."""

    @property
    def at(self) -> int:
        """How many messages were taken."""
        ...

    @property
    def unput(self) -> bool:
        """Whether there are more: a call that waits and has none left waits for the disk."""
        ...

    @property
    def put(self) -> int:
        """How many of those the spool has: others were dropped (`overflow="drop_newest"`)."""
        ...

    def __call__(self, pointer: Any, ms: int) -> int:
        """Put some, for one slice of the time at most: a code of the core; EINTR: call again."""
        ...


class Held(NativeSpool, Unshared, ABC):
    """What a spool and its readers share."""

    _pointer: Any = None
    _address: int
    """Where it is, for native calls."""
    _record_max: int
    """Bytes of a message that a segment file has room for."""
    _file_bytes: int = 0
    """Bytes of a segment file."""
    _max_bytes: int = 0
    _max_messages: int = 0
    """Its limits; 0: none."""
    _max_age: float | None = None
    _acked_by: Sequence[str] = ()
    """What goes by itself: by its age, in seconds, and as those cursors are done."""
    _blocks: bool = False
    """Whether a call waits for room."""
    _drops: bool = False
    """Whether a call may drop what it puts."""
    _level: int
    """What it takes until a message is kept."""
    _jumps = 0
    """Of the clock: that the core noticed."""
    _opens: Any = lib.mm_spool_reader_open
    """What makes a reader of it."""
    _young: Any = lib.mm_spool_since
    """What finds the first message behind a time in it."""

    def __init__(self, path: str, gaps: bool) -> None:
        self.path = path
        """The folder."""
        self._place = os.path.abspath(path)
        """The same, whatever folder this process goes to."""
        self._folder: Folder | None = None
        """Which one it was as it was opened."""
        self._look_at = math.inf
        self._gaps = gaps
        self._pid = os.getpid()
        self._inside: Inside = Inside()
        self._readers: dict[int, Any] = {}
        self._feeds: dict[int, tuple[Any, Any, int]] = {}
        """What feeds sockets: its pointer, what ends it, and which socket."""
        self._idle_readers: list[Any] = []
        """Of `read`: for the next one (reader.py)."""
        self._watches: list[Any] = []
        """Of event loops: they go as it is closed."""
        self._cursors: dict[int, Any] = {}
        self._room = Room()
        self._late: tuple[int, int] = lib.MM_OK, lib.MM_OK
        """What closing it said that nobody was told of."""
        _all.add(self)

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    def _end(self) -> tuple[int, int]:
        """Let nobody in any more, wait until all are out, and close it: what that said.

        Below a call of this thread, the last one that leaves closes it; of what was closed so, the
        next `_end` says what it said. Nothing, if another one closed it, or this is the child of a
        fork.
        """
        if os.getpid() != self._pid:
            return lib.MM_OK, lib.MM_OK
        with self._inside.lock:
            door, self._door = self._door, 0
            pointer, self._pointer = self._pointer, None
            if self._inside.mine:
                if pointer is not None:
                    self._inside.later(lambda: self._end_late(pointer))
                return lib.MM_OK, lib.MM_OK
            try:
                self._inside.wait()
            except BaseException:  # a signal's function; it can be closed again
                self._pointer, self._door = pointer, door
                raise
            late = self._inside.take()  # a signal's function broke off who was about to do it
        if pointer is not None:
            return self._free(pointer)
        if late is not None:
            late()
        said, self._late = self._late, (lib.MM_OK, lib.MM_OK)
        return said

    def _end_late(self, pointer: Any) -> None:
        """Close it; nobody waits for what that says but who closes it again, so the log has it."""
        self._late = self._free(pointer)
        if any(self._late):
            logging.getLogger("meshmsg").error(
                "the spool %s: closing it, as a call of the same thread asked for: the disk "
                "failed; what was not durable may be lost",
                self.path,
            )

    @abstractmethod
    def _free(self, pointer: Any) -> tuple[int, int]:
        """Close what it has, and it; nobody is in a call. What it said, and what its cursors
        said."""

    def _let_go(self) -> tuple[dict[int, tuple[Any, Any, int]], dict[int, Any]]:
        """Close its readers and watches; its feeds and cursors, which nobody else closes from now
        on."""
        with self._inside.lock:
            self._close_readers(*self._readers)
            self._idle_readers.clear()
            self._close_watches(*self._watches)
            feeds, self._feeds = self._feeds, {}
            cursors, self._cursors = self._cursors, {}
        return feeds, cursors

    def _close_readers(self, *which: int) -> None:
        """Close some readers; of those that are closed, nothing."""
        with self._inside.entered(lambda: None), self._inside.lock:  # nobody closes it meanwhile
            for key in which:
                if (reader := self._readers.pop(key, None)) is not None:
                    lib.mm_spool_reader_close(reader)

    def _close_watches(self, *which: Any) -> None:
        """Close some, that are open."""
        if os.getpid() != self._pid:
            return  # the lock may be somebody's who is not in this process
        with self._inside.entered(lambda: None), self._inside.lock:
            for watch in which:
                if watch in self._watches:
                    self._watches.remove(watch)
                    lib.mm_spool_watch_close(watch)

    def _close_cursor(self, key: int) -> int:
        """Close a cursor; the spool is not closed meanwhile. One that is closed: nothing."""
        with self._inside.entered(lambda: self._cursors.pop(key, None)) as pointer:
            return self._close_each([pointer] if pointer is not None else [])

    def _close_each(self, cursors: Iterable[Any]) -> int:
        """Close these; what the last one said that could not be saved."""
        rc = 0
        for pointer in cursors:
            rc = int(lib.mm_spool_cursor_close(pointer)) or rc
        return rc

    def _give_up(self) -> None:
        """In the child of a fork: it keeps nobody out, and writes nothing."""
        self._door = 0
        pointer, self._pointer = self._pointer, None
        # They stay as they are: a thread of the parent may have been in one.
        self._readers, self._cursors, self._watches, self._feeds = {}, {}, [], {}
        if pointer is not None:
            self._abandon(pointer)

    @staticmethod
    def _abandon(pointer: Any) -> None:
        lib.mm_spool_abandon(pointer)

    def _until(
        self,
        call: Callable[[Any, int], int],
        timeout: float | None,
        doing: str,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """Call until it is done, failed or too late; in between, signals and `close` are heard."""
        deadline = ends_of(timeout)
        rc = EINTR
        while rc == EINTR:
            with self._in_use() as pointer:
                rc = int(call(pointer, to_ms(left_of(deadline))))
            if rc == EINTR:
                if (lost := self._unplaced(doing)) is not None:
                    raise lost
                between()
        self._heed()
        self._raise_for(rc, doing)

    def _heed(self) -> None:
        """Have the log say what the core noticed meanwhile; nobody is kept out by its handlers."""
        jumps, self._told_jumps = self._jumps - self._told_jumps, self._jumps
        if jumps:
            logging.getLogger("meshmsg").warning(
                "the spool %s: the system's clock was set by more than an hour; half of its files "
                "may go by their age (max_age), the others stay for as long from now on",
                self.path,
            )

    def _put(self, put: Putting, timeout: float | None) -> None:
        """Put all of it."""
        try:
            self._until(put, timeout, put.doing, lambda: self._look(put))
            if (lost := self._unplaced_by(put)) is not None:
                raise lost
        except BaseException as error:
            vars(error)["sent"] = put.put
            raise
        finally:
            self._room.leave(put)

    def _look(self, put: Putting) -> None:
        """A slice of the time of a call is over: tell if it waits for room."""

    def _flush(self, level: int, timeout: float | None, doing: str) -> None:
        """Wait until all that was put is kept as that level says."""
        self._until(
            lambda pointer, ms: lib.mm_spool_flush(pointer, level, ms, SLICE_MS), timeout, doing
        )
        if (lost := self._unplaced(doing)) is not None:
            raise lost

    def _inspected(self) -> Any:
        """Return what the core tells of it at this moment, an mm_spool_info."""
        out = ffi.new("mm_spool_info *")
        with self._in_use() as pointer:
            lib.mm_spool_inspect(pointer, out)
        return out

    def _still(self) -> None:
        """Raise if a reader would read another one by now."""

    def _unplaced(self, doing: str) -> MeshError | None:
        """Return the error that the folder is not there any more; None: it is."""

    def _unplaced_by(self, put: Putting) -> MeshError | None:
        """The same of a call that is over: now and then, and where something was dropped."""
        due = time.monotonic() >= self._look_at or (self._drops and put.put < put.at)
        return self._unplaced(put.doing) if due else None

    def _in_use(self) -> AbstractContextManager[Any]:
        """Keep it from being closed meanwhile; its pointer."""
        if os.getpid() != self._pid:
            raise ForkedError(
                f"{self.path} was opened before a fork, and this is the child; open it where the "
                "parent has closed it",
                code=lib.MM_EFORKED,
            )
        return self._inside.entered(self._opened)

    def _opened(self) -> Any:
        """Return its pointer, if it is open."""
        pointer = self._pointer  # once: a signal's function may close it
        if pointer is None:
            raise ClosedError(f"the spool {self.path} was closed", code=lib.MM_ECLOSED)
        return pointer

    def _raise_for(self, rc: int, doing: str) -> None:
        if rc < 0:
            raise self._error(rc, doing)

    def _error(self, rc: int, doing: str) -> MeshError | MemoryError:
        what = f"{self.path}: {doing}"
        if doing in PUTS and rc in (lib.MM_ENOSPC, lib.MM_ETIMEDOUT, EAGAIN):
            lost = self._unplaced(doing)
            if lost is not None:
                return lost
        if rc == lib.MM_ENOSPC:
            return SpoolFullError(f"{what}: no room{why_full(self, doing)}", code=rc)
        if rc == lib.MM_EIO:
            return SpoolFailedError(
                f"{what}: the disk failed; what was not durable is unknown until it is "
                "opened again",
                code=rc,
            )
        if rc == lib.MM_ETIMEDOUT:
            return TimedOutError(f"{what}: not in time{why_late(self, doing)}", code=rc)
        if rc == EAGAIN:
            return WouldBlockError(f"{what}: not now{why_late(self, doing)}", code=rc)
        if rc == lib.MM_ENOENT:
            why = no_spool(self.path) or "a file of the spool is not there"
            return SpoolError(f"{what}: {why}", code=rc)
        if rc == lib.MM_ENOTSUP:
            why = "a file of it is of a later version, or no plain file, or cannot be locked there"
            return SpoolError(f"{what}: {why}", code=rc)
        if rc == lib.MM_ENOMEM:
            return MemoryError(f"{what}: no memory")
        if rc == lib.MM_SPOOL_SHARED:
            return SpoolError(
                f"{what}: every user of this machine may write to that folder, so what it has may "
                "be anybody's: take that away (chmod o-w), or use a folder in it",
                code=lib.MM_EPERM,
            )
        if rc == lib.MM_SPOOL_REMOTE:
            return SpoolError(
                f"{what}: it is on a file system of another machine, whose locks and syncs are "
                "only as good as that one's; remote=True takes it all the same",
                code=lib.MM_ENOTSUP,
            )
        return SpoolError(f"{what}: {text_of(rc)}", code=rc)

    def _too_large(self, size: int, limit: int) -> TooLargeError:
        return TooLargeError(
            f"{self.path}: appending: a message of {size:,} bytes; beside what stands with it a "
            f"segment file has room for {limit:,}",
            code=lib.MM_EMSGSIZE,
            size=size,
            limit=limit,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = "" if self._pointer is not None else " closed"
        return f"<meshmsg.{type(self).__name__} {self.path}{closed}>"


def first_and_last(spool: Held) -> tuple[int, int]:
    """Return the first number that is there, and the last that was given."""
    info = spool._inspected()
    return int(info.first_seq), int(info.last_seq)


_all: weakref.WeakSet[Held] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for held in tuple(_all):
        held._give_up()


os.register_at_fork(after_in_child=_after_fork_in_child)
