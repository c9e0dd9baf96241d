"""Row F24 of the table of faults (matrix.py): a node is at another address, as its own changed or
as it was started again elsewhere; who follows finds it by the mesh, and goes on where it was.

Not here: services that are announced at another endpoint (tests/mesh/test_mesh_moves.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.crowd import Crowd
from tests.support.feeding import World
from tests.support.meshes import WAIT_S, Process, eventually, following, node, node_of, urls

SEED = "tcp://10.78.0.1:7450"
PART = 200
"""Messages before and behind what happens."""
AFTER = 50
"""Messages that are done before a publisher is killed."""


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    """A boss, a worker and somebody else, each on a machine of its own; the boss has a spool."""
    with Crowd(3) as made:
        yield made


class Work:
    """A Push with a spool that follows, and the worker that it follows."""

    def __init__(self, crowd: Crowd, folder: Path) -> None:
        self.crowd, self._sent = crowd, 0
        crowd.start("boss", 0, bind="tcp://0.0.0.0:7450")
        crowd.start("other", 2, SEED)
        self.begin()
        crowd.tell("boss", "follow", "work", {"spool": str(folder / "s")})

    def begin(self) -> float:
        """Start the worker, where its machine is now; return when."""
        at = self.crowd.start("worker", 1, SEED)
        self.crowd.tell("worker", "offer", "work")
        return at

    def send(self) -> None:
        """Send some; return as the spool has them."""
        self.crowd.told.pop(("boss", "sent"), None)
        self.crowd.tell("boss", "push", "work", self._sent, PART)
        self.crowd.until(lambda: ("boss", "sent") in self.crowd.told, "all is accepted")
        self._sent += PART

    def connected(self) -> float:
        """Wait until the Push is connected where the worker is now, and nowhere else."""
        crowd, here = self.crowd, f"//{self.crowd.do('address', 1)}:"
        there = crowd.peers["boss"]
        crowd.until(lambda: len(there) == 1 and here in str(there), "the Push is connected")
        return crowd.changed["boss"]

    def done(self) -> None:
        """All is acknowledged, and the worker got each."""
        self.crowd.tell("boss", "done", "work")
        self.crowd.until(lambda: ("boss", "done") in self.crowd.told, "all is acknowledged")
        assert self.crowd.told["boss", "done"] == ["work", 0]
        got = self.crowd.got["worker", "work"]
        assert set(got) == {str(number) for number in range(self._sent)}


def test_f24_a_worker_whose_address_changes_is_followed_and_gets_all(
    crowd: Crowd, tmp_path: Path
) -> None:
    """Also what was on its way to where it was."""
    work = Work(crowd, tmp_path)
    work.connected()
    work.send()
    at = crowd.at("move", 1)
    work.send()
    print(f"connected to the new address after {work.connected() - at:.2f} s")
    work.done()
    assert crowd.nodes("worker") == {crowd.ids["worker"]}


def test_f24_a_worker_that_starts_again_at_another_address_gets_the_rest(
    crowd: Crowd, tmp_path: Path
) -> None:
    """As a pod does: it is killed, its machine gets another address, and it comes again."""
    work = Work(crowd, tmp_path)
    work.connected()
    work.send()
    crowd.signal("worker", "SIGKILL")
    crowd.do("move", 1)
    work.send()
    at = work.begin()
    print(f"connected to the next life after {work.connected() - at:.2f} s")
    work.done()
    assert len(crowd.nodes("worker")) == 2


def test_f24_a_publisher_that_starts_again_elsewhere_is_followed_from_the_cursor(
    world: World, tmp_path: Path
) -> None:
    """Who is in a group goes on where it was acknowledged: nothing is left out, or done twice."""
    window, effects = mm.MemoryDedupeWindow(limit=10_000), list[int]()
    with node("seed") as seed, node_of(world, "a", seed.endpoint) as a:
        options = {"topics": "", "group": "g", "ack": "manual"}
        with following(world, a, "feed", "Sub", **options) as sub:

            def do(upto: int) -> None:
                while len(effects) < upto:
                    message = sub.recv(timeout=WAIT_S)
                    if window.add(message):
                        effects.append(int(bytes(message)))
                    message.ack()

            places, path = [], str(tmp_path / "s")
            for life in range(2):
                with Process("p", seed.endpoint) as publisher:
                    new = "" if life else "g"
                    where = publisher.do("publish", "feed", "tcp://127.0.0.1:0", path, new)
                    places.append(where)
                    sub.wait_for_peers(1, timeout=WAIT_S)
                    last = publisher.do("put", PART)
                    do(AFTER if life == 0 else last)
            assert places[0] != places[1]
            assert effects == [*range(1, 2 * PART + 1)]
            eventually(lambda: places[0] not in urls(sub))
