"""A span around a block: begun, current in it, and ended with what went wrong there.

Not here: what a span is about (_sending.py, _process.py). Law: where nothing is recorded it costs
what the API costs; it never changes what the block returns or raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import Token
from types import TracebackType

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer

from meshmsg._binding.core import ffi, lib

SYSTEM = "meshmsg"
SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
"""The conventions that names of spans and attributes are of: those for messaging."""
Attributes = Mapping[str, "str | int"]

_TRACER: Tracer = trace.get_tracer(
    "meshmsg.tracing", ffi.string(lib.mm_version()).decode(), schema_url=SCHEMA
)
"""That of the program's provider, also if it is set later."""


def attributes_of(kind: str, operation: str, destination: str) -> dict[str, str | int]:
    """Return what every span of messaging says."""
    found: dict[str, str | int] = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
    }
    if destination:
        found["messaging.destination.name"] = destination
    return found


def error_type(kind: type[BaseException]) -> str:
    """Return what `error.type` is of an exception."""
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


class Block:
    """A span for the length of a `with` block."""

    __slots__ = ("_span", "_token")

    def __init__(self) -> None:
        self._span: Span = trace.INVALID_SPAN
        self._token: Token[Context] | None = None

    def _begin(
        self,
        name: str,
        kind: SpanKind,
        attributes: Attributes,
        links: Sequence[Link],
        parent: Context,
        tracer: Tracer | None,
    ) -> Span:
        """Begin the span; it is not current yet."""
        span = self._span = (tracer or _TRACER).start_span(
            name, parent, kind, attributes, links, record_exception=False
        )
        return span

    def _enter(self, context: Context) -> Context:
        """Have the span be the current one, in that context; one that is none hides no other."""
        if self._span.get_span_context().is_valid:
            context = trace.set_span_in_context(self._span, context)
        self._token = attach(context)
        return context

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it, and say what went wrong; what only ends a task or a program did not."""
        span, token = self._span, self._token
        if token is not None:
            self._token = None
            detach(token)
        if isinstance(error, Exception) and span.is_recording():
            span.record_exception(error)
            span.set_attribute("error.type", error_type(type(error)))
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
        span.end()
