"""Items that go out together, and do not have to end together; threads in place of Spark."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg.spark import FanOut, FanOutError, ItemError, aio
from meshmsg.spark.fanout import _fanout
from meshmsg.spark.fanout._books import Books, same
from meshmsg.spark.fanout._results import Looking, Results
from meshmsg.spark.fanout._sending import Sending
from meshmsg.spark.fanout._slots import Slots, Wrong
from meshmsg.spark.fanout._task import TaskOf
from meshmsg.spark.fanout._words import GROUP_BYTES, Outcome, Part, octets_of, parts_of
from meshmsg.spark.rows._task import RowsOf
from tests.spark.support import Lost, Session, Threads, fan_out
from tests.spark.test_fanout_lease import Batch, Clock, Out
from tests.support.pairs import WAIT_S


class Gate:
    """What tasks do: hold at the first item until the others wait, and at `slow` until it opens."""

    def __init__(self) -> None:
        self.first, self.slow, self.go = threading.Event(), threading.Event(), threading.Event()
        self.holding = threading.Event()

    def __call__(self, item: bytes) -> bytes:
        if item == b"hold":
            self.holding.set()
            assert self.first.wait(WAIT_S)
        if item == b"slow":
            self.slow.set()
            assert self.go.wait(WAIT_S)
        return item * 2

    def together(self, fan: FanOut, items: list[bytes]) -> list[Any]:
        """Have the one worker get them as one group; return their futures."""
        held = fan.submit(b"hold")
        assert self.holding.wait(WAIT_S)
        ahead = [fan.submit(b"ahead %d" % i) for i in range(4)]  # what may be on its way already
        futures = [fan.submit(item) for item in items]
        self.first.set()
        assert held.result(WAIT_S) == b"hold" * 2
        assert [one.result(WAIT_S) for one in ahead]
        return futures


def test_what_is_done_does_not_wait_for_a_slow_item_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its results come while that one is still worked on."""
    gate = Gate()
    with fan_out(monkeypatch, gate, workers=1) as fan:
        *fast, slow, last = gate.together(fan, [b"%d" % i for i in range(20)] + [b"slow", b"last"])
        assert gate.slow.wait(WAIT_S)
        assert [one.result(WAIT_S) for one in fast] == [b"%d" % i * 2 for i in range(20)]
        assert not slow.done()
        assert not last.done()
        gate.go.set()
        assert slow.result(WAIT_S) == b"slow" * 2
        assert last.result(WAIT_S) == b"last" * 2
    assert fan.stats().late == 0


def test_to_cancel_in_the_midst_of_a_group_leaves_what_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The others say that it was cancelled."""
    gate = Gate()
    with fan_out(monkeypatch, gate, workers=1, patience=0.5) as fan:
        *fast, slow, last = gate.together(fan, [b"0", b"1", b"slow", b"last"])
        assert [one.result(WAIT_S) for one in fast] == [b"00", b"11"]
        slow.add_done_callback(lambda _: gate.go.set())  # not before it is told of it
        fan.close(cancel=True)
        for one in (slow, last):
            with pytest.raises(FanOutError, match="cancelled"):
                one.result(WAIT_S)
    counts = fan.stats()
    assert (counts.done, counts.failed, counts.open) == (7, 2, 0)


@pytest.mark.parametrize("group_items", [1, 10, 1000])
def test_a_worker_that_is_lost_in_the_midst_of_a_group_charges_none_but_who_lost_it(
    monkeypatch: pytest.MonkeyPatch, group_items: int
) -> None:
    """What kills its worker each time is given up after its own attempts, with the others done."""
    begun: Counter[bytes] = Counter()
    lock = threading.Lock()

    def fn(item: bytes) -> bytes:
        with lock:
            begun[item] += 1
            times = begun[item]
        if item == b"poison" or (item == b"40" and times == 1):
            raise Lost("this worker is lost")
        return item * 2

    options: dict[str, Any] = {"group_items": group_items, "restarts": 20}
    with fan_out(monkeypatch, fn, workers=2, max_attempts=2, **options) as fan:
        futures = [fan.submit(b"%d" % i) for i in range(60)]
        poison = fan.submit(b"poison")
        futures += [fan.submit(b"%d" % i) for i in range(60, 120)]
        assert [one.result(WAIT_S) for one in futures] == [b"%d" % i * 2 for i in range(120)]
        with pytest.raises(ItemError, match="tried 2 times.*lost with it"):
            poison.result(WAIT_S)
        counts = fan.stats()
    assert (counts.done, counts.failed, counts.open) == (120, 1, 0)
    assert 1 <= begun[b"poison"] <= 3  # the first attempt counts, whether it was begun or not
    assert begun[b"40"] in (2, 3)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("window", "group_items"), [(1, 1), (1, 1000), (7, 3)])
def test_a_window_and_a_group_of_one_are_enough(
    monkeypatch: pytest.MonkeyPatch, ordered: bool, window: int, group_items: int
) -> None:
    """For threads and for asyncio; nothing waits for more to come."""
    monkeypatch.setattr(_fanout, "Jobs", Threads)
    items = [b"%d" % i for i in range(50)]

    async def main() -> list[Any]:
        async with aio.FanOut(Session(), same, patience=WAIT_S, group_items=group_items) as fan:
            return [one async for one in fan.map(items, ordered=ordered, window=window)]

    with fan_out(monkeypatch, same, group_items=group_items) as fan:
        found = list(fan.map(items, ordered=ordered, window=window))
    assert (found if ordered else sorted(found)) == (items if ordered else sorted(items))
    found = asyncio.run(main())
    assert (found if ordered else sorted(found)) == (items if ordered else sorted(items))


def test_maps_of_several_threads_share_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gets its own, in order."""
    found: dict[int, list[bytes]] = {}
    with fan_out(monkeypatch, same) as fan:

        def run(which: int) -> None:
            found[which] = list(fan.map([b"%d %d" % (which, i) for i in range(2000)]))

        threads = [threading.Thread(target=run, args=(which,)) for which in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
    assert found == {which: [b"%d %d" % (which, i) for i in range(2000)] for which in range(3)}


@given(st.data())
def test_order_is_kept_with_holes(data: Any) -> None:
    """Whatever is told of a group, in whatever order, and how often."""
    count = data.draw(st.integers(1, 12))
    kept, slots = Books(100, same), Slots(ordered=True)
    numbers = [kept.add(i, b"%d" % i, slots, i) for i in range(count)]
    some = st.lists(st.sampled_from(numbers), unique=True, max_size=count).map(sorted)
    said = st.sampled_from([Outcome.FAILED, Outcome.RETURNED, Outcome.BEGUN, Outcome.DONE])
    for told in [*data.draw(st.lists(some, max_size=8)), numbers]:
        if data.draw(st.booleans()) or told is numbers:
            settled = kept.done(told, [b"%d" % number for number in told])
        else:
            parts = [Part(number, data.draw(said), b"%d" % number) for number in told]
            settled, again = kept.came(parts)
            assert {part.body for part in again} <= {b"%d" % number for number in told}
        for one in settled:
            one.tell()
    found: list[Any] = []
    while slots.ready():
        found += slots.take()
    assert found == [b"%d" % i for i in range(count)]
    counts = kept.stats(0, 1)
    assert (counts.done, counts.failed, counts.open) == (count, 0, 0)


@given(st.lists(st.sampled_from([Outcome.FAILED, Outcome.DONE]), min_size=1, max_size=12))
def test_errors_have_their_places(said: list[Outcome]) -> None:
    """Among results of the same message."""
    kept, slots = Books(1, same), Slots(ordered=True, returned=True)
    numbers = [kept.add(b"%d" % i, b"", slots, i) for i in range(len(said))]
    parts = [Part(number, one, b"%d" % number) for number, one in zip(numbers, said, strict=True)]
    for one in kept.came(parts)[0]:
        one.tell()
    found = [slots.given(one) if isinstance(one, Wrong) else one for one in slots.take()]
    words = [one.item if isinstance(one, ItemError) else one for one in found]
    assert words == [b"%d" % i for i in range(len(said))]
    assert [isinstance(one, ItemError) for one in found] == [one == Outcome.FAILED for one in said]


class Queue:
    """A work queue that holds at its first group, and keeps what it is given."""

    def __init__(self) -> None:
        self.holding, self.go = threading.Event(), threading.Event()
        self.some = threading.Semaphore(0)
        self.groups: list[list[Part]] = []

    def put(self, octets: bytes) -> None:
        """Keep a group."""
        self.holding.set()
        assert self.go.wait(WAIT_S)
        self.groups.append(parts_of(octets) or [])
        self.some.release()

    def stats(self) -> Any:
        """There is nobody who is idle."""
        return SimpleNamespace(workers=1, leased=1, waiting=0)

    def taken(self, count: int) -> list[list[Part]]:
        """Wait for so many groups behind the first."""
        self.go.set()
        for _ in range(count + 1):
            assert self.some.acquire(timeout=WAIT_S)
        return self.groups[1:]


def put(kept: Books, one: Sending, body: bytes) -> int:
    """Have an item go out; return its number."""
    number = kept.add(None, body, Slots(ordered=True))
    one.waiting.append(number)
    if one.idle:
        one.wake()
    return number


@pytest.fixture
def sending() -> Iterator[tuple[Queue, Books, Sending]]:
    """What sends groups of three at most; the first, of one item, is held."""
    queue: Any = Queue()
    kept = Books(1, same)
    one = Sending(queue, 3, 1000, kept.open_of)
    put(kept, one, b"first")
    assert queue.holding.wait(WAIT_S)
    yield queue, kept, one
    queue.go.set()
    one.close()


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([GROUP_BYTES - 1, 1, 1], [[GROUP_BYTES - 1, 1], [1]]),
        ([GROUP_BYTES - 1, 2], [[GROUP_BYTES - 1], [2]]),
        ([GROUP_BYTES, 1], [[GROUP_BYTES], [1]]),
        ([1, GROUP_BYTES + 1, 1], [[1], [GROUP_BYTES + 1], [1]]),
        ([1, 1, 1, 1], [[1, 1, 1], [1]]),
    ],
)
def test_a_group_has_so_many_bytes_and_a_larger_item_is_alone(
    sending: tuple[Queue, Books, Sending], sizes: list[int], groups: list[list[int]]
) -> None:
    """And so many items; in their order."""
    queue, kept, one = sending
    for size in sizes:
        put(kept, one, bytes(size))
    found = queue.taken(len(groups))
    assert [[len(part.body) for part in group] for group in found] == groups


def test_what_is_given_up_before_it_went_out_does_not_go_out(
    sending: tuple[Queue, Books, Sending],
) -> None:
    """Others of its group do."""
    queue, kept, one = sending
    put(kept, one, b"0")
    kept.forget(put(kept, one, b"1"))
    put(kept, one, b"2")
    assert [part.body for part in queue.taken(1)[0]] == [b"0", b"2"]


def test_results_are_cut_to_messages_that_are_accepted() -> None:
    """In order, each once; one that is larger than others goes alone."""
    sent: list[list[Part]] = []
    results = Results(lambda octets: sent.append(parts_of(octets, Outcome) or []), range(10, 20))
    for size in (GROUP_BYTES - 1, 1, 1, GROUP_BYTES + 5, 0):
        results.numbers.append(0)
        results.bodies.append(bytes(size))
    results.flush()
    results.flush()
    results.numbers.append(1)
    results.bodies.append(b"why")
    results.flush()
    assert [[part.id for part in one] for one in sent] == [[10, 11], [12], [13], [14], [15]]
    assert sent[-1] == [Part(15, Outcome.FAILED, b"why")]


@pytest.mark.parametrize(("version", "wire"), [("0.0.1", None), (None, 1)])
def test_another_version_of_meshmsg_is_refused_before_it_gets_an_item(
    version: str | None, wire: int | None
) -> None:
    """And says which."""
    nobody = "tcp://127.0.0.1:1"
    for task in (TaskOf(same, nobody, nobody, None, 5.0), RowsOf(same, nobody, None, 5.0, 1)):
        other = task._replace(version=version or task.version, wire=wire or task.wire)
        with pytest.raises(mm.UsageError, match="install the same version on all nodes"):
            list(other(iter([])))


def thread_of(looking: Looking) -> threading.Thread | None:
    """Return the one that looks, if there is one: others of this process come and go."""
    return looking._thread


def test_an_item_that_goes_alone_starts_no_thread() -> None:
    """Several do, once, and it ends with the task."""
    out: Any = Out()
    batch: Any = Batch(Clock())
    task = TaskOf(same, "", "", None, WAIT_S)
    with Looking() as looking:
        task._one(out, batch, octets_of([Part(0, 1, b"alone")]), looking)
        assert thread_of(looking) is None
        task._one(out, batch, octets_of([Part(i, 1, b"one") for i in (1, 2)]), looking)
        first = thread_of(looking)
        assert first is not None
        task._one(out, batch, octets_of([Part(i, 1, b"one") for i in (1, 2)]), looking)
        assert thread_of(looking) is first
        assert first.is_alive()
    assert not first.is_alive()
    assert [part.id for part in out.sent] == [0, 1, 2, 1, 2]


def test_a_task_that_ends_as_nothing_is_to_be_told_any_more_ends() -> None:
    """It does so between two steps of the thread that looks, which is about to wait for more."""
    looking = Looking()

    class Between(threading.Event):
        """What is asked for next."""

        def clear(self) -> None:
            """End it before, as the task does."""
            looking._over.set()
            self.set()
            super().clear()

    looking._wanted = Between()
    looking.begin(Results(lambda octets: None, []))
    looking.end()
    assert looking._thread is not None
    looking._thread.join(WAIT_S)
    ended = not looking._thread.is_alive()
    looking._wanted.set()
    assert ended
