"""The C side of SP as Python objects, for tests. Not here: sockets."""

from __future__ import annotations

from tests.support import refsp as ref
from tests.support.codec import BIG, CodecError, frames_of
from tests.support.mm import ffi, lib


class SpReader:
    """mmi_sp_reader: feed it pieces, get messages."""

    def __init__(
        self,
        protocol: int,
        *,
        ipc: bool = False,
        size_max: int = BIG,
        hops_max: int = ref.HOPS_MAX,
    ) -> None:
        raw = lib.mm_codec_sp_reader_new(size_max, hops_max, ipc, protocol)
        assert raw != ffi.NULL
        self._reader = ffi.gc(raw, lib.mm_codec_sp_reader_free)

    def _look(self) -> tuple[int, int, int]:
        held, skipped = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        reason = lib.mm_codec_sp_reader_inspect(self._reader, held, skipped)
        return reason, held[0], skipped[0]

    @property
    def held(self) -> int:
        """Bytes taken for an unfinished message."""
        return self._look()[1]

    @property
    def skipped(self) -> int:
        """Messages that had too many hops, or no id."""
        return self._look()[2]

    def feed(self, data: bytes) -> list[tuple[bytes, ...]]:
        """Return the messages that the bytes complete, as frames."""
        found: list[tuple[bytes, ...]] = []
        used, msg = ffi.new("size_t *"), ffi.new("mm_msg **")
        while True:
            rc = lib.mm_codec_sp_reader_next(self._reader, data, len(data), used, msg)
            data = data[used[0] :]
            if rc < 0:
                raise CodecError(self._look()[0])
            if rc == 0:
                assert data == b""
                return found
            found.append(frames_of(msg[0]))


class SpHello:
    """mmi_sp_hello: the 8 octets of both sides, driven by bytes."""

    def __init__(self, protocol: int, *, answer: bool = False) -> None:
        raw = lib.mm_codec_sp_hello_new(protocol, answer)
        assert raw != ffi.NULL
        self._hello = ffi.gc(raw, lib.mm_codec_sp_hello_free)
        self.rest = b""

    def feed(self, data: bytes) -> bool:
        """True once it is done; what was not ours is in rest."""
        used = ffi.new("size_t *")
        rc = lib.mm_codec_sp_hello_feed(self._hello, data, len(data), used)
        self.rest = data[used[0] :]
        if rc < 0:
            raise CodecError(self.result()[0])
        return bool(rc)

    def output(self) -> bytes:
        """What is to be written."""
        out = ffi.new("uint8_t[]", 64)
        return ffi.buffer(out, lib.mm_codec_sp_hello_output(self._hello, out, 64))[:]

    def result(self) -> tuple[int, int, int]:
        """(reason, our protocol, theirs)."""
        ours, theirs = ffi.new("uint32_t *"), ffi.new("uint32_t *")
        reason = lib.mm_codec_sp_hello_result(self._hello, ours, theirs)
        return reason, ours[0], theirs[0]


class SpShapeError(Exception):
    """These frames cannot go out over SP; args[0] is the mm_err."""


def encode(protocol: int, *frames: bytes, ipc: bool = False, hops_max: int = ref.HOPS_MAX) -> bytes:
    """Encode a message as the library does: a head, then the octets of all frames."""
    out, size = ffi.new("uint8_t[13]"), ffi.new("size_t *")
    sizes = ffi.new("uint64_t[]", [len(f) for f in frames] or [0])
    joined = b"".join(frames)
    rc = lib.mm_codec_sp_head(protocol, ipc, hops_max, joined, sizes, len(frames), out, size)
    if rc != lib.MM_OK:
        raise SpShapeError(rc)
    return ffi.buffer(out, size[0])[:] + joined
