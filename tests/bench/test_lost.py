"""A side that is not there, or goes away: the other one says so and ends."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

import meshmsg as mm
from meshmsg.bench.base.need import BenchError
from meshmsg.bench.measure import meet
from meshmsg.bench.measure.meet import Distant, Served
from meshmsg.bench.measure.stage import produce
from meshmsg.bench.rivals.brokers import free_port
from tests.support.benched import BENCH
from tests.support.scenarios import scenario

JOIN_S = 60
SCENARIO = scenario()


class Side:
    """A receiver in a thread, and how it ended."""

    def __init__(self) -> None:
        self.served = Served(SCENARIO, "tcp://127.0.0.1:0", insecure=False)
        self.error: BenchError | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.served.serve()
        except BenchError as error:
            self.error = error

    def ended(self) -> str:
        """Wait for its end; what it said."""
        self._thread.join(JOIN_S)
        assert not self._thread.is_alive()
        return str(self.error or "")


@pytest.fixture
def side() -> Iterator[Side]:
    """A receiver; it ends with the test."""
    made = Side()
    yield made
    made.served._rep.close()
    made.ended()


def test_a_sender_with_nobody_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a time that it tells."""
    monkeypatch.setattr(meet, "MEET_S", 0.05)
    with pytest.raises(BenchError, match=r"no receiver at tcp://127.0.0.1:\d+ within 0.05 s"):
        Distant(f"tcp://127.0.0.1:{free_port()}", SCENARIO)


def test_a_sender_that_looks_for_a_receiver_ends_when_told_to() -> None:
    """At once, and without a traceback."""
    pytest.importorskip("yaml", reason="pyyaml is not installed")
    url = f"tcp://127.0.0.1:{free_port()}"
    command = [*BENCH, "run", "million", "--role", "sender", "--meet", url]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while "looking for the receiver" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(meet.MEET_S / 2) == 128 + signal.SIGTERM
        assert "Traceback" not in process.stderr.read()


def test_a_receiver_whose_sender_is_lost_ends_its_consumers_and_itself(
    monkeypatch: pytest.MonkeyPatch, side: Side
) -> None:
    """It had begun a step."""
    monkeypatch.setattr(meet, "GONE_S", 0.0)
    distant = Distant(side.served.endpoint, SCENARIO)
    distant.begin(0, "meshmsg", False)
    (process,) = side.served._consumers._running.values()
    assert process._process.poll() is None
    distant._req.close()
    assert "the sender went away" in side.ended()
    assert process._process.poll() is not None


def test_a_receiver_that_waits_for_messages_notices_too(
    monkeypatch: pytest.MonkeyPatch, side: Side
) -> None:
    """It sits in a step then, not in a receive of its own."""
    monkeypatch.setattr(meet, "GONE_S", 0.0)
    distant = Distant(side.served.endpoint, SCENARIO)
    distant.begin(0, "meshmsg", False)
    waiting, wait = threading.Event(), side.served._consumers.ready

    def ready() -> None:
        waiting.set()
        wait()  # for messages that nobody sends

    side.served._consumers.ready = ready  # type: ignore[method-assign]
    errors: list[BenchError] = []

    def ask() -> None:
        try:
            distant.ready()
        except BenchError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert waiting.wait(JOIN_S)
    distant._req.close()
    asking.join(JOIN_S)
    assert len(errors) == 1
    assert "the sender went away" in side.ended()


def test_a_stranger_who_leaves_ends_nothing(monkeypatch: pytest.MonkeyPatch, side: Side) -> None:
    """Only a sender that began is waited for; the next one is served to its end."""
    monkeypatch.setattr(meet, "GONE_S", 0.0)
    with mm.Req(connect=side.served.endpoint) as stranger:
        stranger.request(b'{"do": "clock"}', timeout=JOIN_S)
    with Distant(side.served.endpoint, SCENARIO) as distant:
        said = produce(SCENARIO, 0, "meshmsg", False, distant)
    assert said["received"]["c"]["count"] == 10
    assert side.ended() == ""


def test_a_sender_whose_receiver_is_lost_says_so_at_once_and_for_all_that_follows(
    monkeypatch: pytest.MonkeyPatch, side: Side
) -> None:
    """And it asks nobody to abandon the step."""
    with Distant(side.served.endpoint, SCENARIO) as distant:
        distant.begin(0, "meshmsg", False)
        side.served._rep.close()
        side.ended()
        monkeypatch.setattr(meet, "MEET_S", 0.05)
        with pytest.raises(BenchError, match="the receiver is gone"):
            distant.ready()
        distant.abandon(BenchError("no"))
        monkeypatch.setattr(meet, "MEET_S", 1e6)  # who waited again would wait for ever
        with pytest.raises(BenchError, match="the receiver is gone"):
            distant.begin(0, "meshmsg", False)


def test_a_question_its_receiver_died_over_is_an_error(side: Side) -> None:
    """It had the question when it went."""
    with Distant(side.served.endpoint, SCENARIO) as distant:
        distant.begin(0, "meshmsg", False)
        side.served._consumers.ready = side.served._rep.close  # type: ignore[method-assign]
        with pytest.raises(BenchError, match="the receiver is gone"):
            distant.ready()


def test_a_step_that_did_not_begin_is_not_abandoned(
    monkeypatch: pytest.MonkeyPatch, side: Side
) -> None:
    """Nobody is asked, so nobody waits for an answer."""
    asked: list[object] = []
    with Distant(side.served.endpoint, SCENARIO) as distant:
        monkeypatch.setattr(distant._req, "request", lambda *told, **_: asked.append(told))
        distant.abandon(KeyboardInterrupt())
        assert asked == []
        distant._begun = True
        distant.abandon(KeyboardInterrupt())
        distant.abandon(KeyboardInterrupt())
        assert asked == [(b'{"do": "abandon"}',)]
        monkeypatch.undo()


def test_a_receiver_outlives_a_step_that_its_sender_gave_up(side: Side) -> None:
    """The next step is served."""
    with Distant(side.served.endpoint, SCENARIO) as distant:
        distant.begin(0, "meshmsg", False)
        (process,) = side.served._consumers._running.values()
        distant.abandon(BenchError("the producer fell over"))
        assert process._process.poll() is not None
        assert produce(SCENARIO, 0, "meshmsg", False, distant)["received"]["c"]["count"] == 10


def test_a_sender_told_to_end_amid_a_step_leaves_at_once(side: Side) -> None:
    """As with Ctrl-C: what it raised is what comes out."""
    with pytest.raises(KeyboardInterrupt), Distant(side.served.endpoint, SCENARIO) as distant:
        distant.begin(0, "meshmsg", False)
        raise KeyboardInterrupt


@pytest.mark.parametrize("url", ["nonsense", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:x"])
def test_a_meeting_that_is_no_place_is_a_sentence(url: str) -> None:
    """On either side."""
    with pytest.raises(BenchError, match="^--meet "):
        Served(SCENARIO, url, insecure=False)
    with pytest.raises(BenchError, match="^--meet "):
        Distant(url, SCENARIO)


def test_a_receiver_outside_loopback_must_be_allowed() -> None:
    """With the option that does."""
    with pytest.raises(BenchError, match="anybody may ask: --insecure allows it"):
        Served(SCENARIO, "tcp://0.0.0.0:0", insecure=False)
    served = Served(SCENARIO, "tcp://0.0.0.0:0", insecure=True)
    assert served._consumers._host == "0.0.0.0"
    served._rep.close()


def test_a_place_that_somebody_has_is_a_sentence(side: Side) -> None:
    """With its name."""
    with pytest.raises(BenchError, match=f"^--meet {side.served.endpoint}: "):
        Served(SCENARIO, side.served.endpoint, insecure=False)


def test_who_looks_for_the_sender_ends_with_the_meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever closed it."""
    served = Served(SCENARIO, "tcp://127.0.0.1:0", insecure=False)
    monkeypatch.setattr(meet, "LOOK_S", 0.0)
    served._begun.set()
    served._rep.close()
    served._watch(threading.Event())
    assert not served._gone
