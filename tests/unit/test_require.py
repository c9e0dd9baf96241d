"""`require=`: what may be asked of whom, and what is said of what may not; and what a call that
gives up says where everybody was refused.

Not here: who is refused (tests/conformance/test_require.py).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.featured import SHOWN, saying
from tests.support.mm import ffi, lib
from tests.support.pairs import WAIT_S, told, wait_until
from tests.support.ways import curve

UP = "tcp://127.0.0.1:0"
ACKED = {"delivery": "at_least_once"}
ROLES = (
    *("Push", "Pull", "Pub", "Sub", "XPub", "XSub", "Req", "Rep", "Dealer", "Router", "Pair"),
    *("Bus", "Surveyor", "Respondent"),
)
SILENT = ("Pull", "Sub")
WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("Push", {"require": "ack"}, mm.UsageError, "has 'ack', which no peer can do; it is 'acks'"),
    ("Push", {"require": ""}, mm.UsageError, "has '', which no peer can do"),
    ("Push", {"require": ("headers", "stop")}, mm.UsageError, "has 'stop', which no peer"),
    ("Push", {"require": b"headers"}, TypeError, "'replay', 'group', or a tuple of several"),
    ("Push", {"require": True}, TypeError, "require is True"),
    ("Push", {"require": ("headers", None)}, TypeError, "require is ('headers', None)"),
    ("Push", {"require": "acks"}, mm.UsageError, 'is for a Push with delivery="at_least_once"'),
    ("Push", {"require": "acks", "delivery": "at_most_once"}, mm.UsageError, "nothing is ack"),
    ("Dealer", {"require": ("headers", "acks")}, mm.UsageError, "nothing is acknowledged here"),
    ("Pull", {"require": "acks"}, mm.UsageError, "nothing is acknowledged here"),
    ("Pull", {"require": "headers"}, mm.UsageError, "a socket that only receives sends nobody"),
    ("Sub", {"require": ["headers"]}, mm.UsageError, "a socket that only receives sends nobody"),
]


@pytest.mark.parametrize(("role", "options", "kind", "words"), WRONG, ids=lambda v: str(v)[:40])
def test_what_may_not_be_required_is_told(
    role: str, options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    """By threads and by tasks alike, and no socket is left."""
    with pytest.raises(kind) as failed:
        getattr(mm, role)(**options)
    assert words in str(failed.value)

    async def main() -> None:
        with pytest.raises(kind) as failed:
            getattr(aio, role)(**options)
        assert words in str(failed.value)

    asyncio.run(main())


@pytest.mark.parametrize("role", ROLES)
def test_the_core_refuses_what_makes_no_sense(role: str) -> None:
    """Of a C program, too: acknowledgements of who asks for none, headers of who sends nothing."""
    number = getattr(lib, f"MM_{role.upper()}")
    opts = ffi.new("mm_socket_opts *")
    out = ffi.new("mm_handle *")
    with mm.Engine() as engine:
        for flags, fits in (
            (lib.MM_OPT_REQUIRE_ACKS, False),
            (lib.MM_OPT_REQUIRE_ACKS | lib.MM_OPT_AT_LEAST_ONCE, role == "Push"),
            (lib.MM_OPT_REQUIRE_HEADERS, role not in SILENT),
        ):
            assert lib.mm_socket_defaults(number, opts) == 0
            opts.flags = flags
            rc = lib.mm_socket_open(engine._handle, number, opts, out)
            assert rc == (0 if fits else lib.MM_EINVAL)
            if fits:
                lib.mm_socket_close(out[0])


@pytest.mark.parametrize("role", ROLES)
def test_help_explains_it_to_roles_that_may(role: str) -> None:
    """And counts it among what others do for the one that may not."""
    text = getattr(mm, role).__doc__
    own, _, others = text.partition("Also taken, but about what other roles do:")
    silent = role == "Pull"  # a Sub may require a replay
    assert ("    require: What peers must be able to do" in own) != silent
    assert ("require" in others.replace(".", ",").replace(" ", ",").split(",")) == silent


def test_a_call_that_gives_up_says_who_was_refused_and_why() -> None:
    """As of any other trouble: of who binds, and of who dials."""
    with saying(SHOWN["older"]) as engine, mm.Pull(bind=UP, engine=engine) as pull:
        with mm.Push(connect=pull.endpoint, require="headers", no_peer="block") as push:
            told(push, "takes no key")
            with pytest.raises(mm.TimedOutError, match="its meshmsg is too old; update it"):
                push.send(b"x" * 100, timeout=0.05)
            with pytest.raises(mm.TimedOutError, match="takes no key, headers or times"):
                push.wait_for_peers(timeout=0.05)
        told(pull, "the peer refused: required of peers here: meta of X-Meshmsg")


def test_who_sends_waits_on_until_somebody_comes_who_can() -> None:
    """A send that waits when the wrong one comes is not woken by it, nor failed."""

    async def main() -> None:
        options: dict[str, Any] = {**ACKED, "require": "acks", "no_peer": "block"}
        async with aio.Push(bind=UP, **options) as push:
            sending = asyncio.ensure_future(push.send(b"x", timeout=WAIT_S))
            with saying("") as engine, mm.Pull(connect=push.endpoint, engine=engine):
                while mm.Reason.FEATURE not in push.stats().closed:
                    await asyncio.sleep(0)
                assert not sending.done()
            async with aio.Pull(connect=push.endpoint) as pull:
                assert await pull.recv(timeout=WAIT_S) == b"x"
                await sending

    asyncio.run(main())


@pytest.mark.skipif(not mm.has("curve"), reason="this machine has no curve")
@pytest.mark.parametrize(("size", "fits"), [(180, True), (220, False)])
def test_under_curve_a_long_name_leaves_no_room_to_say_what_is_required(
    size: int, fits: bool
) -> None:
    """So such a Pull is refused, although it could."""
    server, client = curve()
    with mm.Push(bind=UP, security=server, require="acks", delivery="at_least_once") as push:
        with mm.Pull(connect=push.endpoint, security=client, identity=b"n" * size):
            if fits:
                push.wait_for_peers(timeout=WAIT_S)
                assert push.peers()[0].acks
            else:
                told(push, "it does not say it is of meshmsg")


def test_an_error_is_raised_at_once_where_nobody_is_let_in() -> None:
    """`no_peer="error"`: who was refused is nobody."""
    with saying("") as engine, mm.Push(bind=UP, require="headers", no_peer="error") as push:
        with mm.Pull(connect=push.endpoint, engine=engine) as pull:
            told(pull, "required of peers here")
            with pytest.raises(mm.WouldBlockError):
                push.send(b"x", timeout=WAIT_S)


def refusals(events: list[mm.Event]) -> list[mm.Event]:
    """Those that tell that somebody was refused."""
    return [event for event in events if event.reason is mm.Reason.FEATURE]


OFTEN = 20
"""Times that somebody comes and is refused, well within the 10 s of an event."""


def test_who_comes_again_and_again_is_told_once() -> None:
    """By threads: one event, not one each time; `stats()` counts all, and other events stay."""
    with saying("") as engine, mm.Push(bind=UP, require="headers") as push:
        with mm.Pull(
            connect=push.endpoint, engine=engine, reconnect_min=0.001, reconnect_max=0.002
        ):
            wait_until(lambda: push.stats().closed.get(mm.Reason.FEATURE, 0) >= OFTEN)
            [told_once] = refusals(push.events())
            assert (told_once.kind, told_once.count) == (mm.EventKind.HANDSHAKE_FAILED, 1)
            assert push.stats().handshakes_failed >= OFTEN


def test_who_comes_again_and_again_is_told_once_to_a_loop() -> None:
    """The same; `on_event` is called once."""

    async def main() -> None:
        seen: list[mm.Event] = []
        with saying("") as engine:
            async with aio.Push(bind=UP, require="headers", on_event=seen.append) as push:
                with mm.Pull(
                    connect=push.endpoint, engine=engine, reconnect_min=0.001, reconnect_max=0.002
                ):
                    while push.stats().closed.get(mm.Reason.FEATURE, 0) < OFTEN:
                        await asyncio.sleep(0)
                    while not refusals(seen):
                        await asyncio.sleep(0)
        assert len(refusals(seen)) == 1

    asyncio.run(main())
