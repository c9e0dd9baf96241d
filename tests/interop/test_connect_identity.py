"""A Router of ours that names the peer it dials, and libzmq at the other end; and the other way."""

from __future__ import annotations

import pytest
import zmq

import meshmsg as mm
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S, told


@pytest.mark.parametrize("own", [b"", b"theirs"], ids=["nameless", "named"])
@pytest.mark.parametrize("kind", [zmq.DEALER, zmq.REQ, zmq.ROUTER], ids=["DEALER", "REQ", "ROUTER"])
def test_a_peer_of_libzmq_has_the_name_it_was_dialed_by(kind: int, own: bytes) -> None:
    """Its own ROUTING_ID notwithstanding."""
    named = {"ROUTING_ID": own} if own else {}
    with zmq_socket(kind, **named) as theirs, mm.Router(identity=b"us") as ours:
        ours.connect(bind(theirs, "tcp://127.0.0.1:0"), identity=b"them")
        ours.wait_for_peers(timeout=WAIT_S)
        if kind == zmq.REQ:
            theirs.send(b"q")
            message = ours.recv(timeout=WAIT_S)
            assert (message, message.peer) == (b"q", b"them")
            ours.send_frames([b"them", b"", b"a"])
            assert theirs.recv() == b"a"
            return
        ours.send(b"out", to=b"them")
        assert theirs.recv_multipart()[-1] == b"out"
        theirs.send_multipart([b"us", b"back"] if kind == zmq.ROUTER else [b"back"])
        message = ours.recv(timeout=WAIT_S)
        assert (message, message.peer) == (b"back", b"them")


def test_a_rep_cannot_be_routed_to_whatever_its_name() -> None:
    """ROUTER and REP are no pair in ZMTP: it is told, and not silence."""
    with zmq_socket(zmq.REP) as theirs, mm.Router() as ours:
        ours.connect(bind(theirs, "tcp://127.0.0.1:0"), identity=b"them")
        told(ours, "REP")
        assert ours.peers() == []


def test_a_rep_behind_a_dealer_of_libzmq_answers_by_name() -> None:
    """The way requests go to a REP: through a DEALER that proxies."""
    with (
        zmq_socket(zmq.DEALER) as front,
        zmq_socket(zmq.DEALER) as back,
        zmq_socket(zmq.REP) as rep,
        mm.Router() as ours,
    ):
        rep.connect(bind(back, "tcp://127.0.0.1:0"))
        ours.connect(bind(front, "tcp://127.0.0.1:0"), identity=b"service")
        ours.wait_for_peers(timeout=WAIT_S)
        ours.send_frames([b"service", b"", b"ask"])
        back.send_multipart(front.recv_multipart())
        rep.send(rep.recv() + b"ed")
        front.send_multipart(back.recv_multipart())
        assert ours.recv_frames(timeout=WAIT_S) == [b"service", b"", b"asked"]


def test_libzmq_names_our_router_and_we_name_nobody() -> None:
    """CONNECT_ROUTING_ID over there."""
    with (
        mm.Router(bind="tcp://127.0.0.1:0", identity=b"ours") as ours,
        zmq_socket(zmq.ROUTER) as theirs,
    ):
        theirs.setsockopt(zmq.CONNECT_ROUTING_ID, b"chosen")
        theirs.setsockopt(zmq.ROUTER_MANDATORY, 1)
        theirs.connect(ours.endpoint)
        theirs.send_multipart([b"chosen", b"hello"])
        assert ours.recv(timeout=WAIT_S) == b"hello"
