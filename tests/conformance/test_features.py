"""The matrix of what peers show (`X-Meshmsg`): acknowledging, and key, headers and times; on one
side, on both, on none; x transport x who binds x {sync, asyncio}.

A peer that shows less is a socket of meshmsg which says other words (tests/support/featured.py).
Not here: octets (tests/hostile/test_feature_octets.py), who requires what a peer does not show
(test_require.py), other libraries (tests/interop/test_mixed_consumers.py).
Law: every message arrives once and in order, whatever is shown; and what is told of it is so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.featured import SHOWN, acks, saying, takes_meta
from tests.support.noted import EXCHANGES, NOTE, Received, options_of
from tests.support.pairs import WAIT_S, endpoint_for, wait_until
from tests.support.patterned import Kit

TRANSPORTS = ["tcp", "ipc", "inproc"]
SIZES = [0, 1, 255, 256, 40_000, 300_000]
"""Bytes: in a segment, by reference, and given whole to who receives."""
RUN = 50
SENDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "both": ("at_least_once", NOTE),
    "acks": ("at_least_once", {}),
    "headers": ("at_most_once", NOTE),
    "none": ("at_most_once", {}),
}
"""What a Push asks of its peers: its delivery, and what goes with a message."""
LACKING = {"neither": ("all", "all"), "second": ("all", "acks"), "first": ("older", "all")} | {
    "both": ("newer", "foreign")
}
"""Of a pair of roles, who takes no key, headers and times; and what each shows."""
WHO_BINDS = pytest.mark.parametrize(
    "first_binds", [True, False], ids=["first-binds", "second-binds"]
)


@contextmanager
def connected(
    kit: Kit, url: str, first_binds: bool, first: dict[str, Any], second: dict[str, Any]
) -> Iterator[tuple[Any, Any]]:
    """Two sockets that see each other; `show` of each is what it shows."""
    with ExitStack() as stack:
        opened: list[Any] = []
        for given in (first, second):
            engine = stack.enter_context(saying(SHOWN[given["show"]]))
            options = {name: value for name, value in given.items() if name not in ("show", "role")}
            opened.append(stack.enter_context(kit.socket(given["role"], engine=engine, **options)))
        binder, dialer = opened if first_binds else opened[::-1]
        binder.bind(url)
        dialer.connect(binder.endpoint)
        for socket in opened:
            socket.wait_for_peers(timeout=WAIT_S)
        yield opened[0], opened[1]


def check_told(socket: Any, *expected: str) -> None:
    """Of events that tell what a peer cannot there are these, each once, and no others."""
    kinds = (mm.EventKind.PEER_UNACKED, mm.EventKind.PEER_PLAIN)
    found: list[str] = []

    def look() -> bool:
        found.extend(event.kind.name for event in socket.events() if event.kind in kinds)
        return len(found) >= len(expected)

    wait_until(look)  # a write is told of when it is back, and its peer may be faster
    assert sorted(found) == sorted(expected)


def check_note(message: Any, noted: bool) -> None:
    """What went with it is there, or nothing is."""
    key, headers = (b"k-7", NOTE["headers"]) if noted else (None, {})
    assert (message.key, message.headers, message.timestamp is None) == (key, headers, not noted)


def sent(push: Any, more: dict[str, Any]) -> list[tuple[tuple[bytes, ...], bool]]:
    """Send by each call, plain and with a note: the frames of each message, and whether it has
    one."""
    messages: list[tuple[tuple[bytes, ...], bool]] = []
    for size in SIZES:
        for given in ({}, more):
            body = b"%d" % len(messages) + b"b" * size
            push.send(body, timeout=WAIT_S, **given)
            messages.append(((body,), bool(given)))
            push.send_frames([body, b"", b"end"], timeout=WAIT_S, **given)
            messages.append(((body, b"", b"end"), bool(given)))
    run = [b"run %d" % number for number in range(RUN)]
    assert push.send_many(run, timeout=WAIT_S) == RUN
    return messages + [((body,), False) for body in run]


@WHO_BINDS
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("sender", SENDERS)
def test_a_push_and_a_pull(
    kit: Kit, sender: str, shown: str, transport: str, first_binds: bool, short_path: Path
) -> None:
    """What the Push asks for x what the Pull shows."""
    delivery, note = SENDERS[sender]
    wanted = delivery == "at_least_once"
    acked, noted = wanted and acks(SHOWN[shown]), takes_meta(SHOWN[shown])
    first = {"role": "Push", "show": "all", "delivery": delivery}
    second = {"role": "Pull", "show": shown}
    url = endpoint_for(transport, short_path)
    with connected(kit, url, first_binds, first, second) as (push, pull):
        messages = sent(push, note)
        for frames, has_note in messages:
            message = pull.recv(timeout=WAIT_S)
            assert (message, message.frames) == (frames[-1], frames)
            check_note(message, has_note and noted)
        with pytest.raises(mm.WouldBlockError):
            pull.recv(timeout=0)  # so the last one is done, and nothing came twice
        report = push.drain(timeout=WAIT_S)
        assert (report.unconfirmed, report.queued, report.dropped) == (0, 0, 0)
        [here], [there] = push.peers(), pull.peers()
        assert (here.acks, there.acks) == (acked, acked)
        assert (here.takes_meta, there.takes_meta) == (noted, True)
        assert here.meshmsg == (shown != "foreign")
        unacked = ["PEER_UNACKED"] if wanted and not acked else []
        check_told(push, *unacked, *(["PEER_PLAIN"] if note and not noted else []))
        check_told(pull)
        count, stats = len(messages), push.stats()
        assert (stats.sent_messages, stats.written_messages) == (count, count)
        assert (stats.acked_messages, stats.unacked_messages) == (count if acked else 0, 0)
        assert (stats.redelivered_messages, stats.dropped, stats.in_doubt_messages) == (0, 0, 0)


@WHO_BINDS
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("lacking", LACKING)
@pytest.mark.parametrize(
    ("role", "other", "exchange"), EXCHANGES, ids=lambda v: getattr(v, "__name__", v)
)
def test_what_goes_with_messages_of_each_pair_of_roles(
    kit: Kit,
    role: str,
    other: str,
    exchange: Callable[[Any, Any], Received],
    lacking: str,
    transport: str,
    first_binds: bool,
    short_path: Path,
) -> None:
    """It comes where the peer takes it, and the message alone where it does not: told once."""
    shown = LACKING[lacking]
    pair = [
        {"role": name, "show": show, **options_of(name, place)}
        for place, (name, show) in enumerate(zip((role, other), shown, strict=True))
    ]
    takes = [takes_meta(SHOWN[show]) for show in shown]
    url = endpoint_for(transport, short_path)
    with connected(kit, url, first_binds, pair[0], pair[1]) as sockets:
        found = exchange(*sockets)
        for by, has_note, body, message in found:
            assert message == body
            check_note(message, has_note and takes[1 - by])
        for place, socket in enumerate(sockets):
            [peer] = socket.peers()
            assert peer.takes_meta == takes[1 - place]
            sends = any(by == place for by, _, _, _ in found)
            check_told(socket, *(["PEER_PLAIN"] if sends and not takes[1 - place] else []))
