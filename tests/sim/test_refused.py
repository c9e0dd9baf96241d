"""Peers that `require=` refuses, in the simulated world: they come again ever more rarely,
nothing is written to them, and one that shows what it lacked is let in.

Not here: what they are told (tests/conformance/test_require.py).
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults, SimWorld
from tests.support.featured import OURS, say
from tests.support.room import UP
from tests.support.stalled import PATIENCE_S

LONG_S = 1_000
RETRY: dict[str, Any] = {"reconnect_min": 0.05, "reconnect_max": 10.0}
MOST = 230
"""Attempts in LONG_S: one each 5 s on average, and those of the beginning."""


@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
@pytest.mark.parametrize("seed", range(5))
def test_who_is_refused_comes_again_ever_more_rarely(seed: int, we_bind: bool) -> None:
    """Whoever dials backs off; what waits goes to it once it shows what it lacked, once."""
    with SimWorld(seed) as world:
        one, two = world.engine(), world.engine()
        say(two, "1 refuse stop meta")
        options: dict[str, Any] = {"delivery": "at_least_once", "require": "acks", **RETRY}
        if we_bind:
            push = mm.Push(bind=UP, engine=one, **options)
            pull = mm.Pull(connect=push.endpoint, engine=two, **RETRY)
        else:
            pull = mm.Pull(bind=UP, engine=two, **RETRY)
            push = mm.Push(connect=pull.endpoint, engine=one, **options)
        push.send_many([b"%d" % i for i in range(10)])
        world.run(LONG_S)
        stats = push.stats()
        assert 10 < stats.closed[mm.Reason.FEATURE] < MOST
        assert (stats.written_messages, stats.in_doubt_messages, stats.handshakes) == (0, 0, 0)
        say(two, OURS)
        got = [bytes(pull.recv(timeout=PATIENCE_S)) for _ in range(10)]
        assert got == [b"%d" % i for i in range(10)]
        assert [peer.acks for peer in push.peers()] == [True]
        push.close()
        pull.close()


@pytest.mark.parametrize("seed", range(20))
def test_it_is_refused_whatever_becomes_of_its_connection(seed: int) -> None:
    """In a world that cuts, splits and loses; those who can have everything, once or again."""
    with SimWorld(seed) as world:
        hub, old, new = world.engine(), world.engine(), world.engine()
        say(old, "1 refuse stop")
        push = mm.Push(bind=UP, engine=hub, delivery="at_least_once", require=("acks", "headers"))
        lacking = [mm.Pull(connect=push.endpoint, engine=old) for _ in range(3)]
        able = [mm.Pull(connect=push.endpoint, engine=new) for _ in range(2)]
        world.set_faults(SimFaults(split=0.3, short_write=0.3, eagain=0.2, reset=0.01))
        push.send_many([b"%d" % i for i in range(50)])
        world.run(60)
        world.heal()
        got: set[bytes] = set()
        while len(got) < 50:
            for pull in able:
                try:
                    got.update(bytes(message) for message in pull.recv_many(timeout=0.1))
                except mm.TimedOutError:
                    continue
        assert push.stats().closed[mm.Reason.FEATURE] >= 3
        assert all(peer.acks and peer.takes_meta for peer in push.peers())
        assert [pull.stats().parsed_messages for pull in lacking] == [0, 0, 0]
        for socket in (push, *lacking, *able):
            socket.close()


def test_who_does_not_come_more_rarely_fills_no_events() -> None:
    """As a peer of libzmq: told at once, and then each 10 s, with how often it was."""
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        say(two, "")
        push = mm.Push(bind=UP, engine=one, require="headers")
        pull = mm.Pull(connect=push.endpoint, engine=two, reconnect_min=0.1, reconnect_max=0.1)
        world.run(100)
        refused = [event for event in push.events() if event.reason is mm.Reason.FEATURE]
        times = [event.time for event in refused]
        assert 9 <= len(refused) <= 11
        assert all(b - a >= 9.999 for a, b in itertools.pairwise(times))
        total = push.stats().closed[mm.Reason.FEATURE]
        assert total > 500
        counts = [event.count for event in refused]
        assert counts[0] == 1
        assert 0 <= total - sum(counts) <= 2 * max(counts)
        assert push.stats().events_lost == 0
        pull.close()
        push.close()


@pytest.mark.parametrize("seed", range(5))
def test_by_inproc_it_comes_as_rarely_and_finds_who_comes_next_at_once(seed: int) -> None:
    """Another one who listens there is no reason to wait, nor is it that nobody did for long."""
    with SimWorld(seed) as world:
        one, two = world.engine(), world.engine()
        say(two, "")
        url = "inproc://jobs"
        pull = mm.Pull(connect=url, engine=two, **RETRY)
        world.run(10)
        push = mm.Push(bind=url, engine=one, require="headers")
        world.run(0.05)
        assert push.stats().closed[mm.Reason.FEATURE] >= 1
        world.run(LONG_S)
        assert 10 < push.stats().closed[mm.Reason.FEATURE] < MOST
        push.close()
        with mm.Push(bind=url, engine=one) as other:
            other.wait_for_peers(timeout=0.1)
        world.run(1)
        with mm.Push(bind=url, engine=one, require="headers") as refuses:
            world.run(0.5)
            assert 2 <= refuses.stats().closed[mm.Reason.FEATURE] <= 20  # it begins anew
        pull.close()
