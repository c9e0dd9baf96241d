"""The books of a work queue, without sockets: nothing is lost, nobody is starved."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from meshmsg.spark._ledger import WINDOW_MAX, Batch, Ledger
from meshmsg.spark._wire import pack_ask, pack_work, parse_ask, parse_header

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
    ledger.ask(b"a", 5, [])
    batches = [batch for _, batch in ledger.assign(0.0)]
    assert [(one.first_sequence, len(one.items)) for one in batches] == [(0, 10), (10, 10), (20, 5)]
    assert [item for one in batches for item in one.items] == [b"%d" % n for n in range(25)]
    ledger.check()


def test_no_worker_holds_more_than_it_asked_for() -> None:
    """The window is a limit, and asking again does not add to it."""
    ledger = filled(100)
    ledger.ask(b"a", 2, [])
    ledger.ask(b"a", 2, [])
    assert len(ledger.assign(0.0)) == 2
    ledger.ask(b"a", 2, [])
    assert ledger.assign(0.0) == []
    ledger.ask(b"a", 2, [0])
    assert numbers(ledger.assign(0.0)) == [(b"a", 2)]


def test_a_window_has_an_upper_limit() -> None:
    """A worker that asks for everything gets the limit, and no more."""
    ledger = filled(WINDOW_MAX + 5, batch=1)
    ledger.ask(b"greedy", 2**32 - 1, [])
    assert len(ledger.assign(0.0)) == WINDOW_MAX


def test_workers_are_served_in_turn() -> None:
    """With less work than wishes everybody gets some: a greedy worker starves nobody."""
    ledger = filled(30)
    for worker in (b"a", b"b", b"c"):
        ledger.ask(worker, 10, [])
    assert [worker for worker, _ in ledger.assign(0.0)] == [b"a", b"b", b"c"]


def test_a_batch_is_limited_in_bytes_too() -> None:
    """A batch ends before the record that would make it too big; a huge record goes alone."""
    ledger = Ledger(batch_messages=10, batch_bytes=10, lease=LEASE)
    for size in (4, 4, 4, 99, 1):
        ledger.put(b"x" * size)
    ledger.ask(b"a", 9, [])
    sizes = [[len(item) for item in batch.items] for _, batch in ledger.assign(0.0)]
    assert sizes == [[4, 4], [4], [99], [1]]


def test_batches_of_a_lost_worker_go_out_again_first() -> None:
    """What a lost worker held goes to the next one, as the same batch, before newer records."""
    ledger = filled(30)
    ledger.ask(b"a", 1, [])
    ((_, lost),) = ledger.assign(0.0)
    ledger.worker_gone(b"a")
    ledger.check()
    ledger.ask(b"b", 1, [])
    ((worker, again),) = ledger.assign(0.0)
    assert (worker, again.number, again.items, again.attempt) == (b"b", 0, lost.items, 2)
    stats = ledger.stats()
    assert (stats.handed_out, stats.handed_out_again, stats.workers_lost) == (20, 10, 1)


def test_a_lease_runs_out_and_the_silent_worker_gets_nothing_until_it_asks() -> None:
    """At the deadline and not before, a batch is taken back from a worker that hangs."""
    ledger = filled(20)
    ledger.ask(b"a", 1, [])
    ledger.assign(0.0)
    ledger.expire(LEASE - 0.001)
    assert ledger.stats().leased == 10
    ledger.expire(LEASE)
    assert (ledger.stats().leased, ledger.stats().handed_out_again) == (0, 10)
    assert ledger.assign(LEASE) == []
    ledger.ask(b"a", 1, [])
    assert numbers(ledger.assign(LEASE)) == [(b"a", 0)]


def test_a_batch_that_could_not_be_sent_was_not_handed_out() -> None:
    """It counts nowhere, keeps its attempt, and does not go to that worker until it asks."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [])
    ((_, batch),) = ledger.assign(0.0)
    ledger.unreached(batch.number)
    ledger.check()
    stats = ledger.stats()
    assert (stats.handed_out, stats.handed_out_again, stats.waiting) == (0, 0, 10)
    assert ledger.assign(0.0) == []
    ledger.ask(b"a", 1, [])
    ((_, batch),) = ledger.assign(0.0)
    assert batch.attempt == 1


def test_a_late_acknowledgement_still_counts_once() -> None:
    """A batch taken back and then acknowledged is done: it is not handed out again."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [])
    ledger.assign(0.0)
    ledger.expire(LEASE)
    ledger.ask(b"a", 1, [0])
    ledger.check()
    assert ledger.assign(LEASE) == []
    assert ledger.stats().acknowledged == 10
    assert ledger.stats().repeated == 0


def test_work_done_by_two_is_counted_as_repeated() -> None:
    """The second acknowledgement of a batch that was handed out twice is no secret."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [])
    ledger.assign(0.0)
    ledger.worker_gone(b"a")
    ledger.ask(b"b", 1, [])
    ledger.assign(0.0)
    ledger.ask(b"b", 1, [0])
    ledger.ask(b"a", 1, [0])
    stats = ledger.stats()
    assert (stats.acknowledged, stats.repeated, stats.malformed) == (10, 10, 0)


def test_an_acknowledgement_of_what_never_was_is_counted_and_ignored() -> None:
    """A worker that talks nonsense changes nothing."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [7, 2**64 - 1])
    assert (ledger.stats().acknowledged, ledger.stats().malformed) == (0, 2)
    ledger.check()


def test_workers_are_told_to_end_once_and_only_when_all_is_done() -> None:
    """Not before `finished`, not while anything is leased; a repeated question is answered."""
    ledger = filled(10)
    ledger.ask(b"a", 1, [])
    ledger.ask(b"b", 1, [])
    ledger.assign(0.0)
    ledger.finished = True
    assert ledger.to_end() == []
    ledger.ask(b"a", 1, [0])
    assert ledger.to_end() == [b"a", b"b"]
    assert ledger.to_end() == []
    ledger.end_again(b"b")
    assert ledger.to_end() == [b"b"]
    assert ledger.stats().workers_ended == 2


Step = tuple[str, int, int]  # what, which worker, how much
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "ask", "gone", "wait"]), st.integers(0, 3), st.integers(0, 7)
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_whatever_workers_do_every_record_is_done(steps: list[Step]) -> None:
    """After any mixture of asking, dying and hanging, one honest worker finishes everything."""
    ledger = Ledger(batch_messages=3, batch_bytes=1 << 20, lease=LEASE)
    now = 0.0
    put = 0
    hands: dict[bytes, list[Batch]] = {}
    done: set[bytes] = set()

    def hand_out() -> None:
        for worker, batch in ledger.assign(now):
            hands.setdefault(worker, []).append(batch)
        ledger.check()

    for what, who, amount in steps:
        worker = b"%d" % who
        if what == "put":
            for _ in range(amount):
                ledger.put(b"%d" % put)
                put += 1
        elif what == "ask":
            finished = hands.get(worker, [])[:1]
            hands[worker] = hands.get(worker, [])[1:]
            done.update(item for batch in finished for item in batch.items)
            ledger.ask(worker, amount, [batch.number for batch in finished])
        elif what == "gone":
            ledger.worker_gone(worker)
            hands.pop(worker, None)
        else:
            now += LEASE * amount / 4
            ledger.expire(now)
        hand_out()
    ledger.finished = True
    ledger.expire(now + LEASE)
    for worker in list(ledger.workers):
        ledger.worker_gone(worker)
    hands.clear()
    acks: list[int] = []
    while not ledger.done:
        ledger.ask(b"honest", 1, acks)
        hand_out()
        batches = hands.pop(b"honest", [])
        done.update(item for batch in batches for item in batch.items)
        acks = [batch.number for batch in batches]
    assert ledger.stats().acknowledged == put
    assert done == {b"%d" % number for number in range(put)}


def test_a_question_survives_the_wire_and_nonsense_does_not() -> None:
    """What pack_ask packs parse_ask reads; everything else is refused, not guessed at."""
    frames = pack_ask(2, [1, 2**64 - 1])
    assert parse_ask(frames) == (2, (1, 2**64 - 1))
    assert parse_ask(pack_ask(0, [])) == (0, ())
    bad = [[], [b"ask"], frames[:2], [*frames, b""], [b"ASK", *frames[1:]]]
    bad += [
        [b"ask", b"\0\0\0", b""],
        [b"ask", frames[1], b"\0" * 7],
        [b"ask", frames[1], b"\0" * 9],
    ]
    assert [parse_ask(one) for one in bad] == [None] * len(bad)


def test_a_batch_survives_the_wire_and_a_short_header_does_not() -> None:
    """The header of a batch has one size only."""
    kind, header, *items = pack_work(2**64 - 1, 3, 500, [b"a", b""])
    assert (kind, items) == (b"work", [b"a", b""])
    assert parse_header(header) == (2**64 - 1, 3, 500)
    assert len(header) == struct.calcsize(">QIQ")
    assert [parse_header(header[:size]) for size in range(len(header))] == [None] * len(header)
    assert parse_header(header + b"\0") is None
