"""Our dialer meets a hostile listener of TLS: each ending is counted under its reason, and no
message goes out.

Not here: certificates that are not taken (tests/unit/test_both_are_told.py).
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from tests.hostile.test_tls_hostile import FLAT, flat, pytestmark
from tests.support import refcodec as ref
from tests.support import refsp
from tests.support import reftls as tls
from tests.support.certificates import make
from tests.support.certs import Ca
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer
from tests.support.tlspeer import SslPeer

__all__ = ["pytestmark"]
CHAIN = 60
"""Certificates of more than 16 KiB."""
ARENAS = 2 * FLAT
"""Octets: the engine has another block for what it reads once a segment keeps the first."""
Attack = Callable[[socket.socket, ssl.SSLContext], None]


def hello(body: bytes = b"", random: bytes = b"", suite: bytes = b"\x13\x01") -> Attack:
    """A ServerHello of ours, with these extensions."""

    def attack(raw: socket.socket, _: ssl.SSLContext) -> None:
        heard = raw.recv(65536)
        session = heard[43 : 44 + heard[43]]
        said = b"\x03\x03" + (random or os.urandom(32)) + session + suite + b"\x00"
        raw.sendall(
            tls.record(22, tls.message(2, said + len(body).to_bytes(2, "big") + body), 0x0303)
        )

    return attack


def says(octets: bytes) -> Attack:
    """Say this, whatever comes."""
    return lambda raw, _: raw.sendall(octets)


def inside(octets: bytes, clear: bytes = b"") -> Attack:
    """Do TLS as it should be, and say these in it, then those in the clear."""

    def attack(raw: socket.socket, context: ssl.SSLContext) -> None:
        peer = SslPeer(context, serves=True).done(raw)
        raw.sendall((peer.seal(octets) if octets else b"") + clear)

    return attack


def half(raw: socket.socket, context: ssl.SSLContext) -> None:
    """A part of what a good one answers, then FIN."""
    said = SslPeer(context, serves=True).step(raw.recv(65536))
    raw.sendall(said[: len(said) // 2])
    raw.shutdown(socket.SHUT_WR)


V13 = tls.extension(43, b"\x03\x04")
NO_SHARE = tls.extension(51, b"\x00\x1d\x00\x20" + bytes(32))
ATTACKS: dict[str, tuple[Attack, str]] = {
    "HTTP": (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "TLS_EXPECTED"),
    "ZMTP": (says(ref.greeting()), "TLS_EXPECTED"),
    "SP": (says(refsp.hello(refsp.PULL)), "TLS_EXPECTED"),
    "close_notify": (says(tls.alert(0, 1)), "HANDSHAKE_EOF"),
    "an alert": (says(tls.alert(40)), "TLS_ALERT"),
    "an unknown alert": (says(tls.alert(200)), "TLS_ALERT"),
    "our hello": (lambda raw, _: raw.sendall(raw.recv(65536)), "CRYPTO"),
    "TLS 1.2": (hello(suite=b"\xc0\x2b"), "MECHANISM"),
    "a share of zeros": (hello(V13 + NO_SHARE), "CRYPTO"),
    "no share": (hello(V13), "CRYPTO"),
    "a secret": (hello(V13 + tls.extension(41, bytes(2))), "CRYPTO"),
    "hello again, for nothing": (hello(V13, tls.RETRY), "CRYPTO"),
    "half an answer": (half, "HANDSHAKE_EOF"),
    "HTTP inside": (inside(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "NOT_ZMTP"),
    "SP inside": (inside(refsp.hello(refsp.PULL)), "NOT_ZMTP"),
    "CURVE inside": (inside(ref.greeting(mechanism=b"CURVE")), "MECHANISM"),
    "another role inside": (inside(ref.greeting() + ref.ready(b"SUB")), "SOCKET_TYPE"),
    "a greeting in the clear": (inside(b"", ref.greeting()), "CRYPTO"),
    "a wrong frame": (inside(ref.greeting() + ref.ready(b"PULL") + b"\xf8\x00"), "FRAME_FLAGS"),
}


def meet(ca: Ca, attack: Attack, context: ssl.SSLContext, reason: str) -> None:
    """A Push of ours dials somebody who does this, and ends for that."""
    client = ca.sign("client")
    policy = mm.Tls(**client.files, ca=ca.file)
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        mm.Push(
            security=policy, reconnect_min=60, reconnect_max=60, handshake_timeout=WAIT_S
        ) as push,
    ):
        listening.settimeout(WAIT_S)
        push.connect(f"tls+tcp://127.0.0.1:{listening.getsockname()[1]}")
        with RawPeer.of(listening.accept()[0]) as peer:
            attack(peer.socket, context)
            peer.until_closed()
        wait_until(lambda: push.stats().closed)
        assert push.stats().closed == {mm.Reason[reason]: 1}
        assert not push.peers()


def serving(cert: Path, key: Path, ca: Path) -> ssl.SSLContext:
    """TLS as a good listener has it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.load_verify_locations(ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_listener_is_left_and_counted_under_its_reason(name: str, tmp_path: Path) -> None:
    """Other wires, wrong answers, alerts, and TLS as it should be with something wrong inside."""
    attack, reason = ATTACKS[name]
    ca = Ca(tmp_path)
    server = ca.sign("server", "127.0.0.1")
    context = serving(server.cert, server.key, ca.file)
    with mm.Pull(bind="tcp://127.0.0.1:0"), flat(ARENAS):  # so that the engine is there
        meet(ca, attack, context, reason)


def test_a_chain_of_many_certificates_is_not_read_to_its_end(tmp_path: Path) -> None:
    """Each is right, but all of them are over 16 KiB."""
    ca, by, between = Ca(tmp_path), make("top", signs=True), b""
    for number in range(CHAIN):
        by = make(f"between {number}", by=by, signs=True)
        between = by.pem() + between
    leaf = make("leaf", by=by, names=("127.0.0.1",))
    cert, key = tmp_path / "chain.pem", tmp_path / "chain.key"
    cert.write_bytes(leaf.pem() + between)
    key.write_bytes(leaf.key_pem())

    def attack(raw: socket.socket, context: ssl.SSLContext) -> None:
        raw.sendall(SslPeer(context, serves=True).step(raw.recv(65536)))

    with mm.Pull(bind="tcp://127.0.0.1:0"), flat(ARENAS):
        meet(ca, attack, serving(cert, key, ca.file), "HANDSHAKE")
