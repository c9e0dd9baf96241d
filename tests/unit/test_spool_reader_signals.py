"""What a signal's function raises in a read of a spool leaves out nothing: the next read has it.

Not here: signals that come while a read waits (test_spool_life.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import meshmsg as mm
import meshmsg._spool.reader
from meshmsg._binding.core import native
from tests.support.spooled import small

COUNT = 3_000
"""Messages, of several batches and files."""
EACH = 3
"""Every so many calls that take messages are broken off."""


def breaking(call: Callable[..., Any]) -> Callable[..., Any]:
    """Have Ctrl-C come as the core has given messages, and nobody has them."""
    calls = 0

    def called(*given: Any) -> Any:
        nonlocal calls
        rc = call(*given)
        calls += 1
        if calls % EACH == 0:
            raise KeyboardInterrupt
        return rc

    return called


@pytest.fixture(autouse=True)
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break some of the calls off."""
    taking = SimpleNamespace(spool_take=breaking(native.spool_take))
    monkeypatch.setattr(meshmsg._spool.reader, "native", taking)


def read(most: int) -> Callable[[Any], list[int]]:
    """Up to so many at once."""
    return lambda reader: [message.seq for message in reader.read(most)]


def in_turns(reader: Any) -> list[int]:
    """As messages, as a table, and in a loop: what one was broken off in, the next has."""
    with suppress(KeyboardInterrupt):
        one = next(iter(reader), None)
        return read(7)(reader) if one is None else [one.seq]
    batch = reader.read_batch(5)
    return list(range(batch.first_seq, batch.last_seq + 1)) if len(batch) else []


HOW = {"loop": None, "one": read(1), "some": read(50), "all": read(COUNT), "turns": in_turns}


def all_of(reader: Any, how: str) -> list[int]:
    """Read it to its end, whatever breaks it off."""
    got: list[int] = []
    take = HOW[how]
    while reader.seq <= COUNT:
        with suppress(KeyboardInterrupt):
            if take is not None:
                got += take(reader)
            else:
                for message in reader:
                    got.append(message.seq)
    return got


@pytest.mark.parametrize("how", list(HOW))
@pytest.mark.parametrize("of", ["spool", "view", "cursor"])
def test_nothing_is_left_out(tmp_path: Path, of: str, how: str) -> None:
    """In order, once each."""
    with ExitStack() as stack:
        spool = stack.enter_context(small(tmp_path / "s"))
        spool.append_many([b"x" * 100] * COUNT)
        if of == "spool":
            reader = stack.enter_context(spool.reader())
        elif of == "view":
            view = stack.enter_context(mm.SpoolView(tmp_path / "s"))
            reader = stack.enter_context(view.reader())
        else:
            reader = stack.enter_context(stack.enter_context(spool.cursor("c")).reader())
        assert all_of(reader, how) == list(range(1, COUNT + 1))


def test_what_was_broken_off_is_forgotten_by_seek(tmp_path: Path) -> None:
    """And by nothing else: `seq` says that it is next."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        spool.append_many([b"x" * 100] * COUNT)
        for _ in range(EACH - 1):
            reader.read(2)
        seq = reader.seq
        with pytest.raises(KeyboardInterrupt):
            reader.read(2)
        assert reader.seq == seq
        reader.seek(1)
        assert [message.seq for message in reader.read(2)] == [1, 2]
