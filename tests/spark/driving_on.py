"""A program that is the driver of a query until its standard input ends, or it is killed.
Usage: python -m tests.spark.driving_on FOLDER ENDPOINTS LIMIT [MASTER [STARTING]].

A query that fails is started again. Lines on standard output: `at` with the offset as JSON, each
time that a batch is done; `failed`, each time that the query is; at the end `table` with JSON: of
each producer rows, distinct rows, first and last number, and how many have another body than their
number. Table and checkpoint are in FOLDER.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

from tests.spark.driving import session
from tests.spark.older import limit

LOOK_S = 0.1
"""Seconds between two looks at a query, which tells nobody of what it does."""
FAILURES_MAX = 20
"""Failures of a query without a batch between them: then it is no accident any more."""


def start(spark: Any, folder: str, endpoints: str, rows: str, starting: str = "earliest") -> Any:
    """Start the query, from its checkpoint."""
    return (
        spark.readStream.format("meshmsg")
        .options(endpoints=endpoints, startingOffsets=starting, **limit(rows))
        .options(batchBytes="64k", minPartitions="4", groupId="kill", offsetTimeout="60s")
        .load()
        .writeStream.format("parquet")
        .options(path=f"{folder}/out", checkpointLocation=f"{folder}/checkpoint")
        .start()
    )


def table(spark: Any, folder: str) -> list[Any]:
    """Return what is in the table."""
    rows = spark.read.parquet(f"{folder}/out").selectExpr(
        "producer", "epoch", "offset", "CAST(trim(CAST(value AS STRING)) AS BIGINT) AS number"
    )
    rows.createOrReplaceTempView("rows")
    found = spark.sql(
        "SELECT producer, count(*), count(DISTINCT offset), min(offset), max(offset), "
        "sum(CAST(number IS DISTINCT FROM offset AS INT)) FROM rows GROUP BY producer"
    )
    return sorted(list(row) for row in found.collect())


def keep_on(begin: Callable[[], Any]) -> None:
    """Have a query run until standard input ends, and say what it does.

    Spark waits 10 s for a Python process of its own, and no setting makes that longer: on a busy
    machine `begin` fails as well as the query. What a user does then is to start it again.

    Args:
        begin: Starts it, from its checkpoint.
    """
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    query, told, failures = None, "", 0
    while not over.is_set():
        try:
            query = query or begin()
            if query.awaitTermination(LOOK_S):
                raise RuntimeError("the query has ended")
        except Exception:
            print("failed", flush=True)
            query, failures = None, failures + 1
            if failures > FAILURES_MAX:
                raise
            continue
        progress = query.lastProgress
        if progress is not None and (at := progress.sources[0].endOffset) not in ("", None, told):
            print("at", at if isinstance(at, str) else json.dumps(at), flush=True)
            told, failures = at, 0
    if query is not None:
        query.stop()


def main() -> None:
    """Run it as the command line says."""
    folder, endpoints, limit, *more = sys.argv[1:]
    spark = session(*more[:1])
    keep_on(lambda: start(spark, folder, endpoints, limit, *more[1:]))
    print("table", json.dumps(table(spark, folder)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
