"""Both sides of CURVE with fixed keys: ours in C, the reference as its peer, and the way of each
handshake.

Not here: the octets (refcurve), what is tested with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.support import refcodec as ref
from tests.support import refcurve as curve
from tests.support.curvecodec import DONE, MORE, Curve

SERVER, CLIENT = bytes(range(32)), bytes(range(32, 64))
SERVER_SHORT, CLIENT_SHORT = bytes(range(64, 96)), bytes(range(96, 128))
COOKIE_KEY = bytes(range(128, 160))
COOKIE_N, WELCOME_N, VOUCH_N = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 48))
PULL = ref.metadata([(b"Socket-Type", b"PULL"), (b"X-Meshmsg", b"1 refuse stop ack meta")])
PUSH = ref.metadata([(b"Socket-Type", b"PUSH"), (b"X-Meshmsg", b"1 refuse stop ack meta")])


def in_order(*nonces: bytes) -> Callable[[int], bytes]:
    """Return what gives these, in order."""
    left: Iterator[bytes] = iter(nonces)
    return lambda size: next(left)


def ref_server(**changes: Any) -> curve.Server:
    """Return the reference as a server."""
    fixed = {
        "secret": SERVER,
        "short_secret": SERVER_SHORT,
        "metadata": PULL,
        "cookie_key": COOKIE_KEY,
        "nonces": in_order(COOKIE_N, WELCOME_N),
    }
    return curve.Server(**(fixed | changes))


def ref_client(**changes: Any) -> curve.Client:
    """Return the reference as a client."""
    fixed = {
        "secret": CLIENT,
        "short_secret": CLIENT_SHORT,
        "metadata": PUSH,
        "server": curve.public_of(SERVER),
        "nonces": in_order(VOUCH_N),
    }
    return curve.Client(**(fixed | changes))


def our_server(*secrets: bytes, **changes: Any) -> Curve:
    """Return ours as a server, which draws what the reference has."""
    drawn = SERVER_SHORT + COOKIE_KEY + COOKIE_N + WELCOME_N
    return Curve(*(secrets or (SERVER,)), **({"metadata": PULL, "drawn": drawn} | changes))


def our_client(**changes: Any) -> Curve:
    """Return ours as a client, which draws what the reference has."""
    fixed = {
        "metadata": PUSH,
        "drawn": CLIENT_SHORT + VOUCH_N,
        "server": curve.public_of(SERVER),
    }
    return Curve(CLIENT, **(fixed | changes))


def body(frame: bytes) -> bytes:
    """Return the command in a frame, which is one."""
    taken = ref.parse_frame(frame)
    assert taken is not None
    assert taken[2] == b""
    return taken[1]


def client_of(ours: Curve) -> curve.Client:
    """Return the reference as a client that our server, whose handshake is done, let in."""
    theirs = ref_client()
    assert ours.feed(curve.framed(theirs.hello())) == MORE
    theirs.welcomed(body(ours.output()))
    assert ours.feed(curve.framed(theirs.initiate())) == DONE
    theirs.accepted(body(ours.output()))
    return theirs


def server_of(ours: Curve) -> curve.Server:
    """Return the reference as a server that let our client in."""
    theirs = ref_server()
    theirs.greeted(body(ours.output()))
    assert ours.feed(curve.framed(theirs.welcome())) == MORE
    theirs.initiated(body(ours.output()))
    assert ours.feed(curve.framed(theirs.ready())) == DONE
    return theirs
