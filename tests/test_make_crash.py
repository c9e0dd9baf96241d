"""`make crash` runs what it is said to run: as often, all of it, and each part alone.

Not here: what those tests find (tests/crash, tests/fault, tests/c/test_spool_harm.c, tests/spark,
tests/mesh).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT

KNOBS = (
    "ROUNDS", "KILL_ROUNDS", "SPARK_ROUNDS", "CLUSTER_ROUNDS", "STRIDE", "SEEDS", "PARTS",
    "PROCESSES",
)  # fmt: skip
PARTS = {
    "kills": ("MESHMSG_CRASH_ROUNDS=${ROUNDS:-1000}", "tests/crash"),
    "calls": ("MESHMSG_CRASH_ROUNDS=${ROUNDS:-1000}", "tests/fault/test_faults_calls.py"),
    "harm": ("MESHMSG_SPOOL_STRIDE=${STRIDE:-1}", "tests/unit/test_c.py"),
    "spark": ("MESHMSG_CRASH_ROUNDS=${KILL_ROUNDS:-50}", "tests/spark/test_kill.py"),
    "mesh": ("MESHMSG_MESH_PROCESSES=${PROCESSES:-100}", "tests/mesh/test_mesh_crowd.py"),
}
"""Of each part: how often, and what."""
READS = re.compile(r'environ\.get\(\s*"(MESHMSG_\w+)"|getenv\("(MESHMSG_\w+)"\)')

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


def asked(*arguments: str) -> list[str]:
    """The commands of pytest that make would run."""
    env = {name: value for name, value in os.environ.items() if name not in KNOBS}
    env.pop("MAKEFLAGS", None)
    done = subprocess.run(
        ["make", "-n", "crash", *arguments],
        cwd=ROOT, env=env, capture_output=True, text=True, check=True, timeout=WAIT_S,
    )  # fmt: skip
    lines = done.stdout.replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if "pytest" in line]


def test_all_parts_are_run() -> None:
    """Each once, with its number of rounds."""
    commands = asked()
    assert len(commands) == len(PARTS)
    for command, words in zip(commands, PARTS.values(), strict=True):
        assert all(word in command.split() for word in words), command


@pytest.mark.parametrize("part", PARTS)
def test_a_part_can_be_run_alone(part: str) -> None:
    """By a variable."""
    (command,) = asked(f"PARTS={part}")
    assert all(word in command.split() for word in PARTS[part])


@pytest.mark.parametrize("part", PARTS)
def test_what_a_part_sets_is_read_by_what_it_runs(part: str) -> None:
    """A name that nobody reads would change nothing, and nobody would be told."""
    (command,) = asked(f"PARTS={part}")
    named = [ROOT / word for word in command.split() if word.startswith("tests/")]
    files = [file for path in named for file in (path.rglob("*.py") if path.is_dir() else [path])]
    files += [ROOT / "tests/crash/crew.py", *(ROOT / "tests/c").glob("test_spool_*.c")]
    read = {name for file in files for found in READS.findall(text_of(file)) for name in found}
    assert set(re.findall(r"MESHMSG_\w+(?==)", command)) <= read
    assert all(file.exists() for file in named)


def text_of(path: Path) -> str:
    """What stands in a file."""
    return path.read_text(encoding="utf-8")
