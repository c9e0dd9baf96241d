"""One direction of a forwarder: what it does, without who does it.

`WayForm.steps` says call after call what is to be done; a driver makes each call, awaits it where
the sockets are those of asyncio, and tells what came of it.  Not here: the drivers, with their
thread or task (`_forward`, `_aio`).
Law: a message that was taken is in hand until it was passed on or refused with a count.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from meshmsg import (
    ClosedError,
    EndOfStreamError,
    MeshError,
    Message,
    PeerError,
    TimedOutError,
    WouldBlockError,
)

from .._frames import frames_of
from ._flow import LOG, SLICE_S, Count, Flow, check_captured

Call = Callable[[], Any]
"""Something to do; of asyncio, it gives what is to be awaited."""


class WayForm:
    """From where to where, what is in hand, and what was counted."""

    _pause: Call
    """Wait a little, where nobody who sends is there."""

    def __init__(self, source: Any, target: Any, capture: Any) -> None:
        self._source, self._target, self._capture = source, target, capture
        self._count = Count()
        self._hand: Message | None = None
        self.stopping = False
        self.closed = False
        """Whether what is in hand is given up."""

    def steps(self) -> Generator[Call, Any, None]:
        """The calls of a forwarder, one by one, until it is to stop or a socket is closed.

        Each is answered by what it returned, or by what it raised.
        """
        receive = partial(self._source.recv, timeout=SLICE_S)
        try:
            while not self.stopping:
                message = self._hand
                if message is None:
                    try:
                        message = self._hand = yield receive
                    except TimedOutError:
                        continue
                    except EndOfStreamError:  # for now: others may come
                        yield self._pause
                        continue
                yield from self._pass(message)
        except ClosedError:
            return

    def _flow(self, running: bool) -> Flow:
        """The counts now."""
        return self._count.flow(self.closed and not running and self._hand is not None)

    def _pass(self, message: Message) -> Generator[Call, Any, None]:
        """Pass on what is in hand, or keep it, if there is no room for now."""
        frames = frames_of(message)
        try:
            yield self._sending(frames, message._meta)
        except ClosedError:
            raise
        except TimedOutError:
            return
        except MeshError as error:
            if isinstance(error, WouldBlockError) and self._spooled:  # full, until some are done
                yield self._pause
                return
            self._hand = None
            self._count.refused += 1
            self._tell_refused(error)
            return
        self._hand = None
        taken = self._capture is None or (yield from self._give(frames))
        self._count.forwarded += 1
        self._count.uncaptured += not taken

    @property
    def _spooled(self) -> bool:
        """Whether what is passed on goes into a spool."""
        return self._target._spooled is not None

    def _tell_refused(self, error: MeshError) -> None:
        """Log the 1st, 2nd, 4th, 8th... that is lost; a requester that is gone misses nothing."""
        count = self._count.refused
        if not isinstance(error, PeerError) and count.bit_count() == 1:
            told = "%r does not take what came to %r (%d so far), and it is lost: %s"
            LOG.warning(told, self._target, self._source, count, error)

    def _sending(self, frames: list[bytes], note: bytes | None) -> Call:
        """The call that passes on frames, and as it is what came with them."""
        if note is None and not self._spooled:
            return partial(self._target.send_frames, frames, timeout=SLICE_S)
        return partial(self._target._send_noted, frames, note or b"", SLICE_S)

    def _give(self, frames: list[bytes]) -> Generator[Call, Any, bool]:
        """Give a message that was passed on to `capture`; whether it took it."""
        try:
            if callable(self._capture):
                check_captured(self._capture(frames))
            else:
                yield partial(self._capture.send_frames, frames, timeout=0)
        except MeshError:
            return False
        except Exception:
            LOG.exception("the capture of %r to %r failed", self._source, self._target)
            return False
        return True
