"""Spools that threads share, that are closed while somebody waits, forked, or open twice."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._spool import spool as spool_module
from tests.support.forked import in_child, refused
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.programs import lines_of, running
from tests.support.spooled import bodies, body, fill, small


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_threads_share_a_spool(tmp_path: Path, level: Any) -> None:
    """Each one's messages are there once, in its order, with the numbers that it was told; a reader
    sees them as they come."""
    threads, each = 6, 60
    told: dict[int, bytes] = {}
    spool = small(tmp_path / "s", durability=level)

    def put(number: int) -> None:
        for at in range(each):
            one = b"%d %d" % (number, at)
            if at % 3:
                told[spool.append(one, wait=at % 2 == 0) or 0] = one
            else:
                many = [one + b" a", one + b" b"]
                got = spool.append_many(many)
                told[got[0]], told[got[-1]] = many

    writing = [Later(partial(put, number)) for number in range(threads)]
    total = threads * (each + each // 3)
    read: list[Any] = []
    with spool.reader() as reader:
        while len(read) < total:
            more = reader.read(timeout=WAIT_S)
            assert more
            read += more
    assert [one.error() for one in writing] == [None] * threads
    assert [one.seq for one in read] == list(range(1, total + 1))
    assert {one.seq: one for one in read} == told
    for number in range(threads):
        mine = [one.split()[1] for one in read if one.startswith(b"%d " % number)]
        assert mine == sorted(mine, key=int)
    spool.close()
    with small(tmp_path / "s") as again:
        assert bodies(again) == read


def test_the_numbers_of_many_are_those_of_ones_own(tmp_path: Path) -> None:
    """The first and the last message of each call, though others come in between."""
    spool = small(tmp_path / "s", durability="buffered")
    got: dict[int, range] = {}

    def put(number: int) -> None:
        got[number] = spool.append_many([b"%d %d" % (number, at) for at in range(4000)])

    writing = [Later(partial(put, number)) for number in range(4)]
    assert [one.error() for one in writing] == [None] * 4
    spool.flush()
    for number, numbers in got.items():
        with spool.reader(numbers[0]) as first, spool.reader(numbers[-1]) as last:
            assert first.read(1) == [b"%d 0" % number]
            assert last.read(1) == [b"%d 3999" % number]
    spool.close()


def full(path: Path, **options: Any) -> mm.Spool:
    """Return a spool that has no room for another message."""
    spool = small(path, overflow="block", max_messages=20, **options)
    spool.append_many(body(seq) for seq in range(1, 21))
    return spool


@pytest.mark.parametrize("call", ["append", "append_many", "read"])
def test_closing_ends_who_waits(tmp_path: Path, call: str) -> None:
    """For room, or for a message: ClosedError; and what was kept is there."""
    spool = full(tmp_path / "s")
    reader = spool.reader(21)
    wait = {
        "append": lambda: spool.append(b"x"),
        "append_many": lambda: spool.append_many([b"x", b"y"]),
        "read": lambda: reader.read(timeout=None),
    }[call]
    waiting = [Later(wait) for _ in range(1 if call == "read" else 3)]
    wait_until(lambda: len(spool._inside) >= len(waiting))
    spool.close()
    for one in waiting:
        error = one.error()
        assert isinstance(error, mm.ClosedError)
        if call != "read":
            assert vars(error)["sent"] == 0
    with small(tmp_path / "s") as again:
        assert not again.recovery.unclean
        assert bodies(again) == [body(seq) for seq in range(1, 21)]


def test_closing_a_reader_ends_who_reads(tmp_path: Path) -> None:
    """In another thread; the spool goes on."""
    with small(tmp_path / "s") as spool:
        reader = spool.reader()
        waiting = Later(lambda: reader.read(timeout=None))
        wait_until(lambda: len(spool._inside))
        reader.close()
        assert isinstance(waiting.error(), mm.ClosedError)
        assert spool.append(b"x") == 1


def test_many_may_close_at_once(tmp_path: Path) -> None:
    """While others put: each gets its number, or ClosedError; what has one is kept."""
    spool = small(tmp_path / "s")
    kept: list[int] = []

    def put() -> None:
        while True:
            kept.append(spool.append(b"x") or 0)

    writing = [Later(put) for _ in range(3)]
    wait_until(lambda: len(kept) > 50)
    closing = [Later(spool.close) for _ in range(4)]
    assert [one.error() for one in closing] == [None] * 4
    errors = [one.error() for one in writing]
    assert all(isinstance(error, mm.ClosedError) for error in errors)
    put = len(kept) + sum(vars(error)["sent"] for error in errors)
    with small(tmp_path / "s") as again:
        assert again.info().last_seq == put
        assert sorted(kept)[-1] <= put


def test_what_is_closed_says_so(tmp_path: Path) -> None:
    """Each call; closing again is nothing, and neither is closing a reader of it."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        other = spool.reader()
        other.close()
        other.close()
        for call in (other.read, lambda: other.seek(1), lambda: list(other)):
            with pytest.raises(mm.ClosedError, match="reader was closed"):
                call()
        another = spool.reader()  # perhaps where the closed one was
        other.close()
        assert another.read() == []
        spool.close()
        spool.close()
        calls: list[Callable[[], object]] = [
            lambda: spool.append(b"x"),
            lambda: spool.append(b"x", wait=False),
            lambda: spool.append_many([b"x"]),
            spool.flush,
            spool.reader,
            lambda: spool.reader(1),
            lambda: spool.trim(1),
            spool.info,
            reader.read,
            lambda: reader.seek(1),
        ]
        for call in calls:
            with pytest.raises(mm.ClosedError, match="closed"):
                call()
        assert "closed" in repr(spool)


def test_what_nobody_holds_is_closed(tmp_path: Path) -> None:
    """Readers, and spools with readers: nothing stays open, and it can be opened again."""
    spool = small(tmp_path / "s")
    spool.append(b"x")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        assert list(spool.reader()) == [b"x"]
    gc.collect()
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)  # the spool makes a file itself
    reader = spool.reader()
    del spool
    assert reader.read() == [b"x"]  # which holds it
    del reader
    gc.collect()
    with small(tmp_path / "s") as again:
        assert not again.recovery.unclean


def test_a_spool_is_open_once(tmp_path: Path) -> None:
    """Here or elsewhere: the error says who has it, and the one that has it goes on."""
    with small(tmp_path / "s") as spool:
        with pytest.raises(mm.SpoolLockedError, match=f"process {os.getpid()} on ") as caught:
            small(tmp_path / "s")
        assert caught.value.owner.startswith(f"process {os.getpid()} on ")
        code = f"import meshmsg as mm; mm.Spool({str(tmp_path / 's')!r})"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
        assert f"SpoolLockedError: {tmp_path}/s is open: process {os.getpid()} on " in done.stderr
        assert spool.append(b"x") == 1
        assert bodies(spool) == [b"x"]
    small(tmp_path / "s").close()


def test_a_forked_child_harms_nothing(tmp_path: Path) -> None:
    """Each call raises ForkedError there, closing does nothing, and the parent goes on; also where
    a thread of the parent was in a call."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        spool.append(b"one")
        assert reader.read() == [b"one"]
        waiting = Later(lambda: reader.read(timeout=None))
        wait_until(lambda: len(spool._inside))

        def work() -> bool:
            calls: list[Callable[[], object]] = [
                lambda: spool.append(b"x"),
                lambda: spool.append_many([b"x"]),
                spool.flush,
                spool.reader,
                lambda: spool.trim(1),
                spool.info,
                reader.read,
                lambda: reader.seek(1),
            ]
            done = refused(*calls)
            reader.close()
            spool.close()
            try:
                small(tmp_path / "s")
            except mm.SpoolLockedError as error:  # the parent has it
                return done and str(os.getppid()) in error.owner
            return False

        assert in_child(work)
        assert spool.append(b"two") == 2
        assert waiting.error() is None
        assert bodies(spool) == [b"one", b"two"]
    with small(tmp_path / "s") as again:
        assert not again.recovery.unclean
        assert bodies(again) == [b"one", b"two"]


@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_forked_child_that_lives_on_keeps_nobody_out(tmp_path: Path, how: str) -> None:
    """When its parent has closed the spool, or was killed, anybody can open it."""
    code = (
        "import os, signal, sys, meshmsg as mm\n"
        f"spool = mm.Spool({str(tmp_path / 's')!r})\n"
        "spool.append(b'x')\n"
        "if os.fork() == 0:\n"
        "    signal.alarm(60)\n"
        "    print(os.getpid(), flush=True)\n"
        "    signal.pause()\n"
        "sys.stdin.readline()\n"
        "spool.close() if sys.argv[1] == 'close' else os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, how]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        child = int(next(lines_of(parent)))
        try:
            parent.stdin.write(b"\n")
            parent.stdin.close()
            parent.wait(WAIT_S)
            with small(tmp_path / "s") as spool:
                assert bodies(spool) == [b"x"]
                assert spool.recovery.unclean == (how == "kill")
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_child_may_have_a_spool_of_its_own(tmp_path: Path) -> None:
    """Also the same one, once the parent has closed it."""
    with small(tmp_path / "s") as spool:
        fill(spool, 2)

    def work() -> bool:
        with small(tmp_path / "s") as mine, small(tmp_path / "t") as other:
            return bool(mine.append(b"x") and other.append(b"y"))

    assert in_child(work)
    with small(tmp_path / "t") as other:
        assert bodies(other) == [b"y"]


@pytest.mark.parametrize("call", ["append", "read"])
def test_a_signal_is_heard_by_who_waits(tmp_path: Path, call: str) -> None:
    """Ctrl-C ends a wait for room, or for a message; the spool goes on."""
    spool = full(tmp_path / "s")
    reader = spool.reader(21)

    def interrupt() -> None:
        wait_until(lambda: len(spool._inside) > 0)
        os.kill(os.getpid(), signal.SIGINT)

    waking = Later(interrupt)
    with pytest.raises(KeyboardInterrupt):
        if call == "append":
            spool.append(b"x", timeout=WAIT_S)
        else:
            reader.read(timeout=WAIT_S)
    assert waking.error() is None
    assert spool.info().last_seq == 20
    spool.close()


def test_a_close_that_a_signal_ended_can_be_called_again(tmp_path: Path) -> None:
    """It waits for a call of another thread; Ctrl-C ends that, and the spool is open as before."""
    spool = small(tmp_path / "s")

    def interrupt() -> None:
        wait_until(lambda: spool._pointer is None)
        os.kill(os.getpid(), signal.SIGINT)

    goes_on = Event()

    def stay() -> None:
        with spool._in_use():
            assert goes_on.wait(WAIT_S)

    staying = Later(stay)
    wait_until(lambda: len(spool._inside) > 0)
    waking = Later(interrupt)
    with pytest.raises(KeyboardInterrupt):
        spool.close()
    goes_on.set()
    assert waking.error() is staying.error() is None
    assert spool.append(b"x") == 1
    spool.close()
    with small(tmp_path / "s") as again:
        assert bodies(again) == [b"x"]


class _Failing:
    """The library, whose opening of a spool fails as the folder's name is synced."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def mm_spool_open(self, *_: object) -> int:
        """Touch nothing in the folder."""
        return int(self._real.MM_EIO)


def test_a_folder_whose_name_may_not_be_durable_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync that failed is not made good by one that does not fail, so the name is a new one; a
    folder that was there, or holds something, stays."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    theirs.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(spool_module, "lib", _Failing(spool_module.lib))
        for path in (mine, theirs):
            with pytest.raises(mm.SpoolFailedError):
                small(path)
    assert not mine.exists()
    assert theirs.is_dir()
    for path in (mine, theirs):
        with small(path) as spool:
            assert spool.append(b"x") == 1
