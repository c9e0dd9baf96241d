"""Req, sync and asyncio: every request gets its own answer or its own error, whatever the others
do."""

from __future__ import annotations

import asyncio
import errno
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.featured import saying
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"


class Server:
    """A Rep in a thread that answers, or not, as a function says."""

    def __init__(self, answer: Callable[[mm.Request], bytes | None]) -> None:
        self.rep = mm.Rep(bind=UP)
        self.seen: list[bytes] = []
        self._answer = answer
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for request in self.rep:
            self.seen.append(bytes(request))
            answer = self._answer(request)
            if answer is not None:
                request.reply(answer)

    def close(self) -> None:
        """Stop serving; its connections end."""
        self.rep.close()
        self._thread.join(WAIT_S)


@contextmanager
def serving(answer: Callable[[mm.Request], bytes | None]) -> Iterator[Server]:
    """Run a server."""
    server = Server(answer)
    try:
        yield server
    finally:
        server.close()


def echo(request: mm.Request) -> bytes:
    """Answer with the question."""
    return request + b"!"


def from_thread(call: Callable[[], bytes]) -> Callable[[], object]:
    """Start a call in a thread; what is returned waits for its result, or for its error."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(call())
        except mm.MeshError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait() -> object:
        thread.join(WAIT_S)
        return outcome[0]

    return wait


@pytest.mark.parametrize("mode", ["sync", "asyncio"])
def test_an_answer_goes_to_its_own_request_however_late_and_in_whatever_order(mode: str) -> None:
    """Twenty questions are answered last to first."""
    with mm.Rep(bind=UP) as rep:
        if mode == "sync":
            with mm.Req(connect=rep.endpoint) as req:
                waits = [
                    from_thread(lambda i=i: req.request(b"%d" % i, timeout=WAIT_S))
                    for i in range(20)
                ]
                for request in reversed([rep.recv(timeout=WAIT_S) for _ in range(20)]):
                    request.reply(request)
                assert [wait() for wait in waits] == [b"%d" % i for i in range(20)]
            return

        async def run() -> None:
            async with aio.Req(connect=rep.endpoint) as req:
                tasks = [
                    asyncio.ensure_future(req.request(b"%d" % i, timeout=WAIT_S)) for i in range(20)
                ]
                loop = asyncio.get_running_loop()
                found = [
                    await loop.run_in_executor(None, lambda: rep.recv(timeout=WAIT_S))
                    for _ in range(20)
                ]
                for request in reversed(found):
                    request.reply(request)
                assert await asyncio.gather(*tasks) == [b"%d" % i for i in range(20)]

        asyncio.run(run())


def ask(
    mode: str,
    endpoint: str,
    *,
    size_max: int = 1 << 20,
    engine: mm.Engine | None = None,
    **options: Any,
) -> mm.Message:
    """Ask once, with a socket of its own."""
    if mode == "sync":
        with mm.Req(connect=endpoint, message_size_max=size_max, engine=engine) as req:
            req.wait_for_peers(timeout=WAIT_S)
            return req.request(b"q", **options)

    async def run() -> mm.Message:
        async with aio.Req(connect=endpoint, message_size_max=size_max, engine=engine) as req:
            await req.wait_for_peers(timeout=WAIT_S)
            return await req.request(b"q", **options)

    return asyncio.run(run())


MODES = pytest.mark.parametrize("mode", ["sync", "asyncio"])


@MODES
def test_each_attempt_is_a_request_of_its_own(mode: str) -> None:
    """Two answers never come, the third does; or one after it, where a machine is slow."""
    with serving(lambda request: b"yes" if len(server.seen) >= 3 else None) as server:
        assert ask(mode, server.rep.endpoint, timeout=0.1, retries=500) == b"yes"
        assert len(server.seen) >= 3


@MODES
def test_when_no_attempt_was_answered_the_time_out_says_so(mode: str) -> None:
    """With the time an attempt had, and who was asked."""
    with serving(lambda request: None) as server:
        with pytest.raises(
            mm.TimedOutError,
            match=r"no reply to 2 attempts of 0\.2 s each \(Req connected to tcp.*1 peer",
        ):
            ask(mode, server.rep.endpoint, timeout=0.2, retries=1)
        wait_until(lambda: server.seen == [b"q"] * 2)


@MODES
def test_a_peer_that_leaves_with_the_request_is_a_peer_error(mode: str) -> None:
    """Whether it did the work is unknown, and the error says that."""
    with mm.Rep(bind=UP) as rep:
        wait = from_thread(lambda: ask(mode, rep.endpoint, timeout=WAIT_S))
        rep.recv(timeout=WAIT_S)
        rep.close()
        error = wait()
    assert isinstance(error, mm.PeerError)
    assert "is unknown" in str(error)
    assert "retries=0" in str(error)
    assert error.errno == errno.ECONNRESET


def ask_two(mode: str, endpoints: list[str]) -> list[object]:
    """Ask twice at once: peers are asked in turn, so each of two gets one of them."""
    if mode == "sync":
        with mm.Req(connect=endpoints) as req:
            req.wait_for_peers(2, timeout=WAIT_S)
            waits = [
                from_thread(lambda: req.request(b"q", timeout=WAIT_S, retries=1)) for _ in range(2)
            ]
            return [wait() for wait in waits]

    async def run() -> list[object]:
        async with aio.Req(connect=endpoints) as req:
            await req.wait_for_peers(2, timeout=WAIT_S)
            tasks = [req.request(b"q", timeout=WAIT_S, retries=1) for _ in range(2)]
            return list(await asyncio.gather(*tasks))

    return asyncio.run(run())


@MODES
@pytest.mark.parametrize("url", [UP, "sp+" + UP, "ipc://*", "inproc://over"])
@pytest.mark.parametrize("retries", [0, 3])
def test_an_answer_over_the_limit_says_so_and_is_not_asked_for_again(
    mode: str, url: str, retries: int
) -> None:
    """It was we who ended the connection: the peer is there, and would answer the same again. To
    one that says what it takes, it would not."""
    with serving(lambda request: bytes(2000)) as server, saying("1 refuse stop ack meta") as old:
        endpoint = server.rep.bind(url.removeprefix("sp+"))
        where = "sp+" + endpoint if url.startswith("sp+") else endpoint
        with pytest.raises(
            mm.TooLargeError, match=r"over the 1,000 bytes.*not asked again"
        ) as told:
            ask(mode, where, size_max=1000, timeout=WAIT_S, retries=retries, engine=old)
        assert told.value.limit == 1000
        assert server.seen == [b"q"]


def test_what_was_answered_is_not_in_doubt() -> None:
    """A peer that closes between two beats has confirmed nothing, but its answers tell."""
    with (
        serving(echo) as server,
        mm.Req(connect=server.rep.endpoint, heartbeat_interval=0) as req,
    ):
        for _ in range(5):
            req.request(b"q", timeout=WAIT_S)
        server.close()
        wait_until(lambda: req.stats().disconnects == 1)
        stats = req.stats()
        assert (stats.confirmed_messages, stats.in_doubt_messages) == (5, 0)


@MODES
def test_a_request_whose_peer_left_goes_to_the_next_one_at_once(mode: str) -> None:
    """Long before its time is up."""
    with serving(echo) as server, mm.Rep(bind=UP) as leaving:
        answers: list[object] = []
        ends = [leaving.endpoint, server.rep.endpoint]
        asking = threading.Thread(target=lambda: answers.extend(ask_two(mode, ends)))
        asking.start()
        leaving.recv(timeout=WAIT_S)
        leaving.close()
        asking.join(WAIT_S)
        assert answers == [b"q!", b"q!"]
        assert server.seen == [b"q"] * 2


@MODES
def test_time_spent_on_sending_counts(mode: str) -> None:
    """With nobody there the attempt ends in its own time, and nothing stays behind."""
    with pytest.raises(mm.TimedOutError, match=r"no peer for a request within 0\.02 s"):
        if mode == "sync":
            with mm.Req(bind=UP) as req:
                req.request(b"q", timeout=0.02)
        else:

            async def run() -> None:
                async with aio.Req(bind=UP) as req:
                    await req.request(b"q", timeout=0.02)

            asyncio.run(run())


@MODES
def test_a_question_over_the_limit_is_refused(mode: str) -> None:
    """Here, with its size, and that of its envelope, which counts as well."""
    with pytest.raises(mm.TooLargeError, match="11 bytes") as error:
        if mode == "sync":
            with mm.Req(message_size_max=10) as req:
                req.request(b"x" * 11)
        else:

            async def run() -> None:
                async with aio.Req(message_size_max=10) as req:
                    await req.request(b"x" * 11)

            asyncio.run(run())
    assert (error.value.size, error.value.limit) == (15, 10)


def test_a_cancelled_request_is_forgotten_and_its_answer_counted() -> None:
    """The others get theirs."""

    async def run() -> None:
        with mm.Rep(bind=UP) as rep:
            async with aio.Req(connect=rep.endpoint) as req:
                await req.wait_for_peers(timeout=WAIT_S)
                tasks = [
                    asyncio.ensure_future(req.request(b"%d" % i, timeout=WAIT_S)) for i in range(4)
                ]
                await asyncio.sleep(0)
                requests = [rep.recv(timeout=WAIT_S) for _ in range(4)]
                tasks[1].cancel()
                tasks[2].cancel()
                await asyncio.sleep(0)
                for request in requests:
                    request.reply(request)
                assert await tasks[0] == b"0"
                assert await tasks[3] == b"3"
                while req.stats().dropped_late < 2:
                    await asyncio.sleep(0)
                assert req._pending == {}

    asyncio.run(run())


def test_more_answers_than_one_look_tells_of_all_arrive() -> None:
    """One call into the core tells of 256."""

    async def run() -> None:
        with serving(echo) as server:
            async with aio.Req(connect=server.rep.endpoint) as req:
                count = 1500
                asking = [req.request(b"%d" % i, timeout=WAIT_S) for i in range(count)]
                assert await asyncio.gather(*asking) == [b"%d!" % i for i in range(count)]

    asyncio.run(run())


def test_closing_fails_every_request_with_an_error_of_its_own() -> None:
    """One exception object raised in many tasks would mix up their tracebacks."""

    async def run() -> None:
        with mm.Rep(bind=UP) as rep:
            req = aio.Req(connect=rep.endpoint)
            await req.wait_for_peers(timeout=WAIT_S)
            tasks = [asyncio.ensure_future(req.request(b"q")) for _ in range(3)]
            await asyncio.sleep(0)
            req.close()
            errors = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(error) for error in errors] == [mm.ClosedError] * 3
            assert len({id(error) for error in errors}) == 3

    asyncio.run(run())


def test_a_loop_does_not_keep_an_unused_req_alive() -> None:
    """It is known to the loop only while it waits."""

    async def run() -> None:
        with serving(echo) as server:
            req = aio.Req(connect=server.rep.endpoint)
            assert await req.request(b"q", timeout=WAIT_S) == b"q!"
            req.close()
            seen = weakref.ref(req)
            del req
            gc.collect()
            assert seen() is None

    asyncio.run(run())


def test_a_sync_req_serves_many_threads_beside_time_outs() -> None:
    """Every other question is never answered; the rest are not disturbed."""

    def even(request: mm.Request) -> bytes | None:
        return None if int(request) % 2 else echo(request)

    with serving(even) as server, mm.Req(connect=server.rep.endpoint) as req:
        req.wait_for_peers(timeout=WAIT_S)
        waits = [
            from_thread(lambda i=i: req.request(b"%d" % i, timeout=0.1 if i % 2 else WAIT_S))
            for i in range(40)
        ]
        for i, wait in enumerate(waits):
            outcome = wait()
            assert isinstance(outcome, mm.TimedOutError) if i % 2 else outcome == b"%d!" % i
