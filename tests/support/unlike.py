"""Has messages made by calling their class, as on a Python whose bytes cannot be filled in place.

Not here: what is made then (test_message.py, test_ready.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import meshmsg as mm
from meshmsg._binding.core import native
from meshmsg._binding.message import message_class


class _Unlike(mm.Message):
    """Says that what is made in place is not like what is called."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = bytes.__hash__


@contextmanager
def called() -> Iterator[None]:
    """Until its end no message is made in place."""
    try:
        assert not native.check(_Unlike, b"sample")
        yield
    finally:
        assert native.check(message_class(0), b"sample")
