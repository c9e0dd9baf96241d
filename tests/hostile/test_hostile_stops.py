"""STOP and STOPPED in every state, again and again, with data, from peers that mean no good.

Not here: what they are for (tests/unit/test_stopping.py).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.hostile.test_hostile_roles import WIRE_PEER, pong
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
STOP, STOPPED = ref.command(b"STOP"), ref.command(b"STOPPED")
KNOWS = (b"X-Meshmsg", b"1 stop")
SENDERS = ["Push", "Pub", "XPub", "Req", "Dealer", "Pair"]


@pytest.mark.parametrize("role", WIRE_PEER)
def test_stops_by_the_thousand_hurt_no_role_and_cost_nothing(role: str) -> None:
    """Unasked for, with data, repeated: still a good peer, and no memory is held for them."""
    with getattr(mm, role)(bind=UP) as ours:
        with RawPeer(ours.endpoint).shake(WIRE_PEER[role]) as peer:
            pong(peer)
            before = live_bytes()
            for _ in range(20):
                peer.send((STOP + STOPPED) * 200)
                peer.send(ref.command(b"STOP", b"x" * 60) + ref.command(b"STOPPED", b"\0" * 60))
                pong(peer)
            assert live_bytes() - before < 64 * 1024
            assert len(ours.peers()) == 1
            assert ours.stats().disconnects == 0


@pytest.mark.parametrize("command", [STOP, STOPPED], ids=["stop", "stopped"])
def test_before_ready_they_end_the_handshake(command: bytes) -> None:
    """As any other command does there."""
    with mm.Push(bind=UP) as push, RawPeer(push.endpoint) as peer:
        peer.send(ref.greeting() + command)
        peer.until_closed()
        wait_until(lambda: push.stats().handshakes_failed)
        assert mm.Reason.HANDSHAKE in push.stats().closed


@pytest.mark.parametrize("role", SENDERS)
def test_who_stopped_gets_one_answer_at_a_time_and_nothing_more(role: str) -> None:
    """STOPPED comes; later messages wait for others, and a subscription changes nothing."""
    with getattr(mm, role)(bind=UP) as ours:
        with RawPeer(ours.endpoint).shake(WIRE_PEER[role]) as peer:
            ours.wait_for_peers(timeout=WAIT_S)
            peer.send(STOP)
            assert peer.frame()[1] == b"\x07STOPPED"
            peer.send(ref.subscription(True, b""))
            pong(peer)
            if role in ("Pub", "XPub"):
                assert ours.subscribers("") == 0
                ours.send(b"nobody")
            elif role == "Req":
                with pytest.raises(mm.TimedOutError):
                    ours.request(b"nobody", timeout=0.01)
            else:
                with pytest.raises(mm.WouldBlockError):
                    ours.send(b"nobody", timeout=0)
            pong(peer)


def stopping(role: str, *features: tuple[bytes, bytes]) -> tuple[Any, RawPeer]:
    """A socket that has asked this peer to stop, and got no answer yet."""
    ours = getattr(mm, role)(bind=UP)
    peer = RawPeer(ours.endpoint).shake(WIRE_PEER[role], *features)
    ours.wait_for_peers(timeout=WAIT_S)
    ours.stop_receiving(deadline=WAIT_S)
    return ours, peer


def test_a_peer_that_never_answers_holds_the_end_until_the_deadline() -> None:
    """And what it sent is given out."""
    ours, peer = stopping("Pull", KNOWS)
    with ours, peer:
        assert peer.frame()[1] == b"\x04STOP"
        peer.send(ref.message(b"1") + ref.message(b"2"))
        assert [ours.recv(timeout=WAIT_S), ours.recv(timeout=WAIT_S)] == [b"1", b"2"]
        with pytest.raises(mm.WouldBlockError):
            ours.recv(timeout=0)
        assert [one.state for one in ours.stop_receiving(deadline=0.0).peers] == ["late"]
        assert list(ours) == []


@pytest.mark.parametrize(
    ("known", "state"), [((KNOWS,), "late"), ((), "cannot")], ids=["late", "cannot"]
)
def test_what_may_be_lost_by_stopping_is_told_by_the_log_an_event_and_the_report(
    known: tuple[tuple[bytes, bytes], ...], state: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A peer that is read no further had not said that it was done: it may have sent more."""
    ours, peer = stopping("Pull", *known)
    with caplog.at_level(logging.WARNING, "meshmsg"), ours, peer:
        report = ours.stop_receiving(deadline=0.0)
        assert list(ours) == []
        [told] = [one for one in ours.events() if one.kind is mm.EventKind.PEER_UNREAD]
        assert told.peer == report.peers[0].id
        assert told.address == report.peers[0].address
        wait_until(lambda: any("PEER_UNREAD" in text for text in caplog.messages))
        [words] = [text for text in caplog.messages if "PEER_UNREAD" in text]
        assert "what is on its way from it may be lost, unknown how many" in words
        assert report.peers[0].state == state
        assert report.may_be_lost
        assert not report.waiting
        with pytest.raises(mm.MeshError, match=f"{told.address} .* may be lost") as caught:
            report.raise_for_loss()
        assert "not everything is known to have come" in str(caught.value)
        ours.stop_receiving(deadline=0.0)
        assert mm.EventKind.PEER_UNREAD not in [one.kind for one in ours.events()]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_peer_in_its_handshake_at_the_deadline_is_told_of(at_once: bool) -> None:
    """It may have sent messages behind its READY, which did not come in time."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(ref.greeting())
        wait_until(lambda: len(peer.socket.recv(64)))  # it was heard
        if not at_once:
            report = pull.stop_receiving()
            assert [one.state for one in report.peers] == ["asked"]
            assert report.waiting
        report = pull.stop_receiving(deadline=0.0)
        assert [one.state for one in report.peers] == ["late"]
        [told] = [one for one in pull.events() if one.kind is mm.EventKind.PEER_UNREAD]
        assert (told.peer, told.address) == (report.peers[0].id, report.peers[0].address)
        assert "it had not said by the deadline that it was done" in told.detail
        assert list(pull) == []
        with pytest.raises(mm.MeshError, match="may be lost"):
            pull.stop_receiving().raise_for_loss()


def test_a_peer_that_ends_its_handshake_while_the_socket_stops_is_asked_then() -> None:
    """It is one entry of the report all the while."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(ref.greeting())
        wait_until(lambda: len(peer.socket.recv(64)))
        [before] = pull.stop_receiving().peers
        peer.send(ref.ready(b"PUSH", KNOWS) + ref.message(b"x") + STOPPED)
        assert list(pull) == [b"x"]
        [after] = pull.stop_receiving().peers
        assert (before.id, before.state, after.id, after.state) == (
            after.id,
            "asked",
            before.id,
            "stopped",
        )


def test_a_peer_that_was_asked_between_two_reports_and_died_is_in_the_second() -> None:
    """It was in its handshake at the first: what was lost with it is not passed over."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(ref.greeting())
        wait_until(lambda: len(peer.socket.recv(64)))
        pull.stop_receiving()
        peer.send(ref.ready(b"PUSH", KNOWS) + ref.message(b"1") + b"\0\x10half")
        assert pull.recv(timeout=WAIT_S) == b"1"
        peer.socket.close()
        assert list(pull) == []
        report = pull.stop_receiving()
        assert [one.state for one in report.peers] == ["gone"]
        assert report.may_be_lost
        with pytest.raises(mm.MeshError, match="lost its connection before it answered"):
            report.raise_for_loss()


@pytest.mark.parametrize("module", [mm, aio])
def test_a_peer_that_had_answered_and_then_ended_is_not_gone(module: Any) -> None:
    """It ends between two reports, in the order of things: nothing of it is lost."""

    async def scene() -> None:
        pull = module.Pull(bind=UP)
        with RawPeer(pull.endpoint).shake(b"PUSH", KNOWS) as peer:
            wait_until(pull.peers)
            [asked] = pull.stop_receiving().peers
            assert asked.state == "asked"
            peer.send(STOPPED)
        wait_until(lambda: not pull.peers())
        report = pull.stop_receiving()
        assert [(one.id, one.state) for one in report.peers] == [(asked.id, "stopped")]
        assert report.peers[0].address == asked.address
        report.raise_for_loss()
        closed = pull.close()
        if closed is not None:
            await closed

    asyncio.run(scene())


def test_scanners_that_say_nothing_are_not_in_the_report() -> None:
    """Who has heard nothing of us can have sent us nothing."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint):
        wait_until(lambda: pull.stats().half_open)
        assert pull.stop_receiving().clean
        assert list(pull) == []


@pytest.mark.parametrize("role", ["Pull", "Sub", "Rep"])
@pytest.mark.parametrize("count", [1, 50])
def test_a_peer_that_sends_on_behind_its_last_message_is_cut(role: str, count: int) -> None:
    """STOPPED, and then more: nothing of that is given out, and the event says why."""
    ours, peer = stopping(role, KNOWS)
    with ours, peer:
        assert peer.frame()[1] == b"\x04STOP"
        peer.send(STOPPED)
        wait_until(lambda: not ours.stop_receiving(deadline=WAIT_S).waiting)
        peer.send(ref.message(b"more") * count + STOPPED)
        wait_until(lambda: ours.stats().closed)
        assert list(ours) == []
        assert ours.stats().closed == {mm.Reason.COMMAND: 1}
        assert ours.stats().parsed_messages == 0
        gone = [event for event in ours.events() if event.reason == mm.Reason.COMMAND]
        assert [event.detail for event in gone] == ["a message behind STOPPED"]
        assert [one.state for one in ours.stop_receiving().peers] == ["stopped"]


def test_a_peer_that_does_not_say_it_knows_stop_is_sent_none() -> None:
    """It would not know the command; it is not read from any more."""
    ours, peer = stopping("Pull", (b"X-Meshmsg", b"1 refuse"))
    with ours, peer:
        assert [one.state for one in ours.stop_receiving().peers] == ["cannot"]
        peer.send(ref.message(b"x") * 50)
        assert list(ours) == []
        ours.close()
        assert b"STOP" not in peer.until_closed()


def test_a_sub_cancels_what_a_foreign_publisher_knows_of() -> None:
    """Every topic, then a PING; the answer to that, and no other, is the end."""
    with mm.Sub(bind=UP, topics=["a", "b"]) as sub:
        with RawPeer(sub.endpoint).shake(b"PUB") as peer:
            sub.wait_for_peers(timeout=WAIT_S)
            sub.stop_receiving(deadline=WAIT_S)
            said = []
            while not said or not said[-1].startswith(b"\x04PING"):
                said.append(peer.frame(pings=True)[1])
            assert {b"\x06CANCELa", b"\x06CANCELb"} <= set(said)
            peer.send(ref.message(b"a1") + ref.pong(b"STOQ") + ref.pong(b"STOP" + b"x"))
            assert sub.recv(timeout=WAIT_S) == b"a1"
            assert sub.stop_receiving(deadline=WAIT_S).waiting
            peer.send(ref.message(b"a2") + ref.pong(said[-1][7:]))
            assert list(sub) == [b"a2"]
            assert [one.state for one in sub.stop_receiving().peers] == ["cancelled"]
