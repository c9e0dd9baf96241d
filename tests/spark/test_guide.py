"""The ten minutes of docs/spark.md, and the beginning that stays: their code runs, with other
addresses, keys and paths."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.spark.older import limit
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.sparked import filled, needs_spark, options

pytestmark = [needs_spark, pytest.mark.leaves_threads]
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
URL = "tcp://127.0.0.1:5570"
"""On an address of its own the port is free."""
ORDERS, OTHERS = 120, 30
"""Orders of the producer of the guide, and of another one."""


class Over(Exception):
    """There are no more orders."""


class Orders:
    """What the producer of the guide asks for: so many, then it waits until all is read."""

    def __init__(self) -> None:
        self.there, self.read = threading.Event(), threading.Event()
        self._count = 0

    def __call__(self) -> bytes:
        """Return the next one."""
        if self._count == ORDERS:
            self.there.set()
            self.read.wait(WAIT_S)
            raise Over
        self._count += 1
        return b"order %d" % self._count


def blocks(kind: str) -> list[str]:
    """Return the code of the ten minutes."""
    part = GUIDE.read_text().split("## In ten minutes")[1].split("\n## ")[0]
    return re.findall(rf"```{kind}\n(.*?)```", part, re.DOTALL)


def produce(code: str, orders: Orders) -> None:
    """Be the producer, until there are no more orders."""
    try:
        exec(compile(code, "producer", "exec"), {"next_order": orders})
    except Over:
        return


def test_the_code_of_the_ten_minutes_runs(spark: Any, tmp_path: Path) -> None:
    """A producer, a batch, SQL, and a stream with its listener: all orders are in each."""
    first, second = of_its_own(URL), of_its_own(URL)

    def own(code: str) -> str:
        for there, here in (
            ("tcp://10.0.0.5:5570", first),
            ("tcp://10.0.0.6:5570", second),
            ("orders.spool", str(tmp_path / "orders.spool")),
            (" security=curve,", ""),
            ('    .option("security", "/etc/meshmsg/security.ini")\n', ""),
            ("/data/", f"{tmp_path}/"),
            ("(progress_listener())", "(listener := progress_listener())"),
        ):
            code = code.replace(there, here)
        if not limit(1):  # as the guide says beside it
            code = re.sub(r"    \.option\(.maxOffsetsPerTrigger.*\n", "", code)
        return code

    session, producer, batch, stream = map(own, blocks("py"))
    (sql,) = map(own, blocks("sql"))
    orders = Orders()
    names: dict[str, Any] = {}
    thread = threading.Thread(target=produce, args=(producer, orders))
    with (
        filled(tmp_path / "others", OTHERS) as others,
        mm.SpoolServer(others, bind=second),
    ):
        thread.start()
        try:
            assert orders.there.wait(WAIT_S)
            exec(session, names)
            assert names["spark"] is spark
            exec(batch, names)
            counted = {row["key"]: row["count"] for row in _counts(names["orders"])}
            assert counted == {b"customer 7": ORDERS, None: OTHERS}
            spark.catalog.dropTempView("orders")  # of another test: the session is theirs as well
            spark.sql(sql.rstrip().rstrip(";"))
            assert spark.sql("SELECT count(*) FROM orders").collect()[0][0] == ORDERS
            exec(stream, names)
            names["query"].processAllAvailable()
            names["query"].stop()
            spark.streams.removeListener(names["listener"])
            assert spark.read.parquet(f"{tmp_path}/orders").count() == ORDERS + OTHERS
        finally:
            spark.catalog.dropTempView("orders")
            orders.read.set()
            thread.join(WAIT_S)


def _counts(orders: Any) -> list[Any]:
    found: list[Any] = orders.groupBy("key").count().collect()
    return [{"key": row.key and bytes(row.key), "count": row["count"]} for row in found]


def test_numbers_that_were_taken_are_where_each_run_begins(tmp_path: Path) -> None:
    """Whatever has come since, and however often a run begins."""
    from meshmsg.spark._source.offsets import from_json
    from meshmsg.spark._source.planning import Planner

    part = GUIDE.read_text().partition("### A beginning that stays")[2].partition("\n### ")[0]
    (code,) = re.findall(r"```py\n(.*?)```", part, re.DOTALL)
    with (
        filled(tmp_path / "one", 3) as one,
        filled(tmp_path / "two", 5) as two,
        mm.SpoolServer(one, bind=of_its_own()) as first,
        mm.SpoolServer(two, bind=of_its_own()) as second,
    ):
        urls = [first.endpoint, second.endpoint]
        code = code.replace(URL.replace("127.0.0.1", "10.0.0.5"), urls[0])
        code = code.replace(URL.replace("127.0.0.1", "10.0.0.6"), urls[1])
        said: dict[str, Any] = {"mm": mm, "json": json, "client": None}
        exec(compile(code, "beginning", "exec"), said)
        for spool in (one, two):
            spool.append_many([b"x"] * 10)
        for _ in range(2):
            given = {"endpoints": ",".join(urls), "startingOffsets": said["starting"]}
            planner = Planner(options(**given))
            try:
                found = from_json(planner.initial())
            finally:
                planner.close()
            places = {one.info().uuid: 4, two.info().uuid: 6}
            assert {uuid: place.next for uuid, place in found.items()} == places
