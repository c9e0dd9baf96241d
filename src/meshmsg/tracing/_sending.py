"""The span of a message that is sent, and the headers by which the other side goes on with it.

Not here: calls that make it by themselves (_traced.py). Law: the context that a user put into the
headers is the message's own; the span then refers to it, and changes nothing.
"""

from __future__ import annotations

from typing import Final

from opentelemetry.context import get_current
from opentelemetry.trace import Link, Span, SpanKind, Tracer

from meshmsg.tracing._carrier import Headers, origin, written
from meshmsg.tracing._span import Block, attributes_of


class Sending(Block):
    """A span for a `with` block that sends; gives the headers to send with."""

    __slots__ = ("_destination", "_given", "_operation", "_tracer")

    def __init__(
        self, destination: str, given: Headers | None, operation: str, tracer: Tracer | None
    ) -> None:
        super().__init__()
        self._destination: Final = destination
        self._given: Final = given
        self._operation: Final = operation
        self._tracer: Final = tracer

    @property
    def span(self) -> Span:
        """The span of the block."""
        return self._span

    def __enter__(self) -> dict[str, str | bytes]:
        given, operation, destination = self._given, self._operation, self._destination
        own = origin(given) if given else None
        current = get_current()
        self._begin(
            f"{operation} {destination}" if destination else operation,
            SpanKind.PRODUCER if own is None else SpanKind.CLIENT,
            attributes_of("send", operation, destination),
            [] if own is None else [Link(own)],
            current,
            self._tracer,
        )
        context = self._enter(current)
        return written(given, context) if own is None else dict(given or {})


def sending(
    destination: str = "",
    *,
    headers: Headers | None = None,
    operation: str = "send",
    tracer: Tracer | None = None,
) -> Sending:
    """Make a span around the sending of a message, and the headers that carry it.

    For every call that takes `headers=`, waiting or awaited::

        with tracing.sending("orders") as headers:
            push.send(body, headers=headers)

    The span is a producer's ("send orders"), current in the block, and a child of the one that was
    current. An error that leaves the block is recorded. Headers of yours that carry a trace already
    are left as they are, and the span (a client's then) links to it. All headers count towards the
    16 KiB that may go with a message.

    Thread-safe: yes; a block is for one thread or task.

    Args:
        destination: What the message is sent to, as people call it: of few different values, as it
            is a part of the span's name.
        headers: Your own headers. Of the same name, yours is kept.
        operation: What is done, for the span's name.
        tracer: Makes the span; None takes that of the program's provider.

    Returns:
        A context manager, for one use; it gives the headers, a dict of its own.
    """
    return Sending(destination, headers, operation, tracer)
