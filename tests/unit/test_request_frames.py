"""Questions and answers of several frames: sync and asyncio, over each transport, with libzmq and
over SP; their limits.

Not here: one frame (test_requests.py, test_survey.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from tests.interop.zmqside import zmq_socket
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
UPS = pytest.mark.parametrize("up", [UP, "ipc://{}/f", "inproc://frames"])
MODES = pytest.mark.parametrize("mode", ["sync", "asyncio"])
SHAPES = [
    [b"one"],
    [b""],
    [b"", b""],
    [b"GET", b"", b"/path"],
    [b"a", b"", b"", b"z"],
    [b"head", b"x" * 100_000, b""],
    [b"%d" % i for i in range(1022)],
]
ENVELOPE = 2
"""Frames in front of what is asked."""


def asking(
    mode: str, endpoint: str | list[str], frames: Sequence[bytes], **options: Any
) -> Callable[[], Any]:
    """Ask in a thread, with a socket of its own; what is returned waits for the outcome."""
    outcome: list[Any] = []

    async def ask() -> mm.Message:
        async with aio.Req(connect=endpoint) as req:
            return await req.request_frames(frames, **options)

    def run() -> None:
        try:
            if mode == "sync":
                with mm.Req(connect=endpoint) as req:
                    outcome.append(req.request_frames(frames, **options))
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
@pytest.mark.parametrize("frames", SHAPES, ids=lambda f: f"{len(f)}-{len(b''.join(f))}")
def test_all_frames_of_a_question_and_of_its_answer_arrive(
    up: str, mode: str, frames: list[bytes], tmp_path: Any
) -> None:
    """Empty ones, many, and large ones; the last one is the message."""
    with mm.Rep(bind=up.format(tmp_path)) as rep:
        wait = asking(mode, rep.endpoint, frames, timeout=WAIT_S)
        request = rep.recv(timeout=WAIT_S)
        assert (request, request.frames) == (frames[-1], tuple(frames))
        answer = [bytearray(frame) for frame in frames[::-1]]
        assert request.reply_frames(answer)
        reply = wait()
        assert (reply, reply.frames) == (frames[0], tuple(frames[::-1]))
        with pytest.raises(mm.UsageError, match="answered already"):
            request.reply_frames([b"again"])


@MODES
def test_each_attempt_sends_all_frames(mode: str) -> None:
    """After one that ran out of time, and after one whose peer left."""
    frames = [b"a", b"", b"c"]
    with mm.Rep(bind=UP) as first:
        wait = asking(mode, first.endpoint, frames, timeout=0.05, retries=1000)
        assert first.recv(timeout=WAIT_S).frames == tuple(frames)
        serving = threading.Thread(target=echo_frames, args=(first,))
        serving.start()
        assert wait().frames == tuple(frames)
        first.close()
        serving.join(WAIT_S)
    with mm.Rep(bind=UP) as leaving:
        wait = asking(mode, leaving.endpoint, frames, timeout=WAIT_S, retries=1)
        assert leaving.recv(timeout=WAIT_S).frames == tuple(frames)
        endpoint = leaving.endpoint
    with mm.Rep(bind=endpoint) as second:
        request = second.recv(timeout=WAIT_S)
        assert request.reply_frames([*request.frames, b"d"])
        assert wait().frames == (*frames, b"d")


def echo_frames(rep: mm.Rep) -> None:
    """Answer with the question."""
    for request in rep:
        request.reply_frames(request.frames)


@UPS
@MODES
def test_a_survey_asks_and_is_answered_in_frames(up: str, mode: str, tmp_path: Any) -> None:
    """Beside answers of one frame, and refusals."""

    async def main() -> None:
        kind: Any = mm.Surveyor if mode == "sync" else aio.Surveyor
        asker = kind(bind=up.format(tmp_path))
        peers = [mm.Respondent(connect=asker.endpoint) for _ in range(3)]
        while len(asker.peers()) < 3:
            await asyncio.sleep(0)
        survey = asker.survey_frames([b"load", b"", b"?"], deadline=WAIT_S)
        for number, peer in enumerate(peers):
            request = peer.recv(timeout=WAIT_S)
            assert request.frames == (b"load", b"", b"?")
            if number < 2:
                assert request.reply_frames([b"", b"%d" % number][1 - number :])
            else:
                assert request.refuse("asleep")
        answers = [answer async for answer in survey] if mode == "asyncio" else list(survey)
        assert sorted(answer.frames for answer in answers) == [(b"", b"1"), (b"0",)]
        assert [peer.reason for peer in survey.declined] == ["asleep"]
        asker.close()
        for peer in peers:
            peer.close()

    asyncio.run(main())


@MODES
@pytest.mark.parametrize("call", ["request_frames", "survey_frames", "reply_frames"])
@pytest.mark.parametrize(
    ("frames", "error"),
    [
        ([], mm.UsageError),
        ((), mm.UsageError),
        (b"bytes", TypeError),
        ("text", TypeError),
        ([b"a", "text"], TypeError),
        ([b"a", None], TypeError),
        (None, TypeError),
    ],
    ids=str,
)
def test_what_are_no_frames_is_refused_at_once(
    mode: str, call: str, frames: Any, error: type[Exception]
) -> None:
    """And a request stays open."""

    async def main() -> None:
        if call == "reply_frames":
            with mm.Rep(bind=UP) as rep:
                wait = asking(mode, rep.endpoint, [b"q"], timeout=WAIT_S)
                request = rep.recv(timeout=WAIT_S)
                with pytest.raises(error):
                    request.reply_frames(frames)
                assert request.reply(b"a")
                assert wait() == b"a"
            return
        role = "Req" if call == "request_frames" else "Surveyor"
        with mm.Engine() as engine:
            socket = getattr(mm if mode == "sync" else aio, role)(engine=engine)
            with pytest.raises(error):
                found = getattr(socket, call)(frames)
                if mode == "asyncio":
                    await found
            socket.close()

    asyncio.run(main())


@MODES
@pytest.mark.parametrize("role", ["Req", "Surveyor"])
@pytest.mark.parametrize("beyond", [0, 1])
def test_the_limits_count_the_envelope_as_the_peer_does(mode: str, role: str, beyond: int) -> None:
    """At a limit the connection stays; beyond it the call says so, rather than the peer."""
    limits: Any = {"frames_max": 10, "message_size_max": 1000}
    frames = [[b"f"] * (8 + beyond), [b"x", b"y" * (995 + beyond)]]

    async def main() -> None:
        server = mm.Rep if role == "Req" else mm.Respondent
        socket = getattr(mm if mode == "sync" else aio, role)(bind=UP, **limits)
        with server(connect=socket.endpoint, **limits) as peer:
            while not socket.peers():
                await asyncio.sleep(0)
            for question in frames:
                if role == "Surveyor":
                    with_limit(lambda q=question: socket.survey_frames(q, deadline=0.01), beyond)
                elif mode == "asyncio":
                    try:
                        await socket.request_frames(question, timeout=0.01)
                    except mm.TooLargeError as error:
                        outcome = error.size
                    except mm.TimedOutError:
                        outcome = 0
                    assert (outcome > 0) is bool(beyond)
                else:
                    with_limit(lambda q=question: socket.request_frames(q, timeout=0.01), beyond)
                if not beyond:
                    assert peer.recv(timeout=WAIT_S).frames == tuple(question)
            assert socket.stats().disconnects == 0
        socket.close()

    asyncio.run(main())


def with_limit(call: Callable[[], object], beyond: int) -> None:
    """Call; beyond a limit that is refused, else it at most runs out of time."""
    if beyond:
        with pytest.raises(mm.TooLargeError, match="with its envelope"):
            call()
        return
    try:
        call()
    except mm.TimedOutError:
        pass


def test_an_answer_over_a_limit_is_refused_and_another_may_be_given() -> None:
    """With its way back counted."""
    with mm.Rep(bind=UP, frames_max=10, message_size_max=1000) as rep:
        wait = asking("sync", rep.endpoint, [b"q"], timeout=WAIT_S)
        request = rep.recv(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match="in 11 frames"):
            request.reply_frames([b""] * 9)
        with pytest.raises(mm.TooLargeError, match="1,001 bytes in 4 frames"):
            request.reply_frames([b"x" * 997, b""])
        assert request.reply_frames([b""] * 8)
        assert wait().frames == (b"",) * 8


@MODES
@pytest.mark.parametrize("kind", ["REP", "ROUTER"])
def test_zeromq_is_asked_in_frames(mode: str, kind: str) -> None:
    """And answers in frames."""
    with zmq_socket(getattr(zmq, kind)) as server:
        port = server.bind_to_random_port("tcp://127.0.0.1")
        wait = asking(mode, f"tcp://127.0.0.1:{port}", [b"GET", b"", b"/"], timeout=WAIT_S)
        got = server.recv_multipart()
        route = [] if kind == "REP" else got[:3]
        assert got[len(route) :] == [b"GET", b"", b"/"]
        server.send_multipart([*route, b"200", b"", b"body"])
        reply = wait()
        assert (reply, reply.frames) == (b"body", (b"200", b"", b"body"))


@pytest.mark.parametrize("kind", ["REQ", "DEALER"])
def test_zeromq_asks_in_frames(kind: str) -> None:
    """And is answered in frames."""
    with mm.Rep(bind=UP) as rep, zmq_socket(getattr(zmq, kind)) as client:
        client.connect(rep.endpoint)
        route = [] if kind == "REQ" else [b"hop", b""]
        client.send_multipart([*route, b"GET", b"", b"/"])
        request = rep.recv(timeout=WAIT_S)
        assert request.frames == (b"GET", b"", b"/")
        assert request.reply_frames([b"200", b"", b"body"])
        assert client.recv_multipart() == [*route, b"200", b"", b"body"]


@MODES
def test_over_sp_one_frame_goes_and_several_are_an_error(mode: str) -> None:
    """Of whoever asks, and of whoever answers; the connection stays."""
    with mm.Rep(bind=UP) as rep:
        wait = asking(mode, f"sp+{rep.endpoint}", [b"a", b"b"], timeout=WAIT_S)
        error = wait()
        assert isinstance(error, mm.UsageError)
        assert "over SP a message is one body, without frames" in str(error)
        wait = asking(mode, f"sp+{rep.endpoint}", [b"one"], timeout=WAIT_S)
        request = rep.recv(timeout=WAIT_S)
        with pytest.raises(mm.UsageError, match="over SP a message is one body"):
            request.reply_frames([b"a", b"b"])
        assert request.reply_frames([b"one"])
        assert wait() == b"one"


@MODES
def test_a_survey_in_frames_misses_peers_of_sp_and_with_them_alone_is_an_error(mode: str) -> None:
    """Those of ZMTP are asked."""

    async def main() -> None:
        kind: Any = mm.Surveyor if mode == "sync" else aio.Surveyor
        asker = kind(bind=UP)
        with mm.Respondent(connect=f"sp+{asker.endpoint}") as other:
            while not asker.peers():
                await asyncio.sleep(0)
            with pytest.raises(mm.UsageError, match="over SP a message is one body"):
                asker.survey_frames([b"a", b"b"])
            assert asker.stats().sent_messages == 0
            with mm.Respondent(connect=asker.endpoint) as peer:
                while len(asker.peers()) < 2:
                    await asyncio.sleep(0)
                survey = asker.survey_frames([b"a", b"b"], deadline=WAIT_S)
                assert peer.recv(timeout=WAIT_S).reply_frames([b"c", b"d"])
                answers = [a async for a in survey] if mode == "asyncio" else list(survey)
                assert [answer.frames for answer in answers] == [(b"c", b"d")]
                assert len(survey.missing) == 1
                assert asker.stats().dropped_unencodable == 1
                one = asker.survey_frames([b"one"], deadline=WAIT_S)
                assert other.recv(timeout=WAIT_S).reply_frames([b"sp"])
                assert peer.recv(timeout=WAIT_S).reply(b"zmtp")
                found = [a async for a in one] if mode == "asyncio" else list(one)
                assert sorted(found) == [b"sp", b"zmtp"]
        asker.close()

    asyncio.run(main())


@MODES
def test_with_peers_of_both_wires_frames_go_to_those_of_zmtp(mode: str) -> None:
    """Whoever's turn it is."""

    async def main() -> None:
        with mm.Rep(bind=UP) as sp, mm.Rep(bind=UP) as zmtp:
            kind: Any = mm.Req if mode == "sync" else aio.Req
            req = kind(connect=[f"sp+{sp.endpoint}", zmtp.endpoint])
            while len(req.peers()) < 2:
                await asyncio.sleep(0)
            serving = threading.Thread(target=echo_frames, args=(zmtp,))
            serving.start()
            for _ in range(3):
                found = req.request_frames([b"a", b"b"], timeout=WAIT_S)
                assert (await found if mode == "asyncio" else found).frames == (b"a", b"b")
            zmtp.close()
            serving.join(WAIT_S)
            with pytest.raises(mm.WouldBlockError):
                sp.recv(timeout=0)
            req.close()

    asyncio.run(main())
