"""A spool, and what is made of it, may be closed below a call of the same thread: by a signal's
function at any line of that call, and by what the call called.

Not here: closing from another thread (tests/unit/test_spool_life.py). Law: the call ends as if it
had been closed just before or behind it, and what has a number is kept.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import EINTR, lib
from meshmsg._binding.errors import ClosedError
from tests.support.later import Later
from tests.support.pairs import wait_until
from tests.support.points import at_point
from tests.support.signals import handled
from tests.support.spooled import body, small

_LINES_MAX = 2000


def full(path: Path) -> mm.Spool:
    """A spool that has no room, and waits for some."""
    spool = small(path, max_messages=20, overflow="block")
    spool.append_many([body(seq) for seq in range(1, 21)])
    return spool


def of_spools(code: CodeType) -> bool:
    """Whether it is in one of the spool's files."""
    return f"{os.sep}_spool{os.sep}" in code.co_filename


def signal_once(inside: Callable[[], bool]) -> Later:
    """Send it to this process as soon as that is so."""

    def send() -> None:
        wait_until(inside)
        os.kill(os.getpid(), signal.SIGUSR1)

    return Later(send)


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "append": lambda spool, reader, cursor: spool.append(bytearray(b"x")),  # bytes are put natively
    "append_many": lambda spool, reader, cursor: spool.append_many([b"x", b"y"]),
    "flush": lambda spool, reader, cursor: spool.flush(),
    "info": lambda spool, reader, cursor: spool.info(),
    "read": lambda spool, reader, cursor: spool.read(1),
    "reader": lambda spool, reader, cursor: reader.read(3),
    "iteration": lambda spool, reader, cursor: list(reader),
    "reader_batch": lambda spool, reader, cursor: reader.read_batch(3),
    "cursor": lambda spool, reader, cursor: (cursor.done(1), cursor.save()),
    "cursor_reader": lambda spool, reader, cursor: cursor.reader().read(3),
    "cursors": lambda spool, reader, cursor: spool.cursors(),
}


@pytest.mark.parametrize(
    ("call", "closed"),
    [
        *((call, "spool") for call in CALLS),
        *((call, "reader") for call in ("reader", "iteration", "reader_batch")),
        *((call, "cursor") for call in ("cursor", "cursor_reader")),
    ],
)
def test_it_may_be_closed_at_each_line_of_a_call(tmp_path: Path, call: str, closed: str) -> None:
    """It comes back or raises ClosedError; then the spool can be opened, and nothing is lost."""
    number, was_hit = 0, True
    with small(tmp_path / "s") as spool:
        spool.append_many([body(1), body(2)])
    while was_hit:
        number += 1
        assert number < _LINES_MAX
        with small(tmp_path / "s") as spool, spool.reader() as reader, spool.cursor("one") as at:
            before = spool.info().last_seq
            what = {"spool": spool, "reader": reader, "cursor": at}[closed]
            with at_point(number, what.close, of_spools) as hit, suppress(ClosedError):
                CALLS[call](spool, reader, at)
            was_hit = hit()
            assert len(spool._inside) == 0
            if was_hit and closed == "spool":
                assert spool._pointer is None
                assert not spool._readers
                assert not spool._cursors
            if was_hit and closed == "reader":
                assert len(spool._readers) == len(spool._idle_readers)
            if was_hit and closed == "cursor":
                assert not spool._cursors
        with small(tmp_path / "s") as again:
            assert not again.recovery.unclean
            assert before <= again.info().last_seq <= before + 2
    assert number > 10


@pytest.mark.parametrize("call", ["append", "append_many", "read", "read_batch", "flush"])
def test_a_signals_function_may_close_what_its_thread_waits_in(tmp_path: Path, call: str) -> None:
    """The call raises ClosedError, and the spool is closed."""
    spool = full(tmp_path / "s")
    reader = spool.reader(21)

    def interrupted(pointer: Any, ms: int) -> int:
        signal.raise_signal(signal.SIGUSR1)
        assert lib.mm_spool_flush(pointer, 0, 0, 0) == lib.MM_OK  # it is not freed yet
        return EINTR

    waits: Callable[[], Any] = {
        "append": lambda: spool.append(b"x"),
        "append_many": lambda: spool.append_many([b"x", b"y"]),
        "read": lambda: reader.read(timeout=None),
        "read_batch": lambda: reader.read_batch(timeout=None),
        "flush": lambda: spool._until(interrupted, None, "waiting for the disk"),
    }[call]
    with handled(spool.close):
        sent = None if call == "flush" else signal_once(lambda: len(spool._inside) > 0)
        with pytest.raises(ClosedError):
            waits()
        if sent is not None:
            assert sent.result() is None
    with small(tmp_path / "s") as again:
        assert not again.recovery.unclean
        assert again.info().last_seq == 20


@pytest.mark.parametrize("closed", ["reader", "view"])
def test_a_signals_function_may_close_the_reader_or_view_that_it_reads(
    tmp_path: Path, closed: str
) -> None:
    """The read raises ClosedError; the spool goes on."""
    with small(tmp_path / "s") as spool, mm.SpoolView(tmp_path / "s") as view:
        of: Any = view if closed == "view" else spool
        reader = of.reader()
        with handled(view.close if closed == "view" else reader.close):
            sent = signal_once(lambda: len(of._inside) > 0)
            with pytest.raises(ClosedError):
                reader.read(timeout=None)
            assert sent.result() is None
        assert not of._readers
        assert spool.append(b"x") == 1


def test_others_in_it_are_woken_and_the_last_one_frees_it(tmp_path: Path) -> None:
    """Closed below a call of one thread, while two others wait in it."""
    spool = full(tmp_path / "s")
    others = [Later(lambda: spool.append(b"x")) for _ in range(2)]
    wait_until(lambda: len(spool._inside) == 2)
    with spool._in_use() as pointer:
        spool.close()
        assert [type(one.error()) for one in others] == [ClosedError] * 2
        assert lib.mm_spool_flush(pointer, 0, 0, 0) == lib.MM_OK
        with pytest.raises(mm.SpoolLockedError):
            small(tmp_path / "s")
        with pytest.raises(ClosedError):
            spool.info()
    with small(tmp_path / "s") as again:
        assert not again.recovery.unclean


def test_who_closes_it_from_elsewhere_waits_for_the_one_below_whose_call_it_was_closed(
    tmp_path: Path,
) -> None:
    """Also for the end of that closing."""
    spool = small(tmp_path / "s")
    with spool._in_use():
        spool.close()
        other = Later(spool.close)
        wait_until(lambda: bool(spool._inside._out._waiters))  # type: ignore[attr-defined]
    assert other.result() is None
    small(tmp_path / "s").close()


def test_messages_that_close_the_spool_end_append_many(tmp_path: Path) -> None:
    """What they gave before is put or not, as its error says."""
    spool = small(tmp_path / "s")

    def closing() -> Iterator[bytes]:
        yield body(1)
        spool.close()
        yield body(2)

    with pytest.raises(ClosedError) as caught:
        spool.append_many(closing())
    with small(tmp_path / "s") as again:
        assert again.info().last_seq == vars(caught.value)["sent"]


def test_the_next_close_raises_what_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As the last call ended it; the log has it at once. Once only."""
    spool = small(tmp_path / "s")
    free = spool._free
    monkeypatch.setattr(spool, "_free", lambda pointer: (free(pointer), (lib.MM_EIO, 0))[1])
    with spool._in_use():
        spool.close()
        assert not caplog.records
    assert "the disk failed" in caplog.text
    with pytest.raises(mm.SpoolFailedError):
        spool.close()
    spool.close()
