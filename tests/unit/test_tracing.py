"""Traces go on from who sends to who works on it: by each role and pattern, waiting and awaited.

Not here: what spans say and whose children they are (test_tracing_spans.py), programs without the
package or without a provider (test_tracing_absent.py).
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from typing import Any

import pytest
import zmq
from opentelemetry import baggage, context

import meshmsg as mm
from meshmsg import aio, tracing
from meshmsg.patterns import Forward, IdleQueue, IdleWorker
from tests.support.pairs import WAIT_S, wait_until
from tests.support.traces import Traces, id_of, links_of, parent_of, told, written_of

UP = "tcp://127.0.0.1:0"
OWN = {"mine": "text", "raw": b"\xff"}


@pytest.fixture
def traces() -> Traces:
    """Nothing is in it yet."""
    return Traces()


def check_goes_on(traces: Traces, name: str = "x", sent: str = "send") -> None:
    """The work is a child of the sending, in one trace, and linked to it."""
    made, done = traces.one(f"{sent} {name}"), traces.one(f"process {name}")
    assert parent_of(done) == id_of(made)
    assert links_of(done) == [id_of(made)]


PAIRS = [
    ("Push", "Pull"), ("Pair", "Pair"), ("Dealer", "Dealer"), ("Bus", "Bus"), ("Pub", "Sub"),
    ("XPub", "XSub"), ("Router", "Dealer"), ("Dealer", "Router"),
]  # fmt: skip


def opened(module: Any, names: tuple[str, str]) -> tuple[Any, Any, dict[str, Any]]:
    """Both, connected, and with what else the first is to send."""
    more: dict[str, Any] = {"topics": [""]} if names[1] == "Sub" else {}
    if names[0] == "Router":
        more["identity"] = b"me"
    sender = getattr(module, names[0])(bind=UP)
    receiver = getattr(module, names[1])(connect=sender.endpoint, **more)
    if names[1] == "XSub":
        receiver.subscribe("")
    return sender, receiver, {"to": b"me"} if names[0] == "Router" else {}


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_a_trace_goes_on_by_each_role(traces: Traces, names: tuple[str, str]) -> None:
    """What was given beside it is kept."""
    sender, receiver, more = opened(mm, names)
    with sender, receiver:
        receiver.wait_for_peers(timeout=WAIT_S)
        sender.wait_for_peers(timeout=WAIT_S)
        if names[0] in ("Pub", "XPub"):
            sender.wait_for_subscribers(timeout=WAIT_S)
        send = tracing.traced(sender.send, "x", tracer=traces.tracer)
        send(b"body", headers=OWN, key="7", **more)
        message = receiver.recv(timeout=WAIT_S)
    with tracing.process(message, destination="x", tracer=traces.tracer):
        pass
    check_goes_on(traces)
    assert (message, message.key) == (b"body", b"7")
    assert message.headers == {**OWN, "traceparent": written_of(traces.one("send x"))}


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_the_same_by_tasks(traces: Traces, names: tuple[str, str]) -> None:
    """As by threads; the span ends when the message was sent."""

    async def main() -> None:
        sender, receiver, more = opened(aio, names)
        async with sender, receiver:
            await receiver.wait_for_peers(timeout=WAIT_S)
            await sender.wait_for_peers(timeout=WAIT_S)
            if names[0] in ("Pub", "XPub"):
                await sender.wait_for_subscribers(timeout=WAIT_S)
            send = tracing.traced(sender.send, "x", tracer=traces.tracer)
            await send(b"body", headers=OWN, **more)
            assert len(traces.named("send x")) == 1
            message = await receiver.recv(timeout=WAIT_S)
            with tracing.process(message, destination="x", tracer=traces.tracer):
                await asyncio.sleep(0)
        assert message.headers["mine"] == "text"

    asyncio.run(main())
    check_goes_on(traces)


def test_frames_and_receipts_have_a_span_too(traces: Traces) -> None:
    """The operation is the same, the size that of the last frame; what comes back is the call's."""
    with mm.Push(bind=UP, delivery="at_least_once") as push, mm.Pull(connect=push.endpoint) as pull:
        tracing.traced(push.send_frames, "x", tracer=traces.tracer)([b"a", b"body"])
        assert pull.recv(timeout=WAIT_S).frames == (b"a", b"body")
        receipt = tracing.traced(push.send, "x", tracer=traces.tracer)(bytearray(3), confirm=True)
        assert isinstance(receipt, mm.Receipt)
        assert "traceparent" in pull.recv(timeout=WAIT_S).headers
        with pytest.raises(mm.WouldBlockError):
            pull.recv(timeout=0)
        receipt.wait(timeout=WAIT_S)
    sizes = [told(one, "messaging.message.body.size") for one in traces.named("send x")]
    assert sizes == [4, 3]


def test_a_question_its_work_and_its_answer_are_one_trace(traces: Traces) -> None:
    """The request ends with the answer, which is a child of the work."""
    with mm.Rep(bind=UP) as rep, mm.Req(connect=rep.endpoint) as req:

        def serve() -> None:
            request = rep.recv(timeout=WAIT_S)
            with request, tracing.process(request, destination="x", tracer=traces.tracer):
                answer = tracing.traced(request.reply, "x", tracer=traces.tracer)
                assert answer(b"a", headers=OWN)

        server = threading.Thread(target=serve)
        server.start()
        ask = tracing.traced(req.request, "x", tracer=traces.tracer)
        answer = ask(b"q", timeout=WAIT_S, retries=1)
        server.join()
    check_goes_on(traces, sent="request")
    replied, asked = traces.one("reply x"), traces.one("request x")
    assert parent_of(replied) == id_of(traces.one("process x"))
    assert answer.headers == {**OWN, "traceparent": written_of(replied)}
    assert asked.end_time is not None
    assert replied.start_time is not None
    assert asked.end_time > replied.start_time


def test_a_refused_question_of_a_task_is_an_error(traces: Traces) -> None:
    """Of the request, and it is raised as ever; the work itself went well."""

    async def main() -> None:
        async with aio.Rep(bind=UP) as rep, aio.Req(connect=rep.endpoint) as req:

            async def serve() -> None:
                request = await rep.recv(timeout=WAIT_S)
                with tracing.process(request, destination="x", tracer=traces.tracer):
                    request.refuse("no")

            serving = asyncio.create_task(serve())
            ask = tracing.traced(req.request_frames, "x", tracer=traces.tracer)
            with pytest.raises(mm.RefusedError):
                await ask([b"q"], timeout=WAIT_S)
            await serving

    asyncio.run(main())
    check_goes_on(traces, sent="request")
    assert told(traces.one("request x"), "error.type") == "meshmsg.RefusedError"
    assert traces.one("process x").status.is_unset


@pytest.mark.parametrize("awaited", [False, True])
def test_a_survey_and_its_answers_are_one_trace(traces: Traces, awaited: bool) -> None:
    """The span of the question ends as it is on its way; what is returned is the survey."""

    def answer(one: mm.Respondent) -> None:
        request = one.recv(timeout=WAIT_S)
        with tracing.process(request, destination="x", tracer=traces.tracer):
            tracing.traced(request.reply, "x", tracer=traces.tracer)(b"me")

    async def main(one: mm.Respondent, asker: aio.Surveyor) -> list[bytes]:
        async with asker:
            await asker.wait_for_peers(timeout=WAIT_S)
            ask = tracing.traced(asker.survey, "x", tracer=traces.tracer)
            survey = ask(b"who?", deadline=WAIT_S)
            assert isinstance(survey, aio.Survey)
            await asyncio.to_thread(answer, one)
            return [bytes(found) async for found in survey]

    if awaited:
        asker: Any = aio.Surveyor(bind=UP)
        with mm.Respondent(connect=asker.endpoint) as one:
            found = asyncio.run(main(one, asker))
    else:
        with mm.Surveyor(bind=UP) as asker, mm.Respondent(connect=asker.endpoint) as one:
            asker.wait_for_peers(timeout=WAIT_S)
            survey = tracing.traced(asker.survey, "x", tracer=traces.tracer)(
                b"who?", deadline=WAIT_S
            )
            assert len(traces.named("survey x")) == 1
            answer(one)
            found = [bytes(each) for each in survey]
    assert found == [b"me"]
    check_goes_on(traces, sent="survey")


def test_a_trace_goes_through_a_forwarder(traces: Traces) -> None:
    """Which makes no span; and through an answer of the other way."""
    with (
        Forward(mm.Pull(bind=UP), mm.Push(bind=UP)) as forward,
        mm.Push(connect=forward.front.endpoint) as push,
        mm.Pull(connect=forward.back.endpoint) as pull,
    ):
        tracing.traced(push.send, "x", tracer=traces.tracer)(b"body", timeout=WAIT_S)
        message = pull.recv(timeout=WAIT_S)
        with tracing.process(message, destination="x", tracer=traces.tracer):
            pass
    check_goes_on(traces)
    assert len(traces.all()) == 2


def test_a_trace_goes_through_an_idle_queue_to_a_job(traces: Traces) -> None:
    """And its answer comes back with what its worker said."""
    with IdleQueue() as queue, mm.Req(connect=queue.front.endpoint) as client:

        def work() -> None:
            with IdleWorker(queue.back.endpoint) as worker:
                job = next(iter(worker))
                with tracing.process(job, destination="x", tracer=traces.tracer):
                    tracing.traced(job.reply, "x", tracer=traces.tracer)(b"a")

        thread = threading.Thread(target=work)
        thread.start()
        ask = tracing.traced(client.request, "x", tracer=traces.tracer)
        answer = ask(b"q", timeout=WAIT_S)
        thread.join()
    check_goes_on(traces, sent="request")
    assert answer.headers == {"traceparent": written_of(traces.one("reply x"))}


def test_each_attempt_goes_on_with_the_same_trace(traces: Traces) -> None:
    """A block that raised gives the message back; the next one has a span of its own."""
    with mm.Push(bind=UP, delivery="at_least_once") as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            tracing.traced(push.send, "x", tracer=traces.tracer)(b"job")
            with pytest.raises(ZeroDivisionError):
                with (
                    pull.recv(timeout=WAIT_S) as message,
                    tracing.process(message, destination="x", tracer=traces.tracer),
                ):
                    1 / 0  # noqa: B018
            with (
                pull.recv(timeout=WAIT_S) as message,
                tracing.process(message, destination="x", tracer=traces.tracer),
            ):
                assert message.attempt == 2
            assert push.drain(timeout=WAIT_S).unconfirmed == 0
    sent, (first, second) = traces.one("send x"), traces.named("process x")
    assert parent_of(first) == parent_of(second) == id_of(sent)
    attempts = "messaging.meshmsg.message.delivery_attempt"
    assert [told(one, attempts) for one in (first, second)] == [1, 2]
    name = "messaging.message.id"
    assert told(first, name) == told(second, name) != None  # noqa: E711
    assert told(first, "error.type") == "ZeroDivisionError"
    assert told(second, "error.type") is None


def test_a_dead_letter_has_the_trace_of_its_message(traces: Traces) -> None:
    """Who looks into it finds where it came from."""
    with mm.Push(bind=UP, delivery="at_least_once", max_attempts=1, dead_letter="keep") as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            tracing.traced(push.send, "x", tracer=traces.tracer)(b"job")
            pull.recv(timeout=WAIT_S).nack()
            letters: list[mm.DeadLetter] = []
            wait_until(lambda: bool(letters.extend(push.dead_letters()) or letters))
    with tracing.process(letters[0], destination="x", tracer=traces.tracer):
        pass
    check_goes_on(traces)


def test_tasks_do_not_see_each_other_s_traces(traces: Traces) -> None:
    """What a task sends while it works on a message goes on with that one's trace."""

    async def work(message: mm.Message, send: Any) -> None:
        with tracing.process(message, destination="in", tracer=traces.tracer):
            await asyncio.sleep(0)
            await send(bytes(message))
            await asyncio.sleep(0)

    async def main() -> None:
        async with aio.Push(bind=UP) as first, aio.Pull(connect=first.endpoint) as pull:
            async with aio.Push(bind=UP) as second, aio.Pull(connect=second.endpoint) as last:
                send = tracing.traced(first.send, "in", tracer=traces.tracer)
                onward = tracing.traced(second.send, "out", tracer=traces.tracer)
                for number in range(10):
                    await send(b"%d" % number)
                messages = [await pull.recv(timeout=WAIT_S) for _ in range(10)]
                await asyncio.gather(*(work(message, onward) for message in messages))
                for _ in range(10):
                    message = await last.recv(timeout=WAIT_S)
                    origin = messages[int(message)].headers["traceparent"]
                    assert str(message.headers["traceparent"])[:35] == str(origin)[:35]

    asyncio.run(main())
    assert len({id_of(span)[0] for span in traces.all()}) == 10
    parents = {id_of(span): span for span in traces.named("process in")}
    assert {parent_of(span) for span in traces.named("send out")} == set(parents)


def test_any_number_of_threads_send_by_one_traced_call(traces: Traces) -> None:
    """Each under the span of its own."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull, ExitStack() as stack:
        send = tracing.traced(push.send, "x", tracer=traces.tracer)

        def run(name: str) -> None:
            with traces.tracer.start_as_current_span(name):
                for _ in range(50):
                    send(b"x", headers={"of": name}, timeout=WAIT_S)

        threads = [threading.Thread(target=run, args=(f"thread {n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        came = [pull.recv(timeout=WAIT_S) for _ in range(200)]
    sent = {written_of(span): span for span in traces.named("send x")}
    assert len(sent) == 200
    for message in came:
        around = traces.one(str(message.headers["of"]))
        assert parent_of(sent[str(message.headers["traceparent"])]) == id_of(around)


def test_baggage_goes_on_too_and_to_what_is_sent_next(traces: Traces) -> None:
    """As the global propagator does; behind the block it is gone."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull:
        token = context.attach(baggage.set_baggage("customer", "7"))
        with tracing.sending("x", tracer=traces.tracer) as headers:
            push.send(b"x", headers=headers)
        context.detach(token)
        message = pull.recv(timeout=WAIT_S)
        with tracing.process(message, destination="x", tracer=traces.tracer):
            assert baggage.get_baggage("customer") == "7"
            assert tracing.headers()["baggage"] == "customer=7"
        assert baggage.get_baggage("customer") is None
    check_goes_on(traces)


def test_pyzmq_gets_the_message_without_and_nothing_breaks(traces: Traces) -> None:
    """The span is there, and ends there."""
    with mm.Push(bind=UP) as push, zmq.Context() as other, other.socket(zmq.PULL) as pull:
        pull.rcvtimeo = int(WAIT_S * 1000)
        pull.connect(push.endpoint)
        tracing.traced(push.send, "x", tracer=traces.tracer)(b"body", timeout=WAIT_S)
        assert pull.recv_multipart() == [b"body"]
    assert traces.one("send x").status.is_unset
