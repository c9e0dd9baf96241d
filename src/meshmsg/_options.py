"""The options of a socket: checked once, here, with errors that name option, value and limit.

Law: what is not given keeps the core's default for the role (mm_socket_defaults).
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from meshmsg._core import ffi, lib, raise_for
from meshmsg._errors import UsageError

Overflow = Literal["block", "error", "drop_newest", "drop_oldest"]

_OVERFLOW: dict[str, int] = {
    "block": lib.MM_OVERFLOW_BLOCK,
    "error": lib.MM_OVERFLOW_ERROR,
    "drop_newest": lib.MM_OVERFLOW_DROP_NEWEST,
    "drop_oldest": lib.MM_OVERFLOW_DROP_OLDEST,
}
_U32_MAX = 2**32 - 1
_U64_MAX = 2**63 - 1
_COUNTS: dict[str, tuple[int, int]] = {
    "send_queue_messages": (1, _U32_MAX),
    "recv_queue_messages": (1, _U32_MAX),
    "send_queue_bytes": (1, _U64_MAX),
    "recv_queue_bytes": (1, _U64_MAX),
    "message_size_max": (0, _U64_MAX),
    "frames_max": (1, _U32_MAX),
    "topic_size_max": (0, 2**31),
    "subscriptions_max": (0, _U32_MAX),
    "half_open_max": (1, _U32_MAX),
    "connections_max": (1, _U32_MAX),
}
_SECONDS: dict[str, tuple[str, int]] = {
    "handshake_timeout": ("handshake_timeout_ms", 1),
    "heartbeat_interval": ("heartbeat_interval_ms", 0),
    "heartbeat_timeout": ("heartbeat_timeout_ms", 1),
    "reconnect_min": ("reconnect_min_ms", 1),
    "reconnect_max": ("reconnect_max_ms", 1),
    "linger": ("linger_ms", 0),
}
SECONDS_MAX = 4_000_000
"""Seconds an option may be: what fits 32 bits of milliseconds."""


class SocketOptions(TypedDict, total=False):
    """The options every socket takes, all keyword-only; docs/semantics.md lists the defaults.

    overflow: what a full queue does: block, raise an error, drop the newest or the oldest message.
    insecure: allow binding outside loopback although nothing protects the connections.
    send_queue_messages, send_queue_bytes, recv_queue_messages, recv_queue_bytes: per peer.
    message_size_max: bytes, all frames of a message together. frames_max: frames a message.
    topic_size_max: bytes. subscriptions_max: topics a peer. half_open_max: handshakes a listener.
    connections_max: accepted connections a socket.
    handshake_timeout, heartbeat_interval (None: off), heartbeat_timeout, reconnect_min,
    reconnect_max, linger: seconds.
    spin: seconds a receive polls before it sleeps: it saves the wake-up and costs that much of a
    core. "auto" does so only while waits are under 20 us, or under 100 us and a spin makes them
    shorter. Only for a thread that is the only one waiting on its engine.
    """

    overflow: Overflow
    insecure: bool
    send_queue_messages: int
    send_queue_bytes: int
    recv_queue_messages: int
    recv_queue_bytes: int
    message_size_max: int
    frames_max: int
    topic_size_max: int
    subscriptions_max: int
    half_open_max: int
    connections_max: int
    handshake_timeout: float
    heartbeat_interval: float | None
    heartbeat_timeout: float
    reconnect_min: float
    reconnect_max: float
    linger: float
    spin: float | Literal["auto"]


def check_count(name: str, count: int, low: int = 0) -> None:
    """Refuse what is no number of things."""
    if isinstance(count, bool) or not isinstance(count, int) or not low <= count <= _U32_MAX:
        raise UsageError(f"{name} is {count!r}; it is a whole number from {low} to {_U32_MAX}")


def check_batch(max_messages: int) -> None:
    """Refuse what is no size of a batch."""
    check_count("max_messages", max_messages, 1)


def _set_count(opts: Any, name: str, value: object) -> None:
    low, high = _COUNTS[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"{name} is {value!r}; it is a whole number from {low} to {high}")
    setattr(opts, name, value)


def _set_seconds(opts: Any, name: str, value: object) -> None:
    field, low_ms = _SECONDS[name]
    if value is None and name == "heartbeat_interval":
        value = 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise UsageError(f"{name} is {value!r}; it is a number of seconds, 0 or more")
    if value > SECONDS_MAX:
        raise UsageError(f"{name} is {value!r} s; the limit is {SECONDS_MAX} s")
    setattr(opts, field, max(round(value * 1000), 1 if value > 0 else low_ms))


def _spin_us(value: object) -> int:
    if value == "auto":
        return int(lib.MM_SPIN_AUTO)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise UsageError(f"spin is {value!r}; it is 'auto' or a number of seconds from 0 to 1")
    return round(value * 1_000_000)


def _set_identity(opts: Any, identity: bytes) -> None:
    if not isinstance(identity, (bytes, bytearray)):
        raise TypeError(f"identity is {type(identity).__name__}; it is bytes")
    if len(identity) > lib.MM_IDENTITY_MAX or identity[:1] == b"\0":
        raise UsageError(
            f"identity has {len(identity)} bytes; it has at most {lib.MM_IDENTITY_MAX} "
            "and does not begin with a zero byte"
        )
    opts.identity_size = len(identity)
    ffi.memmove(opts.identity, bytes(identity), len(identity))


def build_options(
    role: int, options: SocketOptions, *, identity: bytes = b"", flags: int = 0
) -> Any:
    """Return a filled mm_socket_opts for a role; raises UsageError for what is wrong."""
    opts = ffi.new("mm_socket_opts *")
    raise_for(lib.mm_socket_defaults(role, opts), "reading a role's defaults")
    for name, value in options.items():
        if name in _COUNTS:
            _set_count(opts, name, value)
        elif name in _SECONDS:
            _set_seconds(opts, name, value)
        elif name == "spin":
            opts.spin_us = _spin_us(value)
        elif name == "overflow":
            if value not in _OVERFLOW:
                raise UsageError(f"overflow is {value!r}; it is one of {', '.join(_OVERFLOW)}")
            opts.overflow = _OVERFLOW[str(value)]
        elif name == "insecure":
            flags |= lib.MM_OPT_INSECURE if value else 0
        else:
            known = sorted([*_COUNTS, *_SECONDS, "overflow", "insecure", "spin"])
            raise TypeError(f"unknown option {name!r}; the options are {', '.join(known)}")
    if opts.reconnect_max_ms < opts.reconnect_min_ms:
        raise UsageError(
            f"reconnect_max is {opts.reconnect_max_ms / 1000} s, "
            f"below reconnect_min, {opts.reconnect_min_ms / 1000} s"
        )
    if 0 < opts.heartbeat_interval_ms >= opts.heartbeat_timeout_ms:
        raise UsageError(
            f"heartbeat_timeout is {opts.heartbeat_timeout_ms / 1000} s, not above "
            f"heartbeat_interval, "
            f"{opts.heartbeat_interval_ms / 1000} s: idle peers would be taken for dead"
        )
    if identity != b"":
        _set_identity(opts, identity)
    opts.flags |= flags
    return opts
