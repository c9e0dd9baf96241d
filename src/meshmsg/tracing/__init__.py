"""Traces that go on from who sends a message to who works on it: OpenTelemetry, which is optional.

It needs the package opentelemetry-api (`pip install 'meshmsg[otel]'`); who makes spans of it and
where they go is the program's choice, by its SDK. Without one nothing is recorded, and a trace that
came with a message still goes on. `import meshmsg` does not import this.

The context of a trace goes in the headers of a message (`traceparent`, `tracestate`, `baggage`), as
the global propagator of the program writes them. Peers that take no headers get the message as it
is, and their spans begin a new trace.
"""

try:
    import opentelemetry.trace as _api  # noqa: F401
except ImportError as _error:
    raise ImportError(
        "meshmsg.tracing needs the package opentelemetry-api, which cannot be imported "
        f"({_error}): pip install 'meshmsg[otel]'",
        name=_error.name,
        path=_error.path,
    ) from None

from meshmsg.tracing._carrier import headers as headers
from meshmsg.tracing._process import process as process
from meshmsg.tracing._sending import sending as sending
from meshmsg.tracing._traced import traced as traced

__all__ = ["headers", "process", "sending", "traced"]

for _name in __all__:  # they are what is imported, whichever file they are written in
    globals()[_name].__module__ = __name__
