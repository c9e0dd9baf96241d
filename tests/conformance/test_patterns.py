"""Patterns, one suite for threads and asyncio; their peers are sockets for threads."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import meshmsg as mm
from meshmsg import aio, patterns
from meshmsg.patterns import Flow
from meshmsg.patterns import aio as patterns_aio
from tests.support.inloop import PATIENCE
from tests.support.patterned import Kit, ask, serve, until

UP = "tcp://127.0.0.1:0"


def test_a_forwarder_shows_its_sockets_and_counts(kit: Kit) -> None:
    """front and back are what was given; stats has both ways and both sockets."""
    front, back = kit.socket("Router", bind=UP), kit.socket("Dealer", bind=UP)
    with (
        kit.pattern("Forward", front, back) as forward,
        mm.Req(connect=forward.front.endpoint) as client,
        mm.Rep(connect=forward.back.endpoint) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        asking = pool.submit(client.request, b"question", timeout=PATIENCE)
        server.recv(timeout=PATIENCE).reply(b"answer")
        assert asking.result(PATIENCE) == b"answer"
        until(lambda: bool(forward.backward.forwarded == forward.onward.forwarded == 1))
        stats = forward.stats()
        assert (stats.running, stats.onward, stats.backward) == (
            *(True, Flow(1, 0, 0)),
            Flow(1, 0, 0),
        )
        assert (stats.front.received_messages, stats.back.sent_messages) == (1, 1)
    assert not forward.running
    with pytest.raises(mm.ClosedError, match="make a new one"):
        forward.start()


@pytest.mark.parametrize("how", ["function", "socket"])
def test_every_message_that_passes_is_captured(kit: Kit, how: str) -> None:
    """Both ways, as its frames, after it was passed on."""
    seen: list[list[bytes]] = []
    tap = kit.socket("Push", bind=UP)
    with (
        tap,
        mm.Pull(connect=tap.endpoint) as listener,
        kit.pattern(
            "Forward",
            kit.socket("Router", bind=UP),
            kit.socket("Dealer", bind=UP),
            capture=seen.append if how == "function" else tap,
        ) as forward,
        mm.Dealer(connect=forward.front.endpoint, identity=b"ann") as client,
        mm.Dealer(connect=forward.back.endpoint) as server,
    ):
        tap.wait_for_peers(timeout=PATIENCE)
        client.send_frames([b"a", b"b"], timeout=PATIENCE)
        asked = server.recv_frames(timeout=PATIENCE)
        server.send_frames([*asked, b"c"], timeout=PATIENCE)
        client.recv(timeout=PATIENCE)
        if how == "socket":
            seen += [listener.recv_frames(timeout=PATIENCE) for _ in range(2)]
        until(lambda: len(seen) == 2)
        seen.sort(key=len)  # each way has a thread of its own
        assert seen == [[b"ann", b"a", b"b"], [b"ann", b"a", b"b", b"c"]]
        assert forward.onward.uncaptured == forward.backward.uncaptured == 0


@pytest.mark.parametrize("how", ["function", "socket"])
def test_a_capture_that_fails_stops_nothing(
    kit: Kit, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What a socket has no room for, and what makes a function raise, is counted."""

    def fails(frames: list[bytes]) -> None:
        raise RuntimeError(f"no room for {frames}")

    with (
        kit.socket("Push", bind=UP) as nobody,  # it has no peer, so it would block
        kit.pattern(
            "Forward",
            kit.socket("Pull", bind=UP),
            kit.socket("Push", bind=UP),
            capture=fails if how == "function" else nobody,
        ) as forward,
        mm.Push(connect=forward.front.endpoint) as push,
        mm.Pull(connect=forward.back.endpoint) as pull,
    ):
        push.send_many([b"1", b"2"], timeout=PATIENCE)
        assert [pull.recv(timeout=PATIENCE) for _ in range(2)] == [b"1", b"2"]
        until(lambda: bool(forward.onward == Flow(2, 0, 0, 2)))
    assert ("no room for [b'1']" in caplog.text) == (how == "function")
    caplog.clear()  # what it logged holds the loop


def test_a_forwarder_stops_and_starts_again_and_loses_nothing(kit: Kit) -> None:
    """Its sockets stay; what comes meanwhile, and what it has in hand, goes on afterwards."""
    front, back = kit.socket("Pull", bind=UP), kit.socket("Push", bind=UP)
    with (
        kit.pattern("Forward", front, back) as forward,
        mm.Push(connect=front.endpoint) as push,
    ):
        push.send(b"in hand", timeout=PATIENCE)  # nobody is behind it yet
        until(lambda: bool(front.stats().received_messages == 1))
        forward.start()
        forward.stop()
        forward.stop()
        assert not forward.running
        push.send_many([b"1", b"2"], timeout=PATIENCE)
        push.drain(timeout=PATIENCE)
        with mm.Pull(connect=back.endpoint) as pull:
            back.wait_for_peers(timeout=PATIENCE)
            assert not front.closed
            assert forward.onward == Flow(0, 0, 0)
            forward.start()
            assert forward.running
            got = [bytes(pull.recv(timeout=PATIENCE)) for _ in range(3)]
            assert got == [b"in hand", b"1", b"2"]
            until(lambda: bool(forward.onward == Flow(3, 0, 0)))


def test_what_is_in_hand_when_all_is_closed_is_counted(kit: Kit) -> None:
    """Once, whether it was stopped before or not; closing twice is harmless."""
    front, back = kit.socket("Pull", bind=UP), kit.socket("Push", bind=UP)
    with mm.Push(connect=front.endpoint) as push:
        forward = kit.pattern("Forward", front, back)
        push.send(b"1", timeout=PATIENCE)
        until(lambda: bool(front.stats().received_messages == 1))
        forward.stop()
        forward.close()
        forward.close()
        assert forward.onward == Flow(0, 0, 1)
        assert front.closed
        assert back.closed


def test_what_is_no_pair_or_no_capture_is_refused(kit: Kit) -> None:
    """Sockets for threads do not go with those for asyncio; all are left open."""
    with kit.socket("Pull") as pull, kit.socket("Dealer") as dealer, kit.socket("Push") as push:
        with pytest.raises(mm.UsageError, match="from Pull to Dealer; pairs are Router"):
            kit.pattern("Forward", pull, dealer)
        with pytest.raises(TypeError, match="capture is a int"):
            kit.pattern("Forward", pull, push, capture=5)
        assert not pull.closed
    with mm.Pull() as sync, aio_push() as awaited:
        for kind in (patterns.Forward, patterns_aio.Forward):
            with pytest.raises(mm.UsageError, match="both for threads or both for asyncio"):
                kind(sync, awaited)  # type: ignore[arg-type]


def test_a_capture_that_would_only_promise_is_refused(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """A socket of the other kind, or a coroutine function; one that is found out later counts."""

    async def later(frames: list[bytes]) -> None:
        raise AssertionError(frames)

    with kit.socket("Pull", bind=UP) as pull, kit.socket("Push", bind=UP) as push:
        with mm.Push() as sync, aio_push() as awaited:
            other = awaited if isinstance(pull, mm.Pull) else sync
            for wrong in (other, later):
                with pytest.raises(TypeError, match="this Forward is for|coroutine function"):
                    kit.pattern("Forward", pull, push, capture=wrong)
        assert not pull.closed
        with (
            kit.pattern("Forward", pull, push, capture=lambda frames: later(frames)) as forward,
            mm.Push(connect=pull.endpoint) as one,
            mm.Pull(connect=push.endpoint) as two,
        ):
            one.send(b"1", timeout=PATIENCE)
            assert two.recv(timeout=PATIENCE) == b"1"
            until(lambda: bool(forward.onward == Flow(1, 0, 0, 1)))
    assert "capture returned an awaitable" in caplog.text
    caplog.clear()  # what it logged holds the loop


@pytest.mark.parametrize("how", ["stop", "close"])
def test_a_forwarder_may_be_stopped_by_what_interrupts_its_own_methods(how: str) -> None:
    """A signal's function in the middle of `start` or `stop`, and the `capture` in its thread."""
    stopped = threading.Event()

    def capture(_frames: list[bytes]) -> None:
        getattr(forward, how)()
        stopped.set()

    front, back = mm.Pull(bind=UP), mm.Push(bind=UP)
    with (
        mm.Push(connect=front.endpoint) as push,
        mm.Pull(connect=back.endpoint) as pull,
        patterns.Forward(front, back, capture=capture) as forward,
    ):
        push.send(b"1", timeout=PATIENCE)
        assert pull.recv(timeout=PATIENCE) == b"1"
        assert stopped.wait(PATIENCE)
        until(lambda: not forward.running)
        with forward._lock:  # as within start()
            getattr(forward, how)()
        assert not forward.running


class aio_push:
    """An asyncio Push that is only made and closed."""

    def __enter__(self) -> aio.Push:
        self._push = aio.Push()
        return self._push

    def __exit__(self, *_: object) -> None:
        self._push.close()


@pytest.mark.parametrize("name", ["Forward", "IdleQueue", "IdleWorker"])
def test_threads_and_asyncio_have_the_same_names_and_arguments(name: str) -> None:
    """What waits is awaited there."""
    one, two = getattr(patterns, name), getattr(patterns_aio, name)
    assert {n for n in dir(one) if n[0] != "_"} == {n for n in dir(two) if n[0] != "_"}
    assert list(inspect.signature(one).parameters) == list(inspect.signature(two).parameters)
    assert patterns.__all__ == patterns_aio.__all__


def test_requests_go_to_workers_and_answers_come_back(kit: Kit) -> None:
    """Several clients and workers, of which each works."""
    with ThreadPoolExecutor(5) as pool, kit.pattern("IdleQueue") as queue:
        with (
            kit.pattern("IdleWorker", queue.back.endpoint) as one,
            kit.pattern("IdleWorker", queue.back.endpoint) as two,
        ):
            working = [pool.submit(serve, worker) for worker in (one, two)]
            queue.wait_for_workers(2, timeout=PATIENCE)
            bodies = [b"%d" % n for n in range(20)]
            asking = [pool.submit(ask, queue, *bodies) for _ in range(3)]
            got = [client.result(PATIENCE) for client in asking]
        assert got == [[b"re: " + body for body in bodies]] * 3
        done = [worker.result(PATIENCE) for worker in working]
        until(lambda: bool(queue.stats().answered == 60))
        stats = queue.stats()
    assert sum(done) == stats.taken == 60
    assert min(done) > 1
    assert (stats.refused, stats.retried, stats.late, stats.malformed) == (0, 0, 0, 0)


def test_a_request_is_asked_of_another_worker_when_one_is_lost(kit: Kit) -> None:
    """And refused when that is lost, too: a Req is told so, with the reason."""
    with kit.pattern("IdleQueue", retries=1) as queue, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask, queue, b"job")
        for _ in range(2):
            with kit.pattern("IdleWorker", queue.back.endpoint) as worker:
                assert next(iter(worker)).frames == (b"job",)
        with pytest.raises(mm.RefusedError, match="the worker was lost, the last of 2 attempts"):
            asking.result(PATIENCE)
        until(lambda: bool(queue.stats().refused == 1))
        assert (queue.stats().retried, queue.stats().workers) == (1, 0)


def test_a_worker_refuses_what_it_cannot_do(kit: Kit) -> None:
    """In so many words, or by going on without an answer."""
    with kit.pattern("IdleQueue") as queue, ThreadPoolExecutor(1) as pool:
        with kit.pattern("IdleWorker", queue.back.endpoint) as worker:
            jobs = iter(worker)
            for how in ("refuses", "goes on"):
                asking = pool.submit(ask, queue, b"job")
                job = next(jobs)
                if how == "refuses":
                    job.refuse("no disk")
                    with pytest.raises(mm.UsageError, match="already"):
                        job.reply(b"late")
                    with pytest.raises(mm.RefusedError, match="no disk"):
                        asking.result(PATIENCE)
            following = ThreadPoolExecutor(1)
            going = following.submit(next, jobs)
            with pytest.raises(mm.RefusedError, match="went on without an answer"):
                asking.result(PATIENCE)
            last = pool.submit(ask, queue, b"job")
            going.result(PATIENCE).reply(b"done")
            assert last.result(PATIENCE) == [b"done"]
            following.shutdown()
            assert "3 jobs taken" in repr(worker)
        assert "closed" in repr(worker)


def test_a_client_that_knows_no_refusals_is_answered_in_words(kit: Kit) -> None:
    """As a REQ of libzmq: one empty frame in front; and the backlog is a limit."""
    with (
        kit.pattern("IdleQueue", backlog=0, refusal=str.encode) as queue,
        mm.Dealer(connect=queue.front.endpoint) as client,
    ):
        client.send_frames([b"", b"job"], timeout=PATIENCE)
        assert client.recv_frames(timeout=PATIENCE) == [b"", b"0 requests wait already"]


def test_a_worker_of_a_few_lines_is_one_too(kit: Kit) -> None:
    """The recipe of docs/patterns.md: what a REQ of libzmq sends and gets."""
    with kit.pattern("IdleQueue") as queue, ThreadPoolExecutor(1) as pool:
        with mm.Dealer(connect=queue.back.endpoint) as worker:
            worker.send_frames([b"", b"READY"], timeout=PATIENCE)
            for n in range(3):
                asking = pool.submit(ask, queue, b"%d" % n)
                empty, tag, body = worker.recv_frames(timeout=PATIENCE)
                worker.send_frames([empty, tag, body * 2], timeout=PATIENCE)
                assert asking.result(PATIENCE) == [b"%d%d" % (n, n)]


def test_an_idle_queue_that_is_closed_ends_who_waits(kit: Kit) -> None:
    """With ClosedError; numbers that make no sense bind nothing."""
    with pytest.raises(mm.UsageError):
        kit.pattern("IdleQueue", retries=-1)
    queue = kit.pattern("IdleQueue")
    with pytest.raises(mm.TimedOutError, match="0 of 1 worker after"):
        queue.wait_for_workers(timeout=0.01)
    assert "0 of 0 workers idle" in repr(queue)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.wait_for_workers, 1)
        queue.close()
        queue.close()
        with pytest.raises(mm.ClosedError):
            waiting.result(PATIENCE)
    assert repr(queue) == "<IdleQueue closed>"
