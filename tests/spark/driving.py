"""A program that is the driver of a query, until all is written, or it is killed.
Usage: python -m tests.spark.driving FOLDER ENDPOINT LIMIT [MASTER].

The query reads what there is, LIMIT rows a batch where Spark has limits, and writes it to
FOLDER/out; its checkpoint is FOLDER/checkpoint. The last line on standard output is JSON: rows,
distinct rows, first and last number, as Spark reads the table.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tests.spark.older import limit

BUSY_S = 600
"""Seconds for which Spark waits for its own processes, where a setting says it: a busy machine is
no fault."""

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For processes of Java that live for a minute: half of what they do is to compile themselves."""


def session(master: str = "local[2,4]", **more: str) -> Any:
    """Start Spark in this process: two tasks at a time, and four attempts of each.

    Args:
        master: Where it runs.
        more: Settings.
    """
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)  # a cluster starts its scripts
    spark = (
        SparkSession.builder.master(master)
        .config(map=more)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.network.timeout", f"{BUSY_S}s")
        .config("spark.python.authenticate.socketTimeout", f"{BUSY_S}s")
        .config("spark.driver.extraJavaOptions", QUICK)
        .config("spark.executor.extraJavaOptions", QUICK)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "512m")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main() -> None:
    """Run it as the command line says."""
    folder, endpoint, rows, *master = sys.argv[1:]
    spark = session(*master)
    query = (
        spark.readStream.format("meshmsg")
        .options(endpoints=endpoint, startingOffsets="earliest", **limit(rows))
        .options(batchBytes="64k", minPartitions="2", offsetTimeout="60s")
        .load()
        .writeStream.format("parquet")
        .options(path=f"{folder}/out", checkpointLocation=f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    table = spark.read.parquet(f"{folder}/out")
    row = table.selectExpr(
        "count(*)", "count(DISTINCT producer, epoch, offset)", "min(offset)", "max(offset)"
    ).collect()[0]
    print(json.dumps(list(row)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
