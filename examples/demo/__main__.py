"""Run the demo: start the producer and Spark, collect, print the table, draw the picture.

The exit status is 0 only when every record came back exactly as counted at both ends and the
table agrees with the one added up without any messages.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import meshmsg

from . import records, secure
from .children import Child
from .collector import Collector, DemoError
from .table import direct

ROOT = Path(__file__).resolve().parents[2]
_STARTED = time.monotonic()


def say(text: str) -> None:
    """Print a sentence with the seconds since the start."""
    print(f"[{time.monotonic() - _STARTED:6.1f} s] {text}", flush=True)


def options(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="examples.demo", description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000, help="send at least this many")
    parser.add_argument("--partitions", type=int, default=2, help="Spark tasks at a time")
    parser.add_argument("--batch", type=int, default=500, help="records handed out together")
    parser.add_argument(
        "--kill", type=int, default=0, metavar="N", help="kill a Spark worker after N batches"
    )
    parser.add_argument(
        "--timeout", type=float, default=170.0, help="give up after so many seconds"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "demo-out", help="folder for files")
    parser.add_argument(
        "--secure", action="store_true", help="protect all connections by CURVE, with new keys"
    )
    chosen = parser.parse_args(arguments)
    if min(chosen.records, chosen.partitions, chosen.batch) < 1:
        parser.error("records, partitions and batch must be at least 1")
    return chosen


def main(arguments: list[str]) -> int:
    """Run it all; the exit status."""
    chosen = options(arguments)
    missing = missing_packages()
    if missing:
        print(f"The demo needs {', '.join(missing)}: pip install 'meshmsg[demo]'", file=sys.stderr)
        return 2
    if chosen.secure and not meshmsg.has("curve"):
        print("--secure needs libsodium: pip install 'meshmsg[curve]'", file=sys.stderr)
        return 2
    chosen.out.mkdir(parents=True, exist_ok=True)
    each = len(records.all_lines())
    passes = math.ceil(chosen.records / each)
    say(f"{each:,} real records lie in the package vega_datasets:")
    for name, title in zip(records.FILES, records.TITLES, strict=True):
        say(f"    {len(records.lines(name)):6,} lines of {name}.csv: {title}.")
    say(f"They are sent {passes} times over, each with its pass number: {each * passes:,} in all.")
    with contextlib.ExitStack() as stack:
        policies = {}
        if chosen.secure:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="meshmsg-demo-"))
            policies = secure.prepare(Path(folder))
            os.environ["MESHMSG_SECURITY"] = str(policies["collector"])
            say(f"Keys for {', '.join(policies)} were made in {folder}.")
        collector = stack.enter_context(Collector(chosen.partitions))
        children: list[Child] = []
        try:
            run(chosen, passes, collector, children, policies)
            for child in children:
                if child.wait(30) != 0:
                    raise DemoError(f"{child.name} ended with {child.status}: {child.last_lines()}")
        except DemoError as error:
            say(f"FAILED: {error}")
            return 1
        except KeyboardInterrupt:
            say("Interrupted; stopping the other processes.")
            return 130
        finally:
            for child in reversed(children):
                child.stop()
        return report(chosen, passes, collector)


def missing_packages() -> list[str]:
    """The packages the demo needs and does not find."""
    from importlib.util import find_spec

    return [
        name
        for name in ("pyspark", "vega_datasets", "matplotlib", "numpy")
        if find_spec(name) is None
    ]


def run(
    chosen: argparse.Namespace,
    passes: int,
    collector: Collector,
    children: list[Child],
    policies: dict[str, Path],
) -> None:
    """Start the processes and collect until it is over; policies: of each, if they are
    protected."""
    deadline = _STARTED + chosen.timeout

    def watch() -> None:
        for child in children:
            if child.status not in (None, 0):
                raise DemoError(f"{child.name} ended with {child.status}:\n{child.last_lines()}")
        if time.monotonic() > deadline:
            raise DemoError(
                f"not over after {chosen.timeout:.0f} s; {collector.tally.received:,} received"
            )

    def start(module: str, who: str, **arguments: object) -> None:
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in arguments.items()]
        log = chosen.out / f"{module}.log"
        security = policies.get(who)
        name = f"examples.demo.{module}"
        children.append(Child(name, flags, root=ROOT, log=log, security=security))

    telemetry = collector.samples.endpoint
    start(
        "producer",
        "producer",
        telemetry=telemetry,
        passes=passes,
        partitions=chosen.partitions,
        batch=chosen.batch,
        timeout=chosen.timeout,
    )
    while not collector.telemetry.ready.wait(0.1):
        watch()
    say(f"The producer hands out records at {collector.telemetry.endpoint}.")
    say("Spark is starting (some seconds; its own words go to job.log).")
    start(
        "job",
        "driver",
        work=collector.telemetry.endpoint,
        results=collector.results.endpoint,
        telemetry=telemetry,
        partitions=chosen.partitions,
        kill_after=chosen.kill,
        **({"tasks_security": policies["worker"]} if policies else {}),
    )
    collector.collect(watch=watch, say=say)
    say("Every task and the producer have said that they are done.")


def report(chosen: argparse.Namespace, passes: int, collector: Collector) -> int:
    """Print what came out; 0 when nothing is lost and the table is right."""
    tally, telemetry = collector.tally, collector.telemetry
    sent = telemetry.done["producer"]
    stats = collector.results.stats()
    for index, attempt, pid, taken in telemetry.done["job"]["tasks"]:
        say(
            f"Spark {telemetry.spark}, partition {index}: {taken:,} records "
            f"by process {pid}, attempt {attempt}."
        )
    if sent["batches_again"]:
        say(
            f"A worker was lost with {sent['batches_again']:,} batches unacknowledged; they were "
            "handed out again."
        )
    print()
    print(tally.text(passes))
    print()
    agrees = tally.agrees(direct(), passes)
    say(
        "The table agrees with the one added up directly from the files."
        if agrees
        else "The table DIFFERS from the one added up directly from the files."
    )
    picture = chosen.out / "picture.png"
    draw_title = (
        f"meshmsg demo: {sent['put']:,} records, {chosen.partitions} Spark tasks, "
        f"{tally.missing(sent['put'])} lost"
    )
    draw_picture(picture, collector, draw_title)
    say(f"The picture is {picture}.")
    say(
        f"The producer put {sent['put']:,} records in {sent['batches']:,} batches, and "
        f"{sent['acknowledged']:,} were acknowledged; the collector's socket received "
        f"{stats.received_messages:,} messages: {tally.received:,} results and "
        f"{len(collector.ends)} last words of tasks."
    )
    protects = True
    if chosen.secure:
        protects, words = secure.protected(collector.peers.values())
        say(words)
    if collector.ended > collector.began:
        seconds = collector.ended - collector.began
        rate = tally.received / seconds
        say(f"From the first results to the last: {seconds:.1f} s, {rate:,.0f} results a second.")
    lost = tally.missing(sent["put"]) + tally.beyond(sent["put"])
    good = agrees and protects and lost == 0 and sent["acknowledged"] == sent["put"]
    say(
        f"Sent {sent['put']:,}, received {tally.unique:,}, "
        f"duplicates {tally.duplicates:,}, lost {lost:,}."
    )
    return 0 if good else 1


def draw_picture(path: Path, collector: Collector, title: str) -> None:
    """Draw it (matplotlib is imported here and not before)."""
    from .picture import draw

    draw(path, collector.telemetry, collector.tally, title)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
