"""FanOut and executors_as_mesh where executors are processes of their own: a local cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.programs import running
from tests.support.sparked import needs_spark

pytestmark = [
    needs_spark,
    pytest.mark.leaves_threads,
    pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here"),
]
SPARK_S = 600
"""Seconds until it is given up: executors begin and begin again, on a machine that may be busy."""


def test_items_and_meshes_of_executors_that_are_processes(tmp_path: Path) -> None:
    """One executor is killed with an item in its hands: each has one result, by encrypted sockets
    that are bound to all addresses. Then tasks of both executors talk, as a tree, all to all, and
    in pairs; and what has no slots is refused, whatever `spark.default.parallelism` says."""
    command = [sys.executable, "-m", "tests.spark.clustered", tmp_path]
    with running(command, stdout=-1) as driver:
        said = driver.communicate(timeout=SPARK_S)[0].splitlines()
    told = dict(json.loads(line) for line in said)
    assert told["killed"] == 1
    assert told["results"] is True
    assert told["counts"] == [60, 0, 0, True]
    assert told["tree"] == [[1, 2], [0, 3], [0], [1]]
    assert told["daemons"] == 2
    assert told["all"] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert told["pairs"] == [[3], [2], [1], [0]]
    assert told["refused"].startswith("count is 5, and this session has 4 slots after 0.5 s")
    assert driver.returncode == 0
