"""stop_receiving(): a consumer ends without loss, sync and asyncio, over every transport.

Not here: every moment at which it may come (tests/sim/test_stopping_worlds.py), what hostile peers
make of it (tests/hostile/test_hostile_stops.py).
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from meshmsg._roles import stopping
from meshmsg._roles.stopping import StoppedPeer
from tests.interop.zmqside import zmq_socket
from tests.support.pairs import WAIT_S, endpoint_for, joined, wait_until

TRANSPORTS = pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
COUNT = 3_000


def numbers(messages: list[Any]) -> list[int]:
    """What was sent, in order of arrival."""
    return [int(message) for message in messages]


@TRANSPORTS
def test_what_the_stopped_one_does_not_get_goes_to_the_other(
    transport: str, short_path: Path
) -> None:
    """Two workers, one stops in the middle: each message once, and nothing in doubt."""
    url = endpoint_for(transport, short_path)
    with mm.Push(bind=url) as push:
        with mm.Pull(connect=push.endpoint, recv_queue_messages=10) as one:
            with mm.Pull(connect=push.endpoint) as two:
                push.wait_for_peers(2, timeout=WAIT_S)
                rest: list[Any] = []
                reader = threading.Thread(target=lambda: rest.extend(two))
                reader.start()
                sender = threading.Thread(
                    target=lambda: push.send_many([b"%d" % i for i in range(COUNT)])
                )
                sender.start()
                got = [one.recv(timeout=WAIT_S) for _ in range(20)]
                assert one.stop_receiving(deadline=WAIT_S).peers[0].state in ("asked", "stopped")
                got += one
                report = one.stop_receiving(deadline=WAIT_S)
                assert report.clean
                assert not report.waiting
                sender.join()
                assert push.drain(timeout=WAIT_S).queued == 0
                wait_until(lambda: push.stats().confirmed_messages == COUNT)
                two.stop_receiving(deadline=WAIT_S)
                reader.join()
        assert sorted(numbers(got + rest)) == list(range(COUNT))
        assert push.stats().in_doubt_messages == 0


@TRANSPORTS
def test_asyncio_iterates_to_the_end(transport: str, short_path: Path) -> None:
    """What had come is given out, and what had not is kept for the next."""

    async def run() -> None:
        url = endpoint_for(transport, short_path)
        async with aio.Push(bind=url) as push:
            async with aio.Pull(connect=push.endpoint, recv_queue_messages=10) as pull:
                await push.wait_for_peers(timeout=WAIT_S)
                await push.send_many([b"%d" % i for i in range(800)])
                got: list[Any] = []
                async for message in pull:
                    got.append(message)
                    if len(got) == 5:
                        pull.stop_receiving(deadline=WAIT_S)
                assert pull.stop_receiving(deadline=WAIT_S).clean
                with pytest.raises(mm.ClosedError, match="stopped receiving"):
                    await pull.recv()
            async with aio.Pull(connect=push.endpoint) as other:
                assert (await push.drain(timeout=WAIT_S)).queued == 0
                while len(got) < 800:
                    got.append(await other.recv(timeout=WAIT_S))
                assert numbers(got) == list(range(800))

    asyncio.run(run())


@pytest.mark.parametrize("how", ["recv", "recv_many", "recv_batch", "poller", "recv 0"])
def test_every_way_to_receive_comes_to_the_end(how: str) -> None:
    """All messages, then ClosedError; also one that waits when the end comes."""
    with joined(mm.Push, mm.Pull, "tcp://127.0.0.1:0") as (push, pull):
        push.send_many([b"x"] * 50)
        push.drain(timeout=WAIT_S)
        pull.stop_receiving(deadline=WAIT_S)
        wait_until(lambda: pull.stop_receiving(deadline=WAIT_S).clean)
        count = 0
        while True:
            try:
                if how == "poller":
                    with mm.Poller([pull]) as poller:
                        assert poller.poll(WAIT_S) == [pull]
                if how == "recv_many":
                    count += len(pull.recv_many(7, timeout=WAIT_S))
                elif how == "recv_batch":
                    count += len(pull.recv_batch(7, timeout=WAIT_S))
                else:
                    pull.recv(timeout=0 if how == "recv 0" else WAIT_S)
                    count += 1
            except mm.ClosedError as error:
                said = str(error)
                break
        assert count == 50
        assert "stopped receiving" in said
        assert not pull.closed


def test_a_thread_that_waits_is_told_of_the_end() -> None:
    """It sleeps in a receive when another thread stops the socket, and is the last to answer."""
    with joined(mm.Push, mm.Pull, "tcp://127.0.0.1:0") as (_, pull):
        ended: list[Any] = []
        waiting = threading.Thread(target=lambda: ended.append(list(pull)))
        waiting.start()
        pull.stop_receiving(deadline=WAIT_S)
        waiting.join(WAIT_S)
        assert ended == [[]]


def test_a_close_from_another_thread_meanwhile_is_an_end_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The socket is closed between the asking and the look at who was asked."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        outcomes = stopping._outcomes

        def closed_first(socket: mm.Pull) -> tuple[StoppedPeer, ...]:
            socket.close()
            return outcomes(socket)

        monkeypatch.setattr(stopping, "_outcomes", closed_first)
        with pytest.raises(mm.ClosedError, match="^stopping to receive: this Pull was closed"):
            pull.stop_receiving()


def test_a_report_says_in_words_what_became_of_each_peer() -> None:
    """What the log and an error say is what a program prints."""
    states: list[Any] = ["asked", "stopped", "cancelled", "cannot", "late", "gone"]
    peers = tuple(StoppedPeer(i, f"tcp://10.0.0.{i}:1", state) for i, state in enumerate(states))
    assert [peer.may_be_lost for peer in peers] == [False, False, True, True, True, True]
    for peer in peers[2:]:
        assert str(peer).startswith(peer.address)
        assert str(peer).endswith("may be lost")
    with pytest.raises(mm.MeshError, match="tcp://10.0.0.0:1 has not answered yet"):
        mm.StopReport(peers[:2]).raise_for_loss()
    mm.StopReport(peers[1:2]).raise_for_loss()


def test_without_peers_it_ends_at_once_and_no_peer_comes_any_more() -> None:
    """Nor can it bind or connect again."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        endpoint = pull.endpoint
        report = pull.stop_receiving()
        assert report == mm.StopReport(())
        assert report.clean
        assert list(pull) == []
        with pytest.raises(mm.UsageError):
            pull.connect(endpoint)
        with pytest.raises(mm.UsageError):
            pull.bind("tcp://127.0.0.1:0")
        with mm.Pull(bind=endpoint):
            pass


@pytest.mark.parametrize("module", [mm, aio])
def test_who_stopped_receiving_cannot_subscribe_and_is_told_why(module: Any) -> None:
    """Nothing would come; to unsubscribe is allowed, as it promises nothing."""

    async def scene() -> None:
        sub = module.Sub(bind="tcp://127.0.0.1:0", topics="a")
        sub.stop_receiving()
        with pytest.raises(mm.UsageError, match="cannot subscribe to 'b': this Sub was told to st"):
            sub.subscribe("b")
        sub.unsubscribe("a")
        closed = sub.close()
        if closed is not None:
            await closed

    asyncio.run(scene())


@pytest.mark.parametrize("module", [mm, aio])
def test_an_xsub_that_stopped_takes_no_subscription_as_a_message_either(module: Any) -> None:
    """It may still cancel, and send its publishers what is none."""

    async def scene() -> None:
        async def done(result: Any) -> Any:
            return await result if module is aio else result

        xpub = module.XPub(bind="tcp://127.0.0.1:0")
        xsub = module.XSub(connect=xpub.endpoint)
        await done(xsub.send(b"\x01a"))
        await done(xpub.wait_for_subscribers("a", timeout=WAIT_S))
        await done(xpub.send(b"x", topic="a"))
        xsub.stop_receiving()
        got = [m async for m in xsub] if module is aio else list(xsub)
        assert [m.frames for m in got] == [(b"a", b"x")]
        assert xsub.stop_receiving().clean
        for send in (xsub.send, xsub.send_many):
            message = b"\x01b"
            with pytest.raises(mm.UsageError, match="this XSub was told to stop receiving"):
                await done(send(message if send == xsub.send else [message]))
        with pytest.raises(mm.UsageError, match="cannot subscribe to 'b': this XSub was told to"):
            xsub.subscribe("b")
        await done(xsub.send(b"\x00a"))
        await done(xsub.send(b"\x02upstream"))
        xsub.close()
        xpub.close()

    asyncio.run(scene())


def test_a_rep_stops_and_still_answers_what_it_has() -> None:
    """The Req asks another one from then on; every request is answered."""
    with (
        mm.Req(bind="tcp://127.0.0.1:0") as req,
        mm.Rep(connect=req.endpoint) as one,
        mm.Rep(connect=req.endpoint) as two,
    ):
        req.wait_for_peers(2, timeout=WAIT_S)
        answers: list[bytes] = []
        askers = [
            threading.Thread(target=lambda: answers.append(req.request(b"q", timeout=WAIT_S)))
            for _ in range(8)
        ]
        for asker in askers:
            asker.start()
        held = one.recv(timeout=WAIT_S)
        one.stop_receiving(deadline=WAIT_S)
        rest = [held, *one]
        assert one.stop_receiving(deadline=WAIT_S).clean
        assert req.peers()
        for request in rest:
            assert request.reply(b"one")
        while len(answers) < 8:
            try:
                two.recv(timeout=0.05).reply(b"two")
            except mm.TimedOutError:
                continue
        for asker in askers:
            asker.join()
        late = threading.Thread(target=lambda: answers.append(req.request(b"l", timeout=WAIT_S)))
        late.start()
        two.recv(timeout=WAIT_S).reply(b"two")
        late.join()
        assert answers.count(b"one") == len(rest)
        assert answers.count(b"two") == 9 - len(rest)


def test_a_respondent_is_asked_no_more() -> None:
    """It answers the survey it has; the next one asks the others."""
    with (
        mm.Surveyor(bind="tcp://127.0.0.1:0") as surveyor,
        mm.Respondent(connect=surveyor.endpoint) as one,
        mm.Respondent(connect=surveyor.endpoint) as two,
    ):
        surveyor.wait_for_peers(2, timeout=WAIT_S)
        survey = surveyor.survey(b"?", deadline=WAIT_S)
        one.stop_receiving(deadline=WAIT_S)
        for request in one:
            request.reply(b"1")
        two.recv(timeout=WAIT_S).reply(b"2")
        assert sorted(survey) == [b"1", b"2"]
        later = surveyor.survey(b"??", deadline=WAIT_S)
        assert len(later.asked) == 1
        later.close()


def test_a_sub_gets_what_was_published_before() -> None:
    """What is queued for it is still written; what comes after goes to the others alone."""
    with joined(mm.Pub, mm.Sub, "tcp://127.0.0.1:0") as (pub, sub):
        sub.subscribe("")
        pub.wait_for_subscribers("", timeout=WAIT_S)
        pub.send_many([b"%d" % i for i in range(200)])
        sub.stop_receiving(deadline=WAIT_S)
        got = numbers(list(sub))
        assert got == list(range(len(got)))
        assert sub.stop_receiving(deadline=WAIT_S).clean
        assert pub.subscribers("") == 0


@pytest.mark.parametrize(
    ("role", "kind", "state"),
    [
        (mm.Pull, zmq.PUSH, "cannot"),
        (mm.Sub, zmq.PUB, "cancelled"),
        (mm.XSub, zmq.PUB, "cancelled"),
        (mm.Rep, zmq.REQ, "cannot"),
    ],
    ids=["pull", "sub", "xsub", "rep"],
)
def test_libzmq_is_told_what_it_knows_and_the_report_says_so(
    role: Any, kind: int, state: str
) -> None:
    """What had come is given out; the iteration ends; a publisher knows of no subscriber then."""
    with role(bind="tcp://127.0.0.1:0") as ours, zmq_socket(kind) as theirs:
        if kind == zmq.PUB:
            ours.subscribe("")
        theirs.connect(ours.endpoint)
        ours.wait_for_peers(timeout=WAIT_S)
        if kind == zmq.PUB:
            wait_until(lambda: theirs.send(b"x") or ours.stats().parsed_messages)
        else:
            theirs.send(b"x")
            wait_until(lambda: ours.stats().parsed_messages)
        ours.stop_receiving(deadline=WAIT_S)
        got = list(ours)
        assert set(map(bytes, got)) == {b"x"}
        report = ours.stop_receiving(deadline=WAIT_S)
        assert [peer.state for peer in report.peers] == [state]
        assert not report.clean
        told = [one for one in ours.events() if one.kind is mm.EventKind.PEER_UNREAD]
        assert [one.peer for one in told] == [report.peers[0].id]
        assert "what is on its way from it may be lost" in told[0].detail


def test_sp_cannot_be_stopped_and_the_report_says_so() -> None:
    """Its wire has no words for it."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, mm.Push(connect="sp+" + pull.endpoint) as push:
        push.wait_for_peers(timeout=WAIT_S)
        push.send(b"x")
        wait_until(lambda: pull.stats().parsed_messages)
        assert [peer.state for peer in pull.stop_receiving().peers] == ["cannot"]
        assert list(pull) == [b"x"]


def test_sigterm_ends_the_loop_of_a_worker_and_nothing_is_lost() -> None:
    """The signal's function stops the socket that its thread iterates over."""
    before = signal.getsignal(signal.SIGTERM)
    with joined(mm.Push, mm.Pull, "tcp://127.0.0.1:0") as (push, pull):
        signal.signal(signal.SIGTERM, lambda *_: pull.stop_receiving(deadline=WAIT_S))
        try:
            push.send_many([b"%d" % i for i in range(1_500)])
            got: list[Any] = []
            for message in pull:
                got.append(message)
                if len(got) == 100:
                    os.kill(os.getpid(), signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, before)
        assert pull.stop_receiving().clean
        with mm.Pull(connect=push.endpoint) as other:
            while len(got) < 1_500:
                got.append(other.recv(timeout=WAIT_S))
        assert numbers(got) == list(range(1_500))
