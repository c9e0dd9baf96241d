"""Who is gone for long is forgotten, then removed: the same as if all were looked at each time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh import opinion
from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.opinion import Opinions, _was_asked
from meshmsg._mesh.table import Row
from meshmsg._mesh.told import State
from tests.support.mesh_nodes import core, handle, signed_octets

TIMES = replace(Times(), forget=7.0, forget_unheard=3.0, left_kept=5.0, forgotten_kept=9.0)
MEMBERS = range(1, 9)
OWN = 50
NAMES = {number: f"node-{OWN - number % 5}" for number in MEMBERS}
"""Some share one, and one has that of the node itself."""
FORGOTTEN_MAX = 2


class LooksAtAll(Opinions):
    """The plain way: all who are gone are gone through each time."""

    def sweep(self, now: float) -> None:
        """Forget, and remove."""
        forgotten: list[Row] = []
        for row in list(self.here.table.absent.values()):
            age = now - row.since
            if row.state == State.UNREACHABLE:
                least = TIMES.forget if row.heard is not None else TIMES.forget_unheard
                if age >= least or (_was_asked(row) and self._replaced(row)):
                    self.forget(now, row)
            elif age >= (TIMES.left_kept if row.state == State.LEFT else TIMES.forgotten_kept):
                self._remove(row)
            elif row.state == State.FORGOTTEN:
                forgotten.append(row)
        forgotten.sort(key=lambda row: row.since)
        for row in forgotten[: max(0, len(forgotten) - FORGOTTEN_MAX)]:
            self._remove(row)


def node(kind: type[Opinions]) -> Core:
    """One that thinks of others in that way; it has a name that another has, too."""
    made = core(OWN, times=TIMES)
    made.here.verify = lambda key, data, signature: True
    made.opinions = kind(made.here)
    return made


acts = st.lists(
    st.tuples(
        st.sampled_from(("record", "held", "silent", "heard", "left")),
        st.sampled_from(MEMBERS),
        st.integers(0, 4).map(float),
    ),
    max_size=40,
)
RAW = {number: signed_octets(number, name=NAMES[number]) for number in MEMBERS}


def do(one: Opinions, now: float, what: str, number: int) -> None:
    """Have it happen to one node."""
    row = one.here.table.rows.get(handle(number))
    if what in ("record", "held"):
        one.hear_record(now, RAW[number], "tcp://10.0.0.9:1", handle(9), held=what == "held")
    elif row is not None and what == "heard":
        one.heard(now, row)
    elif row is not None and what == "left" and row.state not in (State.LEFT, State.FORGOTTEN):
        one.suspects.pop(handle(number), None)
        one.here.table.change(row, State.LEFT, now, handle(number))
    elif row is not None and what == "silent" and row.state in (State.ALIVE, State.SUSPECT):
        one._unreachable(now, row)


@given(acts)
def test_ages_do_what_a_look_at_all_each_time_does(acts: list[tuple[str, int, float]]) -> None:
    """Known, gone, heard again and left in any order, some of them of one name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opinion, "FORGOTTEN_MAX", FORGOTTEN_MAX)
        ours, plain, now = node(Opinions).opinions, node(LooksAtAll).opinions, 1.0
        for what, number, pause in acts:
            for one in (ours, plain):
                do(one, now, what, number)
            for _ in range(1 + int(pause)):  # the driver sweeps each second
                now += 1.0
                for one in (ours, plain):
                    one.sweep(now)
                states = [
                    {h: (r.state, r.since) for h, r in one.here.table.rows.items()}
                    for one in (ours, plain)
                ]
                assert states[0] == states[1]


def test_who_is_gone_is_looked_at_only_when_one_may_be_due() -> None:
    """A cut takes half of a mesh for ten minutes: it costs a sweep nothing."""
    one = node(Opinions).opinions
    for number in MEMBERS:
        do(one, 0.0, "record", number)
        do(one, 0.0, "silent", number)
    looks = []
    for now in range(1, 40):
        before = one._aged_at
        one.sweep(now)
        if before <= now:
            looks.append(now)
    assert len(looks) < 20
    assert max(later - earlier for earlier, later in pairwise(looks)) >= min(
        TIMES.forget_unheard, TIMES.left_kept
    )
