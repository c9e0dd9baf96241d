"""`Event.user_id`: whose connection it is that an event tells of, as `peers()` has it.

Not here: who is let in as whom (tests/unit/test_allow_lists.py and its neighbours).
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.featured import saying
from tests.support.pairs import WAIT_S, endpoint_for, wait_until
from tests.support.ways import CALLER, WAYS

UP = "tcp://127.0.0.1:0"
KINDS = mm.EventKind
PLACES = [(way, transport) for way in WAYS for transport in WAYS[way].transports]


def first(socket: Any, kind: mm.EventKind) -> mm.Event:
    """Wait for the first event of a kind."""
    found: list[mm.Event] = []

    def look() -> bool:
        found.extend(event for event in socket.events(since=0) if event.kind is kind)
        return bool(found)

    wait_until(look)
    return found[0]


def opened(way: str, transport: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What who binds and who dials are opened with; the endpoint is the first's."""
    chosen = WAYS[way]
    if chosen.missing:
        pytest.skip(chosen.missing)
    binder, dialer = chosen.policies()
    url = endpoint_for(transport, folder)
    return {"bind": chosen.scheme + url, "security": binder}, {"security": dialer}


@pytest.mark.parametrize(("way", "transport"), PLACES)
def test_the_coming_and_the_end_of_a_peer_say_whose_it_is(
    way: str, transport: str, short_path: Path
) -> None:
    """Both sides: as peers() says it of the other one."""
    ours, theirs = opened(way, transport, short_path)
    with mm.Pair(**ours) as binder, mm.Pair(connect=binder.endpoint, **theirs) as dialer:
        both = (binder, dialer)
        for one in both:
            one.wait_for_peers(timeout=WAIT_S)
        known = [one.peers()[0].user_id for one in both]
        assert WAYS[way].caller in known
        for one, user_id in zip(both, known, strict=True):
            assert first(one, KINDS.PEER_UP).user_id == user_id
            assert first(one, KINDS.PEER_UP).as_dict()["user_id"] == user_id
        dialer.close()
        assert first(binder, KINDS.PEER_DOWN).user_id == known[0]


@pytest.mark.parametrize(("way", "transport"), PLACES)
def test_the_same_by_tasks(way: str, transport: str, short_path: Path) -> None:
    """By `on_event=`, which the loop calls."""
    ours, theirs = opened(way, transport, short_path)

    async def main() -> None:
        told: list[mm.Event] = []
        over = asyncio.Event()

        def hear(event: mm.Event) -> None:
            told.append(event)
            if event.kind is KINDS.PEER_DOWN:
                over.set()

        async with aio.Pair(**ours, on_event=hear) as binder:
            async with aio.Pair(connect=binder.endpoint, **theirs):
                await binder.wait_for_peers(timeout=WAIT_S)
                known = binder.peers()[0].user_id
            await asyncio.wait_for(over.wait(), WAIT_S)
            wanted = (KINDS.PEER_UP, KINDS.PEER_DOWN)
            assert [e.user_id for e in told if e.kind in wanted] == [known, known]
            assert [e.user_id for e in told if e.kind is KINDS.LISTENING] == [""]

    asyncio.run(main())


@pytest.mark.skipif(not mm.has("curve"), reason="this machine has no curve")
def test_who_is_disconnected_as_its_key_was_removed_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the event, and in the log; who is refused after that is nobody's."""
    caplog.set_level(logging.DEBUG, "meshmsg")
    server, alice, bob = mm.keygen(), mm.keygen(), mm.keygen()
    allowed = mm.AllowList({alice.public: "alice", bob.public: "bob"})
    with mm.Pull(bind=UP, security=mm.Curve(key=server, allow=allowed)) as pull:
        with (
            mm.Push(connect=pull.endpoint, security=mm.Curve(server=server.public, key=alice)),
            mm.Push(connect=pull.endpoint, security=mm.Curve(server=server.public, key=bob)),
        ):
            pull.wait_for_peers(2, timeout=WAIT_S)
            allowed.remove(alice.public)
            down = first(pull, KINDS.PEER_DOWN)
            assert (down.reason, down.user_id) == (mm.Reason.REVOKED, "alice")
            denied = first(pull, KINDS.HANDSHAKE_FAILED)
            assert (denied.reason, denied.user_id) == (mm.Reason.NOT_ALLOWED, "")
            assert [peer.user_id for peer in pull.peers()] == ["bob"]
    wait_until(lambda: any("user 'alice')" in one.getMessage() for one in caplog.records))


def plain(serves: dict[str, Any]) -> tuple[mm.Plain, mm.Plain]:
    """A server by PLAIN of these users, and the first of them."""
    user, password = next(iter(serves.items()))
    return mm.Plain(allow=serves), mm.Plain(user=user, password=password)


def test_what_else_is_told_of_a_connection_says_whose_it_is() -> None:
    """That its messages go without headers; that it is refused as it cannot take them."""
    server, client = plain({CALLER: "secret"})
    cases: list[tuple[dict[str, Any], mm.EventKind]] = [
        ({}, KINDS.PEER_PLAIN),
        ({"require": "headers"}, KINDS.HANDSHAKE_FAILED),
    ]
    for more, kind in cases:
        with saying("") as engine, mm.Push(bind=UP, security=server, **more) as push:
            with mm.Pull(connect=push.endpoint, security=client, engine=engine):
                if not more:
                    push.send(b"x", key="k", timeout=WAIT_S)
                assert first(push, kind).user_id == CALLER


def test_of_what_a_peer_had_for_too_long_it_is_told_whose_it_is() -> None:
    """With how many messages."""
    server, client = plain({CALLER: "secret"})
    push = mm.Push(bind=UP, security=server, delivery="at_least_once", ack_timeout=1.0)
    with push, mm.Pull(connect=push.endpoint, security=client):
        push.send(b"x", timeout=WAIT_S)
        event = first(push, KINDS.ACK_TIMEOUT)
        assert (event.user_id, event.count) == (CALLER, 1)


def test_where_nobody_was_asked_it_is_nobody_s() -> None:
    """Without `security=`, and of events of no connection."""
    with mm.Push(bind=UP) as push:
        with mm.Pull(connect=push.endpoint):
            push.wait_for_peers(timeout=WAIT_S)
        first(push, KINDS.PEER_DOWN)
        assert {event.user_id for event in push.events(since=0)} == {""}


def test_the_longest_name_is_told_whole_and_no_event_has_that_of_another() -> None:
    """255 octets; the ring is used again and again."""
    server, client = plain({"u" * 255: "secret"})
    with mm.Pull(bind=UP, security=server) as pull:
        for _ in range(150):
            with mm.Push(connect=pull.endpoint, security=client):
                pull.wait_for_peers(timeout=WAIT_S)
            wait_until(lambda: not pull.peers())
            with mm.Push(connect=pull.endpoint, security=mm.Plain(user="x", password="y")) as other:
                first(other, KINDS.HANDSHAKE_FAILED)
        events = pull.events(since=0)
        assert len(events) > 200
        for event in events:
            is_peer = event.kind in (KINDS.PEER_UP, KINDS.PEER_DOWN)
            assert event.user_id == ("u" * 255 if is_peer else "")
