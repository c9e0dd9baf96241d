"""routing=: who gets a message, in worlds that split, delay and cut; what is promised of a key
while workers stay, and as they come and go.

Not here: queues alone (tests/c/test_route.c), calls and words (tests/unit/test_routing.py).
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.sim.scenes import HEALED_WITHIN_S
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S

SEEDS = range(60)
KEYS = 12
STEPS = 150
ROUNDS = 2000
"""Looks at each worker at the end; with a credit of 1 each gives one message."""
CALM = SimFaults(split=0.3, short_write=0.3, eagain=0.2)
CUTS = SimFaults(split=0.3, short_write=0.3, eagain=0.2, reset=0.003)


class Shop:
    """A Push that routes by key, and workers with names of their own or without."""

    def __init__(self, r: Room, dice: random.Random, **options: Any) -> None:
        self.room, self.dice = r, dice
        self.named = dice.random() < 0.5
        self.acked = options.get("delivery") == "at_least_once"
        self.push = r.open("Push", engine=r.hub, bind=UP, routing="hash", **options)
        self.workers: dict[int, Any] = {}
        self.sent: Counter[bytes] = Counter()
        self.seen: defaultdict[tuple[bytes, int], list[int]] = defaultdict(list)
        """By key and worker: the numbers it received, in order."""
        self.done: set[tuple[bytes, int]] = set()
        self.in_hand: list[tuple[int, Any]] = []
        self.unkeyed = 0

    def join(self, **options: Any) -> int:
        """Another worker comes, and is there."""
        number = len(self.workers) and max(self.workers) + 1
        if self.named:
            options["identity"] = b"worker %d" % number
        if self.acked:
            options |= {"ack": "manual", "prefetch": self.dice.choice([1, 3, 50])}
        self.workers[number] = self.room.open("Pull", connect=self.push.endpoint, **options)
        return number

    def meet(self) -> None:
        """All of them are there."""
        self.push.wait_for_peers(len(self.workers), timeout=HEALED_WITHIN_S)

    def leave(self, number: int) -> None:
        """It closes, with what it has in hand."""
        self.in_hand = [held for held in self.in_hand if held[0] != number]
        self.workers.pop(number).close()

    def send(self, key: bytes, size: int = 0) -> bool:
        """The next message of that key, if there is room for it now."""
        body = b"%s %d " % (key, self.sent[key]) + bytes(size)
        try:
            self.push.send(body, key=key, timeout=0)
        except mm.WouldBlockError:
            return False
        self.sent[key] += 1
        return True

    def send_any(self) -> None:
        """Of any key and size, or of none."""
        if self.dice.random() < 0.1:
            try:
                self.push.send(b"none", timeout=0)
                self.unkeyed += 1
            except mm.WouldBlockError:
                pass
        else:
            self.send(b"%d" % self.dice.randrange(KEYS), self.dice.choice([0, 0, 300, 40_000]))

    def take(self, number: int, most: int = 10) -> int:
        """That worker receives a few."""
        try:
            found = self.workers[number].recv_many(most, timeout=0)
        except mm.WouldBlockError:
            return 0
        for message in found:
            if message.key is not None:
                assert message.startswith(message.key + b" ")
                self.seen[message.key, number].append(int(message.split()[1]))
            if self.acked:
                self.in_hand.append((number, message))
            else:
                self.settle(message)
        return len(found)

    def settle(self, message: Any) -> None:
        """It is done."""
        if self.acked:
            message.ack()
        if message.key is None:
            self.unkeyed -= 1
        else:
            self.done.add((message.key, int(message.split()[1])))

    def ack(self, share: float) -> None:
        """Some of what is in hand is done, the oldest of each first."""
        for _ in range(round(len(self.in_hand) * share)):
            self.settle(self.in_hand.pop(0)[1])

    def step(self) -> None:
        """Anything but workers that come or go."""
        draw = self.dice.random()
        if draw < 0.6:
            self.send_any()
        elif draw < 0.85:
            self.take(self.dice.choice(list(self.workers)), self.dice.choice([1, 10]))
            self.ack(self.dice.choice([0.0, 0.5, 1.0]))
        else:
            self.room.world.run(self.dice.choice([0.0, 0.01, 0.3]))

    def finish(self) -> None:
        """No more faults: whoever is there is done with all that comes."""
        self.room.world.heal()
        self.room.world.set_faults(SimFaults())
        self.meet()
        for _ in range(ROUNDS):
            for number in self.workers:
                self.take(number, 1000)
            self.ack(1)
            self.room.world.run(0.1)
            stats = self.push.stats()
            left = stats.queued_out_messages + stats.unacked_messages + max(self.unkeyed, 0)
            if not left and not self.missing():
                return
        raise AssertionError(f"missing: {sorted(self.missing())[:5]}, {self.unkeyed} without a key")

    def missing(self) -> set[tuple[bytes, int]]:
        """What nobody is done with."""
        wanted = {(key, i) for key, count in self.sent.items() for i in range(count)}
        return wanted - self.done

    def owners(self) -> dict[bytes, int]:
        """Who gets each key now, by a message of each."""
        self.finish()
        self.seen.clear()
        for i in range(KEYS):
            while not self.send(b"%d" % i):
                self.finish()
        self.finish()
        self.room.world.set_faults(CALM)
        found = {key: number for key, number in self.seen}
        assert len(found) == len(self.seen) == KEYS  # one worker each
        return found


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
@pytest.mark.parametrize("seed", SEEDS)
def test_while_workers_stay_a_key_is_one_worker_s_and_in_order(seed: int, delivery: str) -> None:
    """Whatever waits, and whatever their credit is."""
    dice = random.Random(seed)
    options = {"send_queue_messages": dice.choice([2, 10, 1000]), "delivery": delivery}
    with room(seed, faults=CALM, buffer_size=dice.choice([512, 65536])) as r:
        shop = Shop(r, dice, **options)
        for _ in range(4):
            shop.join()
        shop.meet()
        for _ in range(STEPS):
            shop.step()
        shop.finish()
        assert len({key for key, _ in shop.seen}) == len(shop.seen)
        for (key, _), numbers in shop.seen.items():
            assert numbers == list(range(shop.sent[key]))
        assert shop.unkeyed == 0
        assert shop.push.stats().dropped == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_as_workers_are_lost_order_holds_and_only_their_keys_move(seed: int) -> None:
    """What a lost one had not done goes to the next one in order, before what is newer."""
    dice = random.Random(seed)
    with room(seed, faults=CALM, buffer_size=dice.choice([512, 65536])) as r:
        shop = Shop(r, dice, delivery="at_least_once", send_queue_messages=dice.choice([5, 100]))
        for _ in range(5):
            shop.join()
        before = shop.owners()
        shop.seen.clear()
        while len(shop.workers) > 1:
            for _ in range(STEPS // 4):
                shop.step()
            lost = dice.choice(list(shop.workers))
            shop.leave(lost)
            for _ in range(STEPS // 4):
                shop.step()
            for numbers in shop.seen.values():
                assert all(a < b for a, b in itertools.pairwise(numbers))
            after = shop.owners()
            for key, number in before.items():
                assert (after[key] == number) == (number != lost)
            before = after
        assert shop.push.stats().dropped == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_becomes_of_workers_nothing_is_lost_and_calm_comes_back(seed: int) -> None:
    """They come, close, and are cut; then each key is one worker's again, and in order."""
    dice = random.Random(seed)
    with room(seed, faults=CUTS, buffer_size=dice.choice([512, 65536])) as r:
        shop = Shop(r, dice, delivery="at_least_once", send_queue_messages=dice.choice([5, 100]))
        for _ in range(2):
            shop.join()
        for _ in range(STEPS):
            shop.step()
            draw = dice.random()
            if draw < 0.03:
                shop.join()
            elif draw < 0.06 and len(shop.workers) > 1:
                shop.leave(dice.choice(list(shop.workers)))
            elif draw < 0.08:
                r.world.reset_all()
        before = shop.owners()
        fresh = shop.join()
        after = shop.owners()
        assert {after[key] for key in before if after[key] != before[key]} <= {fresh}
        if shop.named:
            r.world.reset_all()
            r.world.run(0.01)
            assert shop.owners() == after  # who was cut has its keys back
        assert shop.push.stats().dropped == 0


def test_a_worker_that_is_stuck_stops_no_key_of_another() -> None:
    """Its own wait, up to the limits of a queue, and are refused then."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, routing="hash", delivery="at_least_once",
                      send_queue_messages=20)  # fmt: skip
        pulls = [
            r.open("Pull", connect=push.endpoint, prefetch=5, identity=b"worker %d" % number)
            for number in range(3)
        ]
        push.wait_for_peers(3, timeout=PATIENCE_S)
        refused: set[bytes] = set()
        got: Counter[bytes] = Counter()
        for i in range(3000):
            key = b"%d" % (i % 60)
            try:
                push.send(b"x", key=key, timeout=0)
            except mm.WouldBlockError:
                refused.add(key)
            for pull in pulls[1:]:  # the first one is stuck
                r.world.run(0.01)
                try:
                    got.update(bytes(one.key) for one in pull.recv_many(timeout=0))
                except mm.WouldBlockError:
                    continue
        r.world.run(1)
        assert 0 < len(refused) < 60
        assert refused.isdisjoint(got)
        assert len(refused) + len(got) == 60
        assert set(pulls[0].recv_many(timeout=0)) == {b"x"}


def test_keys_are_spread_evenly() -> None:
    """1,000 keys over 8 workers: each has from half to twice its share."""
    with room() as r:
        push, pulls = r.around("Push", "Pull", 8, routing="hash")
        for i in range(1000):
            push.send(b"x", key=b"customer-%d" % i, timeout=PATIENCE_S)
        r.world.run(1)
        counts = [len(pull.recv_many(1000, timeout=0)) for pull in pulls]
        assert sum(counts) == 1000
        assert 1000 / 8 / 2 < min(counts) <= max(counts) < 1000 / 8 * 2


def test_several_senders_choose_the_same_worker_of_a_name() -> None:
    """Nothing is said between them."""
    with room() as r:
        pushes = [
            r.open("Push", engine=r.world.engine(), bind=UP, routing="hash") for _ in range(3)
        ]
        pulls = [
            r.open("Pull", connect=[push.endpoint for push in pushes], identity=b"w%d" % i)
            for i in range(4)
        ]
        for push in pushes:
            push.wait_for_peers(4, timeout=PATIENCE_S)
            for i in range(100):
                push.send(b"%d" % i, key=b"%d" % i, timeout=PATIENCE_S)
        r.world.run(1)
        got = [Counter(map(bytes, pull.recv_many(1000, timeout=0))) for pull in pulls]
        assert sum(map(len, got)) == 100  # each key at one of them
        assert {count for one in got for count in one.values()} == {3}


@pytest.mark.parametrize("seed", range(20))
def test_the_least_loaded_gets_more_as_it_does_more(seed: int) -> None:
    """A slow worker holds no more than the quick ones, as long as those have credit."""
    dice = random.Random(seed)
    with room(seed, faults=CALM) as r:
        push = r.open("Push", engine=r.hub, bind=UP, routing="least_loaded",
                      delivery="at_least_once")  # fmt: skip
        pulls = [r.open("Pull", connect=push.endpoint, ack="manual") for _ in range(4)]
        push.wait_for_peers(4, timeout=PATIENCE_S)
        r.world.run(1)
        done: Counter[int] = Counter()
        for i in range(400):
            push.send(b"%d" % i, timeout=PATIENCE_S)
            r.world.run(0.05)
            loads = [peer.unacked_messages + peer.queued_out_messages for peer in push.peers()]
            for number in range(1, 4):  # the first does nothing
                found: list[Any] = []
                if dice.random() < 0.9:
                    try:
                        found = pulls[number].recv_many(timeout=0)
                    except mm.WouldBlockError:
                        continue
                for message in found:
                    message.ack()
                    done[number] += 1
            assert max(loads) <= 20
        assert sum(done.values()) > 350
        assert min(done.values()) > 80


def test_what_waits_for_a_worker_goes_out_as_the_socket_closes() -> None:
    """Within its linger, as that worker takes it, and in order."""
    with room() as r:
        options: dict[str, Any] = {"routing": "hash", "delivery": "at_least_once"}
        push = r.open("Push", engine=r.hub, bind=UP, linger=30, **options)
        pulls = [
            r.open("Pull", connect=push.endpoint, prefetch=2, identity=b"worker %d" % number)
            for number in range(2)
        ]
        push.wait_for_peers(2, timeout=PATIENCE_S)
        for i in range(60):
            push.send(b"%d" % i, key=b"%d" % (i % 6), timeout=PATIENCE_S)
        push.close()
        got: list[int] = []
        for _ in range(60):
            for pull in pulls:
                r.world.run(0.01)
                try:
                    got += map(int, pull.recv_many(timeout=0))
                except mm.WouldBlockError:
                    continue
        for key in range(6):
            assert [i for i in got if i % 6 == key] == list(range(key, 60, 6))


def test_a_worker_that_stops_receiving_leaves_its_keys_to_others() -> None:
    """What was on its way to it comes; what waited for it goes to the other one."""
    with room() as r:
        options: dict[str, Any] = {"routing": "hash", "delivery": "at_least_once"}
        push = r.open("Push", engine=r.hub, bind=UP, **options)
        pulls = [r.open("Pull", connect=push.endpoint, ack="manual", prefetch=3) for _ in range(2)]
        push.wait_for_peers(2, timeout=PATIENCE_S)
        for i in range(80):
            push.send(b"%d" % i, key=b"%d" % (i % 8), timeout=PATIENCE_S)
        r.world.run(1)
        pulls[0].stop_receiving()
        done: Counter[int] = Counter()
        for _ in range(100):
            for pull in pulls:
                try:
                    for message in pull.recv_many(timeout=0):
                        done[int(message)] += message.ack()
                except (mm.WouldBlockError, mm.ClosedError):
                    pass
            r.world.run(0.1)
        assert done == Counter(range(80))
        assert push.stats().dropped == 0
