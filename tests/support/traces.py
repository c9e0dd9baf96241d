"""A tracer of its own that keeps the spans it made, and what is asked of them.

Not here: who makes spans. Law: the program's provider is left alone; no thread and no network.
"""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer


class Traces:
    """Spans that have ended, by name."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer: Tracer = provider.get_tracer("tests")

    def all(self) -> list[ReadableSpan]:
        """Return them in the order they ended."""
        return list(self._kept.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        """Return those of that name."""
        return [span for span in self.all() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """Return the only one of that name."""
        [span] = self.named(name)
        return span


def id_of(span: ReadableSpan) -> tuple[int, int]:
    """Return its trace and its own number."""
    found = span.get_span_context()
    assert found is not None
    return found.trace_id, found.span_id


def parent_of(span: ReadableSpan) -> tuple[int, int] | None:
    """Return trace and number of its parent; None: it has none."""
    return None if span.parent is None else (span.parent.trace_id, span.parent.span_id)


def links_of(span: ReadableSpan) -> list[tuple[int, int]]:
    """Return trace and number of what it links to."""
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def told(span: ReadableSpan, name: str) -> object:
    """Return an attribute; None: it has none of that name."""
    return (span.attributes or {}).get(name)


def written_of(span: ReadableSpan) -> str:
    """Return the `traceparent` that stands for it."""
    found = span.get_span_context()
    assert found is not None
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"
