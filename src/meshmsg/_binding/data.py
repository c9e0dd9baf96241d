"""What goes in: bytes-like data, topics and endpoints, checked and turned into what C takes.

Law: what is not bytes-like is refused with a hint, never converted behind the caller's back. What
something says of itself (`len`) is not what is in it: how much C reads is told by its buffer, here.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from meshmsg._binding.core import error_for, ffi, lib
from meshmsg._binding.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    class _Array(Protocol):
        """A NumPy array, which before Python 3.12 is no Buffer to type checkers."""

        @property
        def __array_interface__(self) -> dict[str, Any]: ...

    Data = Buffer | _Array
else:
    Data = bytes | bytearray | memoryview
size_of = bytes.__len__
"""The bytes of what bytes_of or buffer_of returned: what a subclass says of itself is not asked."""
SIZE_OCTETS = 8
"""Of the size of a frame, as native calls take it."""
Question = bytes | tuple[bytes, bytes] | tuple[bytes, bytes, bytes]
"""What native calls ask or answer: a body, or frames end to end and their sizes, and perhaps what
goes with them."""
_TIMES = ("M", "m")
"""NumPy's kinds of datetime64 and timedelta64."""
_NAMES = ":[^:]*:"
"""Of the fields of a structure, in the format of a buffer."""


def _view_of(data: object) -> memoryview:
    """Return the memory of a buffer; raises TypeError with a hint for what cannot be sent."""
    if isinstance(data, str):
        raise TypeError("a message is bytes, not str; encode it: text.encode()")
    kind = type(data).__name__
    try:
        view = memoryview(data)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, BufferError):
        if getattr(getattr(data, "dtype", None), "kind", "") in _TIMES:
            hint = f'an array of times has no buffer (dtype {data.dtype}); send x.view("i8")'  # type: ignore[attr-defined]
        else:
            hint = "turn it into bytes first, for example with json.dumps(value).encode()"
        raise TypeError(f"a message is bytes-like, not {kind}; {hint}") from None
    if type(data).__module__.startswith("numpy.ma"):
        raise TypeError(
            f"a message is bytes, and of this {kind} the mask would be lost; send x.filled(), "
            "with a value for what is masked, or x.data and x.mask"
        )
    if not view.c_contiguous:
        raise TypeError(
            f"a message is bytes in one piece, and this {kind} is not contiguous in C order (by "
            "rows); copy it first: "
            + ("numpy.ascontiguousarray(x)" if kind == "ndarray" else "bytes(x)")
        )
    if "O" in view.format and "O" in re.sub(_NAMES, "", view.format):
        plain = view.format == "O"
        raise TypeError(
            f"a message is bytes, and this {kind} holds references to Python objects; "
            + (
                "convert it first, for example with x.astype(float)"
                if plain
                else "send the fields of numbers only, for example x['size'].tobytes()"
            )
        )
    return view


def buffer_of(data: object) -> tuple[Any, int]:
    """Return what C can read, without a copy, and its bytes: the only place that tells C a size.

    What is not bytes cannot be resized as long as the first of the two is there.
    """
    if isinstance(data, bytes):
        return data, size_of(data)
    view = _view_of(data)
    return ffi.from_buffer("uint8_t[]", view), view.nbytes


def bytes_of(data: object) -> bytes:
    """Return the data as bytes (perhaps a subclass); raises TypeError with a hint for what is not
    bytes-like."""
    return data if isinstance(data, bytes) else _view_of(data).tobytes()


def exact_bytes(data: object) -> bytes:
    """Return the data as bytes and no subclass: what may be joined, or asked for its len."""
    if type(data) is bytes:
        return data
    return bytes.__getitem__(bytes_of(data), slice(None))


def pack_frames(frames: Iterable[Data], topic: str | bytes | None = None) -> tuple[bytes, Any, int]:
    """Return frames, behind a topic if that is not empty, as C wants them: end to end, sizes,
    count."""
    if isinstance(frames, (bytes, str, bytearray, memoryview)):
        raise TypeError("send_frames takes a sequence of frames; for a single one use send")
    parts = [exact_bytes(frame) for frame in frames]
    if not parts:
        raise UsageError("send_frames takes at least one frame, which may be empty")
    if topic is not None and is_topic(topic):
        parts.insert(0, encode_topic(topic))
    sizes = array("Q", map(size_of, parts))
    return b"".join(parts), ffi.from_buffer("uint64_t[]", sizes), len(parts)


def question_of(frames: Iterable[Data], call: str, single: str) -> tuple[bytes, bytes]:
    """Return what is asked or answered in frames as native calls want it: end to end, and sizes."""
    if isinstance(frames, (bytes, str, bytearray, memoryview)):
        raise TypeError(f"{call} takes a sequence of frames; for a single one use {single}")
    parts = [exact_bytes(frame) for frame in frames]
    if not parts:
        raise UsageError(f"{call} takes at least one frame, which may be empty")
    return b"".join(parts), array("Q", map(size_of, parts)).tobytes()


def extent_of(question: Question) -> tuple[int, int]:
    """Return how many bytes in how many frames are asked or answered."""
    if isinstance(question, tuple):
        return len(question[0]), len(question[1]) // SIZE_OCTETS
    return size_of(question), 1


def no_utf8(what: str) -> UsageError:
    """Return the error of text that cannot be told in octets."""
    said = "is text that is no UTF-8: it has half a character (a surrogate); give bytes"
    return UsageError(f"{what} {said}")


def encode_topic(topic: object) -> bytes:
    """Return a topic as bytes; str is UTF-8, with surrogateescape for what came in as other
    bytes."""
    if isinstance(topic, str):
        try:
            return str.encode(topic, "utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise no_utf8("a topic") from None
    if isinstance(topic, bytes):
        return exact_bytes(topic)
    if isinstance(topic, (bytearray, memoryview)):
        return memoryview(topic).tobytes()
    raise TypeError(f"a topic is str or bytes, not {type(topic).__name__}")


def is_topic(topic: str | bytes | None) -> bool:
    """Whether it is one that is sent: not empty, and not absent."""
    return topic is not None and encode_topic(topic) != b""


def encode_topics(topics: str | bytes | Iterable[str | bytes]) -> list[bytes]:
    """Return one topic, or several, as bytes."""
    if isinstance(topics, (str, bytes)):
        return [encode_topic(topics)]
    if not isinstance(topics, Iterable):
        raise TypeError(
            f'topics is {topics!r}; it is a topic or several, str or bytes; [""] is everything, '
            "() is nothing"
        )
    return [encode_topic(topic) for topic in topics]


def encode_url(url: object) -> bytes:
    """Return an endpoint as C wants it."""
    if not isinstance(url, str):
        raise TypeError(
            f"an endpoint is a str like 'tcp://127.0.0.1:5555', not {type(url).__name__}"
        )
    if "\0" in url:
        error = error_for(lib.MM_EADDRINVAL, f"{url!r} has a zero byte in it", address=url)
        vars(error).update(strerror="it has a zero byte in it")
        raise error
    return url_octets(url)


def url_octets(url: str) -> bytes:
    """Return the octets of an endpoint: of a path those that the system has, whatever they are."""
    try:
        return str.encode(url, "utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no octet
        return str.encode(url, "utf-8", "surrogatepass")


def several(endpoints: str | Iterable[str] | None) -> list[str]:
    """Return one endpoint, several, or none as a list."""
    if endpoints is None:
        return []
    if isinstance(endpoints, str):
        return [endpoints]
    if isinstance(endpoints, bytes) or not isinstance(endpoints, Iterable):
        encode_url(endpoints)  # raises, and says what an endpoint is
    return list(endpoints)
