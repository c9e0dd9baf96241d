"""Closing in every order: sockets, peers, engines, endpoints; what was promised still arrives.

Not here: what closing does to threads that wait (test_thread_stress.py), and programs that end
(tests/fault).
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, endpoint_for, joined, of_its_own, wait_until
from tests.support.room import room
from tests.support.stalled import PATIENCE_S, stalled

UP = "tcp://127.0.0.1:0"
ROLES = ["Push", "Pull", "Pub", "Sub", "XPub", "XSub", "Req", "Rep", "Dealer", "Router", "Pair"]
PAIRS = [
    *[("Push", "Pull"), ("Pub", "Sub"), ("XPub", "XSub"), ("Req", "Rep"), ("Dealer", "Router")],
    ("Pair", "Pair"),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_sockets_and_engines_are_closed_in_any_order(order: tuple[int, ...]) -> None:
    """Two sockets of two engines: whatever goes first, nothing is left and nothing hangs."""
    before = lib.mm_live_handles()
    engines = [mm.Engine(), mm.Engine()]
    push = mm.Push(bind=UP, engine=engines[0])
    pull = mm.Pull(connect=push.endpoint, engine=engines[1])
    push.wait_for_peers(timeout=WAIT_S)
    push.send_many([b"x"] * 50)
    things: list[Any] = [push, pull, *engines]
    for place in order:
        things[place].close()
    assert push.closed
    assert pull.closed
    assert lib.mm_live_handles() == before


@pytest.mark.parametrize("roles", PAIRS, ids=lambda r: "-".join(r))
@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
@pytest.mark.parametrize("first", [0, 1], ids=["binder", "dialer"])
def test_whoever_closes_first_the_other_sees_it_and_a_new_one_takes_its_place(
    roles: tuple[str, str], transport: str, first: int, short_path: Path
) -> None:
    """PEER_DOWN with a reason that is no trouble; then the same endpoint works again."""
    kinds = [getattr(mm, role) for role in roles]
    url = of_its_own(endpoint_for(transport, short_path))
    with joined(kinds[0], kinds[1], url) as sockets:
        endpoint = sockets[0].endpoint
        leaving, staying = sockets[first], sockets[1 - first]
        leaving.close()
        while staying.peers():
            staying.wait_for_peers(0, timeout=WAIT_S)
        down = [e for e in staying.events() if e.kind is mm.EventKind.PEER_DOWN]
        assert [event.reason for event in down] == [mm.Reason.EOF]
        place = {"bind": endpoint} if first == 0 else {"connect": endpoint}
        with kinds[first](**place) as successor:
            successor.wait_for_peers(timeout=WAIT_S)
            staying.wait_for_peers(timeout=WAIT_S)


@pytest.mark.parametrize("linger", [WAIT_S, 3600.0])
@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_what_was_sent_before_closing_is_received_after_it(
    transport: str, linger: float, short_path: Path
) -> None:
    """Far more than the kernel holds: the engine writes on while the receiver reads."""
    url = endpoint_for(transport, short_path)
    with mm.Pull(bind=url) as pull, mm.Push(connect=pull.endpoint, linger=linger) as push:
        push.wait_for_peers(timeout=WAIT_S)
        count = 0
        try:
            for count in range(150):
                push.send(b"%04d" % count + bytes(100_000), timeout=0)
        except mm.WouldBlockError:
            count -= 1
        push.close()
        found = [int(pull.recv(timeout=WAIT_S)[:4]) for _ in range(count + 1)]
        assert found == list(range(count + 1))


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_what_a_full_receive_queue_held_back_comes_after_its_sender_has_left(
    transport: str, short_path: Path
) -> None:
    """Claims: "What a peer had sent before it left is still given out", "nothing is dropped"."""
    url = endpoint_for(transport, short_path)
    with mm.Pull(bind=url, recv_queue_messages=3) as pull:
        with mm.Push(connect=pull.endpoint, linger=WAIT_S) as push:
            push.wait_for_peers(timeout=WAIT_S)
            assert push.send_many([b"%d" % number for number in range(900)]) == 900
        assert [int(pull.recv(timeout=WAIT_S)) for _ in range(900)] == list(range(900))
        assert pull.stats().dropped == 0


def test_closing_the_receiver_does_not_make_the_sender_s_books_wrong() -> None:
    """What was confirmed is delivered, what was written is in doubt, the rest goes to the next."""
    with room(buffer_size=4096) as r:
        push, (pull,) = r.around("Push", "Pull", 1)
        for number in range(10):
            push.send(b"%d" % number + bytes(3_000), timeout=PATIENCE_S)
            if number == 4:
                push.drain(timeout=PATIENCE_S).raise_for_loss()
        pull.close()
        r.world.run(5)
        stats = push.stats()
        assert stats.confirmed_messages >= 5
        assert stats.sent_messages == 10
        assert stats.sent_messages == (
            stats.written_messages + stats.dropped + stats.queued_out_messages
        )
        assert stats.written_messages == stats.confirmed_messages + stats.in_doubt_messages


@pytest.mark.parametrize("role", ROLES)
def test_a_socket_may_be_closed_before_its_handshakes_are_done(role: str) -> None:
    """Fifty times open, connect, close: no event of a dead socket, nothing left behind."""
    before = lib.mm_live_handles()
    peer = {"Push": "Pull", "Pull": "Push", "Pub": "Sub", "Sub": "Pub", "XPub": "XSub"}
    peer |= {"XSub": "XPub", "Req": "Rep", "Rep": "Req"}
    with mm.Engine() as engine:
        with getattr(mm, peer.get(role, role))(bind=UP, engine=engine) as other:
            for _ in range(50):
                getattr(mm, role)(connect=other.endpoint, engine=engine).close()
            while other.peers() or other.stats().half_open:
                other.wait_for_peers(0, timeout=WAIT_S)
            assert other.stats().queued_in_messages == 0
    assert lib.mm_live_handles() == before


def test_closing_during_a_stall_abandons_what_the_linger_does_not_cover() -> None:
    """The engine's close says how many messages are lost: all that were queued, to the message."""
    with stalled("Push", linger=2.0) as pair:
        for _ in range(6):
            pair.send(bytes(10_000))
        pair.settle()
        pair.sender.close()
        assert pair.sender._engine.close(timeout=1) == 6


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (6, "6 messages were still queued when .* was closed and are lost"),
        (1, "1 message was still queued when .* was closed and is lost"),
    ],
)
def test_the_end_of_a_with_block_of_an_engine_warns_of_what_is_lost(count: int, words: str) -> None:
    """Nobody sees what close() returns there; when nothing is lost there is nothing to say."""
    with stalled("Push", linger=2.0) as pair:
        for _ in range(count):
            pair.send(bytes(10_000))
        pair.settle()
        with pytest.warns(RuntimeWarning, match=words):
            with pair.sender._engine:
                pair.sender.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mm.Engine() as engine:
            mm.Push(bind=UP, engine=engine).close()


def test_an_engine_closed_with_time_enough_loses_nothing() -> None:
    """Its timeout is for the queues: what can go out in it does."""
    with room(buffer_size=4096) as r:
        push, (pull,) = r.around("Push", "Pull", 1)
        for _ in range(6):
            push.send(bytes(10_000), timeout=PATIENCE_S)
        assert r.hub.close(timeout=5) == 0
        assert [len(pull.recv(timeout=PATIENCE_S)) for _ in range(6)] == [10_000] * 6


def test_endpoints_are_free_again_as_soon_as_close_returns() -> None:
    """A hundred sockets one after the other on the same port, path and name."""
    with mm.Pull(bind=of_its_own()) as pull:
        port = pull.endpoint
    for _ in range(100):
        with mm.Pull(bind=[port, "inproc://again"]) as pull:
            assert pull.endpoints == (port, "inproc://again")


def test_an_ipc_file_is_private_while_it_is_bound_and_gone_afterwards(short_path: Path) -> None:
    """Claim: "ipc files are 0600"; a stale one left by a dead process is no obstacle."""
    path = short_path / "socket"
    for _ in range(2):
        with mm.Pull(bind=f"ipc://{path}") as pull, mm.Push(connect=pull.endpoint) as push:
            assert path.stat().st_mode & 0o777 == 0o600
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x"
        assert not path.exists()


def test_messages_received_and_not_taken_die_with_the_socket_only() -> None:
    """A restarted receiver gets what is sent from then on; the sender counts the rest delivered."""
    with mm.Push(bind=UP) as push:
        with mm.Pull(connect=push.endpoint) as first:
            first.wait_for_peers(timeout=WAIT_S)
            push.send_many([b"old"] * 10)
            gone = push.peers()[0].id
            assert push.drain(timeout=WAIT_S).delivered == 10
        with mm.Pull(connect=push.endpoint) as second:
            wait_until(lambda: [peer.id for peer in push.peers()] not in ([], [gone]))
            wait_until(lambda: len(push.peers()) == 1 and second.peers())
            push.send(b"new", timeout=WAIT_S)
            assert second.recv(timeout=WAIT_S) == b"new"
