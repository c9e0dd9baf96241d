"""The Spark job: find the producers in the mesh, read their spools, add up, send the sums.

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
from meshmsg.mesh import Mesh
from meshmsg.spark import register

from .parse import SCHEMA, Kill, parsed
from .producer import CLUSTER, SERVICE, SPOOL
from .sink import send_rows

TASKS, ATTEMPTS = 2, 4
DRAIN_S = 10.0


def endpoints_of(mesh: Mesh, count: int, timeout: float) -> list[str]:
    """Where the spools of so many producers are shown, as the mesh says."""
    members = mesh.wait_for(SERVICE, count, timeout=timeout)
    services = [one for member in members for one in member.record.services]
    return sorted(dict(one.meta)[SPOOL] for one in services if one.name == SERVICE)


def session() -> Any:
    """Start Spark in this process."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(f"local[{TASKS},{ATTEMPTS}]")
        .appName("meshmsg demo")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(TASKS))
        .getOrCreate()
    )


def start(spark: Any, chosen: argparse.Namespace, endpoints: list[str]) -> Any:
    """Start the query."""
    source = (
        spark.readStream.format("meshmsg")
        .option("endpoints", ",".join(endpoints))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", chosen.batch)
        .option("columns", "value,offset")
    )
    if chosen.security is not None:
        source = source.option("security", chosen.security)
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
    node = {"name": "spark", "seeds": chosen.seed, "secret": chosen.secret}
    with (
        Mesh(cluster=CLUSTER, bind="tcp://127.0.0.1:0", **node) as mesh,
        meshmsg.Push(connect=chosen.telemetry) as push,
    ):
        endpoints = endpoints_of(mesh, chosen.producers, chosen.timeout)
        spark = session()
        try:
            register(spark)
            tell(push, "spark", version=spark.version, endpoints=endpoints)
            over = threading.Event()
            spark.streams.addListener(listener(push, chosen.total, over))
            query = start(spark, chosen, endpoints)
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
