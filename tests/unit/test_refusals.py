"""Request.refuse: who is told what, sync and asyncio, over every transport; and who cannot be told.

Not here: the roles alone (tests/c/test_refusal.c, test_req.c); worlds with faults
(tests/sim/test_request_worlds.py).
"""

from __future__ import annotations

import asyncio
import errno
import gc
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from tests.interop.zmqside import zmq_socket
from tests.support import refcodec as ref
from tests.support.looped import until
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
UPS = pytest.mark.parametrize("up", [UP, "ipc://{}/r", "inproc://refusals"])
MODES = pytest.mark.parametrize("mode", ["sync", "asyncio"])
ID = b"\x80\0\0\1"


def asking(mode: str, endpoint: str, **options: Any) -> Callable[[], Any]:
    """Ask in a thread, with a socket of its own; what is returned waits for the outcome. Its time
    begins once the peer is there."""
    outcome: list[Any] = []

    async def ask() -> mm.Message:
        async with aio.Req(connect=endpoint) as req:
            await req.wait_for_peers(timeout=WAIT_S)
            return await req.request(b"q", **options)

    def run() -> None:
        try:
            if mode == "sync":
                with mm.Req(connect=endpoint) as req:
                    req.wait_for_peers(timeout=WAIT_S)
                    outcome.append(req.request(b"q", **options))
            else:
                outcome.append(asyncio.run(ask()))
        except mm.MeshError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait() -> Any:
        thread.join(WAIT_S)
        return outcome[0]

    return wait


@UPS
@MODES
@pytest.mark.parametrize("retries", [0, 3])
def test_a_refused_request_fails_at_once_with_the_reason_and_is_not_asked_again(
    up: str, mode: str, retries: int, tmp_path: Any
) -> None:
    """Whatever retries it has: the peer decided."""
    with mm.Rep(bind=up.format(tmp_path)) as rep:
        wait = asking(mode, rep.endpoint, retries=retries, timeout=WAIT_S)
        assert rep.recv(timeout=WAIT_S).refuse("no such account: 7\n")
        error = wait()
        assert type(error) is mm.RefusedError
        assert isinstance(error, (mm.PeerError, ConnectionError))
        assert str(error) == "the peer refused the request: no such account: 7\\n"
        assert error.reason == "no such account: 7\n"
        assert (error.errno, error.address) == (errno.ECONNREFUSED, rep.endpoint)
        with pytest.raises(mm.WouldBlockError):
            rep.recv(timeout=0)


@MODES
def test_a_reason_may_be_missing_or_of_any_letters_and_has_a_limit(mode: str) -> None:
    """One that is too long is refused, and another one may be given."""
    with mm.Rep(bind=UP) as rep:
        wait = asking(mode, rep.endpoint)
        assert rep.recv(timeout=WAIT_S).refuse()
        assert (str(error := wait()), error.reason) == (
            "the peer refused the request, and did not say why",
            "",
        )
        wait = asking(mode, rep.endpoint)
        request = rep.recv(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match="1,025 bytes; it may have 1,024") as too:
            request.refuse("x" + "é" * 512)
        assert (too.value.size, too.value.limit) == (1025, 1024)
        with pytest.raises(TypeError, match="a reason is str, not bytes"):
            request.refuse(b"x")  # type: ignore[arg-type]
        assert request.refuse("é" * 512)
        assert wait().reason == "é" * 512
        wait = asking(mode, rep.endpoint)
        assert rep.recv(timeout=WAIT_S).refuse("\udc80")
        assert wait().reason == "\\udc80"


@pytest.mark.parametrize("first", ["reply", "refuse"])
@pytest.mark.parametrize("second", ["reply", "refuse"])
def test_a_request_is_answered_or_refused_once(first: str, second: str) -> None:
    """The error says which it was."""
    with mm.Rep(bind=UP) as rep:
        wait = asking("sync", rep.endpoint)
        request = rep.recv(timeout=WAIT_S)
        calls = {"reply": lambda: request.reply(b"a"), "refuse": lambda: request.refuse("no")}
        assert calls[first]()
        word = {"reply": "answered", "refuse": "refused"}[first]
        with pytest.raises(mm.UsageError, match=f"was {word} already"):
            calls[second]()
        assert (wait() == b"a") if first == "reply" else isinstance(wait(), mm.RefusedError)


def test_a_request_that_no_socket_gave_cannot_be_refused() -> None:
    """As it cannot be answered."""
    with pytest.raises(mm.UsageError, match="already"):
        mm.Request(b"made by hand").refuse("no")


@MODES
def test_a_with_statement_refuses_what_it_leaves_unanswered(mode: str) -> None:
    """With the name of the error that ended it; what was answered in it stays so."""
    with mm.Rep(bind=UP) as rep:
        wait = asking(mode, rep.endpoint)
        with rep.recv(timeout=WAIT_S) as request:
            assert request == b"q"
        assert wait().reason == "it was not answered"
        wait = asking(mode, rep.endpoint)

        def fail() -> None:
            with rep.recv(timeout=WAIT_S):
                raise KeyError("secret")

        with pytest.raises(KeyError):
            fail()
        assert wait().reason == "KeyError while it was worked on"
        wait = asking(mode, rep.endpoint)
        with rep.recv(timeout=WAIT_S) as request:
            assert request.reply(b"a")
        assert wait() == b"a"


def test_a_request_that_is_only_dropped_is_not_refused() -> None:
    """When an object is freed is no decision of the program's."""
    with (
        mm.Rep(bind=UP) as rep,
        mm.Req(connect=rep.endpoint) as req,
        ThreadPoolExecutor(1) as pool,
    ):
        req.wait_for_peers(timeout=WAIT_S)
        asked = pool.submit(req.request, b"q", timeout=0.1)
        rep.recv(timeout=WAIT_S)
        gc.collect()
        with pytest.raises(mm.TimedOutError):
            asked.result(WAIT_S)
        assert rep.stats().sent_messages == 0


@MODES
def test_a_refusal_that_comes_too_late_is_a_late_reply(mode: str) -> None:
    """Of a request that was given up; the next one is not disturbed."""
    with mm.Rep(bind=UP) as rep:

        async def ask(req: Any, **options: Any) -> Any:
            found = req.request(b"q", **options)
            return await found if mode == "asyncio" else found

        async def main() -> None:
            kind: Any = mm.Req if mode == "sync" else aio.Req
            req = kind(connect=rep.endpoint)
            await until(req.peers)
            with pytest.raises(mm.TimedOutError):
                await ask(req, timeout=0.05)
            assert rep.recv(timeout=WAIT_S).refuse("too late")
            rep.drain(timeout=WAIT_S).raise_for_loss()
            while req.stats().dropped_late == 0:
                await asyncio.sleep(0)
            stats = req.stats()
            assert (stats.received_messages, stats.queued_in_messages) == (0, 0)
            req.close()

        asyncio.run(main())


@UPS
def test_a_refusal_of_who_left_says_so_and_leaves_the_request_open(up: str, tmp_path: Any) -> None:
    """Nothing was sent, so nothing was dropped; a reply says the same, and is counted."""
    with mm.Rep(bind=up.format(tmp_path)) as rep:
        with mm.Req(connect=rep.endpoint) as req, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(req.request, b"q")
            request = rep.recv(timeout=WAIT_S)
            req.close()
            with pytest.raises(mm.ClosedError):
                asked.result(WAIT_S)
        wait_until(lambda: not rep.peers())
        assert request.refuse("gone") is False
        assert (rep.stats().sent_messages, rep.stats().dropped) == (0, 0)
        assert request.reply(b"gone, too") is False
        assert (rep.stats().sent_messages, rep.stats().dropped_peer_gone) == (1, 1)


def test_a_refusal_by_a_closed_socket_is_its_error() -> None:
    """As of a reply; a `with` statement says nothing of it."""
    rep = mm.Rep(bind=UP)
    wait = asking("sync", rep.endpoint, timeout=WAIT_S)
    request = rep.recv(timeout=WAIT_S)
    with request:
        rep.close()
    with pytest.raises(mm.ClosedError):
        request.refuse("closed")
    assert isinstance(wait(), (mm.PeerError, mm.TimedOutError))


def test_closing_while_threads_refuse_ends_each_request_once() -> None:
    """With the refusal, or with the end of the connection."""
    rep = mm.Rep(bind=UP)
    waits = [asking("sync", rep.endpoint, timeout=WAIT_S) for _ in range(20)]
    requests = [rep.recv(timeout=WAIT_S) for _ in waits]
    told: list[Any] = []

    def refuse(request: mm.Request) -> None:
        try:
            told.append(request.refuse("closing"))
        except mm.ClosedError as error:
            told.append(error)

    threads = [threading.Thread(target=refuse, args=(request,)) for request in requests]
    for thread in threads[:10]:
        thread.start()
    rep.close()
    for thread in threads[10:]:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(told) == 20
    refused = [error for error in map(lambda wait: wait(), waits) if type(error) is mm.RefusedError]
    assert len(refused) == told.count(True)


@pytest.mark.parametrize("kind", ["REQ", "DEALER"])
def test_a_zeromq_peer_is_sent_nothing_and_may_still_be_answered(kind: str) -> None:
    """Nothing must be taken for an answer."""
    with mm.Rep(bind=UP) as rep, zmq_socket(getattr(zmq, kind)) as req:
        req.connect(rep.endpoint)
        req.send_multipart([b"q"] if kind == "REQ" else [b"", b"q"])
        request = rep.recv(timeout=WAIT_S)
        assert request.refuse("busy") is False
        assert rep.stats().sent_messages == 0
        assert request.reply(b"-ERR busy")
        assert req.recv_multipart()[-1] == b"-ERR busy"


@pytest.mark.parametrize(
    "features", [None, b"1", b"", b"1 refused", b"refuse", b"1refuse", b"x" * 200]
)
def test_a_peer_that_does_not_say_it_knows_refusals_is_sent_none(features: bytes | None) -> None:
    """An older meshmsg, or another ZMTP."""
    more = [] if features is None else [(b"X-Meshmsg", features)]
    with mm.Rep(bind=UP) as rep, RawPeer(rep.endpoint).shake(b"REQ", *more) as peer:
        peer.send(ref.message(ID, b"", b"q"))
        assert rep.recv(timeout=WAIT_S).refuse("no") is False
        assert rep.stats().sent_messages == 0


@pytest.mark.parametrize("envelope", [(b"",), (b"hop", ID, b""), (b"\0\0\0", b""), (ID * 2, b"")])
def test_who_is_asked_by_way_of_others_cannot_refuse(envelope: tuple[bytes, ...]) -> None:
    """A forwarder could hand it on as an answer."""
    with mm.Rep(bind=UP) as rep:
        feature = (b"X-Meshmsg", b"1 refuse")
        with RawPeer(rep.endpoint).shake(b"REQ", feature) as peer:
            peer.send(ref.message(*envelope, b"q"))
            assert rep.recv(timeout=WAIT_S).refuse("no") is False
        with mm.Dealer(connect=rep.endpoint) as dealer:
            dealer.send_frames([ID, b"", b"q"])
            assert rep.recv(timeout=WAIT_S).refuse("no") is False


def test_a_refusal_is_on_the_wire_what_the_golden_vector_says() -> None:
    """To a peer that says it knows them."""
    with mm.Rep(bind=UP) as rep:
        feature = (b"X-Meshmsg", b"1 more refuse words")
        with RawPeer(rep.endpoint).shake(b"REQ", feature) as peer:
            peer.send(ref.message(ID, b"", b"q"))
            assert rep.recv(timeout=WAIT_S).refuse("busy")
            frames = [peer.frame() for _ in range(3)]
            assert b"".join(ref.frame(body, flags) for flags, body in frames) == ref.refusal(
                0x80000001, b"busy"
            )


def test_over_sp_nobody_is_refused() -> None:
    """It has no words for it; a reply goes."""
    with mm.Rep(bind=UP) as rep:
        wait = asking("sync", f"sp+{rep.endpoint}", timeout=WAIT_S)
        request = rep.recv(timeout=WAIT_S)
        assert request.refuse("no") is False
        assert request.reply(b"yes")
        assert wait() == b"yes"


@UPS
@MODES
def test_who_declines_a_survey_is_neither_missing_nor_waited_for(
    up: str, mode: str, tmp_path: Any
) -> None:
    """With address and reason; the survey is over once the others have answered."""

    async def main() -> None:
        kind: Any = mm.Surveyor if mode == "sync" else aio.Surveyor
        asker = kind(bind=up.format(tmp_path))
        peers = [mm.Respondent(connect=asker.endpoint) for _ in range(3)]
        while len(asker.peers()) < 3:
            await asyncio.sleep(0)
        survey = asker.survey(b"who?", deadline=WAIT_S)
        requests = [peer.recv(timeout=WAIT_S) for peer in peers]
        assert requests[0].refuse("at lunch")
        assert requests[1].refuse()
        for peer in peers[:2]:
            peer.drain(timeout=WAIT_S).raise_for_loss()
        assert len(survey.declined) == 2
        assert requests[2].reply(b"here")
        answers = [answer async for answer in survey] if mode == "asyncio" else list(survey)
        assert answers == [b"here"]
        places = {peer.id: peer.address for peer in asker.peers()}
        assert sorted(peer.reason for peer in survey.declined) == ["", "at lunch"]
        assert all(peer.address == places[peer] for peer in survey.declined)
        assert {*survey.declined, *survey.answered} == {*survey.asked}
        assert survey.missing == ()
        assert "1 answered, 0 missing, 2 declined, over" in repr(survey)
        stats = asker.stats()
        assert (stats.received_messages, stats.parsed_messages, stats.dropped) == (3, 3, 0)
        asker.close()
        for peer in peers:
            peer.close()

    asyncio.run(main())


def test_refusals_of_a_survey_that_nobody_looked_at_are_known_when_it_is_over() -> None:
    """More of them than one call tells of."""
    with mm.Surveyor(bind=UP) as asker:
        peers = [mm.Respondent(connect=asker.endpoint) for _ in range(80)]
        asker.wait_for_peers(80, timeout=WAIT_S)
        survey = asker.survey(b"who?", deadline=WAIT_S)
        for peer in peers:
            assert peer.recv(timeout=WAIT_S).refuse("r" * 1024)
        assert list(survey) == []
        assert {peer.reason for peer in survey.declined} == {"r" * 1024}
        assert len(survey.declined) == 80
        for peer in peers:
            peer.close()


def test_what_a_refusal_raises_survives_pickling() -> None:
    """With its reason."""
    error = mm.RefusedError("the peer refused", code=-21, reason="busy")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.reason) == (str(error), -21, "busy")


@pytest.mark.parametrize("round_", range(20))
def test_of_two_threads_one_answers_or_refuses(round_: int) -> None:
    """The other is told what became of it; whoever asked gets one outcome."""
    with mm.Rep(bind=UP) as rep:
        wait = asking("sync", rep.endpoint, timeout=WAIT_S)
        request = rep.recv(timeout=WAIT_S)
        told: list[Any] = []
        ready = threading.Barrier(2)

        def end(call: Callable[[], bool]) -> None:
            ready.wait()
            try:
                told.append(call())
            except mm.UsageError as error:
                told.append(error)

        calls: list[Callable[[], bool]] = [
            lambda: request.reply(b"a"),
            lambda: request.refuse("no"),
        ]
        threads = [threading.Thread(target=end, args=(call,)) for call in calls[:: (-1) ** round_]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert told.count(True) == 1
        assert isinstance(wait(), (mm.Message, mm.RefusedError))
        assert rep.stats().sent_messages == 1


@MODES
def test_queues_smaller_than_a_message_take_refusals_and_frames(mode: str) -> None:
    """An empty queue takes any one message; what finds a full one is told, and counted."""
    small: Any = {"send_queue_bytes": 1, "recv_queue_bytes": 1}
    with mm.Rep(bind=UP, **small) as rep:

        def serve(answer: Callable[[mm.Request], bool]) -> bool:
            return answer(rep.recv(timeout=WAIT_S))

        async def main() -> None:
            kind: Any = mm.Req if mode == "sync" else aio.Req
            req = kind(connect=rep.endpoint, **small)
            loop = asyncio.get_running_loop()
            answers: list[Callable[[mm.Request], bool]] = [
                lambda request: request.refuse("r" * 1024),
                lambda request: request.reply_frames([b"", b"x" * 5000]),
            ]
            for answer in answers:
                serving = loop.run_in_executor(None, serve, answer)
                try:
                    found = req.request_frames([b"x" * 5000, b""], timeout=WAIT_S)
                    if mode == "asyncio":
                        found = await found
                    outcome = found.frames
                except mm.RefusedError as error:
                    outcome = error.reason
                assert await serving is True
                assert outcome in ("r" * 1024, (b"", b"x" * 5000))
            req.close()

        asyncio.run(main())


@UPS
def test_a_task_cancelled_as_the_refusal_comes_is_cancelled(up: str, tmp_path: Any) -> None:
    """The refusal counts as late; the next request gets its own answer."""

    async def main() -> None:
        with mm.Rep(bind=up.format(tmp_path)) as rep:
            async with aio.Req(connect=rep.endpoint) as req:
                await req.wait_for_peers(timeout=WAIT_S)
                asking = asyncio.ensure_future(req.request(b"q"))
                await asyncio.sleep(0)
                assert rep.recv(timeout=WAIT_S).refuse("no")
                rep.drain(timeout=WAIT_S).raise_for_loss()  # the loop has not run meanwhile
                asking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asking
                assert req.stats().dropped_late == 1
                again = asyncio.ensure_future(req.request(b"again"))
                await asyncio.sleep(0)
                assert rep.recv(timeout=WAIT_S).reply(b"yes")
                assert await again == b"yes"

    asyncio.run(main())


@MODES
def test_a_peer_that_refuses_and_leaves_has_refused(mode: str) -> None:
    """What it said before it left counts."""
    rep = mm.Rep(bind=UP)
    wait = asking(mode, rep.endpoint, timeout=WAIT_S, retries=3)
    assert rep.recv(timeout=WAIT_S).refuse("closing down")
    rep.close()
    error = wait()
    assert isinstance(error, mm.RefusedError)
    assert error.reason == "closing down"


def test_the_error_of_a_with_block_is_not_replaced_by_that_of_its_refusal() -> None:
    """A class with a long name of an error does not make the refusal too long."""
    long = type("é" * 1000, (Exception,), {})
    with mm.Rep(bind=UP) as rep:
        outcome = asking("sync", rep.endpoint, timeout=WAIT_S)
        with pytest.raises(long), rep.recv(timeout=WAIT_S):
            raise long
        refused = outcome()
    assert isinstance(refused, mm.RefusedError)
    assert refused.reason == "é" * 512


def test_a_refusal_that_fails_leaves_the_error_of_the_block(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; without an error of the block it is raised."""

    def fail(*_: object) -> bool:
        raise mm.ResourceError("no memory")

    monkeypatch.setattr(mm.Request, "refuse", fail)
    with pytest.raises(KeyError), mm.Request(b"x"):
        raise KeyError
    assert "a request was not refused: no memory" in caplog.text
    with pytest.raises(mm.ResourceError), mm.Request(b"x"):
        pass
