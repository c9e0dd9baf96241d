"""The reference of CURVE against libzmq, both roles: each takes what the other builds.

Not here: our sockets (test_curve.py).
"""

from __future__ import annotations

import socket
from typing import Any

import pytest
import zmq

from tests.interop.zmqside import bind, zmq_socket
from tests.support import refcodec as ref
from tests.support import refcurve as curve
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

SERVER, CLIENT = bytes(range(32)), bytes(range(1, 33))
SIZES = [0, 1, 222, 223, 255, 256, 70_000]


def keys(secret: bytes) -> dict[str, bytes]:
    """Return the options of libzmq that are our key pair."""
    return {"CURVE_SECRETKEY": secret, "CURVE_PUBLICKEY": curve.public_of(secret)}


def open_all(side: curve.Side, peer: Any, count: int) -> list[tuple[int, bytes]]:
    """Take so many MESSAGEs; their frames are those of messages, and MORE is only inside."""
    found = []
    for _ in range(count):
        flags, body = peer.frame()
        assert flags == 0
        found.append(side.open(body))
    return found


def as_client(peer: RawPeer, client: curve.Client) -> RawPeer:
    """Do the handshake with a server."""
    peer.send(ref.greeting(mechanism=b"CURVE") + curve.framed(client.hello()))
    peer.greeted()
    client.welcomed(peer.frame()[1])
    peer.send(curve.framed(client.initiate()))
    client.accepted(peer.frame()[1])
    return peer


def as_server(peer: RawPeer, server: curve.Server) -> RawPeer:
    """Do the handshake with a client."""
    peer.send(ref.greeting(mechanism=b"CURVE", server=1))
    peer.greeted()
    server.greeted(peer.frame()[1])
    peer.send(curve.framed(server.welcome()))
    server.initiated(peer.frame()[1])
    peer.send(curve.framed(server.ready()))
    return peer


def exchange(peer: RawPeer, side: curve.Side, theirs: Any) -> None:
    """Messages of several sizes and frames, both ways."""
    for size in SIZES:
        theirs.send_multipart([b"a" * size, b"b"])
        assert open_all(side, peer, 2) == [(curve.MORE, b"a" * size), (0, b"b")]
        peer.send(ref.frame(side.seal(b"c" * size, curve.MORE)) + ref.frame(side.seal(b"d")))
        assert theirs.recv_multipart() == [b"c" * size, b"d"]


def test_the_reference_as_a_client_and_libzmq_as_a_server_understand_each_other() -> None:
    """Also what the server says of itself."""
    with zmq_socket(zmq.PAIR, IPV6=0, CURVE_SERVER=1, **keys(SERVER)) as theirs:
        client = curve.Client(
            secret=CLIENT,
            short_secret=b"\x07" * 32,
            metadata=ref.metadata([(b"Socket-Type", b"PAIR")]),
            server=curve.public_of(SERVER),
        )
        with as_client(RawPeer(bind(theirs, "tcp://127.0.0.1:0")), client) as peer:
            assert b"Socket-Type\0\0\0\x04PAIR" in client.peer_metadata
            exchange(peer, client, theirs)


def test_the_reference_as_a_server_and_libzmq_as_a_client_understand_each_other() -> None:
    """Also who the client is, and what it says of itself."""
    server = curve.Server(
        secret=SERVER,
        short_secret=b"\x08" * 32,
        metadata=ref.metadata([(b"Socket-Type", b"PAIR")]),
    )
    options = {"CURVE_SERVERKEY": server.public, **keys(CLIENT)}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(WAIT_S)
        with zmq_socket(zmq.PAIR, **options) as theirs:
            theirs.connect(f"tcp://127.0.0.1:{listening.getsockname()[1]}")
            with as_server(RawPeer.of(listening.accept()[0]), server) as peer:
                assert server.client == curve.public_of(CLIENT)
                assert b"Socket-Type\0\0\0\x04PAIR" in server.peer_metadata
                exchange(peer, server, theirs)


def test_subscriptions_of_libzmq_are_commands_inside_a_message() -> None:
    """The flag of a command is 02 there, and the frame outside is that of a message."""
    with zmq_socket(zmq.SUB, IPV6=0, CURVE_SERVER=1, SUBSCRIBE=b"fx.", **keys(SERVER)) as theirs:
        client = curve.Client(
            secret=CLIENT,
            short_secret=b"\x07" * 32,
            metadata=ref.metadata([(b"Socket-Type", b"PUB")]),
            server=curve.public_of(SERVER),
        )
        with as_client(RawPeer(bind(theirs, "tcp://127.0.0.1:0")), client) as peer:
            peer.send(ref.frame(client.seal(b"fx.eur")))
            assert theirs.recv() == b"fx.eur"  # libzmq only notices a connection inside a call
            assert open_all(client, peer, 1) == [(curve.COMMAND, b"\x09SUBSCRIBEfx.")]


@pytest.mark.parametrize("where", range(5))
def test_the_reference_refuses_what_is_not_for_it(where: int) -> None:
    """One octet of each command that is changed."""
    server = curve.Server(secret=SERVER, short_secret=b"\x08" * 32)
    client = curve.Client(secret=CLIENT, short_secret=b"\x07" * 32, server=server.public)
    steps = [
        (client.hello, server.greeted),
        (server.welcome, client.welcomed),
        (client.initiate, server.initiated),
        (server.ready, client.accepted),
        (lambda: client.seal(b"x"), server.open),
    ]
    for step, (build, take) in enumerate(steps):
        body = build()
        if step == where:
            with pytest.raises(curve.Refused):
                take(body[:-1] + bytes([body[-1] ^ 1]))
        take(body)
