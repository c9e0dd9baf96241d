"""A program that is the driver of a query which writes to a receiver, until its standard input
ends, or it is killed. Usage: python -m tests.spark.sinking FOLDER SPOOL RECEIVER LIMIT.

It reads the spool at SPOOL, LIMIT rows a batch, by two tasks. Rows that wait are in FOLDER/rows,
the checkpoint is FOLDER/checkpoint. A query that fails is started again. Lines on standard output:
as driving_on has them, without a table.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.spark.driving import session
from tests.spark.driving_on import keep_on
from tests.spark.older import limit


def start(spark: Any, folder: str, spool: str, receiver: str, rows: str) -> Any:
    """Start the query, from its checkpoint."""
    return (
        spark.readStream.format("meshmsg")
        .options(endpoints=spool, startingOffsets="earliest", **limit(rows))
        .options(columns="value", minPartitions="2", offsetTimeout="60s")
        .load()
        .writeStream.format("meshmsg")
        .options(endpoints=receiver, sendTimeout="300s", spoolFolder=f"{folder}/rows")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .start()
    )


def main() -> None:
    """Run it as the command line says."""
    folder, *others = sys.argv[1:]
    spark = session()
    keep_on(lambda: start(spark, folder, *others))
    spark.stop()


if __name__ == "__main__":
    main()
