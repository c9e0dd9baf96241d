"""Options: each at its limits, each reaches the core, each error names option, value and limit."""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._socket.options import SECONDS_MAX, SocketOptions, build_options
from tests.support.mm import ffi, lib

U32 = 2**32 - 1
U63 = 2**63 - 1
LIMITS = {
    "send_queue_messages": (1, U32),
    "recv_queue_messages": (1, U32),
    "send_queue_bytes": (1, U63),
    "recv_queue_bytes": (1, U63),
    "message_size_max": (0, U63),
    "frames_max": (1, U32),
    "topic_size_max": (0, 2**31),
    "subscriptions_max": (0, U32),
    "half_open_max": (1, U32),
    "connections_max": (1, U32),
}
SECONDS = {
    "handshake_timeout": "handshake_timeout_ms",
    "heartbeat_interval": "heartbeat_interval_ms",
    "heartbeat_timeout": "heartbeat_timeout_ms",
    "reconnect_min": "reconnect_min_ms",
    "reconnect_max": "reconnect_max_ms",
    "linger": "linger_ms",
}
ROLES = [
    lib.MM_PUSH,
    lib.MM_PULL,
    lib.MM_PUB,
    lib.MM_SUB,
    lib.MM_XPUB,
    lib.MM_XSUB,
    lib.MM_REQ,
    lib.MM_REP,
    lib.MM_DEALER,
    lib.MM_ROUTER,
    lib.MM_PAIR,
    lib.MM_SURVEYOR,
    lib.MM_RESPONDENT,
    lib.MM_BUS,
]


def built(role: int = lib.MM_PUSH, **options: Any) -> Any:
    """Build the options of a socket."""
    return build_options(role, SocketOptions(**options))  # type: ignore[typeddict-item]


def fields_of(opts: Any) -> dict[str, int]:
    """Return the numbers in it."""
    return {
        name: getattr(opts, name)
        for name, _ in ffi.typeof("mm_socket_opts").fields
        if name != "identity"
    }


def test_every_option_is_a_field_of_the_core_and_the_other_way_round() -> None:
    """None is forgotten on either side."""
    fields = {name for name, _ in ffi.typeof("mm_socket_opts").fields}
    options = set(SocketOptions.__annotations__)
    words = {"overflow", "no_peer", "require", "insecure", "spin", "security", "on_event"}
    assert {*LIMITS, *SECONDS, *words} == options
    assert fields == {
        *LIMITS,
        *SECONDS.values(),
        "overflow",
        "no_peer",
        "prefetch",
        "max_attempts",
        "peers_min",
        "ack_timeout_ms",
        "priorities",
        "delayed_messages",
        "delayed_bytes",
        "retain_topics_max",
        "retain_bytes_max",
        "spin_us",
        "flags",
        "identity",
        "identity_size",
    }


@pytest.mark.parametrize("role", ROLES)
def test_without_options_a_role_keeps_the_core_s_defaults(role: int) -> None:
    """Nothing is restated in Python."""
    default = ffi.new("mm_socket_opts *")
    assert lib.mm_socket_defaults(role, default) == 0
    assert fields_of(built(role)) == fields_of(default)


@pytest.mark.parametrize("name", LIMITS)
def test_a_count_reaches_the_core_at_both_its_limits(name: str) -> None:
    """And nothing else changes."""
    default = fields_of(built())
    for value in LIMITS[name]:
        assert fields_of(built(**{name: value})) == {**default, name: value}


@pytest.mark.parametrize("name", LIMITS)
def test_a_count_beyond_its_limits_is_refused(name: str) -> None:
    """The error says what it is and what it may be."""
    low, high = LIMITS[name]
    for bad in (low - 1, high + 1, 1.5, "5", True, None):
        with pytest.raises(mm.UsageError) as refused:
            built(**{name: bad})
        for part in (name, repr(bad), str(low), str(high)):
            assert part in str(refused.value)


@pytest.mark.parametrize("name", SECONDS)
def test_seconds_reach_the_core_as_milliseconds(name: str) -> None:
    """Rounded, and never to a zero that would mean something else."""
    around = {
        "heartbeat_timeout": 20,
        "reconnect_max": 20,
        "heartbeat_interval": 7,
        "reconnect_min": 7,
    }
    wide = {
        "heartbeat_interval": None,
        "reconnect_min": 0.001,
        "reconnect_max": SECONDS_MAX,
        "heartbeat_timeout": 1,
    }
    for value, ms in ((around.get(name, 3), around.get(name, 3) * 1000), (0.25, 250), (0.0001, 1)):
        options: dict[str, Any] = {**wide, name: value}
        if name == "heartbeat_interval":
            options["heartbeat_timeout"] = 60
        assert getattr(built(**options), SECONDS[name]) == ms


@pytest.mark.parametrize("name", SECONDS)
def test_what_is_no_number_of_seconds_is_refused(name: str) -> None:
    """Negative, NaN, infinite, too much, text."""
    for bad in (-0.001, float("nan"), float("inf"), SECONDS_MAX + 1, "1", True):
        with pytest.raises(mm.UsageError, match=name):
            built(**{name: bad})


def test_none_turns_heartbeats_off_and_nothing_else() -> None:
    """None is no number of seconds for any other option."""
    assert built(heartbeat_interval=None).heartbeat_interval_ms == 0
    for name in set(SECONDS) - {"heartbeat_interval"}:
        with pytest.raises(mm.UsageError, match=name):
            built(**{name: None})


@pytest.mark.parametrize(
    ("interval", "timeout", "good"), [(1, 1.001, True), (1, 1, False), (20, 15, False)]
)
def test_a_heartbeat_that_would_kill_idle_peers_is_refused(
    interval: float, timeout: float, good: bool
) -> None:
    """The time-out is longer than the interval."""
    if good:
        built(heartbeat_interval=interval, heartbeat_timeout=timeout)
        return
    with pytest.raises(mm.UsageError, match="heartbeat_timeout.*heartbeat_interval"):
        built(heartbeat_interval=interval, heartbeat_timeout=timeout)


def test_reconnect_times_are_in_order() -> None:
    """The longest pause is not shorter than the shortest."""
    assert built(reconnect_min=2, reconnect_max=2).reconnect_max_ms == 2000
    with pytest.raises(mm.UsageError, match="reconnect_max is 1.*reconnect_min, 2"):
        built(reconnect_min=2, reconnect_max=1)


@pytest.mark.parametrize("name", ["block", "error", "drop_newest", "drop_oldest"])
def test_each_overflow_policy_reaches_the_core(name: Any) -> None:
    """By the name it has in C."""
    assert built(overflow=name).overflow == getattr(lib, f"MM_OVERFLOW_{name.upper()}")


@pytest.mark.parametrize("bad", ["BLOCK", "", None, 1])
def test_an_unknown_overflow_policy_lists_the_known_ones(bad: Any) -> None:
    """All four."""
    with pytest.raises(mm.UsageError, match="block, error, drop_newest, drop_oldest"):
        built(overflow=bad)


@pytest.mark.parametrize("size", [0, 1, 254, 255])
def test_an_identity_reaches_the_core(size: int) -> None:
    """Up to 255 bytes."""
    opts = build_options(lib.MM_DEALER, {}, identity=b"i" * size)
    assert bytes(ffi.buffer(opts.identity, opts.identity_size)) == b"i" * size


@pytest.mark.parametrize("bad", [b"i" * 256, b"\0", b"\0name"])
def test_an_identity_no_peer_may_have_is_refused(bad: bytes) -> None:
    """Too long, or with the zero byte in front that marks made-up ones."""
    with pytest.raises(mm.UsageError, match=f"identity has {len(bad)} bytes.*255"):
        mm.Dealer(identity=bad)


@pytest.mark.parametrize("bad", ["name", 7, None])
def test_an_identity_is_bytes(bad: Any) -> None:
    """Nothing is converted."""
    with pytest.raises(TypeError, match="identity is .*bytes"):
        mm.Router(identity=bad)


def test_the_flags_of_roles_reach_the_core() -> None:
    """insecure, handover, on_unroutable, verbose."""
    with (
        mm.Router(insecure=True, handover=True, on_unroutable="drop") as router,
        mm.XPub(verbose=True) as xpub,
    ):
        assert (
            router._opts.flags
            == lib.MM_OPT_INSECURE | lib.MM_OPT_HANDOVER | lib.MM_OPT_DROP_UNROUTABLE
        )
        assert xpub._opts.flags == lib.MM_OPT_XPUB_VERBOSE
    with pytest.raises(mm.UsageError, match=r"on_unroutable.*'error' or 'drop'"):
        mm.Router(on_unroutable="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1, True, 1.5, "1", None])
@pytest.mark.parametrize("name", ["wait_for_peers", "wait_for_subscribers", "request"])
def test_a_number_of_things_is_a_whole_number(name: str, bad: Any) -> None:
    """count= and retries=."""
    with mm.Pub() as pub, mm.Req() as req:
        calls = {
            "wait_for_peers": lambda: pub.wait_for_peers(bad, timeout=0),
            "wait_for_subscribers": lambda: pub.wait_for_subscribers("t", bad, timeout=0),
            "request": lambda: req.request(b"", retries=bad, timeout=0),
        }
        with pytest.raises(mm.UsageError, match=r"(count|retries) is .*whole number"):
            calls[name]()


def test_an_engine_s_poller_is_checked() -> None:
    """One of two."""
    with pytest.raises(mm.UsageError, match="'epoll' or 'poll'"):
        mm.Engine(poller="select")  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [mm, aio])
@pytest.mark.parametrize(
    ("role", "name"),
    [("XPub", "manual"), ("XPub", "verbose"), ("Router", "handover"), ("Pull", "insecure")],
)
@pytest.mark.parametrize("bad", ["yes", "", 1, None, b"1"])
def test_what_is_either_so_or_not_is_true_or_false(
    module: Any, role: str, name: str, bad: Any
) -> None:
    """A word is neither: "no" would be true."""
    with pytest.raises(TypeError, match=f"{name} is {bad!r}; it is True or False"):
        getattr(module, role)(**{name: bad})
