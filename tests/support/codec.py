"""The C codec as Python objects, for tests. Not here: sockets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.support.mm import ffi, lib

COMMANDS = {
    **{1: "UNKNOWN", 2: "PING", 3: "PONG", 4: "SUBSCRIBE", 5: "CANCEL", 6: "ERROR", 7: "READY"},
    **{8: "STOP", 9: "STOPPED"},
}
BIG = 1 << 20


class CodecError(Exception):
    """The codec refused; reason is its mm_reason without the prefix."""

    def __init__(self, reason: int) -> None:
        names: dict[int, str] = ffi.typeof("mm_reason").elements
        self.reason = names[reason].removeprefix("MM_REASON_")
        super().__init__(self.reason)


class Reader:
    """mmi_reader: feed it pieces, get messages and commands."""

    def __init__(
        self, size_max: int = BIG, frames_max: int = 1024, command_max: int = 70_000
    ) -> None:
        raw = lib.mm_codec_reader_new(size_max, frames_max, command_max)
        self._reader = ffi.gc(raw, lib.mm_codec_reader_free)

    @property
    def held(self) -> int:
        """Bytes taken for an unfinished frame."""
        return int(lib.mm_codec_reader_held(self._reader))

    def feed(self, data: bytes) -> list[tuple[str, Any]]:
        """Return what the bytes complete: ("message", frames) or (command name, data)."""
        found: list[tuple[str, Any]] = []
        used, size = ffi.new("size_t *"), ffi.new("size_t *")
        msg, kind, where = ffi.new("mm_msg **"), ffi.new("int *"), ffi.new("uint8_t const **")
        while True:
            rc = lib.mm_codec_reader_next(
                self._reader, data, len(data), used, msg, kind, where, size
            )
            fed, data = data, data[used[0] :]  # a command's data points into what was fed
            if rc < 0:
                raise CodecError(lib.mm_codec_reader_reason(self._reader))
            if rc == 0:
                assert data == b""
                return found
            if msg[0] != ffi.NULL:
                found.append(("message", frames_of(msg[0])))
            else:
                body = ffi.buffer(where[0], size[0])[:] if size[0] else b""
                found.append((COMMANDS[kind[0]], body))
            del fed


def frames_of(msg: Any) -> tuple[bytes, ...]:
    """Read a message's frames, and free it."""
    size = ffi.new("uint64_t *")
    frames = []
    for i in range(lib.mm_msg_frame_count(msg)):
        data = lib.mm_msg_frame(msg, i, size)
        frames.append(ffi.buffer(data, size[0])[:] if size[0] else b"")
    lib.mm_msg_free(msg)
    return tuple(frames)


class Hello:
    """mmi_hello: a handshake, driven by bytes."""

    def __init__(self, role: int, identity: bytes = b"") -> None:
        raw = lib.mm_codec_hello_new(role, identity, len(identity))
        assert raw != ffi.NULL
        self._hello = ffi.gc(raw, lib.mm_codec_hello_free)
        self.rest = b""

    def feed(self, data: bytes) -> bool:
        """True once it is done; what was not ours is in rest."""
        used = ffi.new("size_t *")
        rc = lib.mm_codec_hello_feed(self._hello, data, len(data), used)
        self.rest = data[used[0] :]
        if rc < 0:
            raise CodecError(self.result()[0])
        return bool(rc)

    def output(self) -> bytes:
        """What is to be written."""
        out = ffi.new("uint8_t[]", 2048)
        return ffi.buffer(out, lib.mm_codec_hello_output(self._hello, out, 2048))[:]

    def result(self) -> tuple[int, int, int, bytes]:
        """(reason, peer's role, minor, identity)."""
        role, minor, size = ffi.new("int *"), ffi.new("int *"), ffi.new("size_t *")
        identity = ffi.new("uint8_t[]", 256)
        reason = lib.mm_codec_hello_result(self._hello, role, minor, identity, size)
        return reason, role[0], minor[0], ffi.buffer(identity, size[0])[:]


def pieces(data: bytes, seed: int = 1) -> Iterator[list[bytes]]:
    """Ways to cut data: whole, byte by byte, and some random ones."""
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    dice = random.Random(seed)
    for _ in range(5):
        cuts = sorted(dice.sample(range(len(data) + 1), min(len(data), dice.randint(1, 6))))
        yield [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
