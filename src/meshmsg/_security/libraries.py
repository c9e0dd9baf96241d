"""Which kinds of protection there are on this machine.

Not here: what a socket does with them. Law: no library is looked for before somebody asks.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import UsageError

Protection = Literal["curve", "tls"]


def has(protection: Protection) -> bool:
    """Tell whether connections can be protected so, on this machine, in this process.

    The library is looked for at the first call: for CURVE that of PyNaCl if it is installed
    (`pip install meshmsg[curve]`), else the system's libsodium; for TLS the OpenSSL that Python's
    `ssl` uses, else the system's, 3.0 or later. What was found stays.

    Thread-safe: yes. It may read files, so an event loop asks before it is busy.

    Args:
        protection: "curve" or "tls".

    Returns:
        Whether it is there.

    Raises:
        UsageError: There is no protection of that name.
    """
    return missing(protection) == ""


def missing(protection: Protection) -> str:
    """Return why there is none: what was tried, and what to install; "" if there is."""
    if protection == "curve":
        _offer()
        return _text(lib.mm_curve_missing())
    if protection == "tls":
        return _text(lib.mm_tls_missing())
    raise UsageError(f'there is no protection {protection!r}: "curve" or "tls"')


def _text(text: Any) -> str:
    decoded: str = ffi.string(text).decode("utf-8", "replace")
    return decoded


@cache
def _offer() -> None:
    """Hand over PyNaCl's libsodium; who has none, or one built otherwise, has the system's."""
    try:
        import_module("nacl.bindings")  # which makes it ready
        nacl = import_module("nacl._sodium")
    except ImportError:
        return
    addresses = []
    for index in range(lib.MM_SODIUM_FUNCTIONS):
        name = _text(lib.mm_sodium_name(index))
        function = nacl.ffi.addressof(nacl.lib, name) if hasattr(nacl.lib, name) else 0
        addresses.append(int(nacl.ffi.cast("uintptr_t", function)))
    lib.mm_sodium_offer(addresses)
