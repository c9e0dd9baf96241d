"""`message.peer`: who sent a message, as an int (a Router's: bytes) that says whom it is known as.

Not here: who may come in (test_security.py), the rest of a message (test_message.py).
"""

from __future__ import annotations

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._binding.message import PEERS_MAX, classes_of_known, classes_of_peers
from tests.support.mm import live_blocks
from tests.support.pairs import WAIT_S, of_its_own, wait_until

protected = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
SERVER, ALICE, BOB = (mm.keygen() if mm.has("curve") else None for _ in range(3))


def served() -> Any:
    """Alice and Bob may come in."""
    assert SERVER is not None
    assert ALICE is not None
    assert BOB is not None
    return mm.Curve(key=SERVER, allow={ALICE.public: "alice", BOB.public: "bob"})


def called(key: Any) -> Any:
    """Who calls that server with this key."""
    assert SERVER is not None
    return mm.Curve(server=SERVER.public, key=key)


def facts(peer: Any) -> tuple[str, str, dict[str, bytes]]:
    """What is known of it."""
    return peer.user_id, peer.mechanism, dict(peer.properties)


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:0", "inproc://here", "sp+tcp://127.0.0.1:0"])
def test_without_security_it_is_an_id_of_which_no_more_is_known(where: str) -> None:
    """Over tcp, in the process, and of a peer that speaks SP; one object for all its messages."""
    with mm.Pull(bind=where.removeprefix("sp+")) as pull, mm.Push() as push:
        push.connect(("sp+" if where.startswith("sp+") else "") + pull.endpoint)
        push.wait_for_peers(timeout=WAIT_S)
        push.send_many([b"1", b"2", b"3"])
        first, second = pull.recv(timeout=WAIT_S), pull.recv(timeout=WAIT_S)
        third = next(iter(pull))
        assert isinstance(first.peer, mm.Peer)
        assert first.peer == pull.peers()[0].id == int(str(first.peer))
        assert first.peer is second.peer is third.peer
        assert facts(first.peer) == ("", "NULL", {})


def test_what_a_router_calls_a_peer_is_bytes_and_can_be_sent_to() -> None:
    """The identity, made once."""
    with mm.Router(bind=of_its_own()) as router:
        with mm.Dealer(connect=router.endpoint, identity=b"dealer") as dealer:
            dealer.send(b"1")
            dealer.send(b"2")
            first, second = router.recv(timeout=WAIT_S), router.recv(timeout=WAIT_S)
            assert isinstance(first.peer, mm.PeerName)
            assert first.peer == b"dealer"
            assert first.peer is second.peer
            assert facts(first.peer) == ("", "NULL", {})
            router.send(b"back", to=first.peer)
            assert dealer.recv(timeout=WAIT_S) == b"back"


@protected
def test_whom_a_peer_is_known_as_is_told_of_each_message_also_once_it_left() -> None:
    """One frame and several; taken one by one, in lists, by iteration, in batches."""
    with mm.Pull(bind=of_its_own(), security=served()) as pull:
        for key in (ALICE, BOB):
            with mm.Push(connect=pull.endpoint, security=called(key)) as push:
                push.send_many([b"1", b"2", b"3", b"4", b"5", b"6"])
                push.send_frames([b"a", b"b"])
                push.drain(timeout=WAIT_S)
        wait_until(lambda: not pull.peers())
        got = [pull.recv(timeout=WAIT_S), *pull.recv_many(2, timeout=WAIT_S)]
        got.append(next(iter(pull)))
        ids = {int(message.peer) for message in got}
        while len(got) < 12:
            got += pull.recv_many(3, timeout=WAIT_S)
        batch = pull.recv_batch(timeout=WAIT_S)
        assert {type(peer) for peer in batch.peers} == {int}
        ids |= set(batch.peers)
        assert ids == {int(message.peer) for message in got} | set(batch.peers)
        by_user: dict[str, list[mm.Message]] = {}
        for message in got:
            by_user.setdefault(message.peer.user_id, []).append(message)
        assert len(by_user["alice"]) == 7
        assert len(by_user["bob"]) == len(got) - 7
        for some in by_user.values():
            assert len({id(message.peer) for message in some}) == 1
            assert some[0].peer.mechanism == "CURVE"
            assert some[0].peer.properties["Socket-Type"] == b"PUSH"


@protected
def test_a_router_a_rep_a_req_and_a_survey_know_whom_they_talk_to() -> None:
    """A server knows clients; a client, that its server is protected."""
    with (
        mm.Router(bind=of_its_own(), security=served()) as router,
        mm.Dealer(connect=router.endpoint, identity=b"\x01me", security=called(ALICE)) as dealer,
    ):
        dealer.send(b"1")
        message = router.recv(timeout=WAIT_S)
        assert (message.peer, message.peer.user_id) == (b"\x01me", "alice")
        assert message.peer.properties["Identity"] == b"\x01me"
        router.send(b"2", to=message.peer)
        answer = dealer.recv(timeout=WAIT_S)
        assert facts(answer.peer)[:2] == ("", "CURVE")
        assert answer.peer.properties["Socket-Type"] == b"ROUTER"
    with (
        mm.Rep(bind=of_its_own(), security=served()) as rep,
        mm.Req(connect=rep.endpoint, security=called(BOB)) as req,
    ):
        for _ in range(2):
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(req.request, b"?", timeout=WAIT_S)
                request = rep.recv(timeout=WAIT_S)
                assert (request.peer, request.peer.user_id) == (rep.peers()[0].id, "bob")
                request.reply(b"!")
                assert asked.result(WAIT_S).peer.mechanism == "CURVE"
    with (
        mm.Surveyor(bind=of_its_own(), security=served()) as surveyor,
        mm.Respondent(connect=surveyor.endpoint, security=called(BOB)) as respondent,
    ):
        surveyor.wait_for_peers(timeout=WAIT_S)
        survey = surveyor.survey(b"?", deadline=WAIT_S)
        respondent.recv(timeout=WAIT_S).reply(b"here")
        assert [answer.peer.user_id for answer in survey] == ["bob"]


@protected
def test_asyncio_knows_it_too() -> None:
    """Awaited one by one and iterated."""

    async def run() -> None:
        async with meshmsg.aio.Pull(bind=of_its_own(), security=served()) as pull:
            async with meshmsg.aio.Push(connect=pull.endpoint, security=called(BOB)) as push:
                await push.send(b"1")
                await push.send_frames([b"2", b"3"])
                first = await pull.recv(timeout=WAIT_S)
                async for second in pull:
                    assert first.peer is second.peer
                    break
            assert first.peer.user_id == "bob"

    asyncio.run(run())


@protected
def test_who_subscribes_at_an_xpub_is_known() -> None:
    """Subscriptions are messages there; also of one that left meanwhile."""
    with mm.XPub(bind=of_its_own(), verbose=True, security=served()) as xpub:
        with mm.Sub(connect=xpub.endpoint, topics=["a"], security=called(ALICE)) as sub:
            sub.wait_for_peers(timeout=WAIT_S)
            assert xpub.recv(timeout=WAIT_S).peer.user_id == "alice"
        cancelled = xpub.recv(timeout=WAIT_S)
        assert (cancelled[:1], cancelled.peer.user_id) == (b"\0", "alice")


@pytest.mark.parametrize("peer", [mm.Peer(5), mm.PeerName(b"name")])
def test_a_peer_that_is_pickled_is_plain_and_a_copy_is_itself(peer: Any) -> None:
    """Whoever unpickles it needs no meshmsg."""
    plain = pickle.loads(pickle.dumps(peer))
    assert (type(plain), plain) in ((int, 5), (bytes, b"name"))
    assert copy.copy(peer) is peer
    assert copy.deepcopy(peer) is peer
    assert hash(peer) == hash(plain)
    assert {plain: 1}[peer] == 1


@protected
def test_a_message_of_a_known_peer_is_pickled_as_its_body() -> None:
    """As any message."""
    with (
        mm.Pull(bind=of_its_own(), security=served()) as pull,
        mm.Push(connect=pull.endpoint, security=called(ALICE)) as push,
    ):
        push.send(b"1")
        assert type(pickle.loads(pickle.dumps(pull.recv(timeout=WAIT_S)))) is bytes


@protected
def test_peers_that_come_and_go_leave_nothing_behind() -> None:
    """In the core nothing at all; in Python what is remembered is bounded."""
    with mm.Pull(bind=of_its_own(), security=served()) as pull:
        before = 0
        for round_ in range(60):
            with mm.Push(connect=pull.endpoint, security=called(BOB)) as push:
                push.send(b"x")
                assert pull.recv(timeout=WAIT_S).peer.user_id == "bob"
            wait_until(lambda: not pull.peers())
            if round_ == 30:
                before = live_blocks()
        assert live_blocks() - before < 20  # what others do meanwhile
    for peer in range(1 << 40, (1 << 40) + 100_000):
        classes_of_peers[peer]
    assert len(classes_of_peers) <= PEERS_MAX
    assert len(classes_of_known) <= PEERS_MAX
