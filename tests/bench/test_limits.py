"""What counts in a measurement, and how long it may take: times, limits, a broker's share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.commands.run import Played
from meshmsg.bench.ends.works import passed, recv_throughput, send_throughput, whole_way
from meshmsg.bench.measure import launch
from meshmsg.bench.measure.launch import LIMIT, Measured, measure, processes, time_for
from meshmsg.bench.measure.stage import Consumers, limit_of, produce
from meshmsg.bench.peers.mesh import Mesh
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.peers.seam import Receiver, Sender
from meshmsg.bench.rivals.brokers import Broker, Running
from meshmsg.bench.scenarios.scenario import Producer, load
from tests.support.scenarios import scenario

SECOND_NS = 1_000_000_000


class Parent:
    """It hears nothing and says nothing."""

    def endpoint(self, url: str) -> None:
        """Nobody asks where."""

    def ready(self, *, waits: bool) -> None:
        """Nobody waits."""

    def hear(self, word: str) -> None:
        """Nobody says it."""


class Prefetched(Receiver, Sender):
    """An end that has all messages in hand: taking them needs no time."""

    def recv(self) -> bytes:
        """One."""
        return b""

    def recv_count(self, count: int) -> None:
        """So many."""

    def send(self, body: bytes) -> None:
        """One."""

    def send_count(self, body: bytes, count: int) -> None:
        """So many."""

    def close(self) -> None:
        """Nothing is open."""


class Ready(Mesh):
    """A peer with such ends."""

    def sender(self, task: Task) -> Sender:
        """One."""
        return Prefetched()

    def receiver(self, task: Task) -> Receiver:
        """One."""
        return Prefetched()


def test_a_receiver_that_has_a_few_messages_in_hand_is_not_the_quicker_for_it() -> None:
    """Its time counts from when the sender began."""
    task = Task("thr", "meshmsg", True, "", 64, 200, 1)
    _, received = recv_throughput(Ready(), task, Parent())
    sent = passed(task, received["end_ns"] - SECOND_NS, received["end_ns"] - SECOND_NS // 2)
    found = whole_way(sent, received)
    assert (found["count"], found["seconds"]) == (200, 1.0)
    assert received["seconds"] < found["seconds"]


def test_the_sender_tells_when_it_began() -> None:
    """Before its first message, which is before all was there."""
    _, sent = send_throughput(Ready(), Task("thr", "meshmsg", False, "", 64, 200, 1), Parent())
    _, received = recv_throughput(Ready(), Task("thr", "meshmsg", True, "", 64, 200, 1), Parent())
    assert sent["start_ns"] <= sent["end_ns"] <= received["end_ns"]
    assert sent["count"] == received["count"] == 200


def test_a_receiver_on_another_machine_tells_the_time_of_the_senders() -> None:
    """Its clock is ahead by so much."""
    task = Task("thr", "meshmsg", True, "", 64, 10, offset_ns=5 * SECOND_NS)
    received = passed(task, 7 * SECOND_NS, 8 * SECOND_NS)
    sent = passed(Task("thr", "meshmsg", False, "", 64, 10), 2 * SECOND_NS, 3 * SECOND_NS)
    assert whole_way(sent, received)["seconds"] == 1.0


def test_clocks_that_disagree_do_not_make_an_end_before_the_beginning() -> None:
    """They are compared as well as they can be."""
    task = Task("thr", "meshmsg", True, "", 64, 10)
    assert whole_way(passed(task, 9, 10), passed(task, 1, 2))["seconds"] > 0


def test_other_kinds_are_left_alone() -> None:
    """They have no such times."""
    told = {"count": 3, "seconds": 2.0}
    assert whole_way({"count": 3}, told) == told


@pytest.mark.parametrize("transport", ["tcp", "inproc"])
@pytest.mark.parametrize("name", ["meshmsg", "libzmq-c", "raw-c", "raw-python"])
def test_a_rate_of_few_messages_counts_from_the_first_to_the_last(
    name: str, transport: str
) -> None:
    """In every language, over every transport."""
    reason = PEERS[name].why_not("thr", transport)
    if reason:
        pytest.skip(reason)
    found = measure(PEERS[name], transport, Task("thr", name, True, "", 64, 200, 20))
    one, other = found.sender, found.receiver
    assert other["count"] == one["count"] == 200
    assert other["seconds"] == (other["end_ns"] - one["start_ns"]) / 1e9
    assert one["start_ns"] <= one["end_ns"]


def test_a_scenario_counts_it_the_same_way() -> None:
    """Its figures too."""
    made = scenario(measure="throughput", count=50)
    said = produce(made, 0, "meshmsg", False, Consumers(made))
    (sent,), (received,) = said["sent"].values(), said["received"].values()
    figures = Played(made, 0, PEERS["meshmsg"], None)._throughput(said)
    seconds = (received["end_ns"] - sent["start_ns"]) / 1e9
    assert figures["receiver_per_s"] == 50 / seconds


def test_the_time_allowed_grows_with_the_messages() -> None:
    """By number and bytes where there is no schedule; else by the schedule."""
    assert time_for(0, 64, 0) == 0
    assert time_for(1_000_000, 0, 0) == 2000
    assert time_for(1000, 1_000_000, 0) == 2 + 100
    assert time_for(3000, 1024, 100) == 2 * 30


def test_a_slow_broker_has_time_for_a_million() -> None:
    """A thousand a second is slow, and no failure."""
    pytest.importorskip("yaml", reason="pyyaml is not installed")
    assert limit_of(load("million").steps[0]) > 1_000_000 / 1000 + LIMIT


def test_schedules_run_together_and_the_rest_takes_turns() -> None:
    """In a step of several."""
    step = scenario().steps[0]
    slow = Producer("a", "c", 100, count=500)
    paced = Producer("b", "c", 100, rate=10.0, seconds=5.0)
    assert limit_of(step_of(step, slow, slow)) == LIMIT + 2 * (1 + 0.005)
    assert limit_of(step_of(step, paced, paced)) == LIMIT + 10
    assert limit_of(step_of(step, paced, slow)) == LIMIT + 10 + 1 + 0.005


def step_of(step: Any, *producers: Producer) -> Any:
    """The same with others in it."""
    return replace(step, producers=producers)


def test_a_measurement_gets_the_time_its_messages_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless its command says how long."""
    limits: list[float] = []

    @contextmanager
    def noted(limit: float) -> Iterator[Any]:
        limits.append(limit)
        raise BenchError("enough")
        yield

    monkeypatch.setattr(launch, "processes", noted)
    task = Task("thr", "meshmsg", True, "", 0, 1_000_000)
    for more in ((), (7.0,)):
        with pytest.raises(BenchError, match="enough"):
            measure(PEERS["meshmsg"], "tcp", task, *more)
    assert limits == [LIMIT + 2000, 7.0]


def test_what_took_too_long_says_what_was_allowed() -> None:
    """It is no failure of its own making, and no silent end."""
    hangs = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with (
        pytest.raises(BenchError, match=r"^was stopped after 0\.1 s, the time allowed"),
        processes(0.1) as start,
    ):
        start(hangs).line()
    with pytest.raises(BenchError, match="ended without a word"), processes() as start:
        start([sys.executable, "-c", ""]).line()


class Spending:
    """A broker's process, as far as its use goes."""

    port = 1

    def __init__(self) -> None:
        self.cpu_s = 0.0

    def use(self) -> dict[str, float]:
        """What it spent."""
        return {"cpu_s": self.cpu_s, "rss_mb": 5.0}


class Lent(Broker):
    """A broker that is there."""

    def __init__(self) -> None:
        super().__init__()
        self.spending = Spending()
        self._server.running = cast("Running", self.spending)

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """It runs already."""
        raise AssertionError


def test_a_broker_is_charged_from_when_all_are_warm() -> None:
    """As the ends are."""
    broker = Lent()
    with broker.place("tcp://127.0.0.1:0"):
        broker.spending.cpu_s = 4.0  # for the warm-up
        broker.measuring()
        broker.spending.cpu_s = 4.5
        assert broker.broker_use()["cpu_s"] == 0.5
    assert broker.broker_use()["cpu_s"] == 0.5
    with broker.place("tcp://127.0.0.1:0"):
        assert broker.broker_use()["cpu_s"] == 0.0


def test_two_places_at_a_broker_may_be_open_at_once() -> None:
    """A step with two consumers has them; the first to close is not the end."""
    broker = Lent()
    with broker.place("tcp://127.0.0.1:0") as first, broker.place("tcp://127.0.0.1:0") as second:
        assert first != second
        broker.measuring()
        broker.spending.cpu_s = 2.0
    assert broker.broker_use()["cpu_s"] == 2.0


class Watched(Mesh):
    """meshmsg with a broker that only notes when it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def measuring(self) -> None:
        """All are warm."""
        self.asked.append("measuring")

    def broker_use(self) -> dict[str, float]:
        """All has arrived."""
        self.asked.append("use")
        return {"cpu_s": 0.25, "rss_mb": 1.0}


def test_a_measurement_says_when_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two ends, and of a step."""
    peer = Watched()
    found: Measured = measure(peer, "tcp", Task("thr", "meshmsg", True, "", 64, 10, 1))
    assert peer.asked == ["measuring", "use"]
    assert found.broker_use == {"cpu_s": 0.25, "rss_mb": 1.0}
    peer.asked.clear()
    monkeypatch.setitem(PEERS, "meshmsg", peer)
    made = scenario()
    assert produce(made, 0, "meshmsg", False, Consumers(made))["broker_use"]["cpu_s"] == 0.25
    assert peer.asked == ["measuring", "use"]


def test_a_broker_is_not_reached_from_another_machine() -> None:
    """Its row says so; on this one any host will do."""
    broker = Lent()
    for url in ("tcp://192.0.2.7:0", "tcp://0.0.0.0:0", "tcp://example.org:0"):
        with pytest.raises(BenchError, match="only reached from its own machine"):
            broker.place(url).__enter__()
    for url in ("tcp://127.0.0.1:0", "tcp://127.0.0.2:0", "tcp://localhost:0"):
        with broker.place(url) as place:
            assert place.startswith("tcp://127.0.0.1:1/bench")
