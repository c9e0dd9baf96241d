"""Raw clients of PLAIN that wait to be let in, from any address of loopback.

Not here: what PLAIN is (refplain.py).
"""

from __future__ import annotations

import socket

import meshmsg as mm
from meshmsg._socket.peers import attempts_of
from tests.support import refcodec as ref
from tests.support import refplain as plain
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

HELLO = ref.greeting(mechanism=b"PLAIN") + plain.framed(plain.hello(b"somebody", b"1234"))


def applicant(endpoint: str, source: str = "127.0.0.1") -> RawPeer:
    """Somebody who comes from this address, and says who he is."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    made = socket.create_connection((host, int(port)), timeout=WAIT_S, source_address=(source, 0))
    return RawPeer.of(made).send(HELLO)


def heard(pull: mm.Pull) -> int:
    """How many of up to 64 have said all that they have to say."""
    return sum(one.octets >= len(HELLO) for one in attempts_of(pull._handle))
