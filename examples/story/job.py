"""The Spark job: read the spools that the mesh has, add up, send the sums.

A process of its own, because Spark brings a JVM and its own ideas about signals and output.
`local[2,4]`: two tasks at a time, each tried up to four times (plain `local[2]` never retries).
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from functools import partial
from typing import Any

import meshmsg
from examples.demo.children import leave_with_parent
from examples.demo.meter import tell
from meshmsg.spark import register

from .parse import SCHEMA, Kill, parsed
from .producer import CLUSTER, SERVICE
from .sink import send_rows

TASKS, ATTEMPTS = 2, 4
DRAIN_S = 10.0


def begun() -> Any:
    """Start Spark in this process."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(f"local[{TASKS},{ATTEMPTS}]")
        .appName("meshmsg demo")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(TASKS))
        .getOrCreate()
    )


def start(spark: Any, chosen: argparse.Namespace) -> Any:
    """Start the query; its driver finds the producers in the mesh."""
    source = (
        spark.readStream.format("meshmsg")
        .option("mesh.cluster", CLUSTER)
        .option("mesh.seeds", chosen.seed)
        .option("mesh.service", SERVICE)
        .option("mesh.bind", "tcp://127.0.0.1:0")
        .option("mesh.minProducers", chosen.producers)
        .option("offsetTimeout", f"{chosen.timeout:.0f}s")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", chosen.batch)
        .option("columns", "value,offset")
    )
    if chosen.security is not None:
        source = source.option("security", chosen.security)
    if chosen.secret is not None:
        source = source.option("mesh.secretFile", chosen.secret)
    rows = source.load().mapInArrow(partial(parsed, Kill(chosen.folder, chosen.kill)), SCHEMA)
    sums = rows.groupBy("file", "month").agg(*aggregates())
    return (
        sums.writeStream.outputMode("update")
        .foreachBatch(partial(send_rows, chosen.results))
        .option("checkpointLocation", f"{chosen.folder}/checkpoint")
        .start()
    )


def aggregates() -> list[Any]:
    """What is added up of each file and month."""
    from pyspark.sql import functions as f

    return [
        f.count("*").alias("count"),
        f.sum((f.col("first") > 0).cast("bigint")).alias("positive"),
        f.sum("first").alias("first"),
        f.sum("second").alias("second"),
        f.min("first").alias("low"),
        f.max("first").alias("high"),
    ]


def listener(push: meshmsg.Push, total: int, over: threading.Event) -> Any:
    """What tells of each batch, and says when all rows are through."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Progress(StreamingQueryListener):
        rows = 0

        def onQueryStarted(self, event: Any) -> None:
            """Nothing."""

        def onQueryProgress(self, event: Any) -> None:
            progress = event.progress
            self.rows += progress.numInputRows
            took = progress.durationMs.get("triggerExecution", 0)
            tell(push, "progress", batch=progress.batchId, rows=self.rows, ms=took)
            if self.rows >= total:
                over.set()

        def onQueryTerminated(self, event: Any) -> None:
            over.set()

        def onQueryIdle(self, event: Any) -> None:
            """Nothing."""

    return Progress()


def main(arguments: list[str]) -> int:
    """Run the query until all rows are through; an exception, when it failed."""
    parser = argparse.ArgumentParser(prog="examples.story.job")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--secret", default=None)
    parser.add_argument("--security", default=None)
    parser.add_argument("--results", required=True)
    parser.add_argument("--telemetry", required=True)
    parser.add_argument("--producers", type=int, required=True)
    parser.add_argument("--total", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--kill", type=int, required=True)
    parser.add_argument("--timeout", type=float, required=True)
    chosen = parser.parse_args(arguments)
    leave_with_parent()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with meshmsg.Push(connect=chosen.telemetry) as push:
        spark = begun()
        try:
            register(spark)
            tell(push, "spark", version=spark.version)
            over = threading.Event()
            spark.streams.addListener(listener(push, chosen.total, over))
            query = start(spark, chosen)
            if not over.wait(chosen.timeout):
                raise TimeoutError(f"not all rows were read within {chosen.timeout:.0f} s")
            if (error := query.exception()) is not None:
                raise error
            query.stop()
            tell(push, "done", who="job")
            push.drain(timeout=DRAIN_S).raise_for_loss()
        finally:
            spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
