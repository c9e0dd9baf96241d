"""Run the story: start producers and Spark, take the sums, print the table, draw the picture.

The exit status is 0 only when every record is in the sums once, though a worker was killed, and
the table agrees with the one added up without any messages.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import meshmsg
from examples.demo import records, secure
from examples.demo.children import Child
from meshmsg.mesh import Mesh

from .consumer import Consumer, StoryError
from .parse import killed
from .producer import CLUSTER, END
from .sums import direct

ROOT = Path(__file__).resolve().parents[2]
SAY_S = 2.0
"""Seconds between two lines."""
END_S = 30.0
"""Seconds that a process has to end once it is told to."""
_STARTED = time.monotonic()


def say(text: str) -> None:
    """Print a sentence with the seconds since the start."""
    print(f"[{time.monotonic() - _STARTED:6.1f} s] {text}", flush=True)


def options(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="examples.story", description=__doc__)
    parser.add_argument("--records", type=int, default=1_500_000, help="keep at least this many")
    parser.add_argument("--producers", type=int, default=2, help="processes with a spool each")
    parser.add_argument(
        "--rate", type=int, default=20_000, help="records that a producer keeps in a second"
    )
    parser.add_argument("--batch", type=int, default=200_000, help="records of a batch, at most")
    parser.add_argument("--no-kill", action="store_true", help="kill no worker of Spark")
    parser.add_argument(
        "--timeout", type=float, default=170.0, help="give up after so many seconds"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "demo-out", help="folder for files")
    parser.add_argument(
        "--secure", action="store_true", help="protect all connections, with new keys"
    )
    chosen = parser.parse_args(arguments)
    if min(chosen.records, chosen.producers, chosen.rate, chosen.batch) < 1:
        parser.error("records, producers, rate and batch must be at least 1")
    return chosen


def missing(chosen: argparse.Namespace) -> str:
    """What is not installed and needed, as a sentence; or nothing."""
    from importlib.util import find_spec

    names = ("pyspark", "pyarrow", "vega_datasets", "matplotlib", "numpy")
    if absent := [name for name in names if find_spec(name) is None]:
        return f"The demo needs {', '.join(absent)}: pip install 'meshmsg[demo]'"
    if chosen.secure and not (meshmsg.has("curve") and meshmsg.has("tls")):
        return "--secure needs libsodium and OpenSSL: pip install 'meshmsg[curve]'"
    return ""


class Story:
    """The processes of one run, from this one."""

    def __init__(self, chosen: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        self._chosen = chosen
        self.passes = math.ceil(chosen.records / len(records.all_lines()))
        self.total = self.passes * len(records.all_lines())
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="meshmsg-demo-")))
        self._policies: dict[str, Path] = {}
        self._secret: Path | None = None
        if chosen.secure:
            self._protect()
        self.consumer = stack.enter_context(Consumer())
        self._mesh = stack.enter_context(
            Mesh(cluster=CLUSTER, name="consumer", bind="tcp://127.0.0.1:0", secret=self._secret)
        )
        self._stop = stack.enter_context(self._mesh.connect(END, meshmsg.Push))
        self._children: list[Child] = []
        stack.callback(self._end)

    def _protect(self) -> None:
        keys = self.folder / "keys"
        keys.mkdir()
        self._policies = secure.prepare(keys)
        keygen = [sys.executable, "-m", "meshmsg", "keygen", str(keys / "mesh"), "--secret"]
        subprocess.run(keygen, check=True, stdout=subprocess.DEVNULL)
        self._secret = keys / "mesh.secret"
        os.environ["MESHMSG_SECURITY"] = str(self._policies["collector"])
        say(f"Keys for {', '.join(self._policies)} were made in {keys}, and a secret of the mesh.")

    def _start(self, module: str, who: str, log: str, **arguments: object) -> None:
        given = {
            **arguments,
            "seed": self._mesh.endpoint,
            "telemetry": self.consumer.telemetry.endpoint,
            "producers": self._chosen.producers,
            "timeout": self._chosen.timeout,
            **({"secret": self._secret} if self._secret else {}),
        }
        flags = [f"--{name}={value}" for name, value in given.items()]
        name = f"examples.story.{module}"
        file = self._chosen.out / log
        security = self._policies.get(who)
        self._children.append(Child(name, flags, root=ROOT, log=file, security=security))

    def begin(self) -> None:
        """Start producers and Spark."""
        for index in range(self._chosen.producers):
            folder = self.folder / f"spool-{index}"
            more = {"index": index, "folder": folder, "passes": self.passes}
            more["rate"] = self._chosen.rate
            self._start("producer", "producer", f"producer-{index}.log", **more)
        security = self._policies.get("driver")
        self._start(
            "job",
            "driver",
            "job.log",
            folder=self.folder,
            results=self.consumer.rows.endpoint,
            total=self.total,
            batch=self._chosen.batch,
            kill=0 if self._chosen.no_kill else self.total // self._chosen.producers // 2,
            **({"security": security} if security else {}),
        )
        say("Spark is starting (some seconds; its own words go to job.log).")

    def watch(self) -> None:
        """Print lines until the job has said that it is done.

        Raises:
            StoryError: A process ended too early, or it takes too long.
        """
        consumer, said, found = self.consumer, "", False
        last = time.monotonic()
        while "job" not in consumer.told.done:
            consumer.changed.wait(SAY_S / 4)
            consumer.changed.clear()
            for child in self._children:
                if child.status not in (None, 0):
                    raise StoryError(
                        f"{child.name} ended with {child.status}: {child.last_lines()}"
                    )
            if time.monotonic() > _STARTED + self._chosen.timeout:
                raise StoryError(f"not over after {self._chosen.timeout:.0f} s; {consumer.line()}")
            if consumer.told.spark and not found:
                found = True
                say(f"Spark {consumer.told.spark} looks for the spools in the mesh.")
            if time.monotonic() - last >= SAY_S and (line := consumer.line()) != said:
                say(line)
                last, said = time.monotonic(), line

    def finish(self) -> None:
        """Tell producers to end, and see that all processes end well."""
        self._stop.wait_for_peers(self._chosen.producers, timeout=END_S)
        self._stop.send_many([b"end"] * self._chosen.producers, timeout=END_S)
        for child in self._children:
            if child.wait(END_S) != 0:
                raise StoryError(_ended(child))

    def _end(self) -> None:
        for child in reversed(self._children):
            child.stop()


def _ended(child: Child) -> str:
    return f"{child.name} ended with {child.status}: {child.last_lines()}"


def main(arguments: list[str]) -> int:
    """Run it all; the exit status."""
    chosen = options(arguments)
    if words := missing(chosen):
        print(words, file=sys.stderr)
        return 2
    chosen.out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        story = Story(chosen, stack)
        say(
            f"{len(records.all_lines()):,} real records of weather lie in the package "
            f"vega_datasets. {chosen.producers} producers keep them {story.passes} times over: "
            f"{story.total:,}."
        )
        try:
            story.begin()
            story.watch()
            story.finish()
        except StoryError as error:
            say(f"FAILED: {error}")
            return 1
        except KeyboardInterrupt:
            say("Interrupted; stopping the other processes.")
            return 130
        return report(chosen, story)


def report(chosen: argparse.Namespace, story: Story) -> int:
    """Print what came out; 0 when the sums are exact, and what was to be killed was."""
    from .picture import draw

    consumer = story.consumer
    sums, told = consumer.sums, consumer.told
    kept = sum(one["kept"] for name, one in told.done.items() if name != "job")
    print(f"\n{sums.text(story.passes)}\n")
    agrees = sums.agrees(direct(), story.passes)
    word = "agrees with" if agrees else "DIFFERS from"
    say(f"The table {word} the one added up directly from the files.")
    dead, again = killed(story.folder)
    good = agrees and kept == sums.counted == story.total
    if not chosen.no_kill:
        good = good and dead and again > 0
        say(f"A Python worker was killed in the middle: {dead}; tasks tried again: {again}.")
    if chosen.secure:
        protects, words = secure.protected(consumer.peers.values())
        good = good and protects
        say(words)
    times = [fact["ms"] / 1000 for _, fact in told.batches if fact["ms"]]
    say(
        f"{len(told.batches)} batches, the longest {max(times, default=0):.1f} s; "
        f"{sums.rows:,} rows of sums came, {sums.again} of them again."
    )
    picture = chosen.out / "picture.png"
    draw(
        picture, consumer, f"meshmsg demo: {kept:,} records through Spark, counted {sums.counted:,}"
    )
    say(f"The picture is {picture}.")
    say(f"Kept {kept:,}, counted {sums.counted:,}, lost {kept - sums.counted:,}.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
