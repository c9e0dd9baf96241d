"""What becomes of a message: acknowledged, expired, handed out too often; in worlds that cut, lose
and reorder. Each has one fate, its receipt tells it, and what went with it stays with it.

Not here: at least once alone (test_delivery_worlds.py), threads and loops
(tests/unit/test_receipts.py, test_dead_letters.py).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.sim.scenes import HEALED_WITHIN_S
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S

SEEDS = range(int(os.environ.get("MESHMSG_SIM_SEEDS", "1000")))
MESSAGES = 80
STEPS = 60
ATTEMPTS = 3
FAULTS = SimFaults(split=0.3, short_write=0.3, eagain=0.2, reset=0.003)


class Fates:
    """A Push whose messages may expire or be given up, and receivers that come and go."""

    def __init__(self, r: Room, dice: random.Random) -> None:
        self.room, self.dice = r, dice
        routing = dice.choice(["round_robin", "least_loaded", "hash"])
        self.levels = dice.choice([1, 3]) if routing != "hash" else 1
        self.push = r.open(
            "Push",
            engine=r.hub,
            bind=UP,
            delivery="at_least_once",
            max_attempts=ATTEMPTS,
            dead_letter="keep",
            routing=routing,
            priorities=self.levels,
            ack_timeout=dice.choice([None, 0.3, 2]),
        )
        self.pulls: list[Any] = []
        self.receipts: dict[bytes, mm.Receipt | None] = {}
        self.runs: list[tuple[list[bytes], mm.Receipts]] = []
        self.headers: dict[bytes, dict[str, str | bytes]] = {}
        self.ends: dict[bytes, float] = {}
        self.acked: Counter[bytes] = Counter()
        self.had: Counter[bytes] = Counter()
        self.dead: dict[bytes, str] = {}
        self.due: dict[bytes, float] = {}
        for _ in range(2):
            self.join()

    def join(self) -> None:
        """Another receiver comes."""
        prefetch = self.dice.choice([1, 3, 50])
        options: dict[str, Any] = {"ack": "manual", "prefetch": prefetch}
        self.pulls.append(self.room.open("Pull", connect=self.push.endpoint, **options))

    def send(self) -> None:
        """A message, with whatever goes with it, and perhaps a receipt."""
        body = b"%d." % len(self.receipts) + bytes(self.dice.choice([0, 10, 5_000, 40_000]))
        more: dict[str, Any] = {}
        if self.dice.random() < 0.7:
            more["headers"] = {"n": str(self.dice.random()), "raw": self.dice.randbytes(20)}
        if self.dice.random() < 0.5:
            more["key"] = b"%d" % self.dice.randrange(5)
        if self.dice.random() < 0.3:
            more["ttl"] = self.dice.choice([0.5, 3, 30])
        if self.dice.random() < 0.2:
            more["delay"] = self.dice.choice([0.01, 0.4, 2])
        if "delay" in more and more.get("ttl", 60) <= more["delay"]:
            del more["ttl"]
        if self.dice.random() < 0.5:
            more["priority"] = self.dice.randrange(self.levels)
        self.due[body] = self.now() + more.get("delay", 0)
        try:
            receipt = self.push.send(body, timeout=0, confirm=self.dice.random() < 0.5, **more)
        except mm.WouldBlockError:
            return
        self.receipts[body] = receipt
        self.headers[body] = more.get("headers", {})

    def now(self) -> float:
        """Seconds in that world."""
        return self.room.world.now

    def look(self, message: Any) -> None:
        """It is whole, and not too early."""
        assert message.headers == self.headers[message]
        assert self.now() >= self.due.get(message, 0) - 0.001
        assert 1 <= message.attempt <= ATTEMPTS

    def send_several(self) -> None:
        """A run, with the same for each of them, and receipts."""
        first = len(self.receipts)
        bodies = [b"%d.run" % (first + i) for i in range(self.dice.choice([1, 4, 40]))]
        more: dict[str, Any] = {"headers": {"run": str(first)}, "key": b"%d" % first}
        if self.dice.random() < 0.3:
            more["ttl"] = self.dice.choice([0.5, 3, 30])
        try:
            receipts = self.push.send_many(bodies, timeout=0, confirm=True, **more)
        except mm.WouldBlockError as error:
            receipts = vars(error)["receipts"]
        self.runs.append((bodies[: len(receipts)], receipts))
        for body, receipt in zip(bodies, receipts, strict=False):
            self.receipts[body] = receipt
            self.headers[body] = more["headers"]

    def take(self) -> None:
        """Receive a few, and be done with them, give them back, or keep them until the end."""
        pull = self.dice.choice(self.pulls)
        try:
            found = pull.recv_many(self.dice.choice([1, 5]), timeout=0)
        except mm.WouldBlockError:
            return
        for message in found:
            self.look(message)
            self.had[message] += 1
            what = self.dice.random()
            if what < 0.6 and message.ack():
                self.acked[message] += 1
            elif what < 0.75:
                message.nack()
            elif what < 0.85:
                message.nack(delay=self.dice.choice([0.1, 1]))  # its NACK may be lost
            else:
                message.extend()

    def leave(self) -> None:
        """A receiver goes."""
        self.pulls.pop(self.dice.randrange(len(self.pulls))).close()
        self.join()

    def bury(self) -> None:
        """Take the dead letters there are."""
        for letter in self.push.dead_letters():
            assert bytes(letter) not in self.dead
            assert letter.headers == self.headers[letter]
            self.dead[bytes(letter)] = letter.reason

    def step(self) -> None:
        """Anything."""
        acts = [self.send] * 4 + [self.take] * 5 + [self.send_several, self.leave, self.bury]
        self.dice.choice(acts)()
        self.room.world.run(self.dice.choice([0.0, 0.01, 0.2]))

    def finish(self) -> None:
        """No more faults: whoever is there is done with all that comes."""
        self.room.world.set_faults(SimFaults())
        self.room.world.run(HEALED_WITHIN_S)
        for pull in self.pulls:
            pull.close()
        self.pulls = []
        self.join()
        for _ in range(3 * len(self.receipts)):
            try:
                message = self.pulls[0].recv(timeout=PATIENCE_S)
            except mm.TimedOutError:
                break
            assert message.headers == self.headers[message]
            self.acked[message] += message.ack()
        assert self.push.stats().delayed_messages == 0
        self.push.drain(timeout=PATIENCE_S)
        self.bury()


@pytest.mark.parametrize("seed", SEEDS)
def test_each_message_has_one_fate_and_its_receipt_tells_it(seed: int) -> None:
    """Acknowledged, or a dead letter that says why; and nothing is left in the Push."""
    dice = random.Random(seed)
    with room(seed, latency=(0.0, dice.choice([0.0, 0.05])), faults=FAULTS) as r:
        fates = Fates(r, dice)
        for _ in range(STEPS + MESSAGES):
            fates.step()
        fates.finish()
        stats = fates.push.stats()
        waiting = stats.queued_out_messages, stats.unacked_messages, stats.delayed_messages
        assert waiting == (0, 0, 0)
        assert stats.dropped == 0
        assert stats.dead_messages == len(fates.dead)
        for body, receipt in fates.receipts.items():
            known = fates.dead.get(body)
            assert known is not None or fates.acked[body] >= 1, body[:10]
            if receipt is not None:
                assert receipt.outcome == (known or "acked"), body[:10]
        for bodies, receipts in fates.runs:
            lost = {i: fates.dead[b] for i, b in enumerate(bodies) if b in fates.dead}
            if lost:
                with pytest.raises(mm.UndeliveredError) as caught:
                    receipts.wait(timeout=0)
                assert caught.value.undelivered == lost
            else:
                receipts.wait(timeout=0)
        for body, reason in fates.dead.items():
            assert reason == "expired" or fates.had[body] >= 0
        assert stats.sent_messages == stats.acked_messages + stats.dead_messages


def test_what_expires_in_a_queue_that_is_stuck_makes_room() -> None:
    """A receiver without credit; who waits to send is woken."""
    with room() as r:
        options: dict[str, Any] = {"delivery": "at_least_once", "send_queue_messages": 4}
        push = r.open("Push", engine=r.hub, bind=UP, **options)
        pull = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        push.send(b"first", timeout=PATIENCE_S)
        assert pull.recv(timeout=PATIENCE_S) == b"first"
        sent = 0
        with pytest.raises(mm.WouldBlockError):
            while True:
                push.send(b"%d" % sent, ttl=2, timeout=0)
                sent += 1
        push.send(b"later", timeout=PATIENCE_S)
        assert push.stats().dropped_expired == sent > 0


@pytest.mark.parametrize("role", ["Push", "Dealer", "Pair", "Pub", "Bus", "Req"])
def test_nothing_is_sent_late(role: str) -> None:
    """By each role, while its peer takes nothing; what has no end goes when it does."""
    peers = {"Push": "Pull", "Pub": "Sub", "Req": "Rep"}
    with room(buffer_size=2_000) as r:
        more: dict[str, Any] = {"no_peer": "block"} if role in ("Push", "Dealer", "Pair") else {}
        one = r.open(role, engine=r.hub, bind=UP, **more)
        peer_role = peers.get(role, role)
        topics: dict[str, Any] = {"topics": [""]} if peer_role == "Sub" else {}
        other = r.open(
            peer_role, connect=one.endpoint, recv_queue_messages=1, heartbeat_interval=0, **topics
        )
        one.wait_for_peers(timeout=PATIENCE_S)
        if role == "Pub":
            one.wait_for_subscribers(timeout=PATIENCE_S)
        if role == "Req":
            for _ in range(3):  # these fill what lies between
                with pytest.raises(mm.TimedOutError):
                    one.request(bytes(10_000), timeout=1)
            with pytest.raises(mm.TimedOutError):
                one.request(b"late", ttl=0.5, timeout=3)
        else:
            for i in range(8):
                one.send(b"%d" % i + bytes(1_000), timeout=PATIENCE_S)
            one.send(b"late", ttl=0.5, timeout=PATIENCE_S)
            one.send(b"good", timeout=PATIENCE_S)
        r.world.run(2)
        assert one.stats().dropped_expired == 1
        found: list[bytes] = []
        while True:
            try:
                found.append(bytes(other.recv(timeout=PATIENCE_S)))
            except mm.TimedOutError:
                break
        assert b"late" not in found
        assert role == "Req" or found[-1] == b"good"


def test_of_a_run_that_expires_in_the_middle_each_receipt_tells() -> None:
    """What a receiver had in time is acknowledged; the rest is over, and is a dead letter."""
    with room() as r:
        options: dict[str, Any] = {"delivery": "at_least_once", "dead_letter": "keep"}
        push = r.open("Push", engine=r.hub, bind=UP, **options)
        pull = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        bodies = [b"%d" % i for i in range(10)]
        receipts = push.send_many(bodies, confirm=True, ttl=2, key="k", timeout=PATIENCE_S)
        for _ in range(3):
            assert pull.recv(timeout=PATIENCE_S).ack()
        late = pull.recv(timeout=PATIENCE_S)
        r.world.run(3)
        assert receipts.tally() == {
            **{"acked": 3, "expired": 6, "open": 1},
            **dict.fromkeys(["attempts", "unknown", "dropped"], 0),
        }
        with pytest.raises(mm.WouldBlockError):
            receipts.wait(timeout=0)
        assert late.ack()
        with pytest.raises(
            mm.UndeliveredError, match=r"6 of 10 .* index 4: its time was"
        ) as caught:
            receipts.wait(timeout=PATIENCE_S)
        assert caught.value.undelivered == dict.fromkeys(range(4, 10), "expired")
        letters = push.dead_letters()
        assert [(bytes(letter), letter.key) for letter in letters] == [
            (body, b"k") for body in bodies[4:]
        ]


def test_a_receiver_that_leaves_in_the_middle_of_a_run_is_not_seen_in_its_receipts() -> None:
    """Others get what it had, and are done with it; also what it had worked on and not told."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        first = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=8)
        receipts = push.send_many([b"%d" % i for i in range(30)], confirm=True, headers={"a": "b"})
        for i in range(6):
            message = first.recv(timeout=PATIENCE_S)
            assert i % 2 or message.ack()
        second = r.open("Pull", connect=push.endpoint, ack="manual")
        first.close()
        for _ in range(27):
            message = second.recv(timeout=PATIENCE_S)
            assert message.headers == {"a": "b"}
            assert message.ack()
        receipts.wait(timeout=PATIENCE_S)
        assert receipts.tally()["acked"] == 30


def test_who_cannot_acknowledge_is_known_before_all_is_written() -> None:
    """Its receipt is told while the next message is still on its way."""
    with room(buffer_size=2_000) as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        where = f"sp+{push.endpoint}"
        pull = r.open("Pull", connect=where, recv_queue_messages=1, heartbeat_interval=0)
        push.wait_for_peers(timeout=PATIENCE_S)
        receipts = push.send_many([bytes(20_000)] * 8, confirm=True, timeout=PATIENCE_S)
        with pytest.raises(mm.UndeliveredError, match="cannot acknowledge"):
            receipts[0].wait(timeout=PATIENCE_S)
        assert push.stats().queued_out_messages > 0
        for _ in range(8):
            pull.recv(timeout=PATIENCE_S)
        with pytest.raises(mm.UndeliveredError, match="8 of 8"):
            receipts.wait(timeout=PATIENCE_S)


def test_a_sweep_gets_to_the_end_of_a_long_queue() -> None:
    """Longer than what one looks at; every second message expires."""
    with room() as r:
        many = 40_000
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once",
                      send_queue_messages=many, dead_letter="keep")  # fmt: skip
        for i in range(many):
            if i % 2:
                push.send(b"x", timeout=0, ttl=1)
            else:
                push.send(b"y", timeout=0)
        r.world.run(8)
        stats = push.stats()
        assert (stats.queued_out_messages, stats.dead_messages) == (many // 2, many // 2)
        assert len(push.dead_letters(10)) == 10


def test_what_comes_back_goes_out_before_what_waits() -> None:
    """Given back alone, and with a receiver that closes: in the order it had."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        push.send_many([b"%d" % i for i in range(20)])
        first = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        assert first.recv(timeout=PATIENCE_S).nack()
        assert first.recv(timeout=PATIENCE_S) == b"0"
        first.close()
        several = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=4)
        assert several.recv(timeout=PATIENCE_S) == b"0"
        several.close()
        last = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        found = []
        for _ in range(20):
            message = last.recv(timeout=PATIENCE_S)
            found.append(int(message))
            assert message.ack()
        assert found == list(range(20))


def test_what_was_begun_and_expired_since_goes_to_nobody_else() -> None:
    """Its receiver is lost in the midst of it, long after; nothing else is sent meanwhile."""
    with room(buffer_size=2_000) as r:
        options: dict[str, Any] = {"delivery": "at_least_once", "dead_letter": "keep"}
        push = r.open("Push", engine=r.hub, bind=UP, **options)
        pull = r.open("Pull", connect=push.endpoint, recv_queue_messages=1, heartbeat_interval=0)
        push.wait_for_peers(timeout=PATIENCE_S)
        push.send(b"first", timeout=PATIENCE_S)
        receipt = push.send(bytes(100_000), ttl=0.5, confirm=True, timeout=PATIENCE_S)
        r.world.run(3)
        pull.close()
        r.world.run(3)
        other = r.open("Pull", connect=push.endpoint)
        assert other.recv(timeout=PATIENCE_S) == b"first"
        with pytest.raises(mm.TimedOutError):
            other.recv(timeout=PATIENCE_S)
        assert receipt.outcome in ("acked", "expired")
        assert len(push.dead_letters()) == (receipt.outcome == "expired")


def test_with_nobody_there_the_oldest_is_dropped_where_that_is_asked_for() -> None:
    """The newest are those that wait."""
    with room() as r:
        options: dict[str, Any] = {"overflow": "drop_oldest", "send_queue_messages": 2}
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once", **options)
        for i in range(5):
            push.send(b"%d" % i)
        pull = r.open("Pull", connect=push.endpoint)
        assert [pull.recv(timeout=PATIENCE_S) for _ in range(2)] == [b"3", b"4"]
        assert push.stats().dropped == 3


def test_a_drain_tells_of_what_expired() -> None:
    """Also of what was kept as a dead letter."""
    for place in (None, "keep"):
        with room() as r:
            push = r.open(
                "Push", engine=r.hub, bind=UP, delivery="at_least_once", dead_letter=place
            )
            push.send(b"x", ttl=1)
            r.world.run(2)
            report = push.drain(timeout=PATIENCE_S)
            assert report.dropped == 1
            with pytest.raises(mm.MeshError, match="1 dropped"):
                report.raise_for_loss()
