"""A program with a session of Spark Connect: it prints a line of JSON with what worked there.

Its arguments are an endpoint of a filled spool and a folder. The test is test_connect.py.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import meshmsg as mm
from meshmsg.spark import (
    FanOut,
    count_reads,
    executors_as_mesh,
    map_rows,
    progress_listener,
    register,
    run_tasks,
)

ROWS = 100
PATIENCE = 240.0


def double(item: bytes) -> bytes:
    """Say it twice."""
    return item * 2


def read(spark: Any, endpoint: str) -> Any:
    """A reader of what is there."""
    return spark.read.format("meshmsg").option("endpoints", endpoint).load()


def viewed(spark: Any, endpoint: str) -> int:
    """How many rows SQL counts, which finds the source by its name."""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW v USING meshmsg OPTIONS (endpoints '{endpoint}')")
    return int(spark.sql("SELECT count(*) AS n FROM v").collect()[0].n)


def ended(query: Any) -> None:
    """Wait until a stream ends by itself."""
    if not query.awaitTermination(int(PATIENCE)):
        raise TimeoutError("the stream has not ended")


def stream_of(spark: Any, endpoint: str) -> Any:
    """A stream of what is there."""
    return (
        spark.readStream.format("meshmsg")
        .option("endpoints", endpoint)
        .option("startingOffsets", "earliest")
        .load()
    )


def streamed(spark: Any, endpoint: str, folder: Path) -> tuple[int, str]:
    """How many rows a stream writes that ends with what is there, and a line of the listener."""
    lines: Queue[str] = Queue()
    listener = progress_listener(lines.put)
    spark.streams.addListener(listener)
    ended(
        stream_of(spark, endpoint)
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    line = lines.get(timeout=PATIENCE)
    spark.streams.removeListener(listener)
    return int(spark.read.parquet(str(folder / "out")).count()), line


@contextmanager
def receiver(count: int) -> Iterator[tuple[str, set[bytes]]]:
    """Give the endpoint of a Pull, and what has come there once so many have."""
    got: set[bytes] = set()
    with mm.Pull(bind="tcp://127.0.0.1:0", ack="manual") as pull:

        def take() -> None:
            while len(got) < count:
                with pull.recv(timeout=PATIENCE) as message:
                    got.add(bytes(message))

        taking = threading.Thread(target=take)
        taking.start()
        yield pull.endpoint, got
        taking.join(PATIENCE)


def written(spark: Any) -> int:
    """How many of the rows of a table come to a Pull."""
    with receiver(ROWS) as (endpoint, got):
        table = spark.range(ROWS).selectExpr("cast(id as string) as value")
        table.write.format("meshmsg").option("endpoints", endpoint).mode("append").save()
    return len(got)


def stream_written(spark: Any, endpoint: str, count: int, folder: Path) -> int:
    """How many of the rows of a stream come to a Pull."""
    with receiver(count) as (where, got):
        ended(
            stream_of(spark, endpoint)
            .select("value", "key")
            .writeStream.format("meshmsg")
            .option("endpoints", where)
            .option("checkpointLocation", str(folder / "sent"))
            .trigger(availableNow=True)
            .start()
        )
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
    os.environ["SPARK_TESTING"] = "1"  # a free port, in place of one for all that run here
    builder: Any = SparkSession.builder
    builder = builder.config("spark.connect.grpc.binding.address", "127.0.0.1")
    spark = builder.remote("local[2]").getOrCreate()
    found: dict[str, Any] = {"session": type(spark).__module__}
    found["batch"] = read(spark, endpoint).count()
    found["sql"] = viewed(spark, endpoint)
    register(spark)
    found["registered"] = read(spark, endpoint).count()
    found["stream"], found["line"] = streamed(spark, endpoint, folder)
    found["sink"] = written(spark)
    found["stream_sink"] = stream_written(spark, endpoint, found["batch"], folder)
    with FanOut(spark, double, workers=2) as fan:
        found["fan_out"] = [result.decode() for result in fan.map([b"a", b"b"])]
    numbers = spark.range(2).selectExpr("CAST(id AS STRING) AS value")
    found["rows"] = sorted(result.decode() for result in map_rows(numbers, double))
    found["mesh"] = refused(lambda: executors_as_mesh(spark, lambda node: node.rank, count=2))
    found["tasks"] = refused(lambda: run_tasks(spark, lambda part, attempt: part, count=2))
    found["counts"] = refused(lambda: count_reads(spark))
    spark.stop()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
