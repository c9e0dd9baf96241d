"""The sink: rows of a batch go back over meshmsg, from the executors, each acknowledged.

This is the one place that says how rows are sent: `send_rows`, as `foreachBatch` calls it, writes
them by `format("meshmsg")`. A batch may come twice; who receives it knows by its number.
"""

from __future__ import annotations

from typing import Any

SEND_TIMEOUT = "60s"
"""Without a row acknowledged, and then its task fails."""


def send_rows(endpoint: str, frame: Any, batch: int) -> None:
    """On the driver: have the executors send the rows of a batch, and wait until they are had."""
    from pyspark.sql import functions as f

    rows = frame.select(
        f.to_json(f.struct(f.lit(batch).alias("batch"), "*")).cast("binary").alias("value")
    )
    options = {"endpoints": endpoint, "sendTimeout": SEND_TIMEOUT}
    rows.write.format("meshmsg").options(**options).mode("append").save()
