"""A session of Spark for the tests of this folder: two cores, and four attempts of a task."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.older import spark_version

CLOSES = (4, 2)
"""From this version on Spark closes the sockets over which it collects rows."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Blame no test for sockets that an older Spark leaves to the collector."""
    if spark_version() >= CLOSES:
        return
    left = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(left)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start one, once for all tests; its own words are not shown."""
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local[2,4]")
        .appName("meshmsg-tests")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
