"""A program with a session of Spark Connect: it prints a line of JSON with what worked there.

Its arguments are an endpoint of a filled spool and a folder. The test is test_connect.py.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import meshmsg as mm
from meshmsg.spark import FanOut, executors_as_mesh, map_rows, progress_listener, run_tasks

ROWS = 100
PATIENCE = 60.0


def double(item: bytes) -> bytes:
    """Say it twice."""
    return item * 2


def read(spark: Any, endpoint: str) -> Any:
    """A reader of what is there."""
    return spark.read.format("meshmsg").option("endpoints", endpoint).load()


def streamed(spark: Any, endpoint: str, folder: Path) -> int:
    """How many rows a stream writes that ends with what is there."""
    spark.streams.addListener(progress_listener())
    rows = (
        spark.readStream.format("meshmsg")
        .option("endpoints", endpoint)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        rows.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    if not query.awaitTermination(int(PATIENCE)):
        raise TimeoutError("the stream has not ended")
    return int(spark.read.parquet(str(folder / "out")).count())


def written(spark: Any) -> int:
    """How many of the rows of a table come to a Pull."""
    got: set[bytes] = set()
    with mm.Pull(bind="tcp://127.0.0.1:0", ack="manual") as pull:

        def take() -> None:
            while len(got) < ROWS:
                with pull.recv(timeout=PATIENCE) as message:
                    got.add(bytes(message))

        taking = threading.Thread(target=take)
        taking.start()
        table = spark.range(ROWS).selectExpr("cast(id as string) as value")
        table.write.format("meshmsg").option("endpoints", pull.endpoint).mode("append").save()
        taking.join(PATIENCE)
    return len(got)


def refused(call: Any) -> str:
    """What it says."""
    try:
        call()
    except mm.UsageError as error:
        return str(error)
    return "it worked"


def main() -> None:
    """Try all of it."""
    from pyspark.sql import SparkSession

    endpoint, folder = sys.argv[1], Path(sys.argv[2])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder: Any = SparkSession.builder
    spark = builder.remote("local[2]").getOrCreate()
    found = {
        "session": type(spark).__module__,
        "batch": read(spark, endpoint).count(),
        "stream": streamed(spark, endpoint, folder),
        "sink": written(spark),
    }
    with FanOut(spark, double, workers=2) as fan:
        found["fan_out"] = [result.decode() for result in fan.map([b"a", b"b"])]
    numbers = spark.range(2).selectExpr("CAST(id AS STRING) AS value")
    found["rows"] = sorted(result.decode() for result in map_rows(numbers, double))
    found["mesh"] = refused(lambda: executors_as_mesh(spark, lambda node: node.rank, count=2))
    found["tasks"] = refused(lambda: run_tasks(spark, lambda part, attempt: part, count=2))
    spark.stop()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
