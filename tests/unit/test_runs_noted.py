"""What goes with each message of a run: `send_many` and `send_batch` with key, headers and times.

Not here: with one message (test_headers.py), with receipts (test_receipt_runs.py), expiry
(tests/sim/test_expiry.py, test_fates.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pytest
import zmq

import meshmsg as mm
from tests.support.calls import WAYS, Way
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.room import room
from tests.support.stalled import PATIENCE_S

UP = "tcp://127.0.0.1:0"
URLS = [UP, "ipc://*", "inproc://runs-noted"]
HEADERS = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "raw": b"\xff"}
MORE: dict[str, Any] = {"key": "customer-7", "headers": HEADERS, "ttl": 60}
PAIRS = [
    ("Push", "Pull"), ("Pair", "Pair"), ("Dealer", "Dealer"), ("Bus", "Bus"), ("Pub", "Sub"),
    ("XPub", "XSub"), ("XSub", "XPub"), ("Dealer", "Router"),
]  # fmt: skip
CALLS = ["list", "generator", "array"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """Each way to use the sender."""
    made = Way(request.param)
    yield made
    made.end()


def sent(socket: Any, call: str, bodies: list[bytes], **more: Any) -> Any:
    """Send them, as that call takes them."""
    if call == "array":
        return socket.send_batch(pa.array(bodies, pa.binary()), **more)
    return socket.send_many(bodies if call == "list" else iter(bodies), **more)


def joined(way: Way, names: tuple[str, str], url: str, stack: ExitStack) -> Any:
    """The sender, which listens, and who receives, by threads; each knows of the other."""
    one = stack.enter_context(way.open(names[0], bind=url))
    topics: dict[str, Any] = {"topics": [""]} if names[1] == "Sub" else {}
    other = stack.enter_context(getattr(mm, names[1])(connect=one.endpoint, **topics))
    if names[1] == "XSub":
        other.subscribe("")
    if names[0] == "XSub":
        way(one.wait_for_peers(timeout=WAIT_S))
    elif names[1] in ("Sub", "XSub"):
        way(one.wait_for_subscribers(timeout=WAIT_S))
    else:
        way(one.wait_for_peers(timeout=WAIT_S))
    return one, other


def check(message: mm.Message, body: bytes) -> None:
    """All that was said is there."""
    assert message == body
    assert (message.key, message.headers) == (b"customer-7", HEADERS)
    assert message.timestamp is not None
    assert message.expires is not None
    assert message.expires - message.timestamp == pytest.approx(60, abs=0.01)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("url", URLS, ids=lambda url: str(url).partition(":")[0])
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_it_comes_with_each_and_with_no_other(
    way: Way, names: tuple[str, str], url: str, call: str
) -> None:
    """Of each role that has them, of each size, between runs that have nothing."""
    bodies = [b"%d" % i + bytes(size) for i, size in enumerate([0, 1, 1_000, 40_000, 300_000] * 4)]
    with ExitStack() as stack:
        one, other = joined(way, names, url, stack)
        assert way(sent(one, call, [b"before"] * 3, timeout=WAIT_S)) == 3
        assert way(sent(one, call, bodies, timeout=WAIT_S, **MORE)) == len(bodies)
        assert way(sent(one, call, [b"after"] * 3, timeout=WAIT_S, key=None)) == 3
        for body in (*[b"before"] * 3, *bodies, *[b"after"] * 3):
            message = other.recv(timeout=WAIT_S)
            if body in (b"before", b"after"):
                assert message == body
                assert (message.key, message.timestamp, message.headers) == (None, None, {})
            else:
                check(message, body)


def test_a_list_has_one_time_and_a_generator_that_of_its_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So what is made late is not over before it is sent."""
    # The machine may be slow; the generator is not, by the clock of the world.
    monkeypatch.setattr("meshmsg._roles.unsent.SLOW_S", math.inf)
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, send_queue_messages=5_000, no_peer="block")
        pull = r.open("Pull", connect=push.endpoint, recv_queue_messages=5_000)
        push.wait_for_peers(timeout=PATIENCE_S)

        def slow() -> Iterator[bytes]:
            for i in range(3):
                yield from [b"%d" % i] * 1_024  # as many as are taken at once
                r.world.run(5)

        assert push.send_many(slow(), ttl=4, timeout=PATIENCE_S) == 3 * 1_024
        times: dict[int, list[float]] = {0: [], 1: [], 2: []}
        for _ in range(3 * 1_024):
            message = pull.recv(timeout=PATIENCE_S)
            assert message.timestamp is not None
            assert message.expires == pytest.approx(message.timestamp + 4, abs=1e-3)
            times[int(message)].append(message.timestamp)
        assert len(set(times[0])) == 1
        assert min(times[1]) >= times[0][0] + 5
        assert min(times[2]) >= min(times[1]) + 5
        assert push.stats().dropped_expired == 0
        push.send_many([b"x"] * 10, timestamp=7, timeout=PATIENCE_S)
        assert {pull.recv(timeout=PATIENCE_S).timestamp for _ in range(10)} == {7.0}


WRONG: list[tuple[dict[str, Any], type[BaseException], str]] = [
    ({"ttl": 0}, mm.UsageError, "ttl"),
    ({"key": 7}, TypeError, "a key is bytes or text"),
    ({"headers": ["a"]}, TypeError, "headers is a mapping"),
    ({"headers": {"a": bytes(16_384)}}, mm.TooLargeError, "16,384"),
    ({"timestamp": "now"}, TypeError, "timestamp"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("more", "kind", "words"), WRONG, ids=str)
def test_what_cannot_go_with_them_is_refused_before_anything_is_taken(
    way: Way, call: str, more: dict[str, Any], kind: type[BaseException], words: str
) -> None:
    """Also if there is nothing to send."""
    with way.open("Push", bind=UP) as push:
        for bodies in ([b"a", b"b"], []):
            with pytest.raises(kind, match=words) as caught:
                way(sent(push, call, bodies, **more))
            assert vars(caught.value)["sent"] == 0
        assert push.stats().sent_messages == 0


@pytest.mark.parametrize("call", CALLS)
def test_a_run_goes_to_the_owner_of_its_key(way: Way, call: str) -> None:
    """All of it, in order; another key's perhaps to another."""
    with way.open("Push", bind=UP, routing="hash") as push, ExitStack() as stack:
        pulls = [stack.enter_context(mm.Pull(connect=push.endpoint)) for _ in range(3)]
        way(push.wait_for_peers(3, timeout=WAIT_S))
        owners = set()
        for key in range(20):
            bodies = [b"%d.%d" % (key, i) for i in range(30)]
            way(sent(push, call, bodies, key=str(key), timeout=WAIT_S))
            wait_until(lambda: any(pull.stats().queued_in_messages == 30 for pull in pulls))
            (owner,) = [pull for pull in pulls if pull.stats().queued_in_messages]
            assert [owner.recv(timeout=WAIT_S) for _ in range(30)] == bodies
            owners.add(owner)
        assert len(owners) == 3


def test_a_peer_that_takes_none_gets_the_bodies(way: Way) -> None:
    """And an event says once that something was left out."""
    with way.open("Push", bind=UP) as push, zmq.Context() as context:
        with context.socket(zmq.PULL) as other:
            other.rcvtimeo = int(WAIT_S * 1000)
            other.connect(push.endpoint)
            way(push.wait_for_peers(timeout=WAIT_S))
            way(push.send_many([b"%d" % i for i in range(50)], **MORE))
            assert [other.recv() for _ in range(50)] == [b"%d" % i for i in range(50)]
            kinds: list[mm.EventKind] = []
            wait_until(
                lambda: (
                    kinds.extend(event.kind for event in push.events())
                    or mm.EventKind.PEER_PLAIN in kinds
                )
            )
            assert kinds.count(mm.EventKind.PEER_PLAIN) == 1


def test_what_goes_with_a_run_is_in_memory_once() -> None:
    """However large it is; it counts for each of them in the limits."""
    many, size = 1_000, 16_000
    with mm.Push(bind=UP, delivery="at_least_once", send_queue_bytes=2**30) as push:
        before = live_bytes()
        push.send_many([b"x"] * many, headers={"a": bytes(size)})
        assert live_bytes() - before < 40 * size
        assert push.stats().queued_out_bytes > many * size
        with mm.Pull(connect=push.endpoint) as pull:
            assert {pull.recv(timeout=WAIT_S).headers["a"] for _ in range(many)} == {bytes(size)}


def test_a_run_that_finds_no_room_is_broken_off_as_any(way: Way) -> None:
    """And goes on with what was not sent."""
    with way.open("Dealer", bind=UP, no_peer="block", send_queue_messages=4) as one:
        with mm.Dealer(connect=one.endpoint, recv_queue_messages=4) as other:
            way(one.wait_for_peers(timeout=WAIT_S))
            left = [b"%d" % i + bytes(200_000) for i in range(60)]
            found: list[bytes] = []
            tries = 0
            while left:
                try:
                    way(one.send_many(left, timeout=0, **MORE))
                    left = []
                except mm.WouldBlockError as error:
                    tries += 1
                    left = vars(error)["unsent"]
                    message = other.recv(timeout=WAIT_S)
                    assert message.key == b"customer-7"
                    found.append(message)
            while len(found) < 60:
                found.append(other.recv(timeout=WAIT_S))
            assert tries > 0
            assert [int(body.rstrip(b"\0")) for body in found] == list(range(60))
