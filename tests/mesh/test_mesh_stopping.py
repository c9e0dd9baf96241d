"""A worker that stops: what it was asked is answered, and what comes later goes to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import meshmsg as mm
from meshmsg.mesh import EventKind, Mesh
from tests.support.meshes import WAIT_S, node, until


class Asked:
    """A client of a service, and a worker that has a request it has not answered yet."""

    def __init__(self, client: Mesh, req: mm.Req, threads: ThreadPoolExecutor) -> None:
        self.client, self.req, self._threads = client, req, threads
        self.rep = mm.Rep(bind="tcp://127.0.0.1:0")
        self.worker = node("worker", client.endpoint)
        self.worker.announce("upper", self.rep)
        self.first = self.ask(b"first")
        self.request = self.rep.recv(timeout=WAIT_S)

    def ask(self, word: bytes) -> Future[mm.Message]:
        """Ask once, and never again."""
        return self._threads.submit(self.req.request, word, timeout=WAIT_S)


@pytest.fixture
def asked() -> Iterator[Asked]:
    """Both."""
    with ThreadPoolExecutor() as threads, node("client") as client:
        with client.connect("upper", mm.Req) as req:
            made = Asked(client, req, threads)
            yield made
            made.worker.close()
            made.rep.close()


def replaced(asked: Asked, serve: Callable[[mm.Rep], None]) -> None:
    """Have another worker join, and the service asked once more then."""
    with node("other", asked.client.endpoint) as other, mm.Rep(bind="tcp://127.0.0.1:0") as rep:
        other.announce("upper", rep)
        asked.req.wait_for_peers(2, timeout=WAIT_S)
        serve(rep)


def test_a_worker_that_stops_answers_what_it_was_asked_and_is_asked_no_more(asked: Asked) -> None:
    """At the first try: nothing is asked again."""

    def serve(other: mm.Rep) -> None:
        asked.rep.stop_receiving()
        with pytest.raises(mm.ClosedError):  # the client has said that it has sent its last
            asked.rep.recv(timeout=WAIT_S)
        later = [asked.ask(b"later %d" % number) for number in range(20)]
        for _ in later:
            request = other.recv(timeout=WAIT_S)
            request.reply(request.upper())
        assert asked.request.reply(b"FIRST")
        asked.rep.drain(timeout=WAIT_S).raise_for_loss()
        with asked.client.watch() as watch:
            asked.worker.leave()
            asked.rep.close()
            until(watch, EventKind.LEFT, "worker")
        assert asked.first.result(WAIT_S) == b"FIRST"
        answers = sorted(one.result(WAIT_S) for one in later)
        assert answers == sorted(b"LATER %d" % number for number in range(20))

    replaced(asked, serve)


def test_a_worker_that_closes_at_once_loses_what_it_was_asked(asked: Asked) -> None:
    """And the client is told so, as it does not ask again."""

    def serve(other: mm.Rep) -> None:
        asked.rep.close()
        with pytest.raises(mm.PeerError, match="went away before it answered"):
            asked.first.result(WAIT_S)

    replaced(asked, serve)
