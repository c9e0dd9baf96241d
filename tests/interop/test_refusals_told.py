"""What is told when libzmq and we do not come together: who it was, and what to look for."""

from __future__ import annotations

from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
PUBLIC, SECRET = zmq.curve_keypair()
SERVERS: dict[str, dict[str, Any]] = {
    "PLAIN": {"PLAIN_SERVER": 1},
    "CURVE": {"CURVE_SERVER": 1, "CURVE_SECRETKEY": SECRET, "CURVE_PUBLICKEY": PUBLIC},
}
CLIENTS: dict[str, dict[str, Any]] = {
    "PLAIN": {"PLAIN_USERNAME": b"a", "PLAIN_PASSWORD": b"b"},
    "CURVE": {
        "CURVE_SERVERKEY": PUBLIC,
        "CURVE_SECRETKEY": SECRET,
        "CURVE_PUBLICKEY": PUBLIC,
    },
}


def refused(sock: Any) -> mm.Event:
    """Wait for the first handshake that failed."""
    found: list[mm.Event] = []

    def came() -> bool:
        failed = mm.EventKind.HANDSHAKE_FAILED
        found.extend(event for event in sock.events() if event.kind is failed)
        return bool(found)

    wait_until(came)
    return found[0]


@pytest.mark.parametrize("mechanism", SERVERS)
def test_a_listener_of_libzmq_that_wants_security_is_told_as_such(mechanism: str) -> None:
    """It closes in the middle of its greeting, or before: what that suggests is said."""
    with zmq_socket(zmq.PULL, **SERVERS[mechanism]) as theirs:
        url = bind(theirs, UP)
        with mm.Push(connect=url) as push:
            event = refused(push)
            assert "CURVE" in event.detail or event.reason is mm.Reason.MECHANISM
            assert event.address == url


@pytest.mark.parametrize("mechanism", CLIENTS)
def test_a_client_of_libzmq_that_wants_security_is_told_with_its_address(mechanism: str) -> None:
    """The listener's side of the same."""
    with mm.Pull(bind=UP) as pull, zmq_socket(zmq.PUSH, **CLIENTS[mechanism]) as theirs:
        theirs.connect(pull.endpoint)
        event = refused(pull)
        assert "CURVE" in event.detail or event.reason is mm.Reason.MECHANISM
        assert event.address.startswith("tcp://127.0.0.1:")
        assert event.address != pull.endpoint


def test_sp_to_a_listener_of_libzmq_is_told_the_right_scheme() -> None:
    """Whether it says its signature first or closes at once."""
    with zmq_socket(zmq.PULL) as theirs:
        url = bind(theirs, UP)
        with mm.Push(connect=f"sp+{url}") as push:
            assert "tcp://" in refused(push).detail


def test_a_connection_too_many_from_libzmq_is_refused_and_others_are_served() -> None:
    """It gets an ERROR in place of READY, which it knows."""
    with mm.Pull(bind=UP, connections_max=1) as pull, mm.Push(connect=pull.endpoint) as push:
        push.wait_for_peers(timeout=WAIT_S)
        with zmq_socket(zmq.PUSH) as theirs:
            theirs.connect(pull.endpoint)
            event = refused(pull)
            assert event.detail == "too many connections: connections_max is 1"
            push.send(b"still")
            assert pull.recv(timeout=WAIT_S) == b"still"
