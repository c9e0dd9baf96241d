"""What is read from a spool: messages, and the numbers of those that are gone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from meshmsg._binding.note import NOTHING, MessageOptions, Note, decode, encode
from meshmsg._hints.wrong_role import wrong_note


class SpoolMessage(bytes):
    """A message of a spool: its body, as bytes, and what went with it.

    Attributes:
        seq: Its number in the spool, from 1 on; the same each time it is read.
        epoch: In which life of the spool it was put, counted from 1 on. A number that was given
            twice, as its first message was never durable, differs in this.
        stored: When it was written, in seconds since 1970.
    """

    seq: int
    epoch: int
    stored: float
    _meta: bytes = b""
    _note: Note | None = None

    def _what_goes_with_it(self) -> Note:
        if self._note is None:
            self._note = decode(self._meta) if self._meta else NOTHING
        return self._note

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


def octets_of(options: MessageOptions) -> bytes:
    """Return what goes with a message as it stands in a file; of nothing, nothing."""
    if (wrong := wrong_note(options)) is not None:
        raise wrong
    if all(value is None for value in options.values()):
        return b""
    return encode(time.time(), **options)
