"""The receiver of a scenario serves a stranger's nonsense with errors, and only its own steps."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.bench.base.need import BenchError
from meshmsg.bench.measure.meet import Distant, Served
from meshmsg.bench.scenarios.scenario import scenario_of

SCENARIO = scenario_of(
    {
        "title": "t",
        "peers": ["meshmsg"],
        "steps": [
            {
                "name": "s",
                "consumers": [{"name": "c"}],
                "producers": [{"name": "p", "to": "c", "size": 64, "count": 10}],
            }
        ],
    },
    "f",
)


@pytest.fixture
def meet() -> Iterator[str]:
    """Where a receiver serves."""
    served = Served(SCENARIO, "tcp://127.0.0.1:0", insecure=False)
    thread = threading.Thread(target=served.serve)
    thread.start()
    yield served.endpoint
    with Distant(served.endpoint, SCENARIO):
        pass
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    "nonsense",
    [
        b"",
        b"\xff",
        b"7",
        b"[]",
        b"{}",
        b'{"do": "format the disk"}',
        b'{"do": "begin"}',
        b'{"do": "begin", "peer": "pyzmq", "step": 0, "warming": 0, "offset_ns": 0}',
        b'{"do": "begin", "peer": "meshmsg", "step": -1, "warming": 0, "offset_ns": 0}',
        b'{"do": "begin", "peer": "meshmsg", "step": 9, "warming": 0, "offset_ns": 0}',
        b'{"do": "begin", "peer": ["x"], "step": 0, "warming": 0, "offset_ns": 0}',
    ],
)
def test_nonsense_is_answered_with_an_error(meet: str, nonsense: bytes) -> None:
    """And the receiver goes on."""
    with mm.Req(connect=meet) as req:
        answer: dict[str, Any] = json.loads(req.request(nonsense, timeout=30))
        assert list(answer) == ["error"]
        assert "ns" in json.loads(req.request(b'{"do": "clock"}', timeout=30))


def test_clocks_of_one_machine_agree_within_what_is_uncertain(meet: str) -> None:
    """What is no larger than half of the shortest round trip is no offset."""
    distant = Distant(meet, SCENARIO)
    try:
        assert distant.compare_clocks() == 0
        assert distant.uncertain_ns > 0
        with pytest.raises(BenchError, match="the receiver: that is not in the scenario"):
            distant.begin(0, "pyzmq", False)
    finally:
        distant._req.close()


def test_a_place_that_is_everywhere_is_reached_where_they_meet(
    monkeypatch: pytest.MonkeyPatch, meet: str
) -> None:
    """A consumer bound to all addresses is not at address 0.0.0.0."""
    distant = Distant(meet, SCENARIO)
    monkeypatch.setattr(distant, "compare_clocks", lambda: 0)
    monkeypatch.setattr(distant, "_ask", lambda *_, **__: {"c": "tcp://0.0.0.0:7"})
    assert distant.begin(0, "meshmsg", False) == {"c": "tcp://127.0.0.1:7"}
    distant._req.close()


@pytest.mark.parametrize("ahead_s", [1, -1, 3600])
def test_clocks_of_two_machines_are_compared(
    monkeypatch: pytest.MonkeyPatch, meet: str, ahead_s: int
) -> None:
    """The offset found is theirs, as far as it is certain."""
    distant = Distant(meet, SCENARIO)
    ask = distant._ask

    def elsewhere(do: str, **more: Any) -> dict[str, Any]:
        return {"ns": int(ask(do, **more)["ns"]) + ahead_s * 1_000_000_000}

    monkeypatch.setattr(distant, "_ask", elsewhere)
    found = distant.compare_clocks()
    assert abs(found - ahead_s * 1_000_000_000) <= distant.uncertain_ns
    distant._req.close()


@pytest.mark.parametrize("says", [b"hello", b"\xff", b"7", b"[]"])
def test_somebody_else_who_answers_is_no_receiver(says: bytes) -> None:
    """A sentence, not a traceback."""
    with mm.Rep(bind="tcp://127.0.0.1:0") as rep:
        distant = Distant(rep.endpoint, SCENARIO)
        answering = threading.Thread(target=lambda: rep.recv(timeout=60).reply(says))
        answering.start()
        with pytest.raises(BenchError, match="is no receiver of this bench"):
            distant.begin(0, "meshmsg", False)
        answering.join(60)
        distant._req.close()
