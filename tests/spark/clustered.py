"""A program that is the driver of a local cluster: python -m tests.spark.clustered FOLDER.

Two executors, processes of their own, with two slots each, and a file of policies. It has items
worked on, and kills one of the executors while that has one in its hands; then it has tasks talk to
each other. Each line on standard output is JSON: what it was, and what came of it.

Law: what is killed is the process of Java above a worker that said so, and waits in a pipe.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshmsg as mm
from meshmsg.spark import FanOut, TaskNode, Topology, executors_as_mesh
from tests.spark.driving import session
from tests.spark.killing import children_of, executors_of, kill

CLUSTER = "local-cluster[2,2,1024]"
ITEMS = 60
BOTH = """
[bind]
mechanism = curve
key = server.key_secret
allow = allowed

[connect]
mechanism = curve
server = server.key
key = alice.key_secret
"""


def say(what: str, came: Any) -> None:
    """Print a line."""
    print(json.dumps([what, came]), flush=True)


def policies(folder: Path) -> Path:
    """Write keys, and the file that names them."""
    mm.keygen(folder / "server")
    (folder / "allowed").mkdir()
    alice = mm.keygen(folder / "allowed" / "alice")
    assert alice.secret_file
    alice.secret_file.rename(folder / "alice.key_secret")
    path = folder / "security.ini"
    path.write_text(BOTH)
    return path


def held_once(told: str, never: str) -> Callable[[bytes], bytes]:
    """Return what says which process has one item, the first time, and waits to be killed."""

    def fn(item: bytes) -> bytes:
        import os

        if item == b"30":
            try:
                os.mkfifo(never)
            except FileExistsError:
                return item * 2
            with open(told, "w") as pipe:
                pipe.write(str(os.getpid()))
            open(never).read()
        return item * 2

    return fn


def items(spark: Any, folder: Path, security: Path) -> None:
    """Have them worked on by executors of which one is killed."""
    told, never = str(folder / "told"), str(folder / "never")
    os.mkfifo(told)
    served = mm.Curve(key=str(folder / "server.key_secret"), allow=str(folder / "allowed"))
    with FanOut(
        spark,
        held_once(told, never),
        workers=4,
        bind="tcp://0.0.0.0:0",
        results="tcp://0.0.0.0:0",
        advertise="127.0.0.1",
        security=served,
        task_security=str(security),
    ) as fan:
        futures = [fan.submit(b"%d" % i) for i in range(ITEMS)]
        with open(told) as pipe:
            holder = int(pipe.read())
        above = [one for one in executors_of(os.getpid()) if holder in children_of(one)]
        say("killed", kill(above))
        results = [int(one.result()) for one in futures]
        counts = fan.stats()
    say("results", results == [int(b"%d" % i * 2) for i in range(ITEMS)])
    say("counts", [counts.done, counts.failed, counts.open, counts.again > 0])


def around(node: TaskNode) -> list[int]:
    """Tell each target the own number, and hear who tells this one."""
    for to in node.targets:
        node.send(to, b"%d" % node.rank, timeout=100.0)
    return sorted(node.recv(timeout=100.0)[0] for _ in node.targets)


def meshes(spark: Any, security: Path) -> None:
    """Have tasks of both executors talk to each other."""

    def apart(node: TaskNode) -> tuple[list[int], int]:
        import os

        return around(node), os.getppid()

    tree, daemons = zip(
        *executors_as_mesh(
            spark, apart, count=4, topology=Topology.TREE, host="127.0.0.1", security=security
        ),
        strict=True,
    )
    say("tree", tree)
    say("daemons", len(set(daemons)))
    say("all", executors_as_mesh(spark, around, count=4))
    pairs = [(0, 3), (3, 0), (1, 2), (2, 1)]
    say("pairs", executors_as_mesh(spark, around, count=4, topology=pairs, security=security))
    try:
        executors_as_mesh(spark, around, count=5, patience=0.5)
    except mm.UsageError as error:
        say("refused", str(error))


def main() -> None:
    """Run it as the command line says."""
    folder = Path(sys.argv[1])
    security = policies(folder)
    spark = session(CLUSTER, **{"spark.default.parallelism": "8"})
    items(spark, folder, security)
    meshes(spark, security)
    spark.stop()


if __name__ == "__main__":
    main()
