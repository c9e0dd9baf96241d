"""PLAIN against libzmq, by way of pyzmq: every legal pair, either side binding, either side the
server.

Not here: octets of the handshake (tests/unit/test_plain_handshake.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import zmq
from zmq.auth.thread import ThreadAuthenticator

import meshmsg as mm
from tests.interop.test_curve import refusal
from tests.interop.test_pyzmq import PAIRS, Exchange, name
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S, of_its_own

USERS = {"alice": "correct horse", "long": "p" * 255}
ALICE = mm.Plain(user="alice", password="correct horse")
SERVER = mm.Plain(allow=USERS)
THEIRS = {"PLAIN_USERNAME": b"alice", "PLAIN_PASSWORD": b"correct horse"}
SIZES = [0, 1, 255, 256, 65_536, 1 << 20]


@contextmanager
def knowing_users(context: Any) -> Iterator[None]:
    """Servers of libzmq have somebody to ask: without one they let nobody in."""
    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    try:
        authenticator.configure_plain("*", USERS)
        yield
    finally:
        authenticator.stop()


@contextmanager
def paired(role: type[Any], kind: int, *, serve: bool, listen: bool) -> Iterator[Any]:
    """Ours and theirs, connected; serve: we know users, listen: we bind."""
    named = {"identity": b"us"} if role in (mm.Dealer, mm.Req) else {}
    routing = {"ROUTING_ID": b"them"} if kind in (zmq.DEALER, zmq.REQ, zmq.ROUTER) else {}
    options = (THEIRS if serve else {"PLAIN_SERVER": 1}) | routing
    policy = SERVER if serve else ALICE
    with (
        role(security=policy, **named) as ours,
        zmq_socket(kind, IPV6=0, **options) as theirs,
        knowing_users(theirs.context),
    ):
        if listen:
            theirs.connect(ours.bind(of_its_own()))
        else:
            ours.connect(bind(theirs, of_its_own()))
        ours.wait_for_peers(timeout=WAIT_S)
        assert ours.peers()[0].user_id == ("alice" if serve else "")
        yield ours, theirs


@pytest.mark.parametrize("listen", [True, False], ids=["we-bind", "they-bind"])
@pytest.mark.parametrize("serve", [True, False], ids=["we-serve", "they-serve"])
@pytest.mark.parametrize(("role", "kind", "exchange"), PAIRS, ids=name)
def test_a_pair(role: type[Any], kind: int, exchange: Exchange, serve: bool, listen: bool) -> None:
    """The exchange works; who binds has nothing to do with who is the server."""
    if kind == zmq.REQ and not serve:
        pytest.skip("libzmq's REQ, as a server of PLAIN, closes at a reply: a REP of libzmq's, too")
    with paired(role, kind, serve=serve, listen=listen) as (ours, theirs):
        exchange(ours, theirs)
        assert ours.stats().disconnects == 0


@pytest.mark.parametrize("serve", [True, False], ids=["we-serve", "they-serve"])
def test_messages_of_many_sizes_come_in_order_both_ways(serve: bool) -> None:
    """Of several frames, too; and all are confirmed."""
    sent = [[b"%d" % i, b"x" * SIZES[i % len(SIZES)]] for i in range(30)]
    with paired(mm.Pair, zmq.PAIR, serve=serve, listen=True) as (ours, theirs):
        for message in sent:
            ours.send_frames(message, timeout=WAIT_S)
            theirs.send_multipart(message)
        assert [theirs.recv_multipart() for _ in sent] == sent
        assert [ours.recv_frames(timeout=WAIT_S) for _ in sent] == sent
        assert ours.drain(timeout=WAIT_S)
        assert ours.stats().confirmed_messages == len(sent)


@pytest.mark.parametrize(
    ("user", "password", "words"),
    [
        (b"alice", b"horse", "the user 'alice' has another password"),
        (b"eve", b"correct horse", "the user 'eve' is not in allow="),
        (b"u" * 255, b"p" * 255, "is not in allow="),
    ],
)
def test_a_client_of_libzmq_that_is_not_in_the_list_is_denied(
    user: bytes, password: bytes, words: str
) -> None:
    """It never comes back: its socket says so in its monitor only."""
    wrong = {"PLAIN_USERNAME": user, "PLAIN_PASSWORD": password}
    with (
        mm.Pull(bind=of_its_own(), security=SERVER) as ours,
        zmq_socket(zmq.PUSH, IPV6=0, **wrong) as theirs,
    ):
        theirs.connect(ours.endpoint)
        event = refusal(ours)
        assert event.reason is mm.Reason.NOT_ALLOWED
        assert words[-20:] in event.detail or "'uuu" in event.detail
        assert not ours.peers()


def test_the_longest_password_is_understood() -> None:
    """255 octets."""
    options = {"PLAIN_USERNAME": b"long", "PLAIN_PASSWORD": b"p" * 255}
    with (
        mm.Pull(bind=of_its_own(), security=SERVER) as ours,
        zmq_socket(zmq.PUSH, IPV6=0, **options) as theirs,
    ):
        theirs.connect(ours.endpoint)
        theirs.send(b"hi")
        assert ours.recv(timeout=WAIT_S) == b"hi"


def test_our_client_comes_in_by_the_authenticator_of_pyzmq_and_says_so_when_it_does_not() -> None:
    """By WELCOME, and by ERROR with its 400."""
    with (
        zmq_socket(zmq.PULL, IPV6=0, PLAIN_SERVER=1) as theirs,
        knowing_users(theirs.context),
    ):
        url = bind(theirs, of_its_own())
        with mm.Push(connect=url, security=ALICE) as ours:
            ours.send(b"hi")
            assert theirs.recv() == b"hi"
        for user, password in [("alice", "horse"), ("eve", "correct horse")]:
            with mm.Push(connect=url, security=mm.Plain(user=user, password=password)) as ours:
                event = refusal(ours)
                assert event.reason is mm.Reason.ERROR_COMMAND
                assert "'400'" in event.detail


def test_a_socket_without_plain_and_one_with_it_do_not_meet() -> None:
    """Each way: nothing falls back."""
    for ours_has in (True, False):
        policy, options = (SERVER, {}) if ours_has else (None, THEIRS)
        with (
            mm.Pull(security=policy) as ours,
            zmq_socket(zmq.PUSH, IPV6=0, **options) as theirs,
        ):
            theirs.connect(ours.bind(of_its_own()))
            assert refusal(ours).reason in (mm.Reason.MECHANISM, mm.Reason.HANDSHAKE_EOF)
