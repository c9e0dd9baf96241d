"""A program whose Spark has workers forked from a daemon with meshmsg open (preloading.py).

Its argument is the endpoint of a filled spool. It prints a line of JSON with what worked; the test
is test_daemon.py.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any


def used(_: Iterator[Any]) -> Iterator[Any]:
    """In a task: what becomes of a socket that the daemon opened, and of one of its own."""
    import pyarrow as pa

    import meshmsg as mm

    opened = sys.modules["__main__"]
    try:
        opened.PUSH.send(b"x", timeout=1.0)
        said = "it worked"
    except mm.MeshError as error:
        said = type(error).__name__
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, mm.Push(connect=pull.endpoint) as push:
        push.send(b"own")
        said += " " + pull.recv(timeout=60.0).decode()
    yield pa.record_batch({"said": [said]})


def main() -> None:
    """Read by the source, and open sockets in tasks, some rounds of each."""
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.python.daemon.module", "tests.spark.preloading")
        .config("spark.python.worker.reuse", "false")  # each task has a fork of its own
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    source = spark.read.format("meshmsg").option("endpoints", sys.argv[1])
    counts = [source.option("minPartitions", "4").load().count() for _ in range(2)]
    rows = spark.range(4, numPartitions=4).mapInArrow(used, "said string").collect()
    spark.stop()
    print(json.dumps({"counts": counts, "said": sorted({row.said for row in rows})}), flush=True)


if __name__ == "__main__":
    main()
