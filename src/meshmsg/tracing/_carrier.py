"""The headers of a message as what a context travels in: written into them, and read from them.

Not here: spans (_span.py). Law: what a user gave is kept, also where a propagator would write; what
cannot be read counts as not there.
"""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter
from opentelemetry.trace import SpanContext

Headers = Mapping[str, "str | bytes"]


class _Read(Getter[Headers]):
    """Reads headers, whose values may be octets."""

    def get(self, carrier: Headers, key: str) -> list[str] | None:
        """Return the value of one, as a list of one; None: there is none."""
        value = carrier.get(key)
        if value is None:
            return None
        return [value if isinstance(value, str) else value.decode("ascii", "replace")]

    def keys(self, carrier: Headers) -> list[str]:
        """Return the names."""
        return list(carrier)


_READ = _Read()


def carried(came: Headers, into: Context) -> Context:
    """Return a context with what headers carry: their trace, their baggage."""
    return propagate.extract(came, into, _READ) if came else into


def origin(came: Headers) -> SpanContext | None:
    """Return the span that a message was made in, as its headers say; None: they do not."""
    found = trace.get_current_span(carried(came, Context())).get_span_context()
    return found if found.is_valid else None


def written(given: Headers | None, context: Context | None) -> dict[str, str | bytes]:
    """Return headers that carry a context, beside those that were given."""
    made: dict[str, str] = {}
    propagate.inject(made, context)
    return {**made, **given} if given else {**made}


def headers(given: Headers | None = None) -> dict[str, str | bytes]:
    """Return headers that carry the current context, for `send(..., headers=...)`; makes no span.

    With no span that is current, and no baggage, they are those that were given. Thread-safe: yes.

    Args:
        given: Your own headers. Of the same name, yours is kept.

    Returns:
        A dict of its own: add what you like.
    """
    return written(given, None)
