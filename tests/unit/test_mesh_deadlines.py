"""When something is due about suspicions: the same as if all were looked at each time."""

from __future__ import annotations

from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from meshmsg._mesh.core import Core
from meshmsg._mesh.octets import (
    Rumour,
    Statement,
    cluster_tag,
    signed_of,
    statement_octets,
    statement_raw,
)
from meshmsg._mesh.opinion import Opinions
from meshmsg._mesh.table import Row, Suspicion
from meshmsg._mesh.told import State
from meshmsg._mesh.waiting.deadlines import SPARE, Deadlines
from tests.support.mesh_nodes import core, handle, knows, signed_octets, signer

MEMBERS = range(1, 7)
SIGNED = {number: signed_of(signed_octets(number)) for number in MEMBERS}
INFINITY = float("inf")


def accuse(suspects: dict[bytes, Row], number: int, deadline: float) -> Row:
    """Have it be suspect until then, whatever it was."""
    row = suspects.setdefault(handle(number), Row(SIGNED[number], State.SUSPECT, 0.0, b""))
    row.proof = Suspicion(1, 0.0)
    row.proof.deadline = deadline
    return row


def suspicion_of(row: Row) -> Suspicion:
    """Of one that has one."""
    assert row.suspicion is not None
    return row.suspicion


times = st.integers(0, 40).map(lambda tenths: tenths / 8)  # sums of these are exact
changes = st.tuples(
    st.sampled_from(("suspect", "move", "ask", "unask", "clear", "take", "first")),
    st.sampled_from(MEMBERS),
    times,
    times,
)


@given(st.lists(changes, max_size=60))
def test_what_is_due_is_what_a_look_at_all_of_them_finds(
    steps: list[tuple[str, int, float, float]],
) -> None:
    """Whatever was put again, ended or is asked again; however long a look takes."""
    suspects: dict[bytes, Row] = {}
    deadlines = Deadlines(suspects)
    taken: set[bytes] = set()
    for what, number, when, looking in steps:
        name, row = handle(number), suspects.get(handle(number))
        if what == "suspect":
            accuse(suspects, number, when)
        elif what == "take":
            asked = [r for r in suspects.values() if suspicion_of(r).looked]
            over = {r.signed.handle for r in asked if suspicion_of(r).deadline <= when} - taken
            start = {
                r.signed.handle
                for r in suspects.values()
                if not suspicion_of(r).looked and suspicion_of(r).deadline - looking <= when
            } - taken
            assert {r.signed.handle for r in deadlines.over(when)} == over
            assert {r.signed.handle for r in deadlines.to_ask(when, looking)} == start
            taken |= over | start
            continue
        elif what == "first":
            dues = [
                suspicion_of(r).deadline - (0 if suspicion_of(r).looked else looking)
                for r in suspects.values()
                if r.signed.handle not in taken
            ]
            assert deadlines.first(looking) == min(dues, default=INFINITY)
            continue
        elif row is None:
            continue
        elif what == "clear":
            row.proof = None
            row.state = State.ALIVE
            del suspects[name]
        elif what == "move":
            suspicion_of(row).deadline = when
        else:
            suspicion_of(row).looked = what == "ask"
        taken.discard(name)
        if name in suspects:
            deadlines.put(suspects[name])


def test_what_waits_is_bounded_by_how_many_are_suspect_not_by_how_often() -> None:
    """Of one that is accused and refutes it again and again, and of others that are suspect."""
    suspects: dict[bytes, Row] = {}
    deadlines = Deadlines(suspects)
    for number in (1, 2):
        deadlines.put(accuse(suspects, number, 100.0))
    most = 0
    for turn in range(10 * SPARE):
        deadlines.put(accuse(suspects, 3, 200.0 - turn / 16))
        most = max(most, len(deadlines))
    assert most <= 2 * len(suspects) + SPARE
    assert deadlines.first(0.0) == 100.0
    assert [row.signed.handle for row in deadlines.to_ask(300.0, 0.0)] == [
        handle(1),
        handle(2),
        handle(3),
    ]


class LooksAtAll(Opinions):
    """The plain way: all suspects are gone through each time."""

    def expire(self, now: float) -> None:
        """End the suspicions whose time is over."""
        self.expiry = INFINITY
        for row in list(self.suspects.values()):
            suspicion = suspicion_of(row)
            if suspicion.silent and suspicion.deadline <= now:
                self._unreachable(now, row)
                continue
            if not suspicion.looked and suspicion.deadline - self._looking <= now:
                self._look(now, row)
            due = suspicion.deadline - (0 if suspicion.looked else self._looking)
            self.expiry = min(self.expiry, due if due > now else now + 1.0)


def node(kind: type[Opinions]) -> Core:
    """One that knows all, and thinks of them in that way."""
    made = core()
    made.here.verify = lambda key, data, signature: True  # it takes most of the time
    made.here.rng = Random(1)
    made.opinions = kind(made.here)
    knows(made, *MEMBERS)
    return made


def accused(kind: Rumour, subject: int, by: int) -> bytes:
    """What one says of another."""
    data = statement_octets(kind, cluster_tag("test"), handle(subject), 1, handle(by))
    return statement_raw(Statement(kind, handle(subject), 1, handle(by), signer(by).sign(data)))


SAID = {
    (kind, subject, by): accused(kind, subject, by)
    for kind in (Rumour.SUSPECT, Rumour.REFUSED)
    for subject in MEMBERS
    for by in MEMBERS
}
acts = st.tuples(
    st.sampled_from(("suspect", "refused", "failed", "shut", "silent", "heard", "frozen")),
    st.sampled_from(MEMBERS),
    st.sampled_from(MEMBERS),
    st.sampled_from((0.0, 0.1, 0.45, 1.0, 3.0)),
)


def do(one: Opinions, now: float, what: str, subject: int, by: int) -> None:
    """Have it happen to one node."""
    row = one.here.table.rows[handle(subject)]
    if what in ("suspect", "refused"):
        kind = Rumour.SUSPECT if what == "suspect" else Rumour.REFUSED
        one.hear_statement(now, kind, SAID[kind, subject, by])
    elif what == "heard":
        one.heard(now, row)
    elif what == "frozen":
        one.look_again()
        one.postpone(2.0)
    else:
        kind = Rumour.REFUSED if what == "shut" else Rumour.SUSPECT
        one.accuse(now, row, kind, last=what == "silent")


def thought(one: Opinions) -> dict[bytes, tuple[object, ...]]:
    """What it holds of each."""
    return {
        name: (row.state, s.looked, s.silent, s.deadline) if (s := row.suspicion) else (row.state,)
        for name, row in one.here.table.rows.items()
    }


@example([("shut", 4, 1, 0.0), ("silent", 4, 1, 3.0), ("heard", 1, 1, 3.0), ("heard", 1, 1, 3.0)])
@given(st.lists(acts, max_size=40))
def test_suspicions_end_as_if_all_were_looked_at_each_time(
    steps: list[tuple[str, int, int, float]],
) -> None:
    """Accused, asked, silent, heard and frozen in any order; each is called as it asked for."""
    ours, plain, now = node(Opinions).opinions, node(LooksAtAll).opinions, 10.0
    for what, subject, by, pause in steps:
        now += pause
        for one in (ours, plain):
            if one.expiry <= now:
                one.expire(now)
        assert thought(ours) == thought(plain)
        assert ours.expiry > now
        for one in (ours, plain):
            do(one, now, what, subject, by)
        assert thought(ours) == thought(plain)
        assert set(ours.looks_later) == set(plain.looks_later)
