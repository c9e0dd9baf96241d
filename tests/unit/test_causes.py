"""What the error of a call that gave up says of the cause: what is so now, in words of their own.

Not here: what events say (test_ends_told). Each is tried for threads and for asyncio.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._socket import causes
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, of_its_own, told, wait_until
from tests.support.rawpeer import RawPeer
from tests.support.room import room

UP = "tcp://127.0.0.1:0"
KINDS = pytest.mark.parametrize("names", [mm, meshmsg.aio], ids=["sync", "aio"])


def said(names: Any, use: Callable[[Any], Any]) -> str:
    """The words of the error that this use of the sockets ends with."""

    async def run() -> None:
        result = use(names)
        if inspect.isawaitable(result):
            await result

    with pytest.raises(mm.MeshError) as failed:
        asyncio.run(run()) if names is meshmsg.aio else use(names)
    return str(failed.value)


@contextmanager
def opened(sockets: list[Any]) -> Iterator[list[Any]]:
    """Sockets that are closed in the end."""
    try:
        yield sockets
    finally:
        for one in sockets:
            one.close()


@contextmanager
def silent() -> Iterator[str]:
    """A listener that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@KINDS
def test_a_socket_that_was_never_attached_is_told_so(names: Any) -> None:
    """Neither bound nor connected: there is nothing to wait for."""
    with opened([names.Push()]) as (push,):
        assert said(names, lambda _: push.send(b"x", timeout=0.01)) == (
            "no peer for a message within 0.01 s (Push neither bound nor connected)"
        )
        assert said(names, lambda _: push.send(b"x", timeout=0)) == (
            "no peer for a message now (Push neither bound nor connected)"
        )


def test_what_is_under_way_hides_not_how_it_ended_before() -> None:
    """A new attempt has begun: why the ones before it failed is told all the same."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with mm.Push(connect=url, reconnect_min=0.01, reconnect_max=0.01) as push:
            told(push, "connection refused")
            server.listen()

            def words() -> str:
                with pytest.raises(mm.TimedOutError) as failed:
                    push.wait_for_peers(timeout=0.06)
                return str(failed.value)

            wait_until(lambda: "has not said anything" in words())
            assert f"last: {url} connection refused" in words()


@KINDS
def test_a_full_queue_is_told_with_whose_it_is_and_how_full(names: Any) -> None:
    """Not in the words of having no peer."""
    with mm.Pull(bind=UP, recv_queue_messages=1) as pull, mm.Pull(bind=UP) as other:
        options = {"send_queue_messages": 2, "send_queue_bytes": 1 << 30}
        with opened([names.Push(connect=pull.endpoint, **options)]) as (push,):
            pull.wait_for_peers(timeout=WAIT_S)
            wait_until(push.peers)
            body = bytes(4 << 20)

            async def fill() -> None:
                while True:
                    await push.send(body, timeout=0.05)

            def fill_sync() -> None:
                while True:
                    push.send(body, timeout=0.05)

            queue = re.escape(f"{pull.endpoint}: 2 of 2 messages")
            wanted = re.compile(
                rf"no room for a message within 0\.05 s: its peer's queue is full \({queue}\) "
                rf"\(Push connected to {pull.endpoint}, 1 peer\)$"
            )

            def words() -> str:
                return said(names, lambda _: fill() if names is meshmsg.aio else fill_sync())

            wait_until(lambda: wanted.match(words()) is not None)  # the system may take one more
            push.connect(other.endpoint)
            other.wait_for_peers(timeout=WAIT_S)
        assert said(names, lambda _: names.Push().send(b"x", timeout=0.01)).startswith("no peer")


def test_of_several_full_queues_each_is_told_and_of_many_some() -> None:
    """All peers of who shares out; those that are full of who sends to all."""
    options: dict[str, Any] = {"send_queue_messages": 1, "overflow": "block"}
    with mm.Push(bind=UP, **options) as push:
        peers = [RawPeer(push.endpoint).shake(b"PULL") for _ in range(5)]
        push.wait_for_peers(5, timeout=WAIT_S)
        with pytest.raises(mm.TimedOutError) as failed:
            while True:
                push.send(bytes(8 << 20), timeout=0.05)
        words = str(failed.value)
        assert "within 0.05 s: all 5 peers' queues are full (tcp://127.0.0.1:" in words
        assert words.count("1 of 1 message") == 3
        assert "; and 2 more) (Push bound to" in words
        for peer in peers:
            peer.socket.close()
    with mm.Pub(bind=UP, **options) as pub, mm.Sub(connect=pub.endpoint, topics=[""]) as sub:
        peer = RawPeer(pub.endpoint).shake(b"SUB").send(ref.subscription(True, b""))
        pub.wait_for_subscribers(count=2, timeout=WAIT_S)
        with pytest.raises(mm.TimedOutError, match=r": 1 of 2 peers' queues are full \(tcp:"):
            while True:
                pub.send(bytes(8 << 20), timeout=0.2)
                sub.recv(timeout=WAIT_S)
        peer.socket.close()


@KINDS
def test_a_refused_connection_is_told_with_the_next_attempt(names: Any) -> None:
    """What happened last, how often, and when it is tried again."""
    gone = of_its_own().replace(":0", ":9")
    with opened([names.Pull(connect=gone, reconnect_min=30, reconnect_max=30)]) as (pull,):
        wait_until(lambda: any(e.kind is mm.EventKind.CONNECT_FAILED for e in pull.events()))
        words = said(names, lambda _: pull.recv(timeout=0.01))
        assert re.match(
            rf"no message within 0\.01 s \(Pull connected to {gone}, 0 peers; "
            rf"last: {gone} connection refused(, next attempt in [\d.]+ s)?\)$",
            words,
        )


URL = "tcp://10.0.0.7:5555"
TELLING = "closed by the peer in the handshake after 10 octets: it may want PLAIN"
WORDLESS = "closed by the peer in the handshake before it said anything: no ZeroMQ peer, or ..."
CAUSES = {
    "an end after some words": ("t", TELLING),
    "and then one without": ("tttv", f"{TELLING}, 3 times; 1 more time before it said anything"),
    "without words in between": (
        "tvtr",
        f"{TELLING}, 2 times; 2 more times before it said anything",
    ),
    "without words only": ("vv", f"{WORDLESS}, 2 times"),
    "what came before a peer": ("tuv", WORDLESS),
    "what another peer said": ("ov", f"{WORDLESS}, 2 times"),
    "nobody listens any more": ("tvc", "connection refused"),
    "a listener that is back": ("cv", WORDLESS),
}


@pytest.mark.parametrize("story", CAUSES)
def test_what_a_peer_said_tells_more_than_its_later_silence(story: str) -> None:
    """Mostly libzmq says its signature before it closes, at times not: the peer is the same."""
    kind, reason = mm.EventKind, mm.Reason
    events = {
        "t": (kind.HANDSHAKE_FAILED, reason.HANDSHAKE_EOF, URL, TELLING),
        "o": (kind.HANDSHAKE_FAILED, reason.HANDSHAKE_EOF, "tcp://10.0.0.8:1", TELLING),
        "v": (kind.HANDSHAKE_FAILED, reason.HANDSHAKE_EOF, URL, WORDLESS),
        "r": (kind.HANDSHAKE_FAILED, reason.RESET, URL, WORDLESS),
        "u": (kind.PEER_UP, reason.NONE, URL, "PULL"),
        "c": (kind.CONNECT_FAILED, reason.REFUSED, URL, "connection refused"),
    }
    letters, words = CAUSES[story]
    log = [
        mm.Event(i, 1000.0 + i, what, why, 1, 1, URL, address, detail, 7.0)
        for i, (what, why, address, detail) in enumerate(events[one] for one in letters)
    ]
    assert causes._last_of(URL, log, None) == f"last: {URL} {words}"
    now = 1000.0 + len(log)
    assert causes._last_of(URL, log, now) == f"last: {URL} {words}, next attempt in 6.0 s"


def test_one_event_of_many_refusals_counts_as_many() -> None:
    """Of a peer that comes again and again: each event says how often it was."""
    why = (mm.EventKind.HANDSHAKE_FAILED, mm.Reason.FEATURE)
    log = [mm.Event(i, i, *why, 1, count, URL, URL, "no", None) for i, count in ((1, 1), (2, 60))]
    assert causes._last_of(URL, log, None) == f"last: {URL} no, 61 times"


@KINDS
def test_what_is_over_is_no_cause(names: Any) -> None:
    """Refused at first, connected now: who waits for a message is not told of a refusal."""
    with mm.Push(bind=of_its_own()) as push:
        url = push.endpoint
    with opened([names.Pull(connect=url, reconnect_max=0.05)]) as (pull,):
        wait_until(lambda: any(e.kind is mm.EventKind.CONNECT_FAILED for e in pull.events()))
        with mm.Push(bind=url) as push:
            push.wait_for_peers(timeout=WAIT_S)
            wait_until(pull.peers)
            assert said(names, lambda _: pull.recv(timeout=0.01)) == (
                f"no message within 0.01 s (Pull connected to {url}, 1 peer)"
            )
        wait_until(lambda: not pull.peers())
        assert "last: " in said(names, lambda _: pull.recv(timeout=0.05))


@KINDS
def test_a_silent_server_is_told_as_such(names: Any) -> None:
    """It takes the connection and waits for a line: half a handshake, and no cause for 10 s."""
    with silent() as url, opened([names.Pull(connect=url)]) as (pull,):
        wait_until(lambda: pull.stats().half_open)
        words = said(names, lambda _: pull.recv(timeout=0.2))
        assert re.search(
            rf"0 peers; connected to {url}, which has not said anything for \d+\.\d s "
            r"\(it may not be a ZeroMQ or NNG peer\)\)$",
            words,
        )


def test_a_silent_server_is_an_event_after_a_second() -> None:
    """And told of once; the end of the handshake comes later."""
    with silent() as url, mm.Push(connect=url, handshake_timeout=1.5) as push:
        seen: list[mm.Event] = []

        def over() -> bool:
            seen.extend(push.events())
            return any(event.kind is mm.EventKind.HANDSHAKE_FAILED for event in seen)

        wait_until(over)
        first, last = seen[0], seen[1]
        assert first.kind is mm.EventKind.PEER_SILENT
        assert first.detail == "connected, and it said nothing for 1 s: it may be no ZeroMQ peer"
        assert first.address == url
        assert last.reason is mm.Reason.HANDSHAKE_TIMEOUT
        assert "before it said anything" in last.detail


@KINDS
@pytest.mark.parametrize("role", ["Sub", "XSub"])
def test_a_subscriber_of_nothing_is_told_so(names: Any, role: str) -> None:
    """The commonest mistake of all."""
    with mm.Pub(bind=UP) as pub, opened([getattr(names, role)(connect=pub.endpoint)]) as (sub,):
        pub.wait_for_peers(timeout=WAIT_S)
        words = said(names, lambda _: sub.recv(timeout=0.01))
        assert "; subscribed to nothing: " in words
        assert ('topics=[""] is everything' in words) == (role == "Sub")
        sub.subscribe("")
        assert sub.stats().topics == 1
        assert "subscribed" not in said(names, lambda _: sub.recv(timeout=0.01))
        sub.unsubscribe("")
        assert sub.stats().topics == 0


@KINDS
def test_too_few_peers_are_counted(names: Any) -> None:
    """How many there are, of how many."""
    with mm.Pull(bind=UP) as pull, opened([names.Push(connect=pull.endpoint)]) as (push,):
        pull.wait_for_peers(timeout=WAIT_S)
        wait_until(push.peers)
        words = said(names, lambda _: push.wait_for_peers(3, timeout=0.01))
        assert words.startswith("1 of 3 peers within 0.01 s (Push connected to")
        words = said(names, lambda _: push.wait_for_peers(3, timeout=0))
        assert words.startswith("1 of 3 peers now (Push connected to")
        push.close()
        words = said(names, lambda _: push.wait_for_peers(3, timeout=1))
        assert words == "waiting for 3 peers: this Push was closed; open a new one"


@KINDS
def test_too_few_subscribers_are_counted(names: Any) -> None:
    """Of the topic that was asked for."""
    with opened([names.Pub(bind=UP)]) as (pub,), mm.Sub(connect=pub.endpoint, topics=["a"]) as sub:
        sub.wait_for_peers(timeout=WAIT_S)
        wait_until(lambda: pub.subscribers("a"))
        words = said(names, lambda _: pub.wait_for_subscribers("a", 2, timeout=0.01))
        assert words.startswith("1 of 2 subscribers to 'a' within 0.01 s (Pub bound to")
        pub.close()
        words = said(names, lambda _: pub.wait_for_subscribers("a", 2, timeout=0.01))
        assert words == "waiting for 2 subscribers to 'a': this Pub was closed; open a new one"


@KINDS
def test_an_unanswered_request_tells_how_often_it_was_tried(names: Any) -> None:
    """With the time of each attempt, and no trouble where there is none."""
    with mm.Rep(bind=UP) as rep, opened([names.Req(connect=rep.endpoint)]) as (req,):
        rep.wait_for_peers(timeout=WAIT_S)
        words = said(names, lambda _: req.request(b"?", timeout=0.02, retries=3))
        assert words == (
            f"no reply to 4 attempts of 0.02 s each (Req connected to {rep.endpoint}, 1 peer)"
        )
        words = said(names, lambda _: req.request(b"?", timeout=0.02))
        assert words.startswith("no reply within 0.02 s (Req")
    with opened([names.Req()]) as (req,):
        words = said(names, lambda _: req.request(b"?", timeout=0.02, retries=1))
        assert words == (
            "no peer for a request in 2 attempts of 0.02 s each (Req neither bound nor connected)"
        )


@KINDS
def test_what_is_not_there_cannot_be_taken_away(names: Any) -> None:
    """One sentence, with what is there."""
    with opened([names.Push(bind=UP, connect="tcp://127.0.0.1:9")]) as (push,):
        words = said(names, lambda _: push.disconnect("tcp://127.0.0.1:8"))
        assert words.endswith("it is not connected to; connected to: tcp://127.0.0.1:9")
        words = said(names, lambda _: push.unbind("tcp://127.0.0.1:8"))
        assert words.endswith(f"it is not bound here; bound: {push.endpoint}")
        push.disconnect("tcp://127.0.0.1:9")
        assert said(names, lambda _: push.disconnect("tcp://127.0.0.1:9")).endswith(": nothing")


def test_an_endpoint_without_a_peer_is_told_beside_one_that_has_one() -> None:
    """Of two workers one is away: that is why the queue of the other is full."""
    gone = of_its_own().replace(":0", ":9")
    with mm.Pull(bind=UP) as pull, mm.Push(connect=[gone, pull.endpoint]) as push:
        push.wait_for_peers(timeout=WAIT_S)
        wait_until(lambda: any(e.kind is mm.EventKind.CONNECT_FAILED for e in push.events()))
        with pytest.raises(mm.TimedOutError) as failed:
            push.wait_for_peers(2, timeout=0.01)
        words = str(failed.value)
        assert f"last: {gone} connection refused" in words
        assert f"last: {pull.endpoint}" not in words


def test_a_name_is_compared_as_the_core_writes_it() -> None:
    """An endpoint that was written in another way is the same one."""
    with mm.Pull(connect="tcp://127.0.0.1:0009") as pull:
        wait_until(lambda: any(e.kind is mm.EventKind.CONNECT_FAILED for e in pull.events()))
        with pytest.raises(mm.TimedOutError, match="last: tcp://127.0.0.1:9 connection refused"):
            pull.recv(timeout=0.001)


@KINDS
def test_a_peer_that_stops_receiving_is_no_full_queue(names: Any) -> None:
    """It is told that it is stopping, at whatever time-out, and peers() says so, too."""
    with opened([names.Push(bind=UP)]) as (push,):
        with RawPeer(push.endpoint).shake(b"PULL") as peer:
            wait_until(push.peers)
            peer.send(ref.command(b"STOP"))
            wait_until(lambda: push.peers()[0].stopping == "stops")
            address = push.peers()[0].address
            for timeout, span in ((0.01, "within 0.01 s"), (0, "now")):
                assert said(names, lambda _, t=timeout: push.send(b"x", timeout=t)) == (
                    f"no peer for a message {span}: {address} is stopping (stop_receiving) and "
                    f"takes no more (Push bound to {push.endpoint}, 1 peer)"
                )


def test_a_peer_that_stops_is_told_beside_the_queues_that_are_full() -> None:
    """The others are full, and it is not one of them."""
    with mm.Push(bind=UP, send_queue_messages=1) as push:
        with RawPeer(push.endpoint).shake(b"PULL") as one, RawPeer(push.endpoint) as two:
            wait_until(push.peers)
            one.send(ref.command(b"STOP"))
            wait_until(lambda: push.peers()[0].stopping == "stops")
            two.shake(b"PULL")
            push.wait_for_peers(2, timeout=WAIT_S)
            with pytest.raises(mm.TimedOutError) as failed:
                while True:
                    push.send(bytes(8 << 20), timeout=0.05)
            words = str(failed.value)
            assert ": its peer's queue is full (tcp://127.0.0.1:" in words
            assert "1 of 1 message); tcp://127.0.0.1:" in words
            assert " is stopping (stop_receiving) and takes no more (Push bound to" in words


def test_a_peer_that_is_being_left_is_told_as_such() -> None:
    """After a disconnect it gets what was begun, and no more."""
    with room(buffer_size=4096) as r:
        pull = r.open("Pull", bind=UP, recv_queue_messages=1)
        push = r.open("Push", connect=pull.endpoint, linger=60.0)
        push.wait_for_peers(timeout=WAIT_S)
        while not push.peers()[0].queued_out_messages:
            push.send(bytes(100_000), timeout=1)
        push.disconnect(pull.endpoint)
        assert [peer.stopping for peer in push.peers()] == ["left"]
        with pytest.raises(mm.WouldBlockError, match="no peer for a message now: .* is being left"):
            push.send(b"x", timeout=0)


@KINDS
def test_times_are_rounded(names: Any) -> None:
    """What is left of a time is a long fraction, which nobody wants to read."""
    with opened([names.Pull(bind=UP)]) as (pull,):
        for timeout, told in ((0.0123456789, "0.012 s"), (0.00012345, "0.0001 s")):
            words = said(names, lambda _, t=timeout: pull.recv(timeout=t))
            assert words.startswith(f"no message within {told} (Pull")


@KINDS
def test_a_call_that_does_not_wait_is_told_whose_queue_is_full(names: Any) -> None:
    """As one that waits; of more than 16 peers it looks at none."""
    with mm.Pull(bind=UP, recv_queue_messages=1) as pull:
        options = {"send_queue_messages": 2, "send_queue_bytes": 1 << 30}
        with opened([names.Push(connect=pull.endpoint, **options)]) as (push,):
            pull.wait_for_peers(timeout=WAIT_S)
            wait_until(push.peers)
            body = bytes(4 << 20)

            async def fill() -> None:
                while True:
                    await push.send(body, timeout=0)

            def fill_sync() -> None:
                while True:
                    push.send(body, timeout=0)

            full = (
                f"no room for a message now: its peer's queue is full ({pull.endpoint}: 2 of 2 "
                f"messages) (Push connected to {pull.endpoint}, 1 peer)"
            )
            # It may still take one between the send that failed and the look at its queue.
            wait_until(
                lambda: (
                    said(names, lambda _: fill() if names is meshmsg.aio else fill_sync()) == full
                )
            )


@KINDS
def test_a_loss_is_raised_with_its_socket(names: Any) -> None:
    """Of `drain`, and of `stop_receiving`."""
    with mm.Push(connect=of_its_own().replace(":0", ":9")) as gone:
        assert gone.drain(timeout=0).socket.startswith("Push connected to ")
    report = mm.DrainReport(0, 0, 5, 2, 0, 0, "Push bound to tcp://here, 1 peer")
    with pytest.raises(mm.MeshError) as failed:
        report.raise_for_loss()
    assert str(failed.value) == (
        "not everything was delivered: 2 still queued, 5 to peers that cannot confirm, not known "
        "(Push bound to tcp://here, 1 peer)"
    )
    with opened([names.Pull(bind=UP)]) as (pull,), RawPeer(pull.endpoint) as peer:
        peer.shake(b"PUSH")
        wait_until(pull.peers)
        words = said(names, lambda _: pull.stop_receiving().raise_for_loss())
        assert words.endswith(f"(Pull bound to {pull.endpoint}, 1 peer)")


@KINDS
def test_who_connects_after_stop_receiving_is_told_that_and_what_to_do(names: Any) -> None:
    """Not only that the state is wrong."""
    with opened([names.Pull()]) as (pull,):
        pull.stop_receiving()
        for attach in (pull.connect, pull.bind):
            words = said(names, lambda _, attach=attach: attach(of_its_own().replace(":0", ":9")))
            assert "was told to stop receiving, and takes no new peers" in words
            assert "open a new one" in words


def test_of_a_long_topic_an_error_quotes_the_beginning() -> None:
    """And says how long it is."""
    with mm.Sub(topic_size_max=100) as sub:
        with pytest.raises(mm.MeshError) as failed:
            sub.subscribe("a" * 1000)
        assert f"{'a' * 64}'... (1000 characters)" in str(failed.value)
        assert "a" * 65 not in str(failed.value)
        with pytest.raises(mm.MeshError, match=f"b'{'b' * 64}' is not subscribed"):
            sub.unsubscribe(b"b" * 64)


def test_what_was_sent_to_a_pair_that_refuses_is_in_doubt_and_the_refusal_is_told() -> None:
    """Both sides say READY at once, so a send may come before the refusal; it is not delivered."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        listening.settimeout(WAIT_S)
        with mm.Pair(connect=url, on_event=heard.put) as third:
            with RawPeer.of(listening.accept()[0]).shake(b"PAIR") as other:
                third.send(b"x", timeout=WAIT_S)
                assert other.frame()[1] == b"x"
                other.send(ref.error(b"this socket takes no more peers"))
                while (event := heard.get(timeout=WAIT_S)).kind is not mm.EventKind.PEER_DOWN:
                    pass
            assert event.reason is mm.Reason.ERROR_COMMAND
            assert "takes no more peers" in event.detail
            report = third.drain(timeout=0)
            assert report.delivered == 0
            assert report.in_doubt + report.queued + report.unconfirmed == 1
            with pytest.raises(mm.MeshError, match=r"not everything was delivered: 1 "):
                report.raise_for_loss()
