"""What a signal's function raises as a call of a spool or a cursor begins leaves nobody in it.

Not here: signals that come while a call waits (tests/unit/test_spool_life.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from inspect import getsourcelines
from pathlib import Path
from types import FrameType

import pytest

from meshmsg._spool.held import Inside
from tests.support.called import at_call
from tests.support.points import at_point, interrupt
from tests.support.spooled import small


def interrupted_at(number: int) -> AbstractContextManager[Callable[[], bool]]:
    """Raise KeyboardInterrupt that many lines of `Inside.entered` on, up to where a call is in;
    tells whether it did."""
    entered = Inside.entered.__wrapped__.__code__  # type: ignore[attr-defined]
    lines, first = getsourcelines(entered)
    ends = first + next(at for at, line in enumerate(lines) if "yield" in line)

    def is_before(frame: FrameType, what: str) -> bool:
        return what == "line" and frame.f_lineno <= ends

    return at_point(number, interrupt, lambda code: code is entered, is_before)


POINTS: dict[str, Callable[[int], AbstractContextManager[Callable[[], bool]]]] = {
    "as-it-begins": interrupted_at,
    "wherever": lambda number: at_call(number, interrupt, ("_spool/held.py",)),
}
"""At each line up to where a call is in; and also as it ends."""


@pytest.mark.parametrize("where", POINTS)
@pytest.mark.parametrize("call", ["spool", "cursor"])
def test_ctrl_c_in_a_call_leaves_nobody_in_it(tmp_path: Path, call: str, where: str) -> None:
    """So closing waits for nobody."""
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        calls = {"spool": spool.info, "cursor": lambda: cursor.floor}
        number, was_hit = 0, True
        while was_hit:
            number += 1
            with POINTS[where](number) as hit:
                with suppress(KeyboardInterrupt):
                    calls[call]()
                was_hit = hit()
            assert len(spool._inside) == len(cursor._inside) == 0, number
        assert number > 4
