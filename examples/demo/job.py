"""The Spark job: one task a partition, each of which opens its own sockets.

A process of its own, because Spark brings a JVM and its own ideas about signals and output.
`local[2,4]`: two tasks at a time, each tried up to four times (plain `local[2]` never retries).
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

import meshmsg
from meshmsg.spark import run_tasks

from .children import leave_with_parent
from .meter import tell
from .task import Plan, run

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 4


def main(arguments: list[str]) -> int:
    """Run the job to its end; an exception, when a task failed too often."""
    parser = argparse.ArgumentParser(prog="examples.demo.job")
    parser.add_argument("--work", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--telemetry", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--tasks-security", help="a file of policies for the tasks")
    parser.add_argument("--kill-after", type=int, required=True)
    options = parser.parse_args(arguments)
    leave_with_parent()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part
    )
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(f"local[{options.partitions},{ATTEMPTS}]")
        .appName("meshmsg demo")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    with meshmsg.Push(connect=options.telemetry) as push:
        try:
            tell(push, "spark", version=spark.version)
            plan = Plan(options.work, options.results, options.telemetry, options.kill_after)
            reports = run_tasks(
                spark,
                partial(run, plan),
                count=options.partitions,
                security=options.tasks_security,
            )
            tasks = [[one.partition, one.attempt, one.pid, one.taken] for one in reports]
            tell(push, "done", who="job", tasks=tasks)
            push.drain(timeout=10).raise_for_loss()
        finally:
            spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
