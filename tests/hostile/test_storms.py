"""Storms: connections by the thousand that come, say little or nothing, and go.

Items 9 and 13-16 of the hostile list. What runs by default is one second's worth, 10,000
connections; MESHMSG_STORM_SECONDS=60 is the full form, ten thousand for each of sixty seconds.
"""

from __future__ import annotations

import logging
import os
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

import meshmsg as mm
from tests.hostile.test_hostile import check, served
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

RATE = 10_000
"""Connections for each second of the storm."""
SECONDS = int(os.environ.get("MESHMSG_STORM_SECONDS", "1"))
CONNECTIONS = RATE * SECONDS
SILENT = 10_000 if SECONDS > 1 else 1_000
WARM_UP = 300
"""Connections before memory is looked at: allocators and tables have grown by then."""
ROUND = 100
GROWTH_MAX = 2 << 20
"""Bytes: far below one KiB for each connection of the storm."""
NO_LINGER = struct.pack("ii", 1, 0)


def address_of(endpoint: str) -> tuple[str, int]:
    """Where to connect to."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return host, int(port)


def visit(address: tuple[str, int], words: bytes, reset: bool) -> None:
    """Connect, say it, and go: with a FIN, or with a RST."""
    with socket.create_connection(address, timeout=WAIT_S) as one:
        if words:
            one.sendall(words)
        if reset:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)


def descriptors() -> int:
    """How many are open in this process."""
    return len(os.listdir("/proc/self/fd"))


HELLO = ref.greeting() + ref.ready(b"PUSH")
WORDS = {
    "nothing": b"",
    "half a greeting": ref.greeting()[:11],
    "a greeting": ref.greeting(),
    "garbage": b"GET / HTTP/1.1\r\n\r\n",
    "a handshake": HELLO,
    "half a message": HELLO + ref.frame(b"half", ref.MORE),
    "a frame cut short": HELLO + b"\x02" + struct.pack(">Q", 60 << 20) + b"x" * 100,
}


@pytest.mark.parametrize("words", WORDS)
def test_a_storm_of_visitors_leaves_memory_and_descriptors_as_they_were(words: str) -> None:
    """16: with FIN and RST in turn; a well-behaved peer is served all the while."""
    with served() as (pull, push):
        address = address_of(pull.endpoint)
        count = max(CONNECTIONS // len(WORDS), WARM_UP * 2) // ROUND * ROUND
        for at in range(0, count, ROUND):
            for number in range(ROUND):
                visit(address, WORDS[words], reset=number % 10 > 0)
            check(pull, push)
            if at == WARM_UP:
                before, open_before = live_bytes(), descriptors()
        while sum(pull.stats().closed.values()) < count:
            check(pull, push)
        assert live_bytes() - before < GROWTH_MAX
        assert descriptors() <= open_before + 1
        stats = pull.stats()
        assert stats.accepts == count + 1
        assert sum(stats.closed.values()) == count
        assert (stats.half_open, stats.peers) == (0, 1)


def test_what_a_storm_leaves_in_the_log_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """16: "log rate-limited": the first at once, then fewer, with how many there were."""
    caplog.set_level(logging.DEBUG, logger="meshmsg")
    with served() as (pull, push):
        for _ in range(600):
            visit(address_of(pull.endpoint), b"garbage that is no greeting", reset=False)
        while sum(pull.stats().closed.values()) < 600:
            check(pull, push)
        with pytest.raises(mm.TimedOutError):
            pull.recv(timeout=0.001)
        stats = pull.stats()
        wait_until(lambda: "it said 'garbage" in caplog.text)
        told = [r for r in caplog.records if "it said 'garbage" in r.getMessage()]
        warned = [record for record in told if record.levelno >= logging.WARNING]
        took = max(record.created for record in told) - min(record.created for record in told)
        assert 1 <= len(warned) <= 2 + took  # after 1 s, 2 s, 4 s, ...
        assert "(tcp://127.0.0.1:" in warned[0].getMessage()
        assert len(told) <= 600
        assert stats.events_lost >= 600 - 256


@contextmanager
def room_for(count: int) -> Iterator[int]:
    """How many descriptors this process may open meanwhile, at most so many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(soft, min(2 * count + 500, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield min(count, (most - 500) // 2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_thousands_of_silent_connections_hold_back_nobody() -> None:
    """13, 15: with default limits at most 256 of them are kept, the oldest go first."""
    with served() as (pull, push), ExitStack() as stack:
        count = stack.enter_context(room_for(SILENT))
        silent = []
        for number in range(count):
            silent.append(stack.enter_context(RawPeer(pull.endpoint)))
            if number % ROUND == 0:
                check(pull, push)
                assert pull.stats().half_open <= 256
        while pull.stats().accepts < count + 1:
            check(pull, push)
        with mm.Push(connect=pull.endpoint) as late:
            late.wait_for_peers(timeout=WAIT_S)
            late.send(b"legit", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"legit"
        assert pull.stats().closed[mm.Reason.EVICTED] >= count - 256
        assert silent[0].until_closed() == b""  # it was told nothing, and let go


def test_subscribers_that_come_and_go_leave_no_topics_behind() -> None:
    """16 for Pub: each brings twenty topics of its own, and is gone the next moment."""
    with mm.Pub(bind="tcp://127.0.0.1:0") as pub:
        address = address_of(pub.endpoint)
        for number in range(600):
            topics = [b"visitor %d topic %d" % (number, i) for i in range(20)]
            words = ref.greeting() + ref.ready(b"SUB")
            words += b"".join(ref.subscription(True, topic) for topic in topics)
            visit(address, words, reset=False)
            if number == 300:
                before = live_bytes()
        with mm.Sub(connect=pub.endpoint, topics="mine") as sub:
            pub.wait_for_subscribers("mine", timeout=WAIT_S)
            while len(pub.peers()) > 1 or pub.stats().half_open:
                pub.send(b"still", topic="mine")
                assert sub.recv(timeout=WAIT_S) == b"still"
            assert pub.subscribers("visitor 599 topic 19") == 0
            assert live_bytes() - before < GROWTH_MAX


def finish(peer: RawPeer) -> None:
    """Go with a FIN."""
    peer.socket.close()


def reset(peer: RawPeer) -> None:
    """Go with a RST."""
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    peer.socket.close()


def fall_silent(peer: RawPeer) -> None:
    """Stay, and say nothing any more, not even PONG."""
    peer.until_closed()


@pytest.mark.parametrize("ending", [finish, reset, fall_silent], ids=["FIN", "RST", "idle"])
@pytest.mark.parametrize("size", [10, 1 << 20])
def test_an_unfinished_message_is_freed_however_its_sender_ends(
    ending: Callable[[RawPeer], None], size: int
) -> None:
    """9: FIN, RST, idle for ever: nothing arrives, the end is counted, the bytes are given back."""
    with served(heartbeat_interval=0.05, heartbeat_timeout=1.0) as (pull, push):
        for round_number in range(1, 7):
            peers = [RawPeer(pull.endpoint).shake(b"PUSH") for _ in range(5)]
            for peer in peers:
                peer.send(ref.frame(bytes(size), ref.MORE) + ref.frame(bytes(size))[:-1])
            for peer in peers:
                ending(peer)
                peer.socket.close()
            while len(pull.peers()) > 1:
                check(pull, push)
            assert sum(pull.stats().closed.values()) == 5 * round_number
            if round_number == 1:
                before = live_bytes()  # the allocator has got what it will keep
        reasons = set(pull.stats().closed)
        assert reasons <= {mm.Reason.EOF_MID_MESSAGE, mm.Reason.RESET, mm.Reason.HEARTBEAT}
        assert live_bytes() - before < 25 << 20  # kept, they would be 50 MiB
