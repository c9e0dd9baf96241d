"""A node that is behind with what comes: what it was not answered says nothing of others."""

from __future__ import annotations

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.messages import HEAD, NUMBER, PROBE, REFUSAL, Kind
from meshmsg._mesh.octets import cluster_tag
from meshmsg._mesh.told import Send, State
from tests.support.mesh_nodes import arrival, core, handle, knows

TIMES = Times()
BEGAN = 10.0
OVER = BEGAN + TIMES.direct + TIMES.indirect + 0.01
"""When a probe that began then has its time over."""


def message(kind: Kind, body: bytes, number: int) -> bytes:
    """What that member sends."""
    return HEAD.pack(1, kind, cluster_tag("test"), handle(number)) + body


def asking() -> Core:
    """One that knows five members, and asks nobody by itself."""
    node = core()
    knows(node, 1, 2, 3, 4, 5)
    node.prober.next_at = 1e9
    node.take()
    return node


def begins(node: Core, number: int, now: float) -> int:
    """Ask a member; return the number that its answer is to have."""
    node.take()
    node.prober.begin(now, node.here.table.rows[handle(number)])
    (ping,) = [item for item in node.take() if item.data[1] == Kind.PING]
    return int(PROBE.unpack_from(ping.data, HEAD.size)[0])


def says(node: Core, number: int, now: float) -> None:
    """A member says something that is no answer."""
    node.arrived(now, arrival(message(Kind.NEWS, b"", number), number))


def answered(node: Core, probe: int, number: int, now: float) -> None:
    """A member answers."""
    node.arrived(now, arrival(message(Kind.ACK, NUMBER.pack(probe), number), number))


def ticks(node: Core, since: float, until: float, speaker: int = 0) -> None:
    """Let time pass, in which a member speaks all the time, or nobody does."""
    now = since
    while now <= until:
        if speaker:
            says(node, speaker, now)
        node.prober.tick(now)
        now += 0.05


def state(node: Core, number: int) -> State:
    """What it takes a member for."""
    return node.here.table.rows[handle(number)].state


def test_who_is_spoken_to_and_not_answered_waits_for_an_answer_to_a_later_question() -> None:
    """What comes is in order: the answer to the earlier one would have been before it."""
    node = asking()
    begins(node, 1, BEGAN)
    ticks(node, BEGAN, BEGAN + 5.0, speaker=2)
    later = begins(node, 3, BEGAN + 5.0)
    ticks(node, BEGAN + 5.0, BEGAN + 9.0, speaker=2)
    assert state(node, 1) == State.ALIVE
    answered(node, later, 3, BEGAN + 9.0)
    ticks(node, BEGAN + 9.0, BEGAN + 9.5, speaker=2)
    assert state(node, 1) == State.SUSPECT


def test_an_answer_to_an_earlier_question_proves_nothing() -> None:
    """Nor one to a question of the same moment: either may be before the other."""
    node = asking()
    earlier = begins(node, 4, BEGAN - 1.0)
    begins(node, 1, BEGAN)
    same = begins(node, 5, BEGAN)
    ticks(node, BEGAN, BEGAN + 3.0, speaker=2)
    answered(node, earlier, 4, BEGAN + 3.0)
    answered(node, same, 5, BEGAN + 3.0)
    ticks(node, BEGAN + 3.0, BEGAN + 5.0, speaker=2)
    assert state(node, 1) == State.ALIVE


def test_an_answer_that_is_late_is_one() -> None:
    """The member is there; and that the answer was late says that this node is slow."""
    node = asking()
    probe = begins(node, 1, BEGAN)
    ticks(node, BEGAN, BEGAN + 5.0, speaker=2)
    slow = node.here.health
    assert slow > 0
    answered(node, probe, 1, BEGAN + 5.0)
    assert node.here.table.rows[handle(1)].heard == BEGAN + 5.0
    assert node.here.health == slow
    assert probe not in node.prober.probes


def test_who_hears_nothing_at_all_waits_for_nothing() -> None:
    """It may be cut off, and is to know that."""
    node = asking()
    says(node, 2, BEGAN)
    begins(node, 1, BEGAN)
    node.prober.tick(BEGAN + TIMES.direct + 0.001)
    node.prober.tick(OVER)
    assert state(node, 1) == State.SUSPECT


def test_a_helper_that_was_not_answered_either_is_an_answer() -> None:
    """It came here in time."""
    node = asking()
    begins(node, 1, BEGAN)
    node.prober.tick(BEGAN + TIMES.direct + 0.001)
    asked = [one for one in node.take() if isinstance(one, Send) and one.data[1] == Kind.INDIRECT]
    (number, _) = PROBE.unpack_from(asked[0].data, HEAD.size)
    helper = next(n for n in range(2, 6) if asked[0].to == f"tcp://10.0.0.{n}:7450")
    nack = message(Kind.NACK, REFUSAL.pack(number, 0), helper)
    node.arrived(OVER - 0.02, arrival(nack, helper))
    node.prober.tick(OVER)
    assert state(node, 1) == State.SUSPECT


def test_who_is_spoken_to_and_never_answered_blames_others_after_a_minute() -> None:
    """So one member that speaks all the time does not keep up those who are gone."""
    node = asking()
    begins(node, 1, BEGAN)
    ticks(node, BEGAN, BEGAN + TIMES.behind - 1.0, speaker=2)
    assert state(node, 1) == State.ALIVE
    ticks(node, BEGAN + TIMES.behind - 1.0, BEGAN + TIMES.behind + 1.0, speaker=2)
    assert state(node, 1) == State.SUSPECT


def test_who_is_answered_late_blames_nobody_for_longer_but_not_for_ever() -> None:
    """Each answer is to a question of before: it is behind, and not cut off."""
    node, now, step = asking(), BEGAN, TIMES.behind - 5.0
    earlier = [begins(node, 4, BEGAN - 1.0) for _ in range(int(TIMES.behind_max / step))]
    begins(node, 1, BEGAN)
    for question in earlier:
        ticks(node, now, now + step, speaker=2)
        now += step
        assert state(node, 1) == State.ALIVE
        answered(node, question, 4, now)
    ticks(node, now, BEGAN + TIMES.behind_max - 1.0, speaker=2)
    assert state(node, 1) == State.ALIVE
    ticks(node, BEGAN + TIMES.behind_max - 1.0, BEGAN + TIMES.behind_max + 1.0, speaker=2)
    assert state(node, 1) == State.SUSPECT


def test_silence_says_nothing_of_a_node_that_was_proven_to_hear() -> None:
    """Helpers that do not answer are gone themselves: so the few of a cut are not slow."""
    node = asking()
    probe = begins(node, 1, BEGAN)
    later = begins(node, 3, BEGAN + 0.1)
    answered(node, later, 3, BEGAN + 0.1)
    ticks(node, BEGAN, OVER)
    assert probe not in node.prober.probes
    assert state(node, 1) == State.SUSPECT
    assert node.here.health == 0
