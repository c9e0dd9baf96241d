"""What stands for something open in this process is not copied: its copy would close it as it goes.

Not here: sockets (test_process.py and others), messages and batches, which may be copied.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.looped import run

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
}
THINGS = ("spool", "reader", "cursor", "lease", "view", "view's reader", "receipt", "receipts")


def made(stack: ExitStack, folder: Path, what: str) -> Any:
    """One of a spool that has a message."""
    spool = stack.enter_context(mm.Spool(folder))
    spool.append(b"1")
    if what in ("receipt", "receipts"):
        push = stack.enter_context(mm.Push(spool=spool))
        many = what == "receipts"
        return push.send_many([b"2"], confirm=True) if many else push.send(b"2", confirm=True)
    view = stack.enter_context(mm.SpoolView(folder)) if what.startswith("view") else None
    if view is not None:
        return view if what == "view" else view.reader()
    return {
        "spool": lambda: spool,
        "reader": spool.reader,
        "cursor": lambda: spool.cursor("c"),
        "lease": lambda: spool.lease("l", 1, 9),
    }[what]()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", THINGS)
def test_it_is_refused_and_goes_on(tmp_path: Path, what: str, way: str) -> None:
    """By its name; and nothing happened to the original."""
    with ExitStack() as stack:
        one = made(stack, tmp_path / "s", what)
        with pytest.raises(TypeError, match=f"a {type(one).__name__} cannot be copied or pickled"):
            WAYS[way](one)
        assert repr(one)
        if what in ("reader", "view's reader"):
            assert [bytes(message) for message in one.read()] == [b"1"]


@pytest.mark.parametrize("way", WAYS)
def test_so_it_is_with_asyncio(tmp_path: Path, way: str) -> None:
    """Of the same names."""

    async def story() -> None:
        async with aio.Spool(tmp_path / "s") as spool:
            await spool.append(b"1")
            cursor = await spool.cursor("c")
            for one in (spool, spool.reader(), cursor):
                with pytest.raises(TypeError, match="cannot be copied or pickled"):
                    WAYS[way](one)

    run(story)
