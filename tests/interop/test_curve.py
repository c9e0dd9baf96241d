"""CURVE against libzmq, by way of pyzmq: every legal pair, either side binding, either side the
server.

Not here: what is in the boxes (tests/unit/test_curve_messages.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import zmq
from zmq.auth.thread import ThreadAuthenticator

import meshmsg as mm
from tests.interop.test_pyzmq import PAIRS, Exchange, name
from tests.interop.zmqside import bind, zmq_socket
from tests.support import refcurve as curve
from tests.support.curved import protect
from tests.support.pairs import WAIT_S, of_its_own, wait_until

SERVER, CLIENT = bytes(range(32)), bytes(range(32, 64))
SIZES = [0, 1, 222, 223, 255, 256, 2047, 2048, 65_536, 1 << 20]


def options(*, server: bool) -> dict[str, Any]:
    """Return what makes a socket of libzmq a server or a client."""
    secret = SERVER if server else CLIENT
    own = {"CURVE_SECRETKEY": secret, "CURVE_PUBLICKEY": curve.public_of(secret)}
    return own | ({"CURVE_SERVER": 1} if server else {"CURVE_SERVERKEY": curve.public_of(SERVER)})


@contextmanager
def paired(role: type[Any], kind: int, *, serve: bool, listen: bool) -> Iterator[Any]:
    """Ours and theirs, connected; serve: we have the key that is known, listen: we bind."""
    named = {"identity": b"us"} if role in (mm.Dealer, mm.Req) else {}
    routing = {"ROUTING_ID": b"them"} if kind in (zmq.DEALER, zmq.REQ, zmq.ROUTER) else {}
    zmq_options = options(server=not serve) | routing
    with role(**named) as ours, zmq_socket(kind, IPV6=0, **zmq_options) as theirs:
        if serve:
            protect(ours, SERVER)
        else:
            protect(ours, CLIENT, server=curve.public_of(SERVER))
        if listen:
            theirs.connect(ours.bind(of_its_own()))
        else:
            ours.connect(bind(theirs, of_its_own()))
        ours.wait_for_peers(timeout=WAIT_S)
        yield ours, theirs


@pytest.mark.parametrize("listen", [True, False], ids=["we-bind", "they-bind"])
@pytest.mark.parametrize("serve", [True, False], ids=["we-serve", "they-serve"])
@pytest.mark.parametrize(("role", "kind", "exchange"), PAIRS, ids=name)
def test_a_pair(role: type[Any], kind: int, exchange: Exchange, serve: bool, listen: bool) -> None:
    """The exchange works; who binds has nothing to do with who is the server."""
    with paired(role, kind, serve=serve, listen=listen) as (ours, theirs):
        exchange(ours, theirs)
        assert ours.stats().disconnects == 0


@pytest.mark.parametrize("serve", [True, False], ids=["we-serve", "they-serve"])
def test_many_messages_of_many_sizes_come_in_order_both_ways(serve: bool) -> None:
    """Of several frames, too; and all are confirmed, by a PING and its PONG inside of boxes."""
    sent = [[b"%d" % i, b"x" * SIZES[i % len(SIZES)]] for i in range(60)]
    sent += [[b"y" * (i % 700)] for i in range(5000)]
    with paired(mm.Pair, zmq.PAIR, serve=serve, listen=True) as (ours, theirs):
        for some in (sent[:60], sent[60:]):
            for message in some:
                ours.send_frames(message, timeout=WAIT_S)
                theirs.send_multipart(message)
            assert [theirs.recv_multipart() for _ in some] == some
            assert [ours.recv_frames(timeout=WAIT_S) for _ in some] == some
        assert ours.drain(timeout=WAIT_S)
        assert ours.stats().confirmed_messages == len(sent)


@pytest.mark.parametrize("serve", [True, False], ids=["we-serve", "they-serve"])
def test_who_has_another_key_never_gets_in(serve: bool) -> None:
    """Our event says which check failed, where it is ours that fails."""
    wrong = b"w" * 32
    patience = WAIT_S if serve else 0.5  # libzmq says nothing to who has another key than its own
    with mm.Pull(handshake_timeout=patience) as ours, zmq_socket(zmq.PUSH, IPV6=0) as theirs:
        if serve:
            protect(ours, SERVER)
            theirs.curve_secretkey, theirs.curve_publickey = CLIENT, curve.public_of(CLIENT)
            theirs.curve_serverkey = curve.public_of(wrong)
        else:
            protect(ours, CLIENT, server=curve.public_of(wrong))
            theirs.curve_secretkey, theirs.curve_publickey = SERVER, curve.public_of(SERVER)
            theirs.curve_server = 1
        theirs.connect(ours.bind(of_its_own()))
        event = refusal(ours)
        assert not ours.peers()
        assert ("server= is not our key" in event.detail) == serve


def refusal(socket: Any) -> Any:
    """Return the event of a handshake that failed, when there is one."""
    found: list[Any] = []
    kind = mm.EventKind.HANDSHAKE_FAILED
    wait_until(lambda: found.extend(e for e in socket.events() if e.kind is kind) or found)
    return found[0]


def test_a_client_that_is_denied_says_so() -> None:
    """By ERROR, which libzmq sends for its authenticator's 400."""
    context = zmq.Context()
    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    try:
        authenticator.configure_curve_callback("*", Denies())
        with context.socket(zmq.PULL) as theirs, mm.Push() as ours:
            theirs.linger = 0
            theirs.curve_secretkey, theirs.curve_publickey = SERVER, curve.public_of(SERVER)
            theirs.curve_server = 1
            protect(ours, CLIENT, server=curve.public_of(SERVER))
            ours.connect(bind(theirs, of_its_own()))
            event = refusal(ours)
            assert (event.reason, "'400'" in event.detail) == (mm.Reason.ERROR_COMMAND, True)
    finally:
        authenticator.stop()
        context.term()


class Denies:
    """Nobody may come in."""

    def callback(self, domain: str, key: bytes) -> bool:
        """Deny."""
        return False


def test_a_socket_without_curve_and_one_with_it_do_not_meet() -> None:
    """Each way: nothing falls back to no protection."""
    for ours_has in (True, False):
        with mm.Pull() as ours, zmq_socket(zmq.PUSH, IPV6=0) as theirs:
            if ours_has:
                protect(ours, SERVER)
            else:
                theirs.curve_secretkey, theirs.curve_publickey = CLIENT, curve.public_of(CLIENT)
                theirs.curve_serverkey = curve.public_of(SERVER)
            theirs.connect(ours.bind(of_its_own()))
            assert refusal(ours).reason in (mm.Reason.MECHANISM, mm.Reason.HANDSHAKE_EOF)
