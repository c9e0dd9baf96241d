"""A stream of orders, joined with a table of customers: sums by country, as they come.

Two shops keep their orders in spools. Spark reads them in a stream, its executors from both shops,
joins each order with the row of its customer, and adds up. The second run goes on from the
checkpoint, and reads only what is new.

Run it: python examples/spark_join.py
"""

import os
import sys
import tempfile
from contextlib import ExitStack
from typing import Any

import meshmsg as mm

SHOPS = 2
ORDERS = 1000
"""Of a shop, before each run."""
CUSTOMERS = {b"ann": "Austria", b"bob": "Belgium", b"cia": "Austria", b"dan": "Denmark"}
WAIT_S = 300.0


def orders(shop: int, run: int) -> list[bytes]:
    """What a shop sells before a run: `customer,cents`."""
    names = list(CUSTOMERS)
    return [
        b"%b,%d" % (names[(number + shop) % len(names)], 100 + (number * 7 + run) % 900)
        for number in range(ORDERS)
    ]


def sums(sold: list[bytes]) -> dict[str, int]:
    """The same without Spark, to compare."""
    found: dict[str, int] = {}
    for order in sold:
        name, cents = order.split(b",")
        country = CUSTOMERS[name]
        found[country] = found.get(country, 0) + int(cents)
    return found


def run_query(spark: Any, endpoints: list[str], folder: str) -> dict[str, int]:
    """Read what is new, join and write it; the sums of all that was written so far."""
    customers = spark.createDataFrame(
        [(name.decode(), country) for name, country in CUSTOMERS.items()],
        "name string, country string",
    )
    stream = (
        spark.readStream.format("meshmsg")
        .option("endpoints", ",".join(endpoints))
        .option("startingOffsets", "earliest")
        .option("columns", "value")
        .load()
        .selectExpr("split(CAST(value AS STRING), ',') AS parts")
        .selectExpr("parts[0] AS name", "CAST(parts[1] AS BIGINT) AS cents")
    )
    query = (
        stream.join(customers, "name")
        .writeStream.format("parquet")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(WAIT_S)
    print(f"rows of this run: {sum(one.numInputRows for one in query.recentProgress)}")
    table = spark.read.parquet(f"{folder}/out").groupBy("country").sum("cents")
    return {row[0]: row[1] for row in table.collect()}


def main() -> None:
    """Sell, run the query, sell more, and run it again."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        print("pyspark is not installed: pip install 'meshmsg[spark]'")
        return
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        spools = [stack.enter_context(mm.Spool(f"{folder}/shop-{n}")) for n in range(SHOPS)]
        endpoints = [
            stack.enter_context(mm.SpoolServer(spool, bind="tcp://127.0.0.1:0")).endpoint
            for spool in spools
        ]
        stack.callback(spark.stop)
        sold: list[bytes] = []
        for run in (1, 2):
            for shop, spool in enumerate(spools):
                spool.append_many(orders(shop, run))
                sold += orders(shop, run)
            found = run_query(spark, endpoints, folder)
            for country, cents in sorted(found.items()):
                print(f"    {country:8} {cents / 100:10,.2f}")
            print(f"{len(sold)} orders, and the sums are right: {found == sums(sold)}")


if __name__ == "__main__":
    main()
