"""Sources of Spark beside each other: a filled spool of meshmsg, pyzmq by hand, files, a socket.

Each reads the same number of messages of one column into Spark's `noop` sink, by two tasks of one
session in this process. Law: what fills a spool or a file is not measured; a process that sends is
another one; a source that cannot be read in batches is measured by its own batches of a stream.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import meshmsg

from ..base.need import BenchError, is_there
from ..base.rooms import BENCH
from ..base.task import PATIENCE, Task
from ..peers.seam import Peer
from .kafka_broker import place_of
from .spark_planning import planning_ms
from .spark_triggers import ROWS_A_TRIGGER, costs_ms, figures_of, pacing, triggers_of

TASKS = 2
"""Of a session, at a time."""
ROOT = Path(__file__).resolve().parents[2]
SOCKET_SHARE = 10
"""The socket source gets one of so many messages: it is slow, and collapses when it is behind."""
ROW_GROUP_BYTES = 128 * 1024 * 1024
"""Of a file of parquet: what Spark has if nothing is said; a reader holds one."""
FILLED = 10_000
"""Messages that are put into a spool by one call."""
PROGRESS_MAX = 10_000
"""Triggers that a query remembers; also those without a row are told, each millisecond."""
PRODUCERS = 100
"""Spools of the stream whose planning is measured."""
CONNECTOR, CONNECTOR_VERSION = "spark-sql-kafka", "4.2.0"
"""Spark's source of Kafka: the newest there is, which runs with 4.3, too."""


@cache
def begun() -> Any:
    """The one session of this process; it ends with it."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    from pyspark.sql import SparkSession

    from .spark_arrow import ReadySource
    from .spark_pyzmq import ZmqSource

    connector = sorted(map(str, place_of(CONNECTOR, CONNECTOR_VERSION).glob("*.jar")))
    spark = (
        SparkSession.builder.master(f"local[{TASKS},4]")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.parquet.compression.codec", "uncompressed")
        .config("spark.sql.streaming.numRecentProgressUpdates", PROGRESS_MAX)
        .config("spark.sql.streaming.noDataProgressEventInterval", 1)
        .config("spark.jars", ",".join(connector))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(ZmqSource)
    spark.dataSource.register(ReadySource)
    return spark


def noop_seconds(frame: Any) -> float:
    """What reading all of it takes."""
    start = time.monotonic()
    frame.write.format("noop").mode("overwrite").save()
    return time.monotonic() - start


class SparkPeer(Peer):
    """A source of Spark."""

    transports, package = ("spark",), "pyspark"
    kinds: tuple[str, ...] = ("source",)

    def missing(self) -> str | None:
        """Spark, or Java."""
        absent = [name for name in ("pyspark", "pyarrow", "zmq") if not is_there(name)]
        absent += [name for name in ("java",) if shutil.which(name) is None]
        return f"needs {', '.join(absent)}" if absent else None

    def source_rate(self, task: Task) -> float:
        """Messages a second, read once."""
        with self.frame(task) as frame:
            return task.count / noop_seconds(frame)

    @contextmanager
    @abstractmethod
    def frame(self, task: Task) -> Iterator[Any]:
        """What is there to be read, as long as it is."""
        yield


class SparkMesh(SparkPeer):
    """`format("meshmsg")`: a spool that a process of its own shows."""

    name, kinds = "meshmsg-spark", ("source", "trigger")

    def version(self) -> str:
        """Of the core that runs."""
        return meshmsg.__version__

    def __init__(self) -> None:
        self._servers = ExitStack()
        self._shown: dict[str, str] = {}
        """Where spools are shown, by folder, to the end of this process: workers of Spark keep
        their connections."""

    def shown(self, task: Task) -> str:
        """Fill a spool and show it; where."""
        folder = str(Path(task.folder) / f"spark-{task.size}-{task.count}.spool")
        if not Path(folder).exists():
            body = task.body()
            with meshmsg.Spool(folder, durability="os") as spool:
                for done in range(0, task.count, FILLED):
                    spool.append_many([body] * min(FILLED, task.count - done))
        command = [sys.executable, "-m", f"{BENCH}.rivals.spark_showing", folder]
        if folder not in self._shown:
            atexit.register(self._servers.close)
            self._shown[folder] = self._servers.enter_context(_started(command))
        return self._shown[folder]

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """A spool that is shown."""
        yield (
            begun()
            .read.format("meshmsg")
            .option("endpoints", self.shown(task))
            .option("columns", "value")
            .option("minPartitions", TASKS)
            .load()
        )

    def trigger_costs(self, task: Task) -> dict[str, float]:
        """A stream of one spool, and what planning takes with many."""
        with tempfile.TemporaryDirectory(prefix="meshmsg-bench-") as folder:
            with pacing(task.size, "spool", f"{folder}/one.spool") as pace:
                found = figures_of(_stream_of(pace.where), pace, task.count)
            folders = [f"{folder}/{index}.spool" for index in range(PRODUCERS)]
            with pacing(task.size, "spool", *folders) as pace:
                found["driver_ms"] = planning_ms(pace)
        return found


def _stream_of(endpoints: str) -> Any:
    options = {"endpoints": endpoints, "columns": "value"}
    return begun().readStream.format("meshmsg").options(**options).load()


class SparkArrow(SparkPeer):
    """Record batches that are ready: what Spark itself takes."""

    name, kinds = "arrow-spark", ("source", "trigger")

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """Nothing is to be prepared."""
        options = {"count": task.count, "size": task.size, "tasks": TASKS}
        yield begun().read.format("bench_arrow").options(**options).load()

    def trigger_costs(self, task: Task) -> dict[str, float]:
        """A stream that has rows for each trigger; its latency means nothing."""
        options = {"count": ROWS_A_TRIGGER, "size": task.size}
        stream = begun().readStream.format("bench_arrow").options(**options).load()
        return costs_ms(stream, None, triggers_of(task.count))


class SparkPyzmq(SparkPeer):
    """pyzmq in a source in Python, message by message."""

    name, run = "pyzmq-spark", 1

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """Begin to push."""
        numbers = map(str, (task.count, task.size, TASKS, self.run))
        command = [sys.executable, "-m", f"{BENCH}.rivals.spark_pushing", *numbers]
        with _started(command) as endpoints:
            yield (
                begun()
                .read.format("bench_pyzmq")
                .option("endpoints", endpoints)
                .option("count", task.count)
                .option("size", task.size)
                .option("batched", str(self.run > 1).lower())
                .load()
            )


class SparkPyzmqBatch(SparkPyzmq):
    """The honest rival: batched by hand, without a copy at the receiver."""

    name, run = "pyzmq-spark-batch", 4096


class SparkParquet(SparkPeer):
    """Files of parquet, not compressed, in the memory of the system."""

    name = "parquet-spark"

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """Write files as many as there are tasks."""
        folder = str(Path(task.folder) / f"spark-{task.size}-{task.count}.parquet")
        if not Path(folder).exists():
            write_parquet(Path(folder), task, TASKS)
        yield begun().read.parquet(folder)


def write_parquet(folder: Path, task: Task, files: int) -> None:
    """Write files with as many rows each, in groups of rows as large as Spark writes them."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    most, each = ROW_GROUP_BYTES // task.size, task.count // files
    column = pa.array([task.body()] * min(most, each), pa.binary())
    table = pa.table({"value": column})
    for index in range(files):
        own = each + (index < task.count % files)
        path = folder / f"{index:03}.parquet"
        with parquet.ParquetWriter(
            path, table.schema, compression="none", use_dictionary=False
        ) as writer:
            for left in range(own, 0, -table.num_rows):
                writer.write_table(table.slice(0, min(left, table.num_rows)))


class SparkSocket(SparkPeer):
    """Spark's own source of lines from a socket, which the driver reads; of a stream only."""

    name = "socket-spark"

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """Not in batches."""
        raise BenchError("the socket source has no batches")
        yield

    def source_rate(self, task: Task) -> float:
        """Rows of its batches by their time: starting the query does not count."""
        count = task.count // SOCKET_SHARE
        line = task.body().hex().encode()[: task.size - 1] + b"\n"
        with socket.create_server(("127.0.0.1", 0)) as server:
            over = threading.Event()
            pushing = threading.Thread(target=_lines, args=(server, line * count, over))
            pushing.start()
            query = (
                begun()
                .readStream.format("socket")
                .options(host="127.0.0.1", port=server.getsockname()[1])
                .load()
                .writeStream.format("noop")
                .start()
            )
            try:
                limit = time.monotonic() + PATIENCE
                while sum(one.numInputRows for one in query.recentProgress) < count:
                    if time.monotonic() > limit:
                        raise BenchError(f"{count:,} lines were not read within {PATIENCE:.0f} s")
                    query.processAllAvailable()
            finally:
                query.stop()
                over.set()
                pushing.join()
            own = [one for one in query.recentProgress if one.numInputRows]
            took_ms: float = sum(one.durationMs["triggerExecution"] for one in own)
            return count * 1000 / took_ms


def _lines(server: socket.socket, data: bytes, over: threading.Event) -> None:
    accepted, _ = server.accept()
    with accepted:
        accepted.sendall(data)
        over.wait()


@contextmanager
def _started(command: list[str]) -> Iterator[str]:
    """Start a program; its first line of output, while it runs."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline().strip()
            if not line:
                raise BenchError(f"{command[2]} ended without a word")
            yield line
        finally:
            process.terminate()
