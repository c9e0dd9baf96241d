"""`require=` of a socket that pyzmq, NNG and nanomsg come to, or that comes to them.

Not here: peers of meshmsg (tests/conformance/test_require.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.spside import NanomsgSide, NngSide, free_endpoint
from tests.interop.zmqside import zmq_socket
from tests.support import refsp as ref
from tests.support.pairs import WAIT_S, wait_until

pytestmark = pytest.mark.leaves_threads
OPTIONS: dict[str, Any] = {"delivery": "at_least_once", "linger": 0}
WAYS = ["acks", "headers", ("acks", "headers")]


@contextmanager
def foreign(library: str, url: str, *, binds: bool) -> Iterator[None]:
    """A receiver of another library, that binds or connects there."""
    if library == "pyzmq":
        with zmq_socket(zmq.PULL) as pull:
            (pull.bind if binds else pull.connect)(url)
            yield
        return
    side = {"nng": NngSide, "nanomsg": NanomsgSide}[library]
    with closing(side(ref.PULL, url, listen=binds)):
        yield


@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("library", ["pyzmq", "nng", "nanomsg"])
@pytest.mark.parametrize("require", WAYS, ids=str)
def test_a_peer_of_another_library_is_refused_and_gets_nothing(
    require: Any, library: str, transport: str, we_bind: bool, short_path: Path
) -> None:
    """It comes again and again; a Pull of meshmsg beside it gets all that is sent."""
    url = free_endpoint(transport, short_path)
    wire = "" if library == "pyzmq" else "sp+"
    with mm.Push(require=require, **OPTIONS) as push:
        if we_bind:
            push.bind(url)
        with foreign(library, url, binds=not we_bind):
            if not we_bind:
                push.connect(wire + url)
            again = (library, transport) != ("nanomsg", "ipc")  # libnanomsg may give up over ipc
            wait_until(lambda: push.stats().closed.get(mm.Reason.FEATURE, 0) >= 1 + again)
            events = push.events()
            refused = [event for event in events if event.reason is mm.Reason.FEATURE]
            cause = "SP has no words for that" if wire else "it does not say it is of meshmsg"
            assert all(cause in event.detail for event in refused)
            assert all(event.detail.endswith(("no require", "by ZMTP there")) for event in refused)
            assert not [e for e in events if e.kind is mm.EventKind.PEER_UP]
            push.bind("tcp://127.0.0.1:0")
            with mm.Pull(connect=push.endpoint) as pull:
                for number in range(100):
                    push.send(b"%d" % number, key="k", timeout=WAIT_S)
                got = [pull.recv(timeout=WAIT_S) for _ in range(100)]
            assert got == [b"%d" % number for number in range(100)]
            stats = push.stats()
            assert (stats.handshakes, stats.in_doubt_messages) == (1, 0)


@pytest.mark.parametrize("role", ["REQ", "DEALER"])
def test_what_a_refused_peer_sends_is_not_received(role: str) -> None:
    """It believes for a moment that it is a peer; what it sends by then is its own to lose."""
    with mm.Router(bind="tcp://127.0.0.1:0", require="headers") as router:
        with zmq_socket(getattr(zmq, role)) as other:
            other.connect(router.endpoint)
            other.send(b"hello")
            wait_until(lambda: router.stats().closed.get(mm.Reason.FEATURE, 0) >= 2)
        assert (router.stats().parsed_messages, router.stats().handshakes) == (0, 0)
