"""`security=` of the patterns that open sockets themselves, for threads and for asyncio.

Not here: what a policy does (tests/unit/test_security.py), patterns that are given sockets.
"""

from __future__ import annotations

import threading

import pytest

import meshmsg as mm
from tests.support.inloop import PATIENCE
from tests.support.pairs import of_its_own
from tests.support.patterned import Kit, serve, until

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")


def policies() -> tuple[mm.Curve, mm.Curve, mm.Curve]:
    """Of a server, of a client that it knows as alice, and of one that it does not know."""
    server, alice = mm.keygen(), mm.keygen()
    return (
        mm.Curve(key=server, allow={alice.public: "alice"}),
        mm.Curve(server=server.public, key=alice),
        mm.Curve(server=server.public, key=mm.keygen()),
    )


def test_a_work_queue_is_protected_and_so_are_its_workers(kit: Kit) -> None:
    """Whom it does not know gets no record."""
    served, alice, eve = policies()
    with kit.pattern("WorkQueue", bind=of_its_own(), security=served) as queue:
        queue.put_many([b"a", b"b"], timeout=PATIENCE)
        queue.finish()
        with kit.pattern("Worker", queue.endpoint, security=eve, silence=0.1) as unknown:
            failed = mm.EventKind.HANDSHAKE_FAILED
            until(lambda: any(e.kind is failed for e in unknown._dealer.events(since=0)))
            with pytest.raises(mm.PeerError, match="does not let us in"):
                list(unknown)
        with kit.pattern("Worker", queue.endpoint, security=alice) as worker:
            assert [bytes(one) for batch in worker for one in batch] == [b"a", b"b"]
            [peer] = queue._router.peers()
            assert (peer.user_id, peer.mechanism) == ("alice", "CURVE")
        queue.join(workers=1, timeout=PATIENCE)


def test_the_short_form_of_a_worker_is_protected_too(kit: Kit) -> None:
    """`work` hands it on."""
    served, alice, _ = policies()
    with kit.pattern("WorkQueue", bind=of_its_own(), security=served) as queue:
        queue.put(b"a", timeout=PATIENCE)
        queue.finish()
        batches = kit.pattern("work", queue.endpoint, security=alice)
        assert [bytes(one) for batch in batches for one in batch] == [b"a"]


def test_both_sides_of_an_idle_queue_are_protected(kit: Kit) -> None:
    """Clients and workers."""
    served, alice, _ = policies()
    with (
        kit.pattern("IdleQueue", front=of_its_own(), back=of_its_own(), security=served) as queue,
        kit.pattern("IdleWorker", queue.back.endpoint, security=alice) as worker,
        mm.Req(connect=queue.front.endpoint, security=alice) as client,
    ):
        thread = threading.Thread(target=serve, args=(worker,))
        thread.start()
        assert client.request(b"one", timeout=PATIENCE) == b"re: one"
        for side in (queue.front, queue.back):
            assert [peer.mechanism for peer in side.peers()] == ["CURVE"]
        worker.close()
        thread.join()
