"""A producer: keeps records in a spool, shows it, and says so in the mesh.

A process of its own. It is found by others through the mesh, and knows of nobody but one seed. It
ends when it is told to, on the other socket that it announces: until then its spool can be read.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time

import meshmsg
from examples.demo import records
from examples.demo.children import leave_with_parent
from examples.demo.meter import Meter, tell
from meshmsg.mesh import Mesh

CLUSTER, SERVICE, END = "meshmsg-demo", "weather", "weather-end"
"""Of the mesh: its name, what spools are offered as, and where producers are told to end."""
RUN = 5_000
"""Records that are kept by one call."""


def parts(passes: int, index: int, count: int) -> itertools.islice[bytes]:
    """The records of one of so many producers."""
    return itertools.islice(records.stream(passes), index, None, count)


def main(arguments: list[str]) -> int:
    """Keep them all, then wait for the end; 0 when all are on the disk."""
    parser = argparse.ArgumentParser(prog="examples.story.producer")
    parser.add_argument("--index", type=int, required=True)
    parser.add_argument("--producers", type=int, required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--passes", type=int, required=True)
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--telemetry", required=True)
    parser.add_argument("--secret", default=None)
    parser.add_argument("--timeout", type=float, required=True)
    chosen = parser.parse_args(arguments)
    leave_with_parent()
    name = f"producer {chosen.index}"
    kept = 0
    node = {"name": name, "seeds": chosen.seed, "secret": chosen.secret}
    scheme = "tls+tcp" if chosen.secret else "tcp"  # the mesh has its own secret
    with (
        meshmsg.Push(connect=chosen.telemetry) as push,
        meshmsg.Spool(chosen.folder) as spool,
        meshmsg.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server,
        Mesh(cluster=CLUSTER, bind="tcp://127.0.0.1:0", **node) as mesh,
        meshmsg.Pull(bind=f"{scheme}://127.0.0.1:0", security=mesh.security) as control,
    ):
        mesh.announce(END, control)
        mesh.announce(SERVICE, server)
        with Meter(push, {}, {f"kept by {name}": lambda: kept}):
            lines = parts(chosen.passes, chosen.index, chosen.producers)
            start = time.monotonic()
            while run := list(itertools.islice(lines, RUN)):
                time.sleep(max(start + kept / chosen.rate - time.monotonic(), 0))
                spool.append_many(run)  # returns when they are on the disk
                kept += len(run)
        tell(push, "done", who=name, kept=kept)
        push.drain(timeout=10).raise_for_loss()
        control.recv(timeout=chosen.timeout)  # the end
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
