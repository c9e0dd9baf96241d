"""A spool that feeds a socket: what became of what was put for it.

Not here: the socket (spooled.py). Law: a feed ends before its spool, whoever closes
which first.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any

from meshmsg._binding.core import EAGAIN, ESTATE, ffi, lib
from meshmsg._binding.errors import ClosedError, UsageError
from meshmsg._spool.held import Inside
from meshmsg._spool.spool import Spool

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
    "dead",
    "refused",
)


class Feed:
    """Gives a socket the messages of a spool that are not done."""

    _kind, _role = "mm_feed", "Push"
    _end: Any = lib.mm_feed_close
    _inspect: Any = lib.mm_feed_inspect

    def __init__(self, spool: Spool, handle: int, cursor: str = "") -> None:
        self._spool, self._handle = spool, handle
        self._ending = threading.RLock()
        """Held where the core has its pointer: what one thread looks at no other one frees."""
        self._inside = Inside()
        """Who is in a call: a signal's function may close it below one of its own thread."""
        self._key = id(self)
        out = ffi.new(f"{self._kind} **")
        with spool._in_use() as pointer:
            rc = self._open(handle, pointer, cursor, out)
            if rc in (EAGAIN, ESTATE):
                raise UsageError(f"{spool.path} feeds another socket already", code=rc)
            spool._raise_for(rc, "feeding a socket")
            spool._feeds[self._key] = out[0], self._end, handle

    def _open(self, handle: int, pointer: Any, cursor: str, out: Any) -> int:
        return int(lib.mm_feed_open(handle, pointer, cursor.encode(), out))

    def receipts(self, first: int, count: int) -> None:
        """Open receipts, in the socket, for messages that were put."""
        with self._spool._in_use(), self._ending, self._inside.entered(self._own) as feed:
            rc = int(lib.mm_feed_receipts(feed, first, count))
            if rc == lib.MM_ECLOSED:
                raise self._closed()
            self._spool._raise_for(rc, "asking for receipts")

    def info(self) -> Any:
        """Return an mm_feed_info, or of a Replay an mm_replay_info; None: it was closed."""
        out = ffi.new(f"{self._kind}_info *")
        try:
            with self._spool._in_use(), self._ending, self._inside.entered(self._own) as feed:
                self._inspect(feed, out)
        except ClosedError:
            return None
        return out

    def settle(self) -> None:
        """Its socket is about to be closed: tell what was removed of that which it was given."""
        with (
            suppress(ClosedError),
            self._spool._in_use(),
            self._ending,
            self._inside.entered(self._own) as feed,
        ):
            lib.mm_feed_settle(feed)

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
        with self._ending:
            with self._inside.lock:
                if self._inside.mine:
                    self._inside.later(self._free)
                    return
            self._free()

    def _free(self) -> None:
        spool = self._spool
        # The spool stays while its thread ends.
        with spool._inside.entered(lambda: spool._feeds.pop(self._key, None)) as feed:
            if feed is not None:
                self._end(feed[0])


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
        with self._spool._in_use(), self._asking, self._inside.entered(self._own) as feed:
            rc = int(lib.mm_replay_groups(feed, out, lib.MM_GROUPS_MAX, count))
            self._spool._raise_for(rc, "listing groups")
        found = []
        for info in out[0 : min(count[0], lib.MM_GROUPS_MAX)]:
            one = {name: int(getattr(info, name)) for name in _GROUP_COUNTS}
            found.append({"name": ffi.string(info.name).decode(), **one})
        return found

    def seek_group(self, name: str, seq: int) -> int:
        """Have a group go on elsewhere; the code of it."""
        with self._spool._in_use(), self._asking, self._inside.entered(self._own) as feed:
            return int(lib.mm_group_seek(feed, name.encode(), seq))

    def forget_group(self, name: str) -> int:
        """Forget a group; the code of it."""
        with self._spool._in_use(), self._asking, self._inside.entered(self._own) as feed:
            return int(lib.mm_group_forget(feed, name.encode()))
