"""The options of a socket: checked once, here, with errors that name option, value and limit.

Law: what is not given keeps the core's default for the role (mm_socket_defaults).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Any, Literal, TypedDict

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.data import exact_bytes
from meshmsg._binding.errors import UsageError
from meshmsg._binding.snapshots import Event
from meshmsg._security.policy import Security, check_security

Overflow = Literal["block", "error", "drop_newest", "drop_oldest"]

_OVERFLOW: dict[str, int] = {
    "block": lib.MM_OVERFLOW_BLOCK,
    "error": lib.MM_OVERFLOW_ERROR,
    "drop_newest": lib.MM_OVERFLOW_DROP_NEWEST,
    "drop_oldest": lib.MM_OVERFLOW_DROP_OLDEST,
}
NoPeer = Literal["block", "error", "drop"]

_NO_PEER: dict[str | None, int] = {
    None: lib.MM_NO_PEER_AS_FULL,
    "block": lib.MM_NO_PEER_BLOCK,
    "error": lib.MM_NO_PEER_ERROR,
    "drop": lib.MM_NO_PEER_DROP,
}
Feature = Literal["acks", "headers", "replay", "group"]

_REQUIRE: dict[str, int] = {
    "acks": lib.MM_OPT_REQUIRE_ACKS,
    "headers": lib.MM_OPT_REQUIRE_HEADERS,
    "replay": lib.MM_OPT_REQUIRE_REPLAY,
    "group": lib.MM_OPT_REQUIRE_GROUP,
}
SHARING = tuple(
    role for role in range(1, lib.MM_ROLE_COUNT) if lib.mm_role_facts(role) & lib.MM_ROLE_SHARES
)
"""Roles that give each message to one of their peers: no room means no room at any."""
U32_MAX = 2**32 - 1
U64_MAX = 2**63 - 1
_PEER_MAX = 2**64 - 1
_COUNTS: dict[str, tuple[int, int]] = {
    "send_queue_messages": (1, U32_MAX),
    "recv_queue_messages": (1, U32_MAX),
    "send_queue_bytes": (1, U64_MAX),
    "recv_queue_bytes": (1, U64_MAX),
    "message_size_max": (0, U64_MAX),
    "frames_max": (1, U32_MAX),
    "topic_size_max": (0, 2**31),
    "subscriptions_max": (0, U32_MAX),
    "half_open_max": (1, U32_MAX),
    "connections_max": (1, U32_MAX),
}
_SECONDS: dict[str, tuple[str, int]] = {
    "handshake_timeout": ("handshake_timeout_ms", 1),
    "heartbeat_interval": ("heartbeat_interval_ms", 0),
    "heartbeat_timeout": ("heartbeat_timeout_ms", 1),
    "reconnect_min": ("reconnect_min_ms", 1),
    "reconnect_max": ("reconnect_max_ms", 1),
    "linger": ("linger_ms", 0),
}
OPTION_TEXTS: dict[str, str] = {
    "overflow": 'What a full queue does: "block", "error", "drop_newest" or "drop_oldest".',
    "no_peer": 'What a send does when no peer is there: "block", "error" or "drop"; None is as '
    "overflow. Of Push, Dealer, Pair and (but for dropping) Req.",
    "require": 'What peers must be able to do, or they are refused: "headers", to take what goes '
    'with a message (key, headers, times); "acks", of a Push with delivery="at_least_once"; '
    '"replay", of a Sub with replay=, to publish from a spool; "group", of a Sub with group=, to '
    "keep groups; or a tuple of several. None is nothing: "
    "who cannot gets messages without, or gives only what comes.",
    "insecure": "Allow binding outside loopback although nothing protects the connections.",
    "send_queue_messages": "Messages queued for a peer.",
    "send_queue_bytes": "Bytes queued for a peer.",
    "recv_queue_messages": "Messages received from a peer and not taken.",
    "recv_queue_bytes": "Bytes received from a peer and not taken.",
    "message_size_max": "Bytes of a message, all its frames together.",
    "frames_max": "Frames of a message.",
    "topic_size_max": "Bytes of a topic.",
    "subscriptions_max": "Topics of a peer.",
    "half_open_max": "Unfinished handshakes of a listener; the oldest goes first.",
    "connections_max": "Accepted connections of a socket.",
    "handshake_timeout": "Seconds a whole handshake may take.",
    "heartbeat_interval": "Seconds between heartbeats; None is none.",
    "heartbeat_timeout": "Seconds of silence after which a peer is taken for gone.",
    "reconnect_min": "Seconds until a lost connection is first made again.",
    "reconnect_max": "Seconds that grows to, doubling, with jitter.",
    "linger": "Seconds that what is queued has to go out after `close`.",
    "spin": 'Seconds a receive polls before it sleeps, at the cost of a core; "auto" does so only '
    "where it makes short waits shorter, for the only thread that waits on its engine.",
    "security": "What protects the connections: a Curve, Plain, Tls, Secret, Local or Profile, or "
    "NONE; None is what the engine has, else what MESHMSG_SECURITY names, else nothing.",
    "on_event": "Called with each Event, on a thread of its own; of asyncio sockets, on the loop.",
}
"""What each option means, for help(): the one place where that is said in words."""
_ABOUT: dict[str, int] = {
    "overflow": lib.MM_ROLE_SENDS,
    "no_peer": lib.MM_ROLE_SHARES,
    "require": lib.MM_ROLE_SENDS | lib.MM_ROLE_SUBSCRIBES,
    "send_queue_messages": lib.MM_ROLE_SENDS,
    "send_queue_bytes": lib.MM_ROLE_SENDS,
    "recv_queue_messages": lib.MM_ROLE_RECEIVES,
    "recv_queue_bytes": lib.MM_ROLE_RECEIVES,
    "topic_size_max": lib.MM_ROLE_SUBSCRIBES | lib.MM_ROLE_PUBLISHES,
    "subscriptions_max": lib.MM_ROLE_PUBLISHES,
    "spin": lib.MM_ROLE_RECEIVES,
}
"""What a role does, one of it at least, to be concerned; the other options concern every role."""
SECONDS_MAX = 4_000_000
"""Seconds an option may be: what fits 32 bits of milliseconds."""


OTHER_NAMES = {
    "hwm": "send_queue_messages, recv_queue_messages",
    "sndhwm": "send_queue_messages",
    "rcvhwm": "recv_queue_messages",
    "send_buffer_size": "send_queue_messages",
    "recv_buffer_size": "recv_queue_messages",
    "recv_max_size": "message_size_max",
    "maxmsgsize": "message_size_max",
    "reconnect_ivl": "reconnect_min",
    "reconnect_ivl_max": "reconnect_max",
    "heartbeat_ivl": "heartbeat_interval",
    "timeout": "the timeout= of each call",
    "recv_timeout": "the timeout= of each call",
    "send_timeout": "the timeout= of each call",
    "subscribe": "topics of a Sub",
    "listen": "bind",
    "dial": "connect",
    "retain": "retain= of a Pub: no other role retains",
}
"""What options of other libraries are called here."""


class SocketOptions(TypedDict, total=False):
    """The options every socket takes, all keyword-only.

    `help()` of a role's class explains those that concern it and gives their defaults;
    docs/semantics.md has the limits.
    """

    overflow: Overflow
    no_peer: NoPeer | None
    require: Feature | Iterable[Feature] | None
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
    security: Security | None
    on_event: Callable[[Event], object] | None


if SocketOptions.__doc__ is not None:
    SocketOptions.__doc__ += "\n" + "".join(
        f"    {name}: {words}\n" for name, words in OPTION_TEXTS.items()
    )


def concerns(name: str, role: int) -> bool:
    """Whether an option is about what a socket of this role does; every role takes it."""
    about = _ABOUT.get(name)
    return about is None or lib.mm_role_facts(role) & about != 0


def default_of(opts: Any, name: str) -> object:
    """Return the value of an option as it would be given, from a filled mm_socket_opts."""
    if name == "overflow":
        return next(word for word, code in _OVERFLOW.items() if code == opts.overflow)
    if name == "insecure":
        return bool(opts.flags & lib.MM_OPT_INSECURE)
    if name in ("security", "on_event", "no_peer", "require"):
        return None
    if name == "spin":
        return "auto" if opts.spin_us == lib.MM_SPIN_AUTO else opts.spin_us / 1_000_000
    if name in _SECONDS:
        return getattr(opts, _SECONDS[name][0]) / 1000
    return int(getattr(opts, name))


def check_count(name: str, count: int, low: int = 0) -> None:
    """Refuse what is no number of things."""
    if isinstance(count, bool) or not isinstance(count, int) or not low <= count <= U32_MAX:
        raise UsageError(f"{name} is {count!r}; it is a whole number from {low} to {U32_MAX}")


def check_flag(name: str, value: object) -> bool:
    """Refuse what is neither True nor False: of words, "no" would be true."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; it is True or False")
    return value


def check_peer(peer: object) -> int:
    """Refuse what is no number of a peer."""
    if isinstance(peer, bool) or not isinstance(peer, int):
        raise TypeError(f"peer is {peer!r}; it is a number, as in message.peer or peers()")
    if not 0 < peer <= _PEER_MAX:
        raise UsageError(
            f"peer is {peer}; peers have numbers from 1 to {_PEER_MAX}, as in message.peer or in "
            "peers()"
        )
    return peer


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


def _no_peer(role: int, value: object) -> int:
    if value not in _NO_PEER:
        raise UsageError(f"no_peer is {value!r}; it is 'block', 'error', 'drop' or None")
    if value is not None and role not in SHARING:
        raise UsageError(
            f"no_peer is {value!r}, and this role has no choice there: it is for those that give "
            "each message to one of their peers, as Push does"
        )
    if value == "drop" and lib.mm_role_facts(role) & lib.MM_ROLE_KEEPS:
        raise UsageError("no_peer is 'drop'; a request is not dropped: say 'error' or 'block'")
    return _NO_PEER[str(value) if value is not None else None]


def _require_flags(role: int, require: object, asked: int) -> int:
    """Return the option bits; asked: those of the socket, which some of them need."""
    known = f"{', '.join(map(repr, _REQUIRE))}, or a tuple of several"
    names: Iterable[object] = () if require is None else (require,)
    if isinstance(require, Iterable) and not isinstance(require, str):
        names = require
    flags = 0
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"require is {require!r}; it is {known}")
        if name not in _REQUIRE:
            raise UsageError(f"require has {name!r}, which no peer can do; it is {known}")
        if name == "acks" and not asked & lib.MM_OPT_AT_LEAST_ONCE:
            raise UsageError(
                "require is 'acks', and nothing is acknowledged here: that is for a Push with "
                'delivery="at_least_once"'
            )
        if name == "replay" and not asked & lib.MM_OPT_REPLAY:
            raise UsageError(
                "require is 'replay', and no replay is asked for here: that is for a Sub with "
                "replay="
            )
        if name == "group" and not asked & lib.MM_OPT_GROUP:
            raise UsageError(
                "require is 'group', and this is in no group: that is for a Sub with group="
            )
        if name not in ("replay", "group") and not lib.mm_role_facts(role) & lib.MM_ROLE_SENDS:
            raise UsageError(
                f"require is {name!r}, and a socket that only receives sends nobody any: it is for "
                "the side that sends"
            )
        flags |= _REQUIRE[name]
    return flags


def check_identity(identity: bytes) -> bytes:
    """Refuse what is no identity of a peer."""
    if not isinstance(identity, (bytes, bytearray)):
        raise TypeError(f"identity is {type(identity).__name__}; it is bytes")
    identity = exact_bytes(identity)
    if len(identity) > lib.MM_IDENTITY_MAX or identity[:1] == b"\0":
        raise UsageError(
            f"identity has {len(identity)} bytes; it has at most {lib.MM_IDENTITY_MAX} "
            "and does not begin with a zero byte"
        )
    return identity


def _set_identity(opts: Any, identity: bytes) -> None:
    identity = check_identity(identity)
    opts.identity_size = len(identity)
    ffi.memmove(opts.identity, identity, len(identity))


def _unknown(name: str, of: type | None) -> TypeError:
    """Say which options there are, of a class also its own."""
    known = set(SocketOptions.__annotations__)
    if of is not None:
        own = signature(of).parameters.values()
        known |= {one.name for one in own if one.kind is Parameter.KEYWORD_ONLY}
    meant = f"use {OTHER_NAMES[name]}; " if name in OTHER_NAMES else ""
    whose = f"the options of a {of.__name__}" if of is not None else "the options"
    return TypeError(f"unknown option {name!r}; {meant}{whose} are {', '.join(sorted(known))}")


def build_options(
    role: int,
    options: SocketOptions,
    *,
    identity: bytes = b"",
    flags: int = 0,
    of: type | None = None,
) -> Any:
    """Return a filled mm_socket_opts for a role; raises UsageError for what is wrong.

    `of`: the class whose options errors tell of.
    """
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
        elif name == "no_peer":
            opts.no_peer = _no_peer(role, value)
        elif name == "require":
            flags |= _require_flags(role, value, flags)
        elif name == "insecure":
            flags |= lib.MM_OPT_INSECURE if check_flag(name, value) else 0
        elif name == "security":
            check_security(value)
        elif name != "on_event":
            raise _unknown(name, of)
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
