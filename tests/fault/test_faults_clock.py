"""Row F20 of the table of faults (matrix.py): the wall clock is set while messages wait to go.

Not here: what it does to files (test_faults_disk.py), and in the simulator (tests/sim).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fault.test_faults_calls import CC, FLAGS
from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT

DAY = 86_400
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="what is loaded in front is of Linux"),
    pytest.mark.skipif(not CC, reason="no C compiler on this machine"),
    pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="beside a sanitizer"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is loaded in front."""
    made = tmp_path_factory.mktemp("clock") / "clock_set.so"
    source = ROOT / "tests" / "fault" / "clock_set.c"
    subprocess.run([CC, *FLAGS, source, "-o", made], check=True, timeout=WAIT_S)
    return made


@pytest.mark.parametrize("who", ["push", "group"])
@pytest.mark.parametrize("days", [-400, -1, 1, 400])
def test_f20_a_delay_is_as_long_as_it_was_to_be(
    library: Path, tmp_path: Path, who: str, days: int
) -> None:
    """A clock that is put back holds nothing up, and one that is put forth sends nothing early."""
    file = tmp_path / "set"
    file.write_bytes(bytes(8))
    command = [
        sys.executable,
        "-m",
        "tests.fault.later",
        tmp_path / "s",
        file,
        str(days * DAY),
        who,
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "LD_PRELOAD": str(library), "CLOCK_SET": str(file)},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=4 * WAIT_S,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["now", "soon", "at the end"], done.stderr
    assert done.returncode == 0, done.stderr
