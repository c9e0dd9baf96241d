"""Publishers with groups, and their members, are killed by SIGKILL, again and again: each message
that was kept comes to a member, and is known again where it comes twice.

Twenty rounds here; `make crash` has 1,000. Not here: producers of a Push (test_push_spool_kill.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import PLAIN_ROUNDS, SEED
from tests.support.forks import Forks
from tests.support.grouped import SHORT_S
from tests.support.pairs import WAIT_S, free_endpoints
from tests.support.programs import lines_of

LINES_MAX = 200
"""Of what a publisher says, after which it is killed."""
SOON: dict[str, Any] = {"reconnect_min": 0.005, "reconnect_max": 0.05}


@contextmanager
def publishing(forks: Forks, path: Path, level: str, endpoint: str) -> Iterator[Iterator[bytes]]:
    """A publisher in a process of its own, and what it says; at the end it is killed."""
    arguments = (path, level, endpoint)
    with forks.running("tests.crash.publisher", *arguments, said=True) as process:
        yield lines_of(process)


def some(subs: list[mm.Sub], got: dict[int, tuple[int, int]]) -> None:
    """Receive what there is, and look that a number has one `seq` for ever."""
    for sub in subs:
        try:
            while True:
                message = sub.recv(timeout=SHORT_S)
                assert message.seq is not None
                assert got.setdefault(int(message), message.seq) == message.seq
        except mm.TimedOutError:
            pass


@pytest.mark.parametrize("level", ["os", "disk"])
def test_a_publisher_that_is_killed_loses_nothing_of_a_group(
    forks: Forks, tmp_path: Path, level: str
) -> None:
    """Whatever its members were about; these come and go as well."""
    dice = random.Random(f"{SEED} {level} groups")
    (endpoint,) = free_endpoints(1)
    kept, got = 0, {}
    for _ in range(PLAIN_ROUNDS):
        options = {"connect": endpoint, "topics": "", "group": "w", **SOON}
        subs = [mm.Sub(**options) for _ in range(1 + dice.randrange(3))]
        with publishing(forks, tmp_path / "s", level, endpoint) as lines:
            for _ in range(1 + dice.randrange(LINES_MAX)):
                kept = int(next(lines))
            some(subs, got)
        for sub in subs:
            sub.close()
    with (
        mm.Spool(tmp_path / "s") as spool,
        mm.Pub(bind=endpoint, spool=spool) as pub,
        mm.Sub(connect=endpoint, topics="", group="w") as last,
    ):
        assert spool.info().last_seq >= kept
        while pub.groups()[0].lag:
            some([last], got)
        assert sorted(got) == list(range(spool.info().last_seq))
        assert {number + 1: seq for number, (_, seq) in got.items()} == {
            number + 1: number + 1 for number in got
        }


@pytest.mark.parametrize("how", ["wait", "groups"])
@pytest.mark.parametrize("level", ["os", "disk"])
def test_a_group_that_was_told_of_is_there_in_the_next_life(
    forks: Forks, tmp_path: Path, level: str, how: str
) -> None:
    """With what was kept since, however soon its publisher is killed."""
    for life in range(PLAIN_ROUNDS // 3):
        path, (endpoint,) = tmp_path / str(life), free_endpoints(1)
        arguments = (path, level, endpoint, how)
        with (
            mm.Sub(connect=endpoint, topics="t", group="w", ack="manual", **SOON),
            forks.running("tests.crash.founder", *arguments, said=True) as process,
        ):
            assert list(lines_of(process)) == [], "it says nothing, and dies"
        with (
            mm.Spool(path) as spool,
            mm.Pub(bind=endpoint, spool=spool) as pub,
        ):
            assert spool.info().last_seq == 1
            assert [(one.name, one.lag) for one in pub.groups()] == [("w", 1)], life
            with mm.Sub(connect=endpoint, topics="t", group="w", **SOON) as sub:
                assert sub.recv(timeout=WAIT_S) == b"kept"
