"""A request at a worker: what it asks, what went with it, and what answers it.

Not here: sending that (`_idle`, `_aio`).  Law: a job is settled once, when what does so
was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from meshmsg import Message, UsageError

from ._books import FAILED, TAG_SIZE

_PLAIN = Message()  # nothing went with it
JobT = TypeVar("JobT", bound="JobForm")


class JobForm(bytes):
    """A request at a worker: the first frame of its body as `bytes`, all of them in `frames`."""

    frames: tuple[bytes, ...]
    """The frames the client sent."""
    settled: bool = False
    """Whether it was answered or refused."""
    _tag: bytes = b""
    _came: Message = _PLAIN

    @property
    def key(self) -> bytes | None:
        """What it is about, as its client said (`key=`); None: it did not."""
        return self._came.key

    @property
    def headers(self) -> Mapping[str, str | bytes]:
        """What its client said with it (`headers=`), by name; empty where it said nothing."""
        return self._came.headers

    @property
    def timestamp(self) -> float | None:
        """When it was made, by its client's clock, in seconds since 1970; None: nobody said."""
        return self._came.timestamp

    @property
    def expires(self) -> float | None:
        """Until when it is of use, by its client's clock (`ttl=`); None: for ever."""
        return self._came.expires

    @classmethod
    def _of(cls: type[JobT], frames: Sequence[bytes], came: Message = _PLAIN) -> JobT | None:
        """What the queue sent, by frames and as it came; None when it makes no sense."""
        if len(frames) < 3 or frames[0] or len(frames[1]) != TAG_SIZE:
            return None
        job = cls(frames[2])
        job._tag, job.frames, job._came = frames[1], tuple(frames[2:]), came
        return job

    def _answer(self, frames: Sequence[bytes]) -> list[bytes]:
        """What answers it.  It counts as settled only when that was sent."""
        if not frames:
            raise UsageError(
                'an answer has at least one frame; reply(b"") answers with an empty one'
            )
        self._check_open()
        return [b"", self._tag, *frames]

    def _refusal(self, reason: str) -> list[bytes]:
        """What refuses it, likewise."""
        if not isinstance(reason, str):
            raise TypeError(f"a reason is str, not {type(reason).__name__}")
        self._check_open()
        return [b"", FAILED, self._tag, reason.encode("utf-8", "backslashreplace")]

    def _check_open(self) -> None:
        if self.settled:
            raise UsageError("this job was answered or refused already")

    def _settle(self) -> None:
        """What answers or refuses it was sent."""
        self.settled = True
