"""The bar of a fan-out, without a terminal; threads stand in for tasks."""

from __future__ import annotations

import asyncio
import sys

import pytest

import meshmsg as mm
from meshmsg.spark import FanOutStats, ItemError, aio
from meshmsg.spark.fanout import _fanout
from meshmsg.spark.fanout._bar import Bar, teller_of
from tests.spark.support import Session, Threads, fan_out
from tests.support.pairs import WAIT_S

STATS = FanOutStats(submitted=8, done=4, failed=1, open=3, again=2, late=0, workers=1, jobs=1)


def half(item: bytes) -> bytes:
    """What tasks do: some they cannot."""
    if item == b"bad":
        raise ValueError("cannot be done")
    return item


def test_a_bar_says_what_is_settled_of_what_was_submitted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And what failed, and was tried again."""
    pytest.importorskip("tqdm")
    bar = Bar()
    bar(STATS)
    bar.close()
    shown = capsys.readouterr().err
    assert "5/8" in shown
    assert "failed=1, again=2" in shown


def test_all_is_shown_by_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of futures and of `map`; standard output has nothing of it."""
    pytest.importorskip("tqdm")
    with fan_out(monkeypatch, half, progress=True, max_attempts=1) as fan:
        failing = fan.submit(b"bad")
        assert list(fan.map([b"a", b"b"])) == [b"a", b"b"]
        with pytest.raises(ItemError):
            failing.result(WAIT_S)
    shown = capsys.readouterr()
    assert "3/3" in shown.err.splitlines()[-1]
    assert "failed=1" in shown.err.splitlines()[-1]
    assert not shown.out


def test_asyncio_has_it_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the same object's."""
    pytest.importorskip("tqdm")
    monkeypatch.setattr(_fanout, "Jobs", Threads)

    async def main() -> list[bytes]:
        async with aio.FanOut(Session(), half, patience=WAIT_S, progress=True) as fan:
            return [one async for one in fan.map([b"a", b"b"])]

    assert asyncio.run(main()) == [b"a", b"b"]
    assert "2/2" in capsys.readouterr().err.splitlines()[-1]


def test_without_tqdm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any task begins; nothing stays open."""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(mm.ResourceError, match=r"needs tqdm.*pip install 'meshmsg\[progress\]'"):
        with fan_out(monkeypatch, half, progress=True):
            pass


def test_what_is_neither_a_bar_nor_a_function_is_refused() -> None:
    """False and None are none."""
    assert teller_of(None) is None
    assert teller_of(False) is None
    assert teller_of(print) is print
    with pytest.raises(TypeError, match="progress is 'bar'; it is True for a bar"):
        teller_of("bar")
