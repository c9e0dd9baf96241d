"""The C side of PLAIN as Python objects, for tests: one connection, driven by bytes.

Not here: sockets, the reference (refplain).
"""

from __future__ import annotations

from tests.support.codec import CodecError
from tests.support.mm import ffi, lib

MORE, DONE, ASK = 0, 1, 2
OUT_MAX = 2048


class Plain:
    """mmi_mechanism_plain: a client of that user, or, without one, a server."""

    def __init__(
        self,
        user: bytes | None = None,
        password: bytes = b"",
        *,
        asks: bool = False,
        metadata: bytes = b"",
    ) -> None:
        name = ffi.NULL if user is None else user
        raw = lib.mm_codec_plain_new(
            *(name, len(user or b""), password, len(password), asks, metadata, len(metadata))
        )
        if raw == ffi.NULL:
            raise ValueError("no such policy")
        self._plain = ffi.gc(raw, lib.mm_codec_plain_free)

    @property
    def detail(self) -> str:
        """Which check failed, in words."""
        text = ffi.new("char[128]")
        lib.mm_codec_plain_failure(self._plain, text, 128)
        return str(ffi.string(text).decode())

    def _came_to(self, rc: int) -> int:
        if rc < 0:
            raise CodecError(lib.mm_codec_plain_failure(self._plain, ffi.new("char[128]"), 128))
        return rc

    def feed(self, data: bytes) -> int:
        """Feed the handshake: MORE, DONE or ASK; what is behind its end was not looked at."""
        used = ffi.new("size_t *")
        rc = self._came_to(lib.mm_codec_plain_feed(self._plain, data, len(data), used))
        assert used[0] <= len(data)
        return rc

    def answer(self, kind: int) -> int:
        """Let the peer in, or not."""
        return self._came_to(lib.mm_codec_plain_answer(self._plain, kind))

    def output(self, size: int = OUT_MAX) -> bytes:
        """Return what is to be written."""
        out = ffi.new("uint8_t[]", OUT_MAX)
        return bytes(ffi.buffer(out, lib.mm_codec_plain_output(self._plain, out, size)))

    def properties(self) -> bytes:
        """Return those of the peer."""
        out = ffi.new("uint8_t[]", 1 << 15)
        return bytes(ffi.buffer(out, lib.mm_codec_plain_properties(self._plain, out, 1 << 15)))

    def applicant(self) -> tuple[bytes, bytes]:
        """Return the user and the password that somebody is asked about."""
        user, password = ffi.new("uint8_t[255]"), ffi.new("uint8_t[255]")
        sizes = ffi.new("size_t[2]")
        lib.mm_codec_plain_applicant(self._plain, user, sizes, password, sizes + 1)
        return bytes(ffi.buffer(user, sizes[0])), bytes(ffi.buffer(password, sizes[1]))
