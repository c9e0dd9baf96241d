"""What the reader of meshmsg takes in the driver for each trigger, with many spools.

It is called as Spark's runner calls it, one trigger after another, without Spark.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .spark_triggers import Pace

TRIGGERS = 50
"""Of which the median counts."""
ROWS_A_TRIGGER_SECONDS = 0.1
"""Between two of them, in which rows come."""
RATE = 1000
"""Messages a second, of all spools together: each trigger has some of nearly all of them."""


def planning_ms(pace: Pace) -> float:
    """The median of latestOffset, partitions and commit together, in milliseconds."""
    from pyspark.sql.streaming.datasource import ReadAllAvailable
    from pyspark.sql.types import BinaryType, StructField, StructType

    from meshmsg.spark._source import stream_reader_of

    schema = StructType([StructField("value", BinaryType())])
    reader = stream_reader_of({"endpoints": pace.where, "columns": "value"}, schema)
    times = []
    try:
        start = reader.initialOffset()
        pace.at(RATE)
        for _ in range(TRIGGERS):
            time.sleep(ROWS_A_TRIGGER_SECONDS)
            began = time.perf_counter()
            end = reader.latestOffset(start, ReadAllAvailable())
            reader.commit(start)
            reader.partitions(start, end)
            times.append((time.perf_counter() - began) * 1e3)
            start = end
    finally:
        pace.at(0)
        reader.stop()
    return statistics.median(times)
