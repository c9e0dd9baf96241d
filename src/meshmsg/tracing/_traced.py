"""Calls that send, each with a span of its own: `send`, `request`, `survey`, `reply`.

Not here: the span (_sending.py). Law: what is given back takes, returns and raises what the call
does; the call itself, its socket and its class stay as they are.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from opentelemetry.trace import Span, Status, StatusCode, Tracer

from meshmsg._binding.errors import UsageError
from meshmsg.tracing._sending import Sending

CallT = TypeVar("CallT", bound=Callable[..., Any])
_FRAMES = "_frames"
_BODIES = ("data", "frames", "question")
"""What calls name that which they send."""


def _is_awaited(call: Callable[..., Any]) -> bool:
    """Whether a coroutine comes of calling it."""
    if sys.version_info >= (3, 12):
        return inspect.iscoroutinefunction(call)
    asyncio = sys.modules.get("asyncio")  # without it, there are none
    return asyncio is not None and bool(asyncio.iscoroutinefunction(call))


def _tell_size(span: Span, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Say how large the body is, which is the last of several frames."""
    data = given[0] if given else next((named[name] for name in _BODIES if name in named), None)
    try:
        body = data[-1] if isinstance(data, (list, tuple)) else data
        size = memoryview(body).nbytes  # type: ignore[arg-type]  # None is no buffer
    except (TypeError, ValueError, BufferError, LookupError):
        return  # the call itself says what is wrong
    span.set_attribute("messaging.message.body.size", size)


def _begin(
    destination: str, operation: str, named: dict[str, Any], tracer: Tracer | None
) -> Sending:
    topic = named.get("topic") if not destination else None
    if topic:
        destination = topic if isinstance(topic, str) else bytes(topic).decode("utf-8", "replace")
    return Sending(destination, named.get("headers"), operation, tracer)


def _tell_unsent(span: Span, result: object) -> None:
    """Say of an answer that nobody took it."""
    if result is False and span.is_recording():
        span.set_status(Status(StatusCode.ERROR, "whoever asked is gone, or takes no more"))


def traced(call: CallT, destination: str = "", *, tracer: Tracer | None = None) -> CallT:
    """Return a call that does what the given one does, in a span that goes with the message.

    For `send` and `send_frames` of every socket, `request`, `survey` and `reply`, each also with
    `_frames`, of `meshmsg` and of `meshmsg.aio`, where it is awaited as before::

        send = tracing.traced(push.send, "orders")
        send(body, key="7")

    Each call has a span as of `sending`: "send orders", "request orders" and so on. That of a
    request ends with its answer, that of a survey as its question is on its way. Your own headers
    are kept. The socket is left as it is.

    Thread-safe: as the call. Cancel-safe: as the call.

    Args:
        call: A method of a socket or a request, or a function of yours that takes `headers=`.
        destination: As of `sending`; if it is not given, that is `topic=` of a Pub.
        tracer: Makes the spans; None takes that of the program's provider.

    Returns:
        A function with the same arguments.

    Raises:
        UsageError: It cannot be called.
    """
    if not callable(call):
        raise UsageError(f"traced takes what sends, such as push.send, not {call!r}")
    operation = getattr(call, "__name__", "send").removesuffix(_FRAMES)
    plain: Any = call

    @wraps(plain)
    def sends(*given: Any, **named: Any) -> Any:
        block = _begin(destination, operation, named, tracer)
        with block as headers:
            if block.span.is_recording():
                _tell_size(block.span, given, named)
            if headers:
                named["headers"] = headers
            result = plain(*given, **named)
            _tell_unsent(block.span, result)
            return result

    @wraps(plain)
    async def sends_awaited(*given: Any, **named: Any) -> Any:
        block = _begin(destination, operation, named, tracer)
        with block as headers:
            if block.span.is_recording():
                _tell_size(block.span, given, named)
            if headers:
                named["headers"] = headers
            return await plain(*given, **named)

    return cast("CallT", sends_awaited if _is_awaited(plain) else sends)
