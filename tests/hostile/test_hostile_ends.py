"""END from peers that mean no good: twice, first, in the midst of a message, and then messages.

Not here: what it is for (tests/unit/test_finishing.py), its octets (tests/c/test_command.c).
"""

from __future__ import annotations

import struct

import pytest

import meshmsg as mm
from tests.hostile.test_hostile_acks import KNOWS, PRODUCER, ack, pull_of
from tests.hostile.test_hostile_roles import WIRE_PEER, pong
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.rawpeer import RawPeer

END = ref.command(b"END")
COUNT = ref.command(b"COUNT", struct.pack(">Q", 1) + PRODUCER)


def push_to(pull: mm.Pull) -> RawPeer:
    """A peer of this Pull."""
    return RawPeer(pull.endpoint).shake(b"PUSH", KNOWS)


@pytest.mark.parametrize("role", WIRE_PEER)
def test_ends_by_the_thousand_hurt_no_role_and_cost_nothing(role: str) -> None:
    """With data, repeated, to who has no use for them: still a good peer."""
    with getattr(mm, role)(bind=of_its_own()) as ours:
        with RawPeer(ours.endpoint).shake(WIRE_PEER[role]) as peer:
            pong(peer)
            before = live_bytes()
            for _ in range(20):
                peer.send(END * 200 + ref.command(b"END", b"\xff" * 60))
                pong(peer)
            assert live_bytes() - before < 64 * 1024
            assert len(ours.peers()) == 1
            assert ours.stats().disconnects == 0
            assert ours.stats().finished_peers == (1 if role == "Pull" else 0)


@pytest.mark.parametrize("octets", [END + END, COUNT + END, END + COUNT], ids=["2", "c", "late"])
def test_an_end_without_a_message_is_an_end(octets: bytes) -> None:
    """Twice is once, with or without a COUNT in front of it or behind."""
    with mm.Pull(bind=of_its_own()) as pull, push_to(pull) as peer:
        peer.send(octets)
        assert list(pull) == []
        assert (pull.stats().finished_peers, len(pull.peers())) == (1, 1)


@pytest.mark.parametrize(
    "octets",
    [
        END + ref.message(b"behind"),
        END + ref.message(b"behind") * 100,
        ref.frame(b"half a", 1) + END + ref.frame(b"message"),
        END + ref.command(b"META", b"\x03\x00\x01k") + ref.message(b"behind"),
    ],
    ids=["one", "many", "inside", "meta"],
)
def test_a_message_behind_the_end_ends_the_connection(octets: bytes) -> None:
    """Nothing of it is given out; what came before is, and others are heard as ever."""
    with mm.Pull(bind=of_its_own()) as pull, push_to(pull) as peer:
        peer.send(ref.message(b"before") + octets)
        peer.until_closed()
        wait_until(lambda: not pull.peers())
        assert bytes(pull.recv(timeout=WAIT_S)) == b"before"
        with pytest.raises(mm.TimedOutError):  # who sends on has not finished
            pull.recv(timeout=0.01)
        assert [e.detail for e in pull.events() if e.kind is mm.EventKind.PEER_DOWN] == [
            "a message behind END"
        ]
        with mm.Push(connect=pull.endpoint) as push:
            push.send(b"good", timeout=WAIT_S)
            assert bytes(pull.recv(timeout=WAIT_S)) == b"good"


def test_of_a_publisher_it_ends_no_member_of_a_group() -> None:
    """It is a Push's to say: a member that acknowledges hears on."""
    again = ref.command(b"AGAIN", struct.pack(">QQI", 1, 7, 1))
    with (
        mm.Sub(bind=of_its_own(), topics="", group="w") as sub,
        RawPeer(sub.endpoint).shake(b"PUB", (b"X-Meshmsg", b"1 stop ack meta group")) as peer,
    ):
        peer.send(COUNT)
        while not peer.frame()[1].startswith(b"\x03ACK"):
            pass
        peer.send(END + again + ref.message(b"behind"))
        assert bytes(sub.recv(timeout=WAIT_S)) == b"behind"
        assert (sub.stats().finished_peers, len(sub.peers())) == (0, 1)
        with pytest.raises(mm.WouldBlockError):
            sub.recv(timeout=0)


def test_before_ready_it_ends_the_handshake() -> None:
    """As any other command does there."""
    with mm.Pull(bind=of_its_own()) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(ref.greeting() + END)
        peer.until_closed()
        wait_until(lambda: pull.stats().handshakes_failed)
        assert mm.Reason.HANDSHAKE in pull.stats().closed


def test_who_does_not_know_it_never_sees_it() -> None:
    """Another who does is told, behind its last message and once, however often it answers."""
    with mm.Push(bind=of_its_own(), delivery="at_least_once") as push, pull_of(push) as knows:
        knows.send(ack(0, 1))
        push.send(b"x", timeout=WAIT_S)
        assert knows.frame()[1] == b"x"
        with RawPeer(push.endpoint).shake(b"PULL", (b"X-Meshmsg", b"1 stop")) as other:
            push.wait_for_peers(2, timeout=WAIT_S)
            push.finish()
            pong(knows)
            knows.send(ack(1, 2))
            assert knows.frame() == (4, b"\x03END")
            knows.send(ack(1, 3))
            pong(knows)
            pong(other)
            push.wait_for_finished(1, timeout=WAIT_S)
            assert push.stats().finished_peers == 1


def test_who_acknowledges_nothing_holds_the_end_up_while_it_is_there() -> None:
    """When it is gone, what it had is done by others, and then it is the end."""
    with mm.Push(bind=of_its_own(), delivery="at_least_once") as push:
        with pull_of(push) as stuck:
            stuck.send(ack(0, 10))
            push.send(b"x", timeout=WAIT_S)
            assert stuck.frame()[1] == b"x"
            push.finish()
            with pytest.raises(mm.WouldBlockError):
                push.wait_for_finished(timeout=0)
        with mm.Pull(connect=push.endpoint) as pull:
            assert [bytes(message) for message in pull] == [b"x"]
        push.wait_for_finished(1, timeout=WAIT_S)
