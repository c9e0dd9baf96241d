"""Workers that stop at any moment while others take over: nothing is lost, nothing comes twice.

Law: everything is drawn from the seed; harmless faults only, as a cut connection may lose what was
written. The books of all sockets balance.
"""

from __future__ import annotations

import os
import random
from itertools import islice
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.sim.scenes import check_counters
from tests.sim.test_no_memory import failing
from tests.support.room import UP, Room, all_there, room
from tests.support.stalled import PATIENCE_S

SEEDS = int(os.environ.get("MESHMSG_SIM_SEEDS", "120"))
CHUNK = 20
ROUNDS = 25
PATIENCE_FOR_ALL_S = 600.0
SIZES = [0, 10, 300, 5_000, 40_000]


def world_of(seed: int) -> tuple[random.Random, dict[str, Any]]:
    """The dice of a seed, and a world in which nothing is lost."""
    dice = random.Random(seed)
    faults = SimFaults(
        split=dice.choice([0.0, 0.5]),
        short_write=dice.choice([0.0, 0.5, 0.9]),
        eagain=dice.choice([0.0, 0.3]),
    )
    latency = dice.choice([(0.0, 0.0), (0.0001, 0.001), (0.001, 0.1)])
    return dice, {
        "faults": faults,
        "latency": latency,
        "buffer_size": dice.choice([4096, 1 << 16, 1 << 20]),
    }


def worker(r: Room, push: Any, dice: random.Random) -> Any:
    """One more, with queues of some size."""
    some = dice.choice([1, 3, 1000])
    return r.open("Pull", connect=push.endpoint, recv_queue_messages=some)


def stop_somehow(one: Any, dice: random.Random, got: list[bytes]) -> None:
    """Stop, before, after and while what came is taken; every message of it is given out."""
    got += [bytes(m) for m in take(one, dice.randrange(5))]
    one.stop_receiving(deadline=PATIENCE_FOR_ALL_S)
    got += [bytes(m) for m in one]
    report = one.stop_receiving(deadline=PATIENCE_FOR_ALL_S)
    assert report.clean, report
    check_counters(one)
    one.close()


def take(one: Any, count: int) -> list[Any]:
    """That many at most, of what is there."""
    try:
        found: list[Any] = one.recv_many(count, timeout=0) if count else []
    except mm.WouldBlockError:
        found = []
    return found


def workers_stop(r: Room, dice: random.Random, overflow: str) -> None:
    """They come, stop cleanly, and others come; a Push shares out all the while."""
    push = r.open(
        "Push",
        engine=r.hub,
        bind=UP,
        overflow=overflow,
        send_queue_messages=dice.choice([1, 5, 1000]),
        send_queue_bytes=dice.choice([1, 20_000, 1 << 24]),
    )
    here = [worker(r, push, dice)]
    push.wait_for_peers(timeout=PATIENCE_S)
    got: list[bytes] = []
    sent = 0
    for _ in range(ROUNDS):
        for _ in range(dice.randrange(8)):
            body = b"%d " % sent + bytes(dice.choice(SIZES))
            try:
                push.send(body, timeout=0.02)
            except mm.TimedOutError:
                break
            sent += 1
        if dice.random() < 0.4:
            here.append(worker(r, push, dice))
        if dice.random() < 0.5 and here:
            stop_somehow(here.pop(dice.randrange(len(here))), dice, got)
        for one in here:
            got += [bytes(m) for m in take(one, dice.randrange(4))]
    here.append(worker(r, push, dice))
    for one in here:
        got += all_there(one, 2.0)
    for one in here:
        stop_somehow(one, dice, got)
    numbers = sorted(int(body.split(b" ", 1)[0]) for body in got)
    stats = push.stats()
    assert stats.queued_out_messages == 0
    assert len(set(numbers)) == len(numbers), "a message came twice"
    assert len(numbers) == sent - stats.dropped_overflow - stats.dropped_no_peer, "messages lost"
    assert stats.dropped_peer_gone == 0
    check_counters(push)


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
@pytest.mark.parametrize("overflow", ["block", "drop_newest"])
def test_workers_that_stop_lose_nothing_and_get_nothing_twice(first: int, overflow: str) -> None:
    """At any moment, with queues below one message, in short writes, on slow networks."""
    for seed in range(first, min(first + CHUNK, SEEDS)):
        dice, options = world_of(seed)
        with room(seed, **options) as r:
            try:
                workers_stop(r, dice, overflow)
            except AssertionError as error:
                error.args = (f"seed {seed}: {error}",)
                raise


def servers_stop(r: Room, dice: random.Random) -> None:
    """Reps stop while a Req asks: each request is answered, by one that had it."""
    req = r.open("Dealer", engine=r.hub, bind=UP)
    answered: list[bytes] = []
    sent = 0
    here = [r.open("Rep", connect=req.endpoint)]
    req.wait_for_peers(timeout=PATIENCE_S)
    for _ in range(ROUNDS):
        for _ in range(dice.randrange(5)):
            req.send_frames([b"", b"%d" % sent], timeout=PATIENCE_S)
            sent += 1
        if dice.random() < 0.4:
            here.append(r.open("Rep", connect=req.endpoint))
            here[-1].wait_for_peers(timeout=PATIENCE_S)
        if dice.random() < 0.5 and len(here) > 1:
            one = here.pop(dice.randrange(len(here)))
            one.stop_receiving(deadline=PATIENCE_FOR_ALL_S)
            for request in one:
                assert request.reply(request)
            assert one.stop_receiving(deadline=PATIENCE_FOR_ALL_S).clean
            one.close()
        answered += all_there(req, 0.01)
    for one in here:
        one.stop_receiving(deadline=PATIENCE_FOR_ALL_S)
        for request in one:
            assert request.reply(request)
    answered += all_there(req, 2.0)
    left = req.stats().queued_out_messages
    assert len(answered) == len(set(answered)) == sent - left


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_servers_that_stop_answer_all_they_got(first: int) -> None:
    """A Dealer asks them all; nothing is asked twice, and every answer comes."""
    for seed in range(first, min(first + CHUNK, SEEDS)):
        dice, options = world_of(seed)
        with room(seed, **options) as r:
            servers_stop(r, dice)


def publisher_goes_on(r: Room, dice: random.Random) -> None:
    """A subscriber stops: it has got a run of all that was published, without a gap."""
    pub = r.open("Pub", engine=r.hub, bind=UP)
    subs = [r.open("Sub", connect=pub.endpoint, topics=[""]) for _ in range(2)]
    pub.wait_for_subscribers("", 2, timeout=PATIENCE_S)
    stop_at = dice.randrange(1, 60)
    got: list[bytes] = []
    for number in range(60):
        pub.send(b"%d " % number + bytes(dice.choice(SIZES)))
        if number == stop_at:
            subs[0].stop_receiving(deadline=PATIENCE_FOR_ALL_S)
    got = [bytes(m) for m in subs[0]]
    numbers = [int(body.split(b" ", 1)[0]) for body in got]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= stop_at
    assert subs[0].stop_receiving().clean
    assert len(all_there(subs[1])) == 60


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_a_subscriber_that_stops_has_no_gap(first: int) -> None:
    """All that was published before it stopped, and in order; the others get everything."""
    for seed in range(first, min(first + CHUNK, SEEDS)):
        dice, options = world_of(seed)
        with room(seed, **options) as r:
            publisher_goes_on(r, dice)


def test_a_slow_worker_that_stops_loses_nothing_however_long_it_takes() -> None:
    """By default there is no deadline: what was begun comes, at the worker's pace."""
    with room(buffer_size=1 << 16) as r:
        push = r.open("Push", engine=r.hub, bind=UP)
        pull = r.open("Pull", connect=push.endpoint, recv_queue_messages=2)
        push.wait_for_peers(timeout=PATIENCE_S)
        for number in range(120):
            push.send(b"%d " % number + bytes(1000), timeout=0)
        r.world.run(0.1)
        pull.stop_receiving()
        got = []
        for message in pull:
            got.append(int(message.split()[0]))
            r.world.run(2.0)
        assert len(got) > 20, "the worker was not slow beside what was on its way"
        report = pull.stop_receiving()
        assert report.clean
        assert not report.may_be_lost
        report.raise_for_loss()
        other = r.open("Pull", connect=push.endpoint)
        got += [int(message.split()[0]) for message in all_there(other)]
        assert got == list(range(120))
        assert push.stats().in_doubt_messages == 0


@pytest.mark.parametrize("stage", range(12))
def test_a_cut_or_a_deadline_in_the_midst_is_told(stage: int) -> None:
    """The peer answers no more, or is cut off: the iteration ends in time, and says why."""
    with room(stage, buffer_size=4096) as r:
        away = r.world.engine()
        push = r.open("Push", engine=r.hub, bind=UP)
        pull = r.open("Pull", connect=push.endpoint, engine=away, heartbeat_timeout=60.0)
        push.wait_for_peers(timeout=PATIENCE_S)
        for number in range(40):
            push.send(b"%d" % number + bytes(1000), timeout=0)
        r.world.run(0.0005 * stage)
        if stage % 2:
            r.world.partition(r.hub, away, 30.0)
        else:
            r.world.reset_all()
        before = r.world.now
        pull.stop_receiving(deadline=3.0)
        got = list(pull)
        assert r.world.now - before < 3.1
        state = pull.stop_receiving(deadline=0.0).peers
        assert [peer.state for peer in state] in ([["late"], ["gone"], []])
        stats = pull.stats()
        assert len(got) == stats.parsed_messages - stats.dropped
        check_counters(pull)


def test_who_is_not_read_from_any_more_does_not_hold_up_the_close() -> None:
    """Its connection ends as any other: read to its end, and no sooner cut."""
    with room() as r:
        pull = r.open("Pull", engine=r.hub, bind=UP, linger=30.0)
        push = r.open("Push", connect="sp+" + pull.endpoint)
        push.wait_for_peers(timeout=PATIENCE_S)
        assert [peer.state for peer in pull.stop_receiving().peers] == ["cannot"]
        for _ in range(10):
            push.send(b"x" * 1000)
        r.world.run(1.0)
        assert pull.stats().parsed_messages == 0
        before = r.world.open_streams
        pull.close()
        r.world.run(1.0)
        assert before == 2
        assert r.world.open_streams == 0
        assert push.stats().closed[mm.Reason.EOF] == 1


@pytest.mark.parametrize("how", ["recv", "recv_many", "recv_batch"])
@pytest.mark.parametrize("iterated", [0, 1, 5])
@pytest.mark.parametrize(("queue", "size"), [(1, 1), (3, 3_000), (1000, 1), (1000, 70_000)])
def test_what_the_counters_say_is_there_comes_out_without_waiting(
    how: str, iterated: int, queue: int, size: int
) -> None:
    """Also what an iteration had prefetched: until nothing is queued, no receive finds nothing."""
    with room() as r:
        pull = r.open("Pull", engine=r.hub, bind=UP, recv_queue_messages=queue)
        push = r.open("Push", connect=pull.endpoint)
        pull.wait_for_peers(timeout=PATIENCE_S)
        push.send_many([b"%d " % number + bytes(size) for number in range(CHUNK)])
        r.world.run(1.0)
        got = list(islice(pull, iterated))
        pull.stop_receiving()
        more = {} if how == "recv" else {"max_messages": 3}
        open_ended = True
        while open_ended:
            queued = pull.stats().queued_in_messages
            try:
                found = getattr(pull, how)(timeout=0, **more)
                got += [found] if how == "recv" else list(found)
            except mm.WouldBlockError:
                assert queued == 0
                r.world.run(1.0)
            except mm.ClosedError:
                assert queued == 0
                open_ended = False
        stats = pull.stats()
        assert len(got) == stats.parsed_messages == stats.received_messages
        assert push.stats().queued_out_messages + stats.parsed_messages == CHUNK


def test_a_peer_that_ends_when_there_is_no_memory_to_note_it_is_counted_in_the_report() -> None:
    """Whichever allocation fails as they are cut off: nobody is passed over."""
    counted, failed, point = 0, [True], 0
    while failed[0]:
        point += 1
        with room() as r:
            pull, _ = r.around("Pull", "Push", 2)
            assert pull.stop_receiving().waiting
            with failing(point) as failed:
                r.world.reset_all()
                r.world.run(0.001)
            assert pull.peers() == []
            report = pull.stop_receiving()
            assert [one.state for one in report.peers] == ["gone", "gone"]
            if report.peers[0].id == 0:
                counted += 1
                with pytest.raises(mm.MeshError, match="another peer lost its connection"):
                    report.raise_for_loss()
    assert counted > 0
