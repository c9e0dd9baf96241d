"""The books of a work queue, without sockets: nothing is lost, nobody is starved."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from meshmsg.patterns.workqueue._ledger import HAD_MAX, WINDOW_MAX, Batch, Ledger

LEASE = 10.0


def filled(count: int, *, batch: int = 10, batch_bytes: int = 1 << 20) -> Ledger:
    """A ledger with `count` records in it."""
    ledger = Ledger(batch_messages=batch, batch_bytes=batch_bytes, lease=LEASE)
    for number in range(count):
        assert ledger.put(b"%d" % number) == number
    return ledger


def numbers(out: list[tuple[bytes, Batch]]) -> list[tuple[bytes, int]]:
    """Who got which batch."""
    return [(worker, batch.number) for worker, batch in out]


def test_a_batch_holds_consecutive_records_and_says_which() -> None:
    """Batches are cut in order, each with the sequence of its first record."""
    ledger = filled(25)
    ledger.ask(b"a", 5, [], 0.0)
    batches = [batch for _, batch in ledger.assign(0.0)]
    assert [(one.first_sequence, len(one.items)) for one in batches] == [(0, 10), (10, 10), (20, 5)]
    assert [item for one in batches for item in one.items] == [b"%d" % n for n in range(25)]
    ledger.check()


def test_no_worker_holds_more_than_it_asked_for() -> None:
    """The window is a limit, and asking again does not add to it."""
    ledger = filled(100)
    ledger.ask(b"a", 2, [], 0.0)
    ledger.ask(b"a", 2, [], 0.0)
    assert len(ledger.assign(0.0)) == 2
    ledger.ask(b"a", 2, [], 0.0)
    assert ledger.assign(0.0) == []
    ledger.ask(b"a", 2, [0], 0.0)
    assert numbers(ledger.assign(0.0)) == [(b"a", 2)]


def test_a_window_has_an_upper_limit() -> None:
    """A worker that asks for everything gets the limit, and no more."""
    ledger = filled(WINDOW_MAX + 5, batch=1)
    ledger.ask(b"greedy", 2**32 - 1, [], 0.0)
    assert len(ledger.assign(0.0)) == WINDOW_MAX


def test_workers_are_served_in_turn() -> None:
    """With less work than wishes everybody gets some: a greedy worker starves nobody."""
    ledger = filled(30)
    for worker in (b"a", b"b", b"c"):
        ledger.ask(worker, 10, [], 0.0)
    assert [worker for worker, _ in ledger.assign(0.0)] == [b"a", b"b", b"c"]


def test_a_batch_is_limited_in_bytes_too() -> None:
    """A batch ends before the record that would make it too big; a huge record goes alone."""
    ledger = Ledger(batch_messages=10, batch_bytes=10, lease=LEASE)
    for size in (4, 4, 4, 99, 1):
        ledger.put(b"x" * size)
    ledger.ask(b"a", 9, [], 0.0)
    sizes = [[len(item) for item in batch.items] for _, batch in ledger.assign(0.0)]
    assert sizes == [[4, 4], [4], [99], [1]]


def test_batches_of_a_lost_worker_go_out_again_first() -> None:
    """What a lost worker held goes to the next one, as the same batch, before newer records."""
    ledger = filled(30)
    ledger.ask(b"a", 1, [], 0.0)
    ((_, lost),) = ledger.assign(0.0)
    ledger.worker_gone(b"a")
    ledger.check()
    ledger.ask(b"b", 1, [], 0.0)
    ((worker, again),) = ledger.assign(0.0)
    assert (worker, again.number, again.items, again.attempt) == (b"b", 0, lost.items, 2)
    stats = ledger.stats(0.0)
    assert (stats.handed_out, stats.handed_out_again, stats.workers_lost) == (20, 10, 1)


def test_an_overdue_batch_stays_with_its_worker_until_another_has_room_for_it() -> None:
    """At the lease and not before others may take it; it never goes out to who has it."""
    ledger = filled(20)
    ledger.ask(b"a", 1, [], 0.0)
    ((_, batch),) = ledger.assign(0.0)
    ledger.hold(b"a", [0], [], 5.0)  # begun only now
    ledger.expire(5.0 + LEASE - 0.001)
    ledger.ask(b"b", 1, [], 1.0)
    assert numbers(ledger.assign(5.0 + LEASE - 0.001)) == [(b"b", 1)]
    ledger.expire(5.0 + LEASE)
    assert ledger.assign(5.0 + LEASE) == []  # b is busy, and a has it
    assert (ledger.stats(0.0).leased, ledger.stats(0.0).handed_out_again) == (20, 0)
    ledger.ask(b"b", 1, [1], 5.0 + LEASE)
    assert numbers(ledger.assign(5.0 + LEASE)) == [(b"b", 0)]
    assert ledger.taken() == [(b"a", 0)]
    assert (ledger.taken(), batch.attempt, ledger.stats(0.0).handed_out_again) == ([], 2, 10)
    ledger.check()


def test_a_slow_worker_alone_gets_nothing_twice() -> None:
    """Its batches take longer than the lease, one of them waiting meanwhile: each goes out once."""
    ledger = filled(100)
    ledger.ask(b"a", 2, [], 0.0)
    handed = numbers(ledger.assign(0.0))
    now = 0.0
    for number in range(10):
        ledger.hold(b"a", [number], [n for _, n in handed if n > number], now)
        for _ in range(4):
            now += LEASE * 0.4
            ledger.expire(now)
            handed += numbers(ledger.assign(now))
        ledger.ask(b"a", 2, [number], now)
        handed += numbers(ledger.assign(now))
    assert handed == [(b"a", n) for n in range(10)]
    assert ledger.stats(now).handed_out == ledger.stats(now).acknowledged == 100
    ledger.check()


def test_progress_keeps_a_batch_and_all_that_waits_behind_it() -> None:
    """A worker that shows it in time loses nothing, however long it takes and whoever waits."""
    ledger = filled(20)
    ledger.ask(b"a", 2, [], 0.0)
    ledger.assign(0.0)
    ledger.ask(b"idle", 2, [], 0.0)
    for now in (8.0, 16.0, 24.0, 32.0):
        ledger.hold(b"a", [0], [1], now)
        ledger.expire(now + LEASE - 0.001)
        assert ledger.assign(now) == []
    assert ledger.stats(40.0).stalled_seconds == 8.0
    ledger.expire(32.0 + LEASE)
    assert numbers(ledger.assign(42.0)) == [(b"idle", 0), (b"idle", 1)]


def test_a_batch_that_only_waits_at_its_worker_has_no_lease() -> None:
    """However long the one before it takes; when that is done, it is to be begun."""
    ledger = filled(20)
    ledger.ask(b"a", 2, [], 0.0)
    ledger.assign(0.0)
    ledger.ask(b"idle", 2, [], 0.0)
    for now in (0.0, LEASE * 0.9, LEASE * 1.8):
        ledger.hold(b"a", [0], [1], now)
    ledger.ask(b"a", 1, [0], LEASE * 2.7)  # begins the next one, and says so later
    ledger.expire(LEASE * 3.6)
    assert ledger.assign(LEASE * 3.6) == []
    ledger.hold(b"a", [1], [], LEASE * 3.6)
    ledger.expire(LEASE * 4.5)
    assert ledger.assign(LEASE * 4.5) == []
    ledger.expire(LEASE * 4.6)
    assert numbers(ledger.assign(LEASE * 4.6)) == [(b"idle", 1)]


def test_a_worker_that_hangs_before_it_begins_has_a_lease_too() -> None:
    """It handed back what it had begun, and never came for what was ahead."""
    ledger = filled(20)
    ledger.ask(b"a", 2, [], 0.0)
    ledger.assign(0.0)
    ledger.hold(b"a", [0], [1], 1.0)
    ledger.retry(b"a", [0], 0.0, 2.0)
    ledger.ask(b"idle", 2, [], 2.0)
    assert numbers(ledger.assign(2.0)) == [(b"a", 0)]
    assert ledger.stats(5.0).stalled_seconds == 3.0
    ledger.expire(2.0 + LEASE)
    assert numbers(ledger.assign(2.0 + LEASE)) == [(b"idle", 1), (b"idle", 0)]


def test_when_another_was_first_with_a_batch_its_worker_is_to_begin_the_next() -> None:
    """Or what is ahead there would have no lease, however long its worker hangs."""
    ledger = filled(20)
    ledger.ask(b"slow", 1, [], 0.0)
    ledger.assign(0.0)
    ledger.ask(b"b", 2, [], LEASE)
    ledger.expire(LEASE)
    assert numbers(ledger.assign(LEASE)) == [(b"b", 0), (b"b", 1)]
    ledger.hold(b"b", [0], [1], LEASE)
    ledger.ask(b"slow", 0, [0], LEASE + 1)
    assert ledger.stats(LEASE + 5).stalled_seconds == 4.0
    ledger.ask(b"idle", 2, [], LEASE + 1)
    ledger.expire(LEASE * 2 + 1)
    assert numbers(ledger.assign(LEASE * 2 + 1)) == [(b"idle", 1)]


def test_who_never_had_a_batch_can_neither_finish_nor_claim_it() -> None:
    """Whether it is leased, waits to go out again, or is delayed; it is told that it has it not."""
    ledger = filled(30)
    ledger.ask(b"a", 3, [], 0.0)
    ledger.assign(0.0)
    ledger.retry(b"a", [1], 0.0, 0.0)
    ledger.retry(b"a", [2], 5.0, 0.0)
    ledger.ask(b"liar", 0, [0, 1, 2], 0.0)
    ledger.hold(b"liar", [0, 1], [2], 0.0)
    ledger.check()
    stats = ledger.stats(0.0)
    assert (stats.acknowledged, stats.late, stats.malformed, stats.leased) == (0, 0, 3, 10)
    assert ledger.taken() == [(b"liar", 0), (b"liar", 1), (b"liar", 2)]


def test_a_batch_remembers_the_last_that_had_it() -> None:
    """A batch that kills its workers does not grow by their names."""
    ledger = filled(1)
    for n in range(HAD_MAX + 1):
        ledger.ask(b"%d" % n, 1, [], 0.0)
        assert len(ledger.assign(0.0)) == 1
        ledger.worker_gone(b"%d" % n)
    ledger.ask(b"0", 0, [0], 0.0)
    assert (ledger.stats(0.0).acknowledged, ledger.stats(0.0).malformed) == (0, 1)
    ledger.ask(b"1", 0, [0], 0.0)
    assert (ledger.stats(0.0).acknowledged, ledger.stats(0.0).late) == (1, 1)


def test_a_batch_handed_back_again_and_again_waits_as_long_as_was_said_last() -> None:
    """And what was said before takes no memory."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [], 0.0)
    ledger.assign(0.0)
    for n in range(1000):
        ledger.retry(b"a", [0], 1.0 + n, 0.0)
        ledger.hold(b"a", [], [0], 0.0)  # claims it again, as if that had been lost on its way
        ledger.check()
    ledger.retry(b"a", [0], 5000.0, 0.0)
    assert len(ledger._due) < 100
    assert ledger.assign(4999.0) == []
    assert numbers(ledger.assign(5000.0)) == [(b"a", 0)]


def test_without_a_lease_only_the_end_of_a_worker_takes_what_it_has() -> None:
    """However long it takes; how long it has been is told."""
    ledger = Ledger(batch_messages=10, batch_bytes=1 << 20, lease=None)
    ledger.put(b"x")
    ledger.ask(b"a", 1, [], 0.0)
    ledger.assign(0.0)
    ledger.ask(b"idle", 1, [], 0.0)
    ledger.expire(1e9)
    assert ledger.assign(1e9) == []
    assert ledger.stats(1e9).stalled_seconds == 1e9
    ledger.worker_gone(b"a")
    assert numbers(ledger.assign(1e9)) == [(b"idle", 0)]


def test_a_worker_of_the_first_version_begins_what_it_can() -> None:
    """It does not say so: the first batch counts from its lease, the next from the ack before."""
    ledger = filled(20)
    ledger.ask(b"old", 2, [], 0.0)
    ledger.assign(0.0)
    ledger.ask(b"idle", 2, [], 0.0)
    ledger.ask(b"old", 2, [0], LEASE - 1)
    ledger.expire(LEASE * 2 - 1.001)
    assert ledger.assign(LEASE * 2 - 1.001) == []
    ledger.expire(LEASE * 2 - 1)
    assert numbers(ledger.assign(LEASE * 2 - 1)) == [(b"idle", 1)]


def test_a_silent_worker_gets_nothing_until_it_shows_that_it_lives() -> None:
    """It keeps its place; when it asks, what was not taken meanwhile is its again."""
    ledger = filled(30)
    ledger.ask(b"a", 2, [], 0.0)
    ledger.assign(0.0)
    ledger.expire(LEASE)
    ledger.ask(b"a", 3, [], LEASE)
    assert numbers(ledger.assign(LEASE)) == [(b"a", 2)]
    ledger.ask(b"idle", 3, [], LEASE)
    ledger.expire(LEASE * 2 - 0.001)
    assert ledger.assign(LEASE * 2 - 0.001) == []


def test_a_worker_that_was_thought_lost_keeps_what_nobody_took() -> None:
    """Its connection ended, its process did not: what another has it is told, the rest is its."""
    ledger = filled(30)
    ledger.ask(b"a", 3, [], 0.0)
    ledger.assign(0.0)
    ledger.worker_gone(b"a")
    ledger.ask(b"b", 1, [], 0.0)
    assert numbers(ledger.assign(0.0)) == [(b"b", 0)]
    ledger.hold(b"a", [0], [1, 2], 1.0)
    ledger.check()
    assert ledger.taken() == [(b"a", 0)]
    assert ledger.assign(1.0) == []
    assert (ledger.stats(1.0).leased, ledger.stats(1.0).handed_out_again) == (30, 30)
    ledger.ask(b"a", 3, [1, 2], 2.0)
    assert (ledger.stats(2.0).acknowledged, ledger.stats(2.0).late) == (20, 0)


def test_what_a_worker_claims_to_hold_and_never_was_is_nonsense() -> None:
    """Counted, and nothing is leased for it."""
    ledger = filled(10)
    ledger.hold(b"a", [5], [2**64 - 1], 0.0)
    assert (ledger.stats(0.0).malformed, ledger.taken(), ledger.stats(0.0).leased) == (2, [], 0)


def test_a_batch_handed_back_goes_out_again_before_new_ones_and_after_its_delay() -> None:
    """By whoever holds it, and by nobody else; the attempt counts up."""
    ledger = filled(30)
    ledger.ask(b"a", 2, [], 0.0)
    ledger.assign(0.0)
    ledger.retry(b"b", [0], 0.0, 0.0)  # it has it not
    assert ledger.stats(0.0).handed_back == 0
    ledger.retry(b"a", [0], 5.0, 1.0)
    ledger.check()
    assert (ledger.stats(1.0).handed_back, ledger.stats(1.0).handed_out_again) == (10, 0)
    assert numbers(ledger.assign(1.0)) == [(b"a", 2)]
    ledger.ask(b"a", 2, [1, 2], 5.999)
    ledger.finished = True
    assert ledger.assign(5.999) == []
    assert not ledger.done
    ((worker, batch),) = ledger.assign(6.0)
    assert (worker, batch.number, batch.attempt) == (b"a", 0, 2)
    ledger.retry(b"a", [0], 0.0, 6.0)
    assert numbers(ledger.assign(6.0)) == [(b"a", 0)]
    ledger.ask(b"a", 2, [0], 6.0)
    assert ledger.done
    assert ledger.stats(6.0).acknowledged == 30


def test_a_batch_that_could_not_be_sent_was_not_handed_out() -> None:
    """It counts nowhere, keeps its attempt, and does not go to that worker until it asks."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [], 0.0)
    ((_, batch),) = ledger.assign(0.0)
    ledger.unreached(batch.number)
    ledger.check()
    stats = ledger.stats(0.0)
    assert (stats.handed_out, stats.handed_out_again, stats.waiting) == (0, 0, 10)
    assert ledger.assign(0.0) == []
    ledger.ask(b"a", 1, [], 0.0)
    ((_, batch),) = ledger.assign(0.0)
    assert batch.attempt == 1


def test_a_late_acknowledgement_still_counts_once() -> None:
    """Who lost a batch and is done with it first is counted, and who has it now is told."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [], 0.0)
    ledger.assign(0.0)
    ledger.ask(b"b", 1, [], 0.0)
    ledger.expire(LEASE)
    assert numbers(ledger.assign(LEASE)) == [(b"b", 0)]
    assert ledger.taken() == [(b"a", 0)]
    ledger.ask(b"a", 1, [0], LEASE)
    ledger.check()
    assert (ledger.taken(), ledger.assign(LEASE)) == ([(b"b", 0)], [])
    stats = ledger.stats(LEASE)
    assert (stats.acknowledged, stats.late, stats.repeated) == (10, 10, 0)
    ledger.ask(b"b", 1, [0], LEASE)
    assert ledger.stats(LEASE).repeated == 10


def test_a_batch_that_waits_to_go_out_again_may_still_be_acknowledged() -> None:
    """By the worker that was lost with it, also while its delay lasts: it is not handed out."""
    ledger = filled(20)
    ledger.ask(b"a", 2, [], 0.0)
    ledger.assign(0.0)
    ledger.retry(b"a", [1], 100.0, 0.0)
    ledger.worker_gone(b"a")
    ledger.ask(b"a", 2, [0, 1], 1.0)
    ledger.check()
    assert ledger.assign(200.0) == []
    assert (ledger.stats(200.0).acknowledged, ledger.stats(200.0).late) == (20, 20)


def test_work_done_by_two_is_counted_as_repeated() -> None:
    """The second acknowledgement of a batch that was handed out twice is no secret."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [], 0.0)
    ledger.assign(0.0)
    ledger.worker_gone(b"a")
    ledger.ask(b"b", 1, [], 0.0)
    ledger.assign(0.0)
    ledger.ask(b"b", 1, [0], 0.0)
    ledger.ask(b"a", 1, [0], 0.0)
    stats = ledger.stats(0.0)
    assert (stats.acknowledged, stats.repeated, stats.malformed) == (10, 10, 0)


def test_an_acknowledgement_of_what_never_was_is_counted_and_ignored() -> None:
    """A worker that talks nonsense changes nothing."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [7, 2**64 - 1], 0.0)
    assert (ledger.stats(0.0).acknowledged, ledger.stats(0.0).malformed) == (0, 2)
    ledger.check()


def test_workers_are_told_to_end_once_and_only_when_all_is_done() -> None:
    """Not before `finished`, not while anything is leased; a repeated question is answered."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [], 0.0)
    ledger.ask(b"b", 1, [], 0.0)
    ledger.assign(0.0)
    ledger.finished = True
    assert ledger.to_end() == []
    ledger.ask(b"a", 1, [0], 0.0)
    assert ledger.to_end() == [b"a", b"b"]
    assert ledger.to_end() == []
    ledger.end_again(b"b")
    assert ledger.to_end() == [b"b"]
    assert ledger.stats(0.0).workers_ended == 2


Step = tuple[str, int, int]  # what, which worker, how much
WHAT = ["put", "ask", "gone", "wait", "hold", "retry"]
STEPS = st.lists(
    st.tuples(st.sampled_from(WHAT), st.integers(0, 3), st.integers(0, 7)), max_size=60
)


class Crowd:
    """A ledger, and workers that do anything; each remembers what it was given."""

    def __init__(self) -> None:
        self.ledger = Ledger(batch_messages=3, batch_bytes=1 << 20, lease=LEASE)
        self.now = 0.0
        self.put = 0
        self.hands: dict[bytes, list[Batch]] = {}
        self.done: set[bytes] = set()

    def step(self, what: str, worker: bytes, amount: int) -> None:
        """One of them does something."""
        hand = self.hands.setdefault(worker, [])
        if what == "put":
            for _ in range(amount):
                self.ledger.put(b"%d" % self.put)
                self.put += 1
        elif what == "ask":
            self.hands[worker] = hand[1:]
            self.finish(hand[:1])
            self.ledger.ask(worker, amount, [batch.number for batch in hand[:1]], self.now)
        elif what == "hold":
            numbers = [batch.number for batch in hand]
            self.ledger.hold(worker, numbers[:1], numbers[1:], self.now)
        elif what == "retry":
            self.ledger.retry(worker, [one.number for one in hand[:1]], amount / 4, self.now)
            self.hands[worker] = hand[1:]
        elif what == "gone":
            self.ledger.worker_gone(worker)
            self.hands[worker] = hand[amount:]  # the process may live on, and come back
        else:
            self.now += LEASE * amount / 4
            self.ledger.expire(self.now)
        self.hand_out()

    def finish(self, batches: list[Batch]) -> None:
        """What was done really."""
        self.done.update(item for batch in batches for item in batch.items)

    def hand_out(self) -> None:
        """Lease out, tell who lost something, and look at the law; nobody gets what it has."""
        given = self.ledger.assign(self.now)
        for worker, number in self.ledger.taken():
            hand = self.hands.get(worker, [])
            self.hands[worker] = [batch for batch in hand if batch.number != number]
        for worker, batch in given:
            assert self.ledger.holds(worker, batch.number)
            self.hands.setdefault(worker, []).append(batch)
        self.ledger.check()


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_whatever_workers_do_every_record_is_done(steps: list[Step]) -> None:
    """After any mixture of asking, dying, hanging and handing back, one honest worker does all."""
    crowd = Crowd()
    for what, who, amount in steps:
        crowd.step(what, b"%d" % who, amount)
    ledger = crowd.ledger
    ledger.finished = True
    crowd.now += LEASE * 10
    for worker in list(ledger.workers):
        ledger.worker_gone(worker)
    crowd.hands.clear()
    acks: list[int] = []
    while not ledger.done:
        ledger.ask(b"honest", 1, acks, crowd.now)
        crowd.hand_out()
        batches = crowd.hands.pop(b"honest", [])
        crowd.finish(batches)
        acks = [batch.number for batch in batches]
    assert ledger.stats(crowd.now).acknowledged == crowd.put
    assert crowd.done == {b"%d" % number for number in range(crowd.put)}
