"""Workers that are forked from a daemon with meshmsg open: nothing hangs, and each has its own.

Not here: the daemon and the program (preloading.py, preloaded.py): a setting of the whole session,
so in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import meshmsg as mm
from tests.support.pairs import of_its_own
from tests.support.sparked import filled, needs_spark

pytestmark = needs_spark
COUNT = 1000
PATIENCE_S = 540


def test_tasks_of_a_daemon_that_has_sockets_open(tmp_path: Path) -> None:
    """The source reads, a socket of the daemon's says that it is forked, one of their own works."""
    with (
        filled(tmp_path / "spool", COUNT) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        command = [sys.executable, "-m", "tests.spark.preloaded", server.endpoint]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found == {"counts": [COUNT, COUNT], "said": ["ForkedError own"]}
