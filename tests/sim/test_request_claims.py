"""The claims of docs/semantics.md about Req, Rep and Router, each docstring quoting its gist."""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults, SimWorld
from tests.support.room import UP, all_there, room
from tests.support.stalled import FRAME_COST, PATIENCE_S


def asked(dealer: mm.Dealer, *bodies: bytes) -> None:
    """Ask a Rep without waiting for the answer: a Dealer makes the envelope."""
    for body in bodies:
        dealer.send_frames([b"id", b"", body], timeout=PATIENCE_S)


def test_any_number_of_requests_is_open_and_answered_in_any_order() -> None:
    """Claim: "Rep: any number of open requests, answered in any order"."""
    with room() as r:
        rep, (one, two) = r.around("Rep", "Dealer", 2)
        for number in range(50):
            asked(one, b"one %d" % number)
            asked(two, b"two %d" % number)
        requests = [rep.recv(timeout=PATIENCE_S) for _ in range(100)]
        for request in requests[::2] + requests[1::2][::-1]:
            assert request.reply(request + b"!")
        for name, dealer in ((b"one", one), (b"two", two)):
            found = all_there(dealer)
            assert sorted(found) == sorted(b"%s %d!" % (name, n) for n in range(50))


def test_a_reply_nobody_can_take_is_refused_counted_and_does_not_block() -> None:
    """Claim: "reply never blocks; it returns False when whoever asked ... takes no more"."""
    with room(buffer_size=4096) as r:
        rep, (dealer,) = r.around("Rep", "Dealer", 1, send_queue_messages=4)
        asked(dealer, *(b"%d" % i for i in range(10)))
        requests = [rep.recv(timeout=PATIENCE_S) for _ in range(10)]
        r.world.partition(r.hub, dealer._engine, 5)
        before = r.world.now
        outcomes = [request.reply(request + bytes(10_000)) for request in requests]
        assert r.world.now == before
        assert outcomes == [True] * 4 + [False] * 6
        stats = rep.stats()
        assert (stats.dropped, stats.dropped_overflow) == (6, 6)
        r.world.heal()
        assert [int(body[:1]) for body in all_there(dealer, 10)] == [0, 1, 2, 3]
        assert rep.stats().sent_messages == rep.stats().written_messages + rep.stats().dropped


def test_requests_of_a_peer_that_left_are_dropped_and_counted() -> None:
    """Claim: "Requests that wait from a peer that leaves are dropped and counted"."""
    with room() as r:
        rep, (leaving, staying) = r.around("Rep", "Dealer", 2)
        asked(leaving, b"1", b"2", b"3")
        asked(staying, b"4")
        for dealer in (leaving, staying):
            dealer.drain(timeout=PATIENCE_S).raise_for_loss()
        leaving.close()
        while len(rep.peers()) > 1:
            r.world.run(1)
        request = rep.recv(timeout=PATIENCE_S)
        assert request == b"4"
        stats = rep.stats()
        assert (stats.dropped_peer_gone, stats.queued_in_messages) == (3, 0)
        assert stats.parsed_messages == stats.received_messages + stats.dropped


def test_a_request_carries_a_four_octet_id_before_the_empty_delimiter() -> None:
    """Claim: "Each carries a 4-octet id in front of the empty delimiter": all different."""
    with SimWorld(1) as world:
        router = mm.Router(bind=UP, engine=world.engine())
        req = mm.Req(connect=router.endpoint, engine=world.engine())
        ids = set()
        for number in range(20):
            with pytest.raises(mm.TimedOutError):
                req.request(b"%d" % number, timeout=0.5)
            _, mark, delimiter, body = router.recv_frames(timeout=1)
            assert (len(mark), delimiter, body) == (4, b"", b"%d" % number)
            ids.add(mark)
        assert len(ids) == 20
        req.close()
        router.close()


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_a_time_out_is_per_attempt_and_each_attempt_has_a_new_id(retries: int) -> None:
    """Claim: "`timeout` is per attempt; `retries` asks again, under a new id, after a time-out"."""
    with SimWorld(1) as world:
        router = mm.Router(bind=UP, engine=world.engine())
        req = mm.Req(connect=router.endpoint, engine=world.engine())
        req.wait_for_peers(timeout=PATIENCE_S)
        before = world.now
        again = f"to {retries + 1} attempts of 2 s each"
        with pytest.raises(mm.TimedOutError, match=again if retries else r"no reply within 2 s"):
            req.request(b"q", timeout=2, retries=retries)
        assert world.now - before == pytest.approx(2 * (retries + 1), abs=0.05)
        marks = {router.recv_frames(timeout=1)[1] for _ in range(retries + 1)}
        assert len(marks) == retries + 1
        req.close()
        router.close()


@pytest.mark.parametrize("number_of_replies", [1, 3])
def test_a_late_reply_is_dropped_and_counted(number_of_replies: int) -> None:
    """Claim: "a late or unknown reply is dropped and counted (`dropped_late`)", with its event."""
    with SimWorld(1) as world:
        router = mm.Router(bind=UP, engine=world.engine())
        req = mm.Req(connect=router.endpoint, engine=world.engine())
        with pytest.raises(mm.TimedOutError):
            req.request(b"q", timeout=1)
        envelope = router.recv_frames(timeout=1)[:-1]
        for _ in range(number_of_replies):
            router.send_frames([*envelope, b"late"])
        router.drain(timeout=PATIENCE_S).raise_for_loss()
        assert req.stats().dropped_late == number_of_replies
        kinds = [event.kind for event in req.events()]
        assert kinds.count(mm.EventKind.LATE_REPLY) >= 1
        req.close()
        router.close()


def test_a_nameless_peer_gets_a_name_of_five_octets() -> None:
    """Claim: "nameless peers get one of 5 octets"; it begins with a zero, and no two are equal."""
    with room() as r:
        router, dealers = r.around("Router", "Dealer", 20)
        for number, dealer in enumerate(dealers):
            dealer.send(b"%d" % number)
        names = {bytes(m): m.peer for m in (router.recv(timeout=1) for _ in range(20))}
        assert len(set(names.values())) == 20
        assert {(len(name), name[:1]) for name in names.values()} == {(5, b"\0")}
        for number, dealer in enumerate(dealers):
            router.send(b"to %d" % number, to=names[b"%d" % number])
            assert dealer.recv(timeout=1) == b"to %d" % number


@pytest.mark.parametrize("identity", [b"n", b"name", b"x" * 255, bytes(range(1, 256))])
def test_a_peer_is_known_by_the_name_it_gives_itself(identity: bytes) -> None:
    """Claim: "the first frame is the peer's identity": 1 to 255 octets, any but a leading zero."""
    with room() as r:
        router = r.open("Router", engine=r.hub, bind=UP)
        dealer = r.open("Dealer", connect=router.endpoint, identity=identity)
        dealer.send_frames([b"a", b"b"], timeout=PATIENCE_S)
        assert router.recv_frames(timeout=PATIENCE_S) == [identity, b"a", b"b"]
        router.send_frames([identity, b"c", b"d"])
        assert dealer.recv_frames(timeout=PATIENCE_S) == [b"c", b"d"]
        assert router.peers()[0].identity == identity


@pytest.mark.parametrize("handover", [False, True])
def test_a_second_peer_of_the_same_name_is_refused_or_takes_over(handover: bool) -> None:
    """Claim: "A second peer of the same name is refused (`handover=True`: takes over)"."""
    with room() as r:
        router = r.open("Router", engine=r.hub, bind=UP, handover=handover)
        first = r.open("Dealer", connect=router.endpoint, identity=b"n", reconnect_min=100,
                       reconnect_max=100)  # fmt: skip
        router.wait_for_peers(timeout=PATIENCE_S)
        second = r.open("Dealer", connect=router.endpoint, identity=b"n", reconnect_min=100,
                        reconnect_max=100)  # fmt: skip
        r.world.run(1)
        router.send(b"for n", to=b"n")
        assert all_there(second if handover else first) == [b"for n"]
        assert all_there(first if handover else second) == []
        assert len(router.peers()) == 1
        assert router.stats().closed == {mm.Reason.IDENTITY: 1}


def test_a_message_to_nobody_raises_or_is_counted_as_the_router_was_told() -> None:
    """Claim: "to an unknown peer raises PeerError (`on_unroutable="drop"` counts it instead)"."""
    with room() as r:
        router = r.open("Router", engine=r.hub)
        for number in range(3):
            with pytest.raises(mm.PeerError, match="nobody"):
                router.send(b"x", to=b"nobody%d" % number)
        assert router.stats().sent_messages == 0
        forgiving = r.open("Router", engine=r.hub, on_unroutable="drop")
        for number in range(3):
            forgiving.send(b"x", to=b"nobody%d" % number)
        stats = forgiving.stats()
        assert (stats.sent_messages, stats.dropped_no_peer, stats.dropped) == (3, 3, 3)


@pytest.mark.parametrize("faults", [SimFaults(split=0.9), SimFaults(short_write=0.9, eagain=0.4)])
def test_messages_are_atomic_whatever_is_cut_off(faults: SimFaults) -> None:
    """Claim: "Messages are atomic: all frames or none", through cuts in the middle of a message."""
    with SimWorld(3, faults=faults, buffer_size=8192) as world:
        push = mm.Push(bind=UP, engine=world.engine(), reconnect_max=0.1)
        pull = mm.Pull(connect=push.endpoint, engine=world.engine(), reconnect_max=0.1)
        found: list[list[bytes]] = []
        for number in range(60):
            push.send_frames([b"%d" % number, bytes(number * 500), b"", b"end"], timeout=60)
            if number % 7 == 3:
                world.run(0.01)
                world.reset_all()
            while True:
                try:
                    found.append(pull.recv_frames(timeout=0.5))
                except mm.TimedOutError:
                    break
        assert len(found) >= 50
        for frames in found:
            number = int(frames[0])
            assert frames == [b"%d" % number, bytes(number * 500), b"", b"end"]
        stats = push.stats()
        lost = 60 - len(found)
        assert lost <= stats.in_doubt_messages + stats.dropped_peer_gone
        assert pull.stats().parsed_messages == len(found)
        push.close()
        pull.close()


def test_a_queue_is_charged_for_its_frames_too() -> None:
    """Claim: "64 bytes charged to a queue for each frame": empty frames are not free."""
    with room(buffer_size=4096) as r:
        push, (pull,) = r.around("Push", "Pull", 1)
        r.world.partition(r.hub, pull._engine, 5)
        push.send(bytes(10_000), timeout=0)
        r.world.run(0.1)
        before = push.stats().queued_out_bytes
        push.send_frames([b""] * 100, timeout=0)
        assert push.stats().queued_out_bytes - before == 100 * FRAME_COST
