"""How large a message of a spool may be: its limit as errors name it, and the sizes of varints.

Not here: messages without frames (test_spool.py), columns (test_spool_arrow.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._spool.full import body_max, varint_size
from tests.support.feeding import World
from tests.support.spooled import SEGMENT


@pytest.mark.parametrize(
    ("value", "size"), [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (1 << 26, 4)]
)
def test_a_varint_has_seven_bits_in_an_octet(value: int, size: int) -> None:
    """One at least."""
    assert varint_size(value) == size


def test_what_goes_along_may_leave_no_room() -> None:
    """And then no message fits, rather than one of less than nothing."""
    assert body_max(128, 0) == 126
    assert body_max(129, 0) == 126
    assert body_max(130, 0) == 127
    assert body_max(100, 300) == 0


@pytest.mark.parametrize("options", [{}, {"delay": 60.0}, {"key": "k", "ttl": 60.0}], ids=str)
@pytest.mark.parametrize("first", [[], [b""], [b"a" * 127, b"b" * 128]], ids=len)
def test_the_largest_message_of_a_push_is_as_the_error_says(
    world: World, tmp_path: Path, first: list[bytes], options: dict[str, object]
) -> None:
    """With its frames, and what goes along: one octet more does not fit."""
    with world.life(tmp_path / "s") as (_, push):
        before = sum(map(len, first))
        with pytest.raises(mm.TooLargeError) as caught:
            push.send_frames([*first, bytes(SEGMENT)], **options)
        assert caught.value.size == SEGMENT + before
        fits = caught.value.limit - before
        with pytest.raises(mm.TooLargeError, match=f"{fits + before + 1:,} bytes"):
            push.send_frames([*first, bytes(fits + 1)], **options)
        push.send_frames([*first, bytes(fits)], **options)
