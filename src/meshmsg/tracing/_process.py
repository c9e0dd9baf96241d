"""The span of work on messages that were received, which goes on with their traces.

Not here: acknowledging them (message.ack, `with message:`). Law: a message is linked to where it
was made; whose child the work is, is the user's choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Link, Span, SpanKind, Tracer

from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import Message
from meshmsg.tracing._carrier import carried, origin
from meshmsg.tracing._span import Block, attributes_of

Parent = Literal["auto", "message", "current"]
KEY_MAX = 128
"""Characters of a key that a span tells."""


class Received(Protocol):
    """What has headers, and a size: a Message, a Request, a DeadLetter, a Job of an IdleWorker."""

    @property
    def headers(self) -> Mapping[str, str | bytes]:
        """What its sender said with it."""
        ...

    def __len__(self) -> int: ...


def _topic_of(messages: Sequence[Received]) -> str:
    """Return the topic that all of them came under; "": there is no such topic."""
    topics = {message.topic if isinstance(message, Message) else "" for message in messages}
    return topics.pop() if len(topics) == 1 else ""


def _tell(span: Span, message: Received) -> None:
    """Say what is known of one message."""
    span.set_attribute("messaging.message.body.size", len(message))
    if not isinstance(message, Message):
        return
    seq, key = message.seq, message.key
    if seq is not None:
        span.set_attribute("messaging.message.id", f"{seq[0]:016x}-{seq[1]}")
        span.set_attribute("messaging.meshmsg.message.delivery_attempt", message.attempt)
    if key is not None:
        text = key[: 4 * KEY_MAX].decode("utf-8", "backslashreplace")[:KEY_MAX]
        span.set_attribute("messaging.meshmsg.message.key", text)


class Process(Block):
    """A span for a `with` block that works on messages; gives the span."""

    __slots__ = ("_destination", "_messages", "_operation", "_parent", "_tracer")

    def __init__(
        self,
        messages: Sequence[Received],
        destination: str,
        parent: Parent,
        operation: str,
        tracer: Tracer | None,
    ) -> None:
        super().__init__()
        self._messages = messages
        self._destination = destination
        self._parent = parent
        self._operation = operation
        self._tracer = tracer

    def __enter__(self) -> Span:
        messages, operation = self._messages, self._operation
        destination = self._destination or _topic_of(messages)
        current = get_current()
        origins = [origin(message.headers) for message in messages]
        links = [Link(found) for found in origins if found is not None]
        attributes = attributes_of("process", operation, destination)
        inside = current
        if len(messages) == 1:
            inside = carried(messages[0].headers, current)
        else:
            attributes["messaging.batch.message_count"] = len(messages)
        span = self._begin(
            f"{operation} {destination}" if destination else operation,
            SpanKind.CONSUMER,
            attributes,
            links,
            self._parent_of(current, inside, links),
            self._tracer,
        )
        if len(messages) == 1 and span.is_recording():
            _tell(span, messages[0])
        self._enter(inside)
        return span

    def _parent_of(self, current: Context, inside: Context, links: list[Link]) -> Context:
        """Return whose child the span is; if that is not the current one, it is linked."""
        around = trace.get_current_span(current).get_span_context()
        wanted = self._parent
        if wanted == "auto":
            wanted = "current" if around.is_valid else "message"
        if wanted == "current" or not links:
            return current
        if around.is_valid:
            links.append(Link(around))
        return inside


def process(
    *messages: Received,
    destination: str = "",
    parent: Parent = "auto",
    operation: str = "process",
    tracer: Tracer | None = None,
) -> Process:
    """Make a span around the work on a message, which goes on with the trace of its sender.

    With threads and asyncio alike; it settles nothing, so it stands beside what does::

        for message in pull:
            with message, tracing.process(message, destination="orders") as span:
                work(message)

    The span is a consumer's ("process orders"), and current in the block, with the message's
    baggage. It links to the span that the message was sent in. An error that leaves the block is
    recorded; in the example `with message:` then gives the message back, and the next attempt has a
    span of its own in the same trace. Several messages have one span, with a link to each.

    Thread-safe: yes; a block is for one thread or task.

    Args:
        messages: Messages, requests, dead letters, or jobs of an IdleWorker.
        destination: As of `sending`; if it is not given, that is the topic of a Sub's message.
        parent: Whose child the span is: "message", the one it was sent in (of one message only);
            "current", the one that is current here; "auto", the current one if there is one, else
            the message's.
        operation: What is done, for the span's name.
        tracer: Makes the span; None takes that of the program's provider.

    Returns:
        A context manager, for one use; it gives the span.

    Raises:
        UsageError: There is no message, `parent` is none of these, or it is "message" of several.
    """
    if not messages:
        raise UsageError("there is no message to process; give one or more")
    if parent not in ("auto", "message", "current"):
        raise UsageError(f"parent is {parent!r}; it is 'auto', 'message' or 'current'")
    if len(messages) > 1:
        if parent == "message":
            raise UsageError("of several messages none is the parent; they are linked")
        parent = "current"
    return Process(messages, destination, parent, operation, tracer)
