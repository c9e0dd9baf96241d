"""Rows F2 to F8, F25 of the table of faults (matrix.py): processes that are killed at a moment
that is known, and what comes back in their place.

Not here: kills at moments that nobody knows (tests/crash).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import meshmsg as mm
from tests.crash.booker import connect
from tests.support.feeding import UP
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.programs import lines_of, running
from tests.support.windows import make_effects

COUNT = 30
BEATS: dict[str, Any] = {"heartbeat_interval": 0.2, "heartbeat_timeout": 5.0, "reconnect_max": 0.2}


def free() -> str:
    """An endpoint that is free, on an address that nobody else uses."""
    with mm.Pull(bind=of_its_own()) as pull:
        return pull.endpoint


def command(module: str, *arguments: object) -> list[str]:
    """A program of the tests of kills."""
    return [sys.executable, "-m", f"tests.crash.{module}", *map(str, arguments)]


def kill(process: subprocess.Popen[Any]) -> None:
    """End it as the kernel does; it is gone then."""
    process.send_signal(signal.SIGKILL)
    assert process.wait(WAIT_S) == -signal.SIGKILL


@contextmanager
def put(folder: Path, endpoint: str, workers: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """A producer that has said twice what is kept; it is killed at the end."""
    arguments = command("producer", folder, "disk", "many", endpoint, workers)
    with running(arguments, stdout=subprocess.PIPE) as process:
        assert len(list(islice(lines_of(process), 2))) == 2
        yield process
        kill(process)


def received(pull: Any) -> dict[int, tuple[int, int]]:
    """Receive some, and acknowledge nothing: their numbers, and what they are known by."""
    found: dict[int, tuple[int, int]] = {}
    while len(found) < COUNT:
        message = pull.recv(timeout=WAIT_S)
        assert found.setdefault(int(message), message.seq) == message.seq
    return found


def test_f02_f03_a_message_keeps_its_name_whenever_its_producer_dies(tmp_path: Path) -> None:
    """Before it was ever sent, and behind that, not acknowledged; it comes again by that name."""
    endpoint, lives = free(), []
    with put(tmp_path / "s", endpoint):
        pass  # killed with nobody there
    for _ in range(2):
        with mm.Pull(connect=endpoint, ack="manual", prefetch=COUNT, **BEATS) as pull:
            with put(tmp_path / "s", endpoint, workers=1):
                lives.append(received(pull))
    assert list(lives[0]) == list(range(COUNT))
    assert lives[0] == lives[1]


def test_f04_what_was_done_and_not_noted_comes_again_and_is_known(tmp_path: Path) -> None:
    """The note of what is done is as it was before: as if the producer had died in front of it."""
    window = mm.MemoryDedupeWindow(limit=1_000)
    spool, new = tmp_path / "s", Counter[bool]()
    for life in range(2):
        with (
            mm.Spool(spool) as opened,
            mm.Push(bind=UP, spool=opened) as push,
            mm.Pull(connect=push.endpoint, ack="manual") as pull,
        ):
            if life == 0:
                push.send_many([b"x"] * COUNT)
                shutil.copytree(spool / "cursors", tmp_path / "before")
            for _ in range(COUNT):
                message = pull.recv(timeout=WAIT_S)
                new[window.add(message)] += 1
                assert message.ack()
            push.drain(timeout=WAIT_S).raise_for_loss()
        if life == 0:
            shutil.rmtree(spool / "cursors")
            shutil.move(tmp_path / "before", spool / "cursors")
    assert new == {True: COUNT, False: COUNT}


def test_f07_what_was_acknowledged_does_not_come_again(tmp_path: Path) -> None:
    """A worker is killed once its sender knows; what it had said nothing of goes to the next."""
    with ExitStack() as stack:
        spool = stack.enter_context(mm.Spool(tmp_path / "s"))
        push = stack.enter_context(mm.Push(bind=UP, spool=spool, **BEATS))
        notes = tmp_path / "notes"
        first = stack.enter_context(
            running(command("worker", push.endpoint, notes, "manual", "never", 0))
        )
        push.send_many([b"%d" % number for number in range(COUNT)], confirm=True).wait(
            timeout=WAIT_S
        )
        kill(first)
        push.send(b"behind")
        with mm.Pull(connect=push.endpoint, ack="manual") as second:
            message = second.recv(timeout=WAIT_S)  # what comes again would come before it
            assert message == b"behind"
            assert message.ack()
            push.drain(timeout=WAIT_S).raise_for_loss()
            assert second.stats().parsed_messages == 1
        assert set(map(int, notes.read_bytes().split())) == set(range(COUNT))
        assert push.stats().acked_messages == COUNT + 1


def test_f08_both_are_killed_at_once_and_nothing_is_lost_or_done_twice(tmp_path: Path) -> None:
    """Both are stopped, wherever they are, and killed; another pair goes on."""
    endpoint, database = free(), str(tmp_path / "file")
    worker_of = command("booker", endpoint, database, 1_000, "never", 0)
    with closing(connect(database)) as connection:
        make_effects(connection)

        def done() -> list[int]:
            return [row[0] for row in connection.execute("SELECT number FROM effects")]

        for _ in range(3):
            with running(worker_of) as worker:
                with put(tmp_path / "s", endpoint, workers=1) as producer:
                    before = len(done())
                    wait_until(lambda before=before: len(done()) > before)
                    for one in (worker, producer):
                        one.send_signal(signal.SIGSTOP)
                    kill(worker)
        with (
            running(worker_of),
            mm.Spool(tmp_path / "s") as spool,
            mm.Push(bind=endpoint, spool=spool) as push,
        ):
            last = spool.info().last_seq
            push.drain(timeout=WAIT_S).raise_for_loss()
        assert sorted(done()) == list(range(last))


def test_f25_a_producer_that_lost_its_disk_is_another_one(tmp_path: Path) -> None:
    """Of the same name and address, with the same numbers: nothing of it is taken for known."""
    endpoint, lives = free(), []
    for _ in range(2):
        with mm.Pull(connect=endpoint, ack="manual", prefetch=COUNT, **BEATS) as pull:
            with put(tmp_path / "s", endpoint, workers=1):
                lives.append(received(pull))
        shutil.rmtree(tmp_path / "s")
    assert list(lives[0]) == list(lives[1]) == list(range(COUNT))
    assert not set(lives[0].values()) & set(lives[1].values())
