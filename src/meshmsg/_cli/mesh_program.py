"""`meshmsg mesh`: its arguments, and what is printed.

Not here: asking (mesh/_outside). Law: as in program.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from meshmsg._binding.errors import UsageError
from meshmsg._cli.codes import Code
from meshmsg._cli.mesh_table import ID_SHOWN, LiveTable, is_terminal, lines, rows
from meshmsg._cli.showing import printable
from meshmsg._security.tls import Secret
from meshmsg.mesh import ask
from meshmsg.mesh._outside.asking import TIMEOUT_S, Asking
from meshmsg.mesh._outside.info import members_of, mesh_dict

Given = argparse.Namespace
if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
COUNT = 4
"""Round trips that `ping` makes, if nothing else is said."""
COUNT_MAX = 1_000_000
TIMEOUT_MAX_S = 3_600
AGAIN_S = 1.0
"""Seconds after which a table that is watched is asked for anew."""


def add(commands: Commands) -> None:
    """Add the commands below `mesh`."""
    for name, words, run in (
        ("ls", "list the nodes that a node knows, and their services", _ls),
        ("watch", "show who is there and what changes, as that node sees it", _with(_watch)),
        ("explain", "tell why it sees NODE, or why it does not", _with(_explain)),
        ("ping", "ask whether it answers, and how fast", _with(_ping)),
        ("leave", "have it leave the mesh: its process goes on", _with(_leave)),
    ):
        command = commands.add_parser(name, help=words, description=words)
        command.add_argument("address", metavar="ADDRESS", help="of its mesh port: tcp://host:port")
        if name == "explain":
            command.add_argument("node", metavar="NODE", help="a name, an id in hex, or an address")
        if name == "ping":
            command.add_argument(
                "-n", type=int, default=COUNT, metavar="N", help=f"how often (default: {COUNT})"
            )
        command.add_argument("--secret", metavar="FILE", help="the secret of the cluster")
        command.add_argument(
            "--timeout", type=float, default=TIMEOUT_S, metavar="S", help="seconds for an answer"
        )
        command.add_argument("--json", action="store_true", help="as JSON")
        command.set_defaults(run=run)


def _with(run: Callable[[Given, Asking], Code]) -> Callable[[Given], Code]:
    def asked(given: Given) -> Code:
        asking = Asking(given.address, _checked(given))
        try:
            return run(given, asking)
        finally:
            asking.close()

    return asked


def _checked(given: Given) -> Secret | None:
    """Return the secret; UsageError: it cannot be read, or the time is none."""
    if not 0 < given.timeout <= TIMEOUT_MAX_S:
        raise UsageError(
            f"--timeout is {given.timeout:g}; it is more than 0, up to {TIMEOUT_MAX_S}"
        )
    return None if given.secret is None else _secret(given.secret)


def _secret(path: str) -> Secret:
    try:
        return Secret(path)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(f"--secret {path!r} cannot be read: {why}") from None


def _ls(given: Given) -> Code:
    told = ask(given.address, secret=_checked(given), timeout=given.timeout)
    if given.json:
        print(json.dumps(mesh_dict(told), indent=2))
        return Code.OK
    print("\n".join(lines(rows(told.members, told.node_id))))
    return Code.OK


def _print_event(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(told), flush=True)
        return
    names = ", ".join(service["name"] for service in told["services"])
    where = " ".join(told["addresses"])
    said = f"{told['event']:11} {told['name']} {told['node_id'][:ID_SHOWN]} {where} {names}"
    print(printable(said.rstrip()), flush=True)


def _watch(given: Given, asking: Asking) -> Code:
    if not given.json and is_terminal(sys.stdout):
        with LiveTable(sys.stdout) as table:
            _keep(table, given, asking)
    told = asking.ask("watch", timeout=given.timeout)
    for member in told["members"]:
        if member["state"] in ("ALIVE", "SUSPECT"):
            _print_event({"event": "UP", **member}, given.json)
    while True:
        event = asking.told() or {}
        if "event" in event:
            _print_event(event, given.json)


def _keep(table: LiveTable, given: Given, asking: Asking) -> NoReturn:
    """Show all nodes, and each change at once; what nothing tells of, as round trips, each second.

    Raises:
        PeerError: The node is gone.
        TimedOutError: It does not answer.
    """
    while True:
        told = asking.ask("watch", timeout=given.timeout)
        table.all(members_of(told.get("members"), given.address))
        ends = time.monotonic() + AGAIN_S
        while (left := ends - time.monotonic()) > 0:
            event = asking.told(left)
            if event is not None and "event" in event:
                table.changed(members_of([event], given.address)[0])
        asking.check()


def _explain(given: Given, asking: Asking) -> Code:
    told = asking.ask("explain", given.node, timeout=given.timeout)
    if given.json:
        print(json.dumps(told, indent=2))
    else:
        print("\n".join(printable(line) for line in told["lines"]))
    return Code.OK if told["members"] else Code.FAILED


def _ping(given: Given, asking: Asking) -> Code:
    if not 0 < given.n <= COUNT_MAX:
        raise UsageError(f"-n is {given.n}; it is 1 to {COUNT_MAX:,}")
    for _ in range(given.n):
        began = time.perf_counter()
        told = asking.ask("ping", timeout=given.timeout)
        took = time.perf_counter() - began
        if given.json:
            print(json.dumps({**told, "seconds": took}), flush=True)
        else:
            print(printable(f"{told['name']}: {took * 1000:.2f} ms"), flush=True)
    return Code.OK


def _leave(given: Given, asking: Asking) -> Code:
    told = asking.ask("leave", timeout=given.timeout)
    print(json.dumps(told) if given.json else printable(f"{told['name']} leaves"))
    sys.stdout.flush()
    return Code.OK
