"""Rounds: A B A B, the first one warms up and is thrown away; a peer that fails becomes a row.

Not here: what a measurement is (the case brings a function) and how rows are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..base.need import BenchError
from ..peers.seam import Peer
from .stats import Summary
from .stolen import Patience

Figures = dict[str, float]
Row = dict[str, Any]
MACHINE = "machine"
"""The name of rows that are of no peer, but of what the machine does by itself."""


@dataclass
class Case:
    """One peer at one size over one transport."""

    peer: Peer
    kind: str
    transport: str
    measure: Callable[[bool], Figures]
    """Given whether it is the warm-up: measure once."""
    facts: Row = field(default_factory=dict)
    """More that stands in the row: size, count, load."""
    failed: str | None = None
    rounds: list[Figures] = field(default_factory=list)
    disturbed: int = 0
    """Rounds in which the machine's host took processors away, and that count all the same."""
    needs: str = ""
    """The kind of measurement a peer must have; that of the case, if not said."""
    over: str = ""
    """Likewise the transport."""
    extra: Callable[[], Row] = dict
    """What is known only afterwards, of all rounds together: a distribution."""
    forget: Callable[[], None] = lambda: None
    """Has the last round not be among them."""

    def row(self) -> Row:
        """What goes into the table and the record."""
        names = list(self.rounds[0]) if self.rounds else []
        every = [name for name in names if all(name in one for one in self.rounds)]
        return {
            "kind": self.kind,
            "peer": self.peer.name,
            "version": "" if self.failed else self.peer.version(),
            "transport": self.transport,
            **self.facts,
            "rounds": len(self.rounds),
            "rounds_disturbed": self.disturbed,
            "missing": self.failed,
            **({} if self.failed else self.extra()),
            "figures": {
                name: Summary.of([one[name] for one in self.rounds]).as_json() for name in every
            },
            "each_round": self.rounds,
        }


def order(cases: Sequence[Case], rounds: int) -> Iterator[tuple[int, Case]]:
    """In which order it is measured; round 0 is the warm-up."""
    for number in range(rounds + 1):
        for case in cases:
            yield number, case


def run(
    cases: Sequence[Case],
    rounds: int,
    told: Callable[[int, Case], None] = lambda _, __: None,
    patience: Patience | None = None,
) -> list[Row]:
    """Measure all cases against each other; a row each."""
    patience = patience or Patience()
    for case in cases:
        needs = case.needs or case.kind
        case.failed = case.peer.why_not(needs, case.over or case.transport)
    for number, case in order(cases, rounds):
        if case.failed is not None:
            continue
        told(number, case)
        try:
            if number:
                figures, calm = patience.measure(partial(case.measure, False), case.forget)
                case.disturbed += not calm
            else:
                figures = case.measure(True)
        except BenchError as error:
            case.failed = str(error)
            case.rounds.clear()
            continue
        if number:
            case.rounds.append(figures)
    return [case.row() for case in cases]
