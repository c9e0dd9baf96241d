"""The rooms of the bench: each imports those before it, and those of a wheel no others."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from meshmsg.bench.peers.roster import PEERS, RIVALS, Elsewhere
from meshmsg.bench.rivals import roster

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("base", "peers", "ends", "scenarios", "measure", "report", "commands")
"""Of a wheel, in order."""
OF_A_CHECKOUT = {"rivals": ("base", "peers"), "targets": ROOMS}
"""The others, and what they may import."""


def imported(path: Path) -> set[str]:
    """The rooms a file imports from, its own among them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found.add(path.parent.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 2:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found |= {name.split(".")[0] for name in names}
    return found


def test_a_room_imports_only_those_before_it() -> None:
    """As the package says."""
    allowed = {room: {room, *ROOMS[:i]} for i, room in enumerate(ROOMS)}
    allowed |= {room: {room, *others} for room, others in OF_A_CHECKOUT.items()}
    for room, others in allowed.items():
        files = sorted((ROOT / "bench" / room).glob("*.py"))
        assert files, room
        for path in files:
            assert imported(path) <= others, path


def test_the_names_of_rivals_are_known_where_they_are_not() -> None:
    """So a scenario that names one is understood by an installed bench."""
    assert tuple(peer.name for peer in roster.RIVALS) == RIVALS
    assert not [peer for peer in PEERS.values() if isinstance(peer, Elsewhere)]


def test_a_checkout_runs_it_by_its_own_name() -> None:
    """And starts its processes by that name, too."""
    command = [sys.executable, "-m", "bench", "thr", "--peer", "meshmsg", "--size", "64"]
    few = ("--count", "100", "--transport", "tcp", "--rounds", "1", "--json", "-")
    done = subprocess.run([*command, *few], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [row["missing"] for row in json.loads(done.stdout)["rows"]] == [None]
    code = "from bench.peers.roster import PEERS; print(PEERS['meshmsg'].command()[2])"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert told.stdout == "bench.ends.process\n"
