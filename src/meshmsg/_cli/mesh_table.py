"""The nodes of a mesh as a table: printed once, or kept up to date on a terminal.

Not here: asking (mesh/_outside), the arguments (mesh_program.py). Law: a terminal is given no octet
that a node has chosen, but what is printable; and it is left as it was found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TextIO

from meshmsg._cli.showing import printable
from meshmsg._hints.plural import counted, plural
from meshmsg._mesh.limits import WEIGHT
from meshmsg._mesh.told import Service, State
from meshmsg.mesh import MemberInfo

ID_SHOWN = 8
"""Characters of an id that a table has."""
SIZE = (80, 24)
"""Columns and lines of a terminal that does not say."""
_BEGIN = "\x1b[?25l\x1b[?7l\x1b[2J"
"""No cursor, no lines that go on in the next one, and nothing else to be seen."""
_END = "\x1b[?7h\x1b[?25h"
_TOP, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


def rows(members: Iterable[MemberInfo], me: bytes) -> list[list[str]]:
    """Return a row of cells for each node, after one for their names; `me` gets a star."""
    found = [["name", "id", "state", "rtt ms", "address", "zone", "services"]]
    for one in sorted(members, key=lambda m: (m.name, m.node_id)):
        rtt = "" if one.rtt is None else f"{one.rtt * 1000:.2f}"
        offered = [_offered(s) for s in one.services]
        mark = "*" if one.node_id == me else ""
        found.append(
            [
                one.name + mark,
                one.node_id.hex()[:ID_SHOWN],
                one.state.name,
                rtt,
                " ".join(one.addresses),
                one.zone,
                ", ".join(offered),
            ]
        )
    return found


def _offered(service: Service) -> str:
    """Its weight is told if it is not that of most."""
    weight = "" if service.weight == WEIGHT else f", weight {service.weight}"
    return f"{service.name} ({service.role}{weight}) {' '.join(service.endpoints)}"


def lines(table: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, each column as wide as it has to be."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    )
    return [printable(line.rstrip()) for line in padded]


class LiveTable:
    """The nodes that one node sees, on a terminal. `with` leaves the terminal as it was."""

    def __init__(self, out: TextIO) -> None:
        """Write to a terminal."""
        self._out = out
        self._members: dict[bytes, MemberInfo] = {}
        self._me = b""

    def __enter__(self) -> LiveTable:
        self._out.write(_BEGIN)
        return self

    def __exit__(self, *_: object) -> None:
        self._out.write(_END)
        self._out.flush()

    def all(self, members: Sequence[MemberInfo]) -> None:
        """Take all nodes, the one that was asked first, and show them."""
        self._me = members[0].node_id if members else b""
        self._members = {one.node_id: one for one in members}
        self._draw()

    def changed(self, member: MemberInfo) -> None:
        """Take one node as it is now, and show that."""
        self._members[member.node_id] = member
        self._draw()

    def _draw(self) -> None:
        _, height = _size(self._out)
        several = self._members.values()
        there = sum(one.state in (State.ALIVE, State.SUSPECT) for one in several)
        me = self._members.get(self._me)
        name = "" if me is None else me.name
        how_many = f"{counted(len(several), 'node')}, {there} {plural(there, 'is', 'are')} there"
        head = printable(f"{how_many}, as {name} sees it")
        shown = [f"{head}; Ctrl-C ends", *lines(rows(several, self._me))]
        if len(shown) > height:
            left = len(shown) - height + 1
            shown = [*shown[: height - 1], f"and {left} more: `meshmsg mesh ls` lists them"]
        text = f"{_REST_OF_LINE}\n".join(shown)
        self._out.write(f"{_TOP}{text}{_REST_OF_LINE}{_REST}")
        self._out.flush()


def _size(out: TextIO) -> tuple[int, int]:
    try:
        columns, height = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        return SIZE
    return columns or SIZE[0], max(height, 3) if height else SIZE[1]


def is_terminal(out: TextIO) -> bool:
    """Whether a table can be kept up to date there: it is a terminal that has such commands."""
    return out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
