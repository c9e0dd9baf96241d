"""A socket of ours whose connections CURVE protects, by the C function: Python has no name for it.

Not here: keys.
"""

from __future__ import annotations

from typing import Any

from tests.support.mm import ffi, lib


def protect(socket: Any, *secrets: bytes, server: bytes | None = None, asks: bool = False) -> None:
    """A server of these secret keys, or a client of a server's public key; before it has an
    endpoint."""
    given = ffi.new("mm_curve_opts *")
    given.serves, given.asks, given.secret_count = server is None, asks, len(secrets)
    ffi.buffer(given.secrets)[: 32 * len(secrets)] = b"".join(secrets)
    if server is not None:
        ffi.buffer(given.server)[:] = server
    rc = lib.mm_socket_curve(socket._handle, given)
    assert rc == lib.MM_OK, ffi.string(lib.mm_curve_missing()) or rc
