"""Spark Connect: what works in a session that has no JVM of its own, and what says that it cannot.

Not here: the program that tries it (connected.py): a session of another kind than that of the other
tests, so in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.pairs import of_its_own
from tests.support.sparked import filled, needs_spark

pytestmark = [
    needs_spark,
    pytest.mark.skipif(find_spec("grpc_status") is None, reason="not installed: pyspark[connect]"),
]

COUNT = 1000
PATIENCE_S = 540


def test_a_session_of_spark_connect(tmp_path: Path) -> None:
    """What docs/spark.md says of it: what works, and what needs a SparkContext and says so."""
    with (
        filled(tmp_path / "spool", COUNT) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        command = [sys.executable, "-m", "tests.spark.connected", server.endpoint, str(tmp_path)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert "connect" in found["session"]
    counts = [found[way] for way in ("batch", "sql", "registered", "stream", "stream_sink")]
    assert counts == [COUNT] * 5
    assert found["sink"] == 100
    assert f"batch 0, {COUNT:,} rows in " in found["line"]
    assert found["line"].endswith("nothing is behind")
    assert found["fan_out"] == ["aa", "bb"]
    assert found["rows"] == ["00", "11"]
    for call in ("mesh", "tasks", "counts"):
        assert "Spark Connect has none" in found[call]
