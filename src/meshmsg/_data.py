"""What goes in: bytes-like data, topics and endpoints, checked and turned into what C takes.

Law: what is not bytes-like is refused with a hint, never converted behind the caller's back.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from meshmsg._core import error_for, ffi, lib

Data = bytes | bytearray | memoryview


def buffer_of(data: object) -> Any:
    """Return what C can read: bytes as they are, other buffers without a copy."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        raise TypeError("a message is bytes, not str; encode it: text.encode()")
    try:
        return ffi.from_buffer("uint8_t[]", data)
    except (TypeError, ValueError, BufferError):
        raise TypeError(
            f"a message is bytes-like and contiguous, not {type(data).__name__}; "
            "turn it into bytes first, for example with json.dumps(value).encode()"
        ) from None


def bytes_of(data: object) -> bytes:
    """Return the data as bytes; raises TypeError with a hint for what is not bytes-like."""
    return data if isinstance(data, bytes) else bytes(ffi.buffer(buffer_of(data)))


def pack_frames(frames: Sequence[Data]) -> tuple[bytes, Any, int]:
    """Return frames as C wants them: end to end, sizes, count."""
    if isinstance(frames, (bytes, str, bytearray, memoryview)):
        raise TypeError("send_frames takes a sequence of frames; for a single one use send")
    parts = [bytes_of(frame) for frame in frames]
    sizes = array("Q", map(len, parts))
    return b"".join(parts), ffi.from_buffer("uint64_t[]", sizes), len(parts)


def encode_topic(topic: object) -> bytes:
    """Return a topic as bytes; str is UTF-8, with surrogateescape for what came in as other
    bytes."""
    if isinstance(topic, str):
        return topic.encode("utf-8", "surrogateescape")
    if isinstance(topic, (bytes, bytearray, memoryview)):
        return bytes(topic)
    raise TypeError(f"a topic is str or bytes, not {type(topic).__name__}")


def encode_topics(topics: str | bytes | Iterable[str | bytes]) -> list[bytes]:
    """Return one topic, or several, as bytes."""
    if isinstance(topics, (str, bytes)):
        return [encode_topic(topics)]
    return [encode_topic(topic) for topic in topics]


def encode_url(url: object) -> bytes:
    """Return an endpoint as C wants it."""
    if not isinstance(url, str):
        raise TypeError(
            f"an endpoint is a str like 'tcp://127.0.0.1:5555', not {type(url).__name__}"
        )
    if "\0" in url:
        raise error_for(lib.MM_EADDRINVAL, f"{url!r} has a zero byte in it", address=url)
    return url.encode("utf-8", "surrogatepass")


def several(endpoints: str | Iterable[str] | None) -> list[str]:
    """Return one endpoint, several, or none as a list."""
    if endpoints is None:
        return []
    return [endpoints] if isinstance(endpoints, str) else list(endpoints)
