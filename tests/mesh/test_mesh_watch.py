"""What one who watches a service is told, of nodes that are in the mesh all the time.

Not here: watching with real nodes (test_mesh_api.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

import meshmsg as mm
from meshmsg._mesh.told import Event, EventKind, Member, Record, Service, State
from meshmsg.mesh import _watch, aio
from meshmsg.mesh._watch import EventQueue

FAR_S = 1e6
UP, CHANGED, LEFT = EventKind.UP, EventKind.CHANGED, EventKind.LEFT
UNREACHABLE, FORGOTTEN = EventKind.UNREACHABLE, EventKind.FORGOTTEN


def member(*services: str, node: str = "a", state: State = State.ALIVE) -> Member:
    """A node that offers them."""
    offered = tuple(Service(one, "pull", "zmtp", ("tcp://10.0.0.1:1",)) for one in services)
    key = node.encode().ljust(16, b"\0")
    record = Record(key, node, "c", 1, 1, 1, b"k" * 32, (), "h", "", offered)
    return Member(record, state, 0.0, None, None, b"")


def told(queue: EventQueue, *events: Event) -> list[EventKind]:
    """What becomes of them."""
    queue.told(events)
    found: list[EventKind] = []
    while (event := queue.take()) is not None:
        found.append(event.kind)
    return found


def queue(first: Sequence[Member] = ()) -> EventQueue:
    """One who watches "s"."""
    made = EventQueue("s", lambda: None)
    made.first(first)
    return made


def test_a_node_is_up_once_however_it_is_told() -> None:
    """As who is there at first, by an event that was on its way, and as it comes back."""
    one = queue([member("s"), member(node="b")])
    assert told(one) == [UP]
    offers = Event(CHANGED, member("s"), member().record)
    assert told(one, offers) == [CHANGED]
    gone = member("s", state=State.UNREACHABLE)
    assert told(one, Event(UNREACHABLE, gone), Event(FORGOTTEN, gone)) == [UNREACHABLE, FORGOTTEN]
    assert told(one, Event(UP, member("s")), offers) == [UP, CHANGED]


def test_who_was_never_up_does_not_leave() -> None:
    """Nor who is another one; who withdraws leaves once."""
    one = queue()
    withdrawn = Event(CHANGED, member(), member("s").record)
    assert told(one, withdrawn, Event(UP, member(node="b"))) == []
    assert told(one, Event(UP, member("s")), withdrawn, withdrawn) == [UP, LEFT]
    assert told(one, Event(CHANGED, member("t"), member().record)) == []
    gone = member("s", state=State.UNREACHABLE)
    assert told(one, Event(UNREACHABLE, gone), Event(FORGOTTEN, gone), Event(LEFT, gone)) == []


def test_a_conflict_of_who_offers_it_is_told() -> None:
    """As of any node."""
    conflict = Event(EventKind.CONFLICT, member("s"))
    assert told(queue([member("s")]), conflict) == [UP, EventKind.CONFLICT]
    assert told(queue(), conflict, Event(UP, member("s"))) == [EventKind.CONFLICT, UP]
    assert told(queue(), Event(EventKind.CONFLICT, member("t"))) == []


def test_a_conflict_from_before_it_was_offered_is_told_once_it_is() -> None:
    """A node joins, and announces a while later: its name was another one's all the time."""
    one = queue()
    joined = Event(EventKind.CONFLICT, member())
    assert told(one, joined, Event(UP, member())) == []
    offers = Event(CHANGED, member("s"), member().record)
    assert told(one, offers, offers) == [EventKind.CONFLICT, UP, CHANGED]


def test_so_many_conflicts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first."""
    monkeypatch.setattr(_watch, "TWINS_MAX", 2)
    one = queue()
    nodes = ("a", "b", "c")
    assert told(one, *(Event(EventKind.CONFLICT, member(node=node)) for node in nodes)) == []
    came = (Event(UP, member("s", node=node)) for node in nodes)
    assert told(one, *came) == [UP, EventKind.CONFLICT, UP, EventKind.CONFLICT, UP]


@pytest.mark.parametrize("timeout", [None, FAR_S])
@pytest.mark.parametrize("turns", range(4))
def test_a_task_that_is_cancelled_as_an_event_comes(turns: int, timeout: float | None) -> None:
    """It is cancelled, or has the event; and one that is cancelled has taken none."""

    async def main() -> None:
        watch = aio.Watch(None)
        task = asyncio.create_task(watch.next(timeout))
        await asyncio.sleep(0)
        watch.told([Event(UP, member())])
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.cancel():
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await watch.next(0)).kind == UP
        else:
            assert (await task).kind == UP

    asyncio.run(main())


def test_a_task_waits_no_longer_than_it_may() -> None:
    """Again and again rung for nothing."""

    async def main() -> None:
        watch = aio.Watch("s")
        with pytest.raises(mm.TimedOutError, match="within 0.01 s"):
            await watch.next(0.01)
        watch.told([Event(UP, member("t"))])
        with pytest.raises(mm.TimedOutError):
            await watch.next(0.01)

    asyncio.run(main())
