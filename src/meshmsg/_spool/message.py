"""What is read from a spool: messages, and the numbers of those that are gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from meshmsg._binding.note import NOTHING, Note, decode


class SpoolMessage(bytes):
    """A message of a spool: its body, as bytes, and what went with it.

    The body is the last of its `frames`, as of a `Message`.

    Attributes:
        seq: Its number in the spool, from 1 on; the same each time it is read. `number` is the
            same, and the name that it has of a message that a socket received, too.
        epoch: In which life of the spool it was put: 1 in the first, in each later one some number
            that is higher. A number that was given twice, as its first message was never durable,
            differs in this.
        stored: When it was written, in seconds since 1970.
    """

    seq: int
    epoch: int
    stored: float
    _front: tuple[bytes, ...] = ()
    """Its frames in front of the last."""
    _meta: bytes = b""
    _note: Note | None = None

    def _what_goes_with_it(self) -> Note:
        if self._note is None:
            self._note = decode(self._meta) if self._meta else NOTHING
        return self._note

    @property
    def number(self) -> int:
        """Its number in the spool: what `Message.number` is where a socket received it."""
        return self.seq

    @property
    def frames(self) -> tuple[bytes, ...]:
        """All its frames, as a socket sent them into the spool; the last is the body."""
        return *self._front, bytes(self)

    @property
    def topic(self) -> str:
        """What it was put under: the first of several frames; "" when it is a single one."""
        return self._front[0].decode("utf-8", "surrogateescape") if self._front else ""

    @property
    def key(self) -> bytes | None:
        """Its key, or None."""
        return self._what_goes_with_it().key

    @property
    def headers(self) -> Mapping[str, str | bytes]:
        """Its headers; nothing in them changes."""
        return self._what_goes_with_it().headers

    @property
    def timestamp(self) -> float | None:
        """When it was made, in seconds since 1970, if that was said; None: it was not."""
        return self._what_goes_with_it().timestamp

    @property
    def expires(self) -> float | None:
        """Until when it is of use, in seconds since 1970; None: for ever."""
        return self._what_goes_with_it().expires

    def __repr__(self) -> str:
        return f"<meshmsg.SpoolMessage {self.seq}: {bytes(self)!r}>"


@dataclass(frozen=True)
class SpoolGap:
    """Numbers of a spool whose messages were harmed on the disk: `first` to `last` are gone."""

    first: int
    last: int


def behind(one: SpoolMessage | SpoolGap) -> int:
    """Return the number behind a message, or behind a gap."""
    return (one.last if isinstance(one, SpoolGap) else one.seq) + 1


def seq_of(one: SpoolMessage | SpoolGap) -> int:
    """Return the number of a message, or the first one of a gap."""
    return one.first if isinstance(one, SpoolGap) else one.seq
