"""How locks are entered: so that what a signal's function raises leaves none of them taken.

`with` of a lock of C takes it and is in the block in one step. `Condition.__enter__` is Python: a
signal's function may raise in it once the lock is taken, and nobody gives it back. Not here: who
waits for what (tests/fault/test_signals*.py).
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

from meshmsg._spool import held
from tests.support.points import at_point, interrupt

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "src/meshmsg").rglob("*.py"), *(ROOT / "patterns").rglob("*.py")])


def name_of(node: ast.expr) -> str:
    """The last name of it."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def conditions(tree: ast.Module) -> set[str]:
    """What is assigned a `threading.Condition` there."""
    return {
        name_of(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func) in ("threading.Condition", "Condition")
        for target in node.targets
    }


def entered(text: str) -> Iterator[str]:
    """The conditions that are entered in a file, and where."""
    tree = ast.parse(text)
    known = conditions(tree)
    for node in ast.walk(tree):
        for item in node.items if isinstance(node, ast.With) else ():
            if name_of(item.context_expr) in known:
                yield f"line {node.lineno}: {ast.unparse(item.context_expr)}"


def of_locks(code: CodeType) -> bool:
    """Of a lock of Python's, or of who takes it."""
    return code.co_filename in (threading.__file__, held.__file__)


def a_call(_: FrameType, what: str) -> bool:
    """Where a function begins or ends."""
    return what in ("call", "return")


def test_no_condition_is_entered() -> None:
    """Its lock is."""
    found = {
        str(path.relative_to(ROOT)): list(entered(path.read_text(encoding="utf-8")))
        for path in FILES
    }
    assert not {name: lines for name, lines in found.items() if lines}


def test_one_that_is_would_be_found() -> None:
    """Under each name."""
    text = "self.a = threading.Condition()\nwith self.a, x:\n pass\nwith self.b:\n pass\n"
    assert list(entered(text)) == ["line 2: self.a"]


def test_what_is_raised_as_the_lock_is_taken_leaves_it_to_others() -> None:
    """As each function of Python begins or ends below it: there a signal's function may run."""
    number, was_hit = 0, True
    while was_hit:
        number += 1
        inside = held.Inside()

        def enter(inside: held.Inside = inside) -> None:
            with inside.entered(lambda: None):
                pass

        with at_point(number, interrupt, of_locks, a_call) as hit:
            try:
                enter()
            except KeyboardInterrupt:
                pass
        was_hit = hit()
        taken = threading.Event()

        def take(inside: held.Inside = inside, taken: threading.Event = taken) -> None:
            if inside.lock.acquire(timeout=1):
                taken.set()

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        assert taken.is_set(), number
    assert number > 5
