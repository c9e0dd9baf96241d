"""`security=` of the patterns that open sockets themselves, for threads and for asyncio.

Not here: what a policy does (tests/unit/test_security.py), patterns that are given sockets.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest

import meshmsg as mm
from tests.support.inloop import PATIENCE
from tests.support.pairs import of_its_own
from tests.support.patterned import Kit, serve, until
from tests.support.ways import WAYS, secret_file


@dataclass
class Cast:
    """A server, one that it lets in, and one that it does not know."""

    mechanism: str
    scheme: str
    user_id: str
    served: Any
    alice: Any
    eve: Any

    def bind(self) -> str:
        """Where a server may be."""
        return self.scheme + of_its_own()


@pytest.fixture(params=["curve", "tls", "secret"])
def cast(request: pytest.FixtureRequest) -> Cast:
    """One for each way that is encrypted."""
    way = WAYS[request.param]
    if way.missing:
        pytest.skip(way.missing)
    served, alice = way.policies()
    eve = mm.Secret(secret_file("other")) if request.param == "secret" else _stranger(request.param)
    return Cast(way.mechanism, way.scheme, way.caller, served, alice, eve)


def _stranger(name: str) -> Any:
    """The client of another server of this kind; of CURVE it would be told apart before."""
    return WAYS[name].policies()[1]


def refused(worker: Any, words: str | None = None) -> None:
    """It is not let in, and is told so."""
    failed = mm.EventKind.HANDSHAKE_FAILED

    def told() -> bool:
        with pytest.raises(mm.PeerError):
            list(worker)
        return any(event.kind is failed for event in worker._pull.events(since=0))

    until(told)
    with pytest.raises(mm.PeerError, match=words):
        list(worker)


def test_a_work_queue_is_protected_and_so_are_its_workers(kit: Kit, cast: Cast) -> None:
    """Whom it does not know gets no record."""
    with kit.pattern("WorkQueue", bind=cast.bind(), security=cast.served) as queue:
        queue.put_many([b"a", b"b"], timeout=PATIENCE)
        queue.finish()
        with kit.pattern("Worker", queue.endpoint, security=cast.eve, silence=0.1) as unknown:
            refused(unknown)
        with kit.pattern("Worker", queue.endpoint, security=cast.alice) as worker:
            assert [bytes(one) for batch in worker for one in batch] == [b"a", b"b"]
            [peer] = queue._push.peers()
            assert (peer.user_id, peer.mechanism) == (cast.user_id, cast.mechanism)
        queue.join(workers=1, timeout=PATIENCE)


def test_whom_a_list_does_not_have_is_told_so(kit: Kit) -> None:
    """It knows the server; the server does not know it."""
    if WAYS["curve"].missing:
        pytest.skip(WAYS["curve"].missing)
    server = mm.keygen()
    eve = mm.Curve(server=server.public, key=mm.keygen())
    served = mm.Curve(key=server, allow=[mm.keygen()])
    with kit.pattern("WorkQueue", bind=of_its_own(), security=served) as queue:
        queue.put(b"a", timeout=PATIENCE)
        queue.finish()
        with kit.pattern("Worker", queue.endpoint, security=eve, silence=0.1) as unknown:
            refused(unknown, "does not let us in")


def test_the_short_form_of_a_worker_is_protected_too(kit: Kit, cast: Cast) -> None:
    """`work` hands it on."""
    with kit.pattern("WorkQueue", bind=cast.bind(), security=cast.served) as queue:
        queue.put(b"a", timeout=PATIENCE)
        queue.finish()
        batches = kit.pattern("work", queue.endpoint, security=cast.alice)
        assert [bytes(one) for batch in batches for one in batch] == [b"a"]


def test_both_sides_of_an_idle_queue_are_protected(kit: Kit, cast: Cast) -> None:
    """Clients and workers."""
    front, back, served = cast.bind(), cast.bind(), cast.served
    with (
        kit.pattern("IdleQueue", front=front, back=back, security=served) as queue,
        kit.pattern("IdleWorker", queue.back.endpoint, security=cast.alice) as worker,
        mm.Req(connect=queue.front.endpoint, security=cast.alice) as client,
    ):
        thread = threading.Thread(target=serve, args=(worker,))
        thread.start()
        assert client.request(b"one", timeout=PATIENCE) == b"re: one"
        for side in (queue.front, queue.back):
            assert [peer.mechanism for peer in side.peers()] == [cast.mechanism]
        worker.close()
        thread.join()
