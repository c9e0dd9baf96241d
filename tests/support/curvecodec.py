"""The C side of CURVE as Python objects, for tests: one connection, driven by bytes.

Not here: sockets, the reference (refcurve).
"""

from __future__ import annotations

from tests.support.codec import BIG, CodecError
from tests.support.mm import ffi, lib

MORE, DONE, ASK = 0, 1, 2
OUT_MAX = 2048


class Curve:
    """mmi_mechanism_curve; `drawn` is what it draws as random, in order, and then zeros."""

    def __init__(
        self,
        *secrets: bytes,
        server: bytes | None = None,
        asks: bool = False,
        metadata: bytes = b"",
        frame_max: int = BIG,
        drawn: bytes = b"",
    ) -> None:
        raw = lib.mm_codec_curve_new(
            b"".join(secrets),
            len(secrets),
            ffi.NULL if server is None else server,
            asks,
            metadata,
            len(metadata),
            frame_max,
            drawn,
            len(drawn),
        )
        if raw == ffi.NULL:
            raise ValueError("no such policy")
        self._curve = ffi.gc(raw, lib.mm_codec_curve_free)
        self.before = b""  # what was opened last, in front of a failure

    @property
    def detail(self) -> str:
        """Which check failed, in words."""
        text = ffi.new("char[128]")
        lib.mm_codec_curve_failure(self._curve, text, 128)
        return str(ffi.string(text).decode())

    def _failed(self) -> CodecError:
        return CodecError(lib.mm_codec_curve_failure(self._curve, ffi.new("char[128]"), 128))

    def feed(self, data: bytes) -> int:
        """Feed the handshake: MORE, DONE or ASK; what is behind its end was not looked at."""
        used = ffi.new("size_t *")
        rc: int = lib.mm_codec_curve_feed(self._curve, data, len(data), used)
        if rc < 0:
            raise self._failed()
        assert used[0] <= len(data)
        return rc

    def answer(self, kind: int) -> int:
        """Let the peer in, or not."""
        rc: int = lib.mm_codec_curve_answer(self._curve, kind)
        if rc < 0:
            raise self._failed()
        return rc

    def output(self, size: int = OUT_MAX) -> bytes:
        """Return what is to be written."""
        out = ffi.new("uint8_t[]", OUT_MAX)
        return bytes(ffi.buffer(out, lib.mm_codec_curve_output(self._curve, out, size)))

    def peer(self) -> tuple[bytes, bytes]:
        """Return the key and the properties of the peer."""
        properties, key = ffi.new("uint8_t[]", 1 << 15), ffi.new("uint8_t[32]")
        size = lib.mm_codec_curve_peer(self._curve, properties, 1 << 15, key)
        return bytes(ffi.buffer(key)), bytes(ffi.buffer(properties, size))

    def seal_once(self, plain: bytes, before: int = 0) -> tuple[int, bytes]:
        """Seal up to the end of a frame: how many octets were taken, and what came of them."""
        size = ffi.new("size_t *", len(plain))
        out = ffi.new("uint8_t[]", len(plain) + before + 64)
        n = lib.mm_codec_curve_seal(self._curve, plain, size, out)
        if n < 0:
            raise ValueError("sealed no more")
        return size[0], bytes(ffi.buffer(out, n))

    def seal(self, plain: bytes) -> bytes:
        """Seal these frames."""
        sealed = b""
        while plain:
            used, part = self.seal_once(plain)
            plain, sealed = plain[used:], sealed + part
        return sealed

    def open_once(self, data: bytes, cap: int = BIG) -> bytes:
        """Open what there is, as far as there is room."""
        out = ffi.new("uint8_t[]", max(cap, 1))
        given = ffi.new("size_t *")
        rc = lib.mm_codec_curve_open(self._curve, data, len(data), out, cap, given)
        self.before = bytes(ffi.buffer(out, given[0]))
        if rc < 0:
            raise self._failed()
        return self.before

    def open(self, data: bytes, cap: int = BIG) -> bytes:
        """Open all there is."""
        got = part = self.open_once(data, cap)
        while len(part) == cap:
            part = self.open_once(b"", cap)
            got += part
        return got

    def number(self, sealed: int, opened: int) -> None:
        """Be so far on."""
        lib.mm_codec_curve_number(self._curve, sealed, opened)

    def later(self, ms: int) -> None:
        """Let time go by."""
        lib.mm_codec_curve_later(self._curve, ms)

    @property
    def held(self) -> int:
        """Bytes it has taken for what is not whole."""
        return int(lib.mm_codec_curve_held(self._curve, ffi.new("int *")))

    @property
    def idle(self) -> bool:
        """Is it between two records?"""
        idle = ffi.new("int *")
        lib.mm_codec_curve_held(self._curve, idle)
        return bool(idle[0])
