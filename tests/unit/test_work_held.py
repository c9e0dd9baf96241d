"""What a worker has, without sockets: batches ahead, the one in hand, and when they are extended.

Not here: receiving them (tests/conformance/test_work.py).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.patterns.workqueue import _batch
from meshmsg.patterns.workqueue._batch import BatchForm, Parsed, pack_batch
from meshmsg.patterns.workqueue._held import Held

LEASE = 3.0


class Message(bytes):
    """A message that notes what is said of it."""

    attempt = 1
    seq: int | None = 1
    ours = True
    said: list[object]

    def _note(self, what: object) -> bool:
        self.said.append(what)
        return self.ours

    def ack(self) -> bool:
        """It is done."""
        return self._note("ack")

    def nack(self, *, delay: float = 0.0) -> bool:
        """It is for others."""
        return self._note(("nack", delay))

    def extend(self) -> bool:
        """It takes longer."""
        return self._note("extend")


@dataclass
class Holder:
    """Stands in for a worker."""

    _held: Held
    renewed: int = 0

    def make(self, attempt: int, parsed: Parsed) -> BatchForm:
        """A batch of this worker."""
        return BatchForm(parsed.number, attempt, parsed.first_sequence, parsed.records, self)

    def _renew(self, batch: BatchForm) -> None:
        self.renewed += 1
        self._held.extend(batch, time.monotonic())


def message(number: int, lease: float | None = None) -> Any:
    """A batch as it comes."""
    found = Message(pack_batch(number, number * 10, lease, [b"a", b"b", b"c"]))
    found.said = []
    return found


def holding(*messages: Any) -> Holder:
    """A worker that has these ahead."""
    held = Held("tcp://somewhere", 2, 60.0)
    held.came(messages, 0.0)
    return Holder(held)


def test_a_batch_is_acknowledged_as_the_task_comes_back_and_once() -> None:
    """Not as it is begun, nor when it was handed back."""
    one, two = message(0), message(1)
    holder = holding(one, two)
    held = holder._held
    batch = held.take(holder.make, 0.0)
    assert batch is not None
    assert (batch.number, held.busy, one.said) == (0, True, [])
    held.come_back(batch)
    held.come_back(batch)
    assert (one.said, held.batches_done, held.busy) == (["ack"], 1, False)
    other = held.take(holder.make, 0.0)
    assert other is not None
    held.hand_back(other, 2.5)
    held.come_back(other)
    assert (two.said, held.batches_done) == ([("nack", 2.5)], 1)
    with pytest.raises(mm.UsageError, match="batch 1 is not in hand"):
        held.hand_back(other, 0.0)
    assert held.take(holder.make, 0.0) is None


def test_without_a_lease_nothing_is_extended_but_on_request() -> None:
    """A worker says no more than it has to."""
    one = message(0)
    holder = holding(one)
    batch = holder._held.take(holder.make, 0.0)
    assert batch is not None
    assert list(batch) == [b"a", b"b", b"c"]
    assert (holder.renewed, one.said, holder._held.renew_at) == (0, [], math.inf)
    assert holder._held.extend(batch, 0.0)
    assert one.said == ["extend"]


def test_each_batch_is_extended_as_it_is_begun_and_what_waits_behind_it_with_it() -> None:
    """So whoever moves on loses nothing, and whoever hangs all."""
    one, two = message(0, LEASE), message(1, LEASE)
    holder = holding(one, two)
    held = holder._held
    batch = held.take(holder.make, 1.0)
    assert batch is not None
    assert (one.said, two.said) == (["extend"], [])
    assert held.renew_at == 1.0 + LEASE / _batch.RENEWALS
    for at in (2.0, 4.0, 6.0):
        assert held.extend(batch, at)
    assert (one.said, two.said) == (["extend"] * 4, ["extend"] * 3)
    assert held.renew_at == 6.0 + LEASE / _batch.RENEWALS
    held.come_back(batch)
    other = held.take(holder.make, 8.9)
    assert other is not None
    assert other.number == 1


def test_who_hangs_for_a_lease_begins_nothing_that_it_had() -> None:
    """The queue took it away, and does not say so: it is given back, should it be here still."""
    one, two = message(0, LEASE), message(1, LEASE)
    holder = holding(one, two)
    held = holder._held
    batch = held.take(holder.make, 1.0)
    assert batch is not None
    assert not held.extend(batch, 1.0 + LEASE)
    assert batch.lost
    assert not held.extend(batch, 1.5 + LEASE)
    held.come_back(batch)
    assert held.take(holder.make, 2.0 + LEASE) is None
    assert (one.said, two.said) == (["extend", "ack"], [("nack", 0.0)])
    held.came([message(2, LEASE)], 10.0)
    fresh = held.take(holder.make, 11.0)
    assert fresh is not None
    assert (fresh.number, fresh.lost) == (2, False)


def test_records_that_are_taken_extend_a_batch_when_it_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not at each, and not before a third of the lease is over."""
    clock = [0.5]
    monkeypatch.setattr(_batch.time, "monotonic", lambda: clock[0])
    holder = holding(message(0, LEASE))
    batch = holder._held.take(holder.make, clock[0])
    assert batch is not None
    counts = []
    for _ in batch:
        counts.append(holder.renewed)
        clock[0] += LEASE / _batch.RENEWALS / 2
    assert counts == [0, 0, 1]


def test_what_was_given_to_others_is_not_begun_and_what_is_in_hand_is_lost() -> None:
    """As far as is known: by asking."""
    gone, one = message(0, LEASE), message(1, LEASE)
    gone.ours = False
    holder = holding(gone, one)
    held = holder._held
    batch = held.take(holder.make, 0.0)
    assert batch is not None
    assert (batch.number, batch.lost) == (1, False)
    one.ours = False
    assert not batch.lost
    assert not held.extend(batch, 0.0)
    assert batch.lost
    held.come_back(batch)
    assert not batch.lost
    assert not held.extend(batch, 0.0)


def test_who_stops_begins_nothing_more_and_who_closes_gives_back_what_it_began() -> None:
    """What is ahead was not tried: the core gives that to others."""
    one, two = message(0), message(1)
    holder = holding(one, two)
    held = holder._held
    batch = held.take(holder.make, 0.0)
    assert batch is not None
    assert not held.stop()
    held.come_back(batch)
    assert held.take(holder.make, 0.0) is None
    assert held.stop()
    assert (one.said, two.said) == (["ack"], [])
    holder = holding(message(2), two)
    held = holder._held
    begun = held.take(holder.make, 0.0)
    assert begun is not None
    held.leave()
    held.leave()
    assert (held.closed, held.busy, two.said) == (True, False, [])


def test_closing_is_no_error_though_the_engine_is_gone() -> None:
    """What is in hand goes to others with the connection."""

    class Gone(Message):
        """Of a socket that is closed."""

        def nack(self, *, delay: float = 0.0) -> bool:
            """It is too late."""
            raise mm.ClosedError("closed")

    one: Any = Gone(pack_batch(0, 0, None, [b"x"]))
    one.said = []
    holder = holding(one)
    assert holder._held.take(holder.make, 0.0) is not None
    holder._held.leave()
    assert not holder._held.busy


def test_a_signal_s_function_may_stop_a_worker_as_it_begins_a_batch() -> None:
    """Then that one is not begun: it goes to others as the worker is closed."""
    one = message(0)
    holder = holding(one)

    def stops(attempt: int, parsed: Parsed) -> BatchForm:
        assert holder._held.stop()
        return holder.make(attempt, parsed)

    assert holder._held.take(stops, 0.0) is None
    assert (holder._held.busy, one.said) == (False, [])


@pytest.mark.parametrize("wrong", ["octets", "seq"])
def test_what_no_work_queue_sends_is_an_error(wrong: str) -> None:
    """It says of which endpoint."""
    bad = message(0)
    if wrong == "seq":
        bad.seq = None
    else:
        bad = Message(b"a job")
    holder = holding(bad)
    with pytest.raises(mm.PeerError, match="tcp://somewhere is no work queue"):
        holder._held.take(holder.make, 0.0)
