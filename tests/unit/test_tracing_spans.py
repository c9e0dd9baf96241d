"""What spans of messaging say, whose children they are, and what they link to.

Not here: whether a trace arrives (test_tracing.py).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

import meshmsg as mm
from meshmsg import aio, tracing
from meshmsg.tracing._process import KEY_MAX
from tests.support.pairs import WAIT_S, wait_until
from tests.support.traces import Traces, id_of, links_of, parent_of, told, written_of

UP = "tcp://127.0.0.1:0"
FAR = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FAR_ID = (0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)
COMMON = {"messaging.system": "meshmsg"}


@pytest.fixture
def traces() -> Traces:
    """Nothing is in it yet."""
    return Traces()


def sent_with(
    headers: dict[str, str | bytes] | None, body: bytes = b"x", **more: Any
) -> mm.Message:
    """Return a message that came with those headers."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull:
        push.send(b"x", headers=headers, timeout=WAIT_S, **more)
        return pull.recv(timeout=WAIT_S)


def test_a_span_of_sending_says_what_the_conventions_ask_for(traces: Traces) -> None:
    """A producer's; in the scope and schema of this library."""
    with tracing.sending("orders", tracer=traces.tracer):
        pass
    span = traces.one("send orders")
    assert span.kind is SpanKind.PRODUCER
    assert dict(span.attributes or {}) == COMMON | {
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
    }
    assert (span.parent, links_of(span)) == (None, [])


def test_a_span_of_work_says_what_is_known_of_the_message(traces: Traces) -> None:
    """A consumer's."""
    with mm.Push(bind=UP, delivery="at_least_once") as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            push.send(b"body", key="customer-7")
            message = pull.recv(timeout=WAIT_S)
            with message, tracing.process(message, destination="orders", tracer=traces.tracer):
                pass
    span = traces.one("process orders")
    assert span.kind is SpanKind.CONSUMER
    assert message.seq is not None
    assert dict(span.attributes or {}) == COMMON | {
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "orders",
        "messaging.message.body.size": 4,
        "messaging.message.id": f"{message.seq[0]:016x}-{message.seq[1]}",
        "messaging.meshmsg.message.delivery_attempt": 1,
        "messaging.meshmsg.message.key": "customer-7",
    }


@pytest.mark.parametrize(
    ("key", "text"),
    [(b"\xff\x00", "\\xff\x00"), ("ä" * 500, "ä" * KEY_MAX), (b"k" * KEY_MAX, "k" * KEY_MAX)],
)
def test_a_key_is_told_as_text_of_bounded_length(
    traces: Traces, key: bytes | str, text: str
) -> None:
    """Whatever its octets are."""
    with tracing.process(sent_with(None, key=key), tracer=traces.tracer):
        pass
    assert told(traces.one("process"), "messaging.meshmsg.message.key") == text


def test_a_topic_is_the_destination_where_none_is_given(traces: Traces) -> None:
    """On both sides, as text or octets."""
    with mm.Pub(bind=UP) as pub, mm.Sub(connect=pub.endpoint, topics=["fx."]) as sub:
        pub.wait_for_subscribers("fx.eur", timeout=WAIT_S)
        tracing.traced(pub.send, tracer=traces.tracer)(b"1", topic="fx.eur")
        tracing.traced(pub.send, tracer=traces.tracer)(b"1", topic=b"fx.usd")
        tracing.traced(pub.send, "rates", tracer=traces.tracer)(b"1", topic=b"fx.usd")
        messages = [sub.recv(timeout=WAIT_S) for _ in range(3)]
    for message in messages[:2]:
        with tracing.process(message, tracer=traces.tracer):
            pass
    with tracing.process(*messages, tracer=traces.tracer):
        pass
    names = ["send fx.eur", "send fx.usd", "send rates", "process fx.eur", "process fx.usd"]
    assert [span.name for span in traces.all()] == [*names, "process"]


def test_without_a_destination_a_name_has_none(traces: Traces) -> None:
    """Nor has the span such an attribute; an operation may have a name of its own."""
    with tracing.sending(tracer=traces.tracer, operation="publish"):
        pass
    with tracing.process(sent_with(None), tracer=traces.tracer, operation="book"):
        pass
    assert [span.name for span in traces.all()] == ["publish", "book"]
    for span in traces.all():
        assert told(span, "messaging.destination.name") is None


@pytest.mark.parametrize(
    ("parent", "around", "child_of", "links"),
    [
        ("auto", False, "message", ["message"]),
        ("auto", True, "around", ["message"]),
        ("message", False, "message", ["message"]),
        ("message", True, "message", ["message", "around"]),
        ("current", False, None, ["message"]),
        ("current", True, "around", ["message"]),
    ],
)
@pytest.mark.parametrize("carried", [True, False])
def test_whose_child_the_work_is(
    traces: Traces, parent: Any, around: bool, child_of: str | None, links: list[str], carried: bool
) -> None:
    """By what was asked for, whether a span is current, and whether the message brought one."""
    message = sent_with({"traceparent": FAR} if carried else None)
    outer = traces.tracer.start_span("outer")
    ids: dict[str | None, Any] = {"message": FAR_ID, "around": None, None: None}
    if around:
        span_context = outer.get_span_context()
        ids["around"] = (span_context.trace_id, span_context.span_id)
        with trace.use_span(outer):
            with tracing.process(message, parent=parent, tracer=traces.tracer):
                pass
    else:
        with tracing.process(message, parent=parent, tracer=traces.tracer):
            pass
    span = traces.one("process")
    if carried:
        assert parent_of(span) == ids[child_of]
        assert links_of(span) == [ids[link] for link in links]
    else:
        assert parent_of(span) == ids["around"]
        assert links_of(span) == []


def test_several_messages_have_one_span_with_a_link_to_each(traces: Traces) -> None:
    """But for the one that has no trace; it is nobody's child."""
    found = [sent_with({"traceparent": FAR[:-4] + f"{n}-01"}) for n in range(2)]
    with tracing.process(*found, sent_with(None), tracer=traces.tracer) as span:
        assert trace.get_current_span() is span
    span_done = traces.one("process")
    assert span_done.parent is None
    assert len(set(links_of(span_done))) == 2
    assert told(span_done, "messaging.batch.message_count") == 3
    assert told(span_done, "messaging.message.body.size") is None


@pytest.mark.parametrize(
    ("messages", "parent", "words"),
    [(0, "auto", "no message"), (2, "message", "several"), (1, "parent", "is 'parent'")],
)
def test_what_cannot_be_processed_is_told(messages: int, parent: Any, words: str) -> None:
    """Before anything is begun."""
    with pytest.raises(mm.UsageError, match=words):
        tracing.process(*[sent_with(None)] * messages, parent=parent)
    with pytest.raises(mm.UsageError, match=r"push\.send"):
        tracing.traced("push.send")  # type: ignore[type-var]


def test_a_context_of_one_s_own_is_kept_and_linked(traces: Traces) -> None:
    """Its span is no producer's then, as the conventions have it."""
    with tracing.sending("x", headers={"traceparent": FAR, "n": "1"}, tracer=traces.tracer) as made:
        assert made == {"traceparent": FAR, "n": "1"}
    span = traces.one("send x")
    assert span.kind is SpanKind.CLIENT
    assert links_of(span) == [FAR_ID]


def test_headers_that_a_user_gave_are_not_changed(traces: Traces) -> None:
    """What is given is a dict of its own; a header that is no trace does not keep one out."""
    given: dict[str, str | bytes] = {"traceparent": "nonsense", "n": b"\xff"}
    with tracing.sending("x", headers=given, tracer=traces.tracer) as made:
        made["more"] = "m"
    assert given == {"traceparent": "nonsense", "n": b"\xff"}
    assert made == {"traceparent": "nonsense", "n": b"\xff", "more": "m"}
    with tracing.sending("x", headers={"n": "1"}, tracer=traces.tracer) as made:
        assert made == {"n": "1", "traceparent": written_of_current()}


def written_of_current() -> str:
    """The `traceparent` of the current span."""
    found = trace.get_current_span().get_span_context()
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"


def test_headers_alone_carry_the_current_span_and_make_none(traces: Traces) -> None:
    """Beside those of one's own."""
    assert tracing.headers() == {}
    assert tracing.headers({"n": "1"}) == {"n": "1"}
    with traces.tracer.start_as_current_span("mine"):
        made = tracing.headers({"n": "1"})
    assert made == {"n": "1", "traceparent": written_of(traces.one("mine"))}
    assert len(traces.all()) == 1


@pytest.mark.parametrize(
    "value",
    ["", "x" * 5000, b"\xff\xfe", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", FAR.encode(), FAR],
)
def test_what_comes_as_a_trace_is_believed_only_if_it_is_one(
    traces: Traces, value: str | bytes
) -> None:
    """Anything else is as nothing, and is no error; octets are read as text."""
    message = sent_with({"traceparent": value, "tracestate": b"\xff=\xff", "baggage": ",;=,"})
    with tracing.process(message, tracer=traces.tracer):
        pass
    good = value in (FAR, FAR.encode())
    assert parent_of(traces.one("process")) == (FAR_ID if good else None)


def test_an_error_of_a_call_is_recorded_and_raised(traces: Traces) -> None:
    """With its class, its words and the status."""
    with mm.Push(bind=UP) as push:
        with pytest.raises(mm.WouldBlockError):
            tracing.traced(push.send, "x", tracer=traces.tracer)(b"x", timeout=0)
        with pytest.raises(TypeError):
            tracing.traced(push.send, "x", tracer=traces.tracer)("text")  # type: ignore[arg-type]
    first, second = traces.named("send x")
    assert told(first, "error.type") == "meshmsg.WouldBlockError"
    assert first.status.status_code is StatusCode.ERROR
    assert str(first.status.description).startswith("WouldBlockError: no peer")
    assert [event.name for event in first.events] == ["exception"]
    assert told(second, "error.type") == "TypeError"
    assert told(second, "messaging.message.body.size") is None


def test_a_task_that_is_cancelled_is_no_error_of_its_message(traces: Traces) -> None:
    """Of waiting to send, and of work; both spans end."""

    async def main() -> None:
        async with aio.Push(bind=UP) as push:
            send = tracing.traced(push.send, "x", tracer=traces.tracer)
            sending = asyncio.create_task(send(b"x"))
            await asyncio.sleep(0)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            assert push.stats().sent_messages == 0

    asyncio.run(main())
    with pytest.raises(KeyboardInterrupt):
        with tracing.process(sent_with(None), destination="x", tracer=traces.tracer):
            raise KeyboardInterrupt
    assert [span.name for span in traces.all()] == ["send x", "process x"]
    assert all(span.status.is_unset for span in traces.all())


def test_an_answer_that_nobody_takes_is_an_error_of_its_span(traces: Traces) -> None:
    """It returns False, as ever."""
    with mm.Rep(bind=UP) as rep:
        with mm.Dealer(connect=rep.endpoint) as client:
            client.send_frames([b"", b"q"], timeout=WAIT_S)
            request = rep.recv(timeout=WAIT_S)
        wait_until(lambda: not rep.peers())
        assert tracing.traced(request.reply, "x", tracer=traces.tracer)(b"a") is False
    assert traces.one("reply x").status.status_code is StatusCode.ERROR


def test_a_traced_call_is_known_as_the_call_it_is(traces: Traces) -> None:
    """By name and documentation; and the socket is as it was."""
    with mm.Push(bind=UP) as push:
        before = vars(push).copy()
        send = tracing.traced(push.send, tracer=traces.tracer)
        assert (send.__name__, send.__doc__) == (push.send.__name__, push.send.__doc__)
        assert vars(push) == before


def test_what_is_sent_within_a_work_is_its_child(traces: Traces) -> None:
    """So one trace leads through a program."""
    with tracing.process(sent_with({"traceparent": FAR}), destination="in", tracer=traces.tracer):
        with tracing.sending("out", tracer=traces.tracer):
            pass
    sent, worked = traces.one("send out"), traces.one("process in")
    assert parent_of(sent) == id_of(worked)
    assert id_of(sent)[0] == FAR_ID[0]
