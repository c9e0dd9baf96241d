"""`meshmsg mesh`: its arguments, and what is printed.

Not here: asking (mesh/_outside). Law: as in program.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from meshmsg._binding.errors import UsageError
from meshmsg._cli.codes import Code
from meshmsg._cli.showing import printable
from meshmsg._security.tls import Secret
from meshmsg.mesh import MemberInfo, ask
from meshmsg.mesh._outside.asking import TIMEOUT_S, Asking
from meshmsg.mesh._outside.info import mesh_dict

Given = argparse.Namespace
if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
COUNT = 4
"""Round trips that `ping` makes, if nothing else is said."""
COUNT_MAX = 1_000_000
TIMEOUT_MAX_S = 3_600
ID_SHOWN = 8
"""Characters of an id that a table has."""


def add(commands: Commands) -> None:
    """Add the commands below `mesh`."""
    for name, words, run in (
        ("ls", "list the nodes that a node knows, and their services", _ls),
        ("watch", "tell what changes, as that node sees it", _with(_watch)),
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


def _rows(members: Sequence[MemberInfo], me: bytes) -> list[list[str]]:
    rows = [["name", "id", "state", "rtt ms", "address", "zone", "services"]]
    for one in sorted(members, key=lambda m: (m.name, m.node_id)):
        rtt = "" if one.rtt is None else f"{one.rtt * 1000:.2f}"
        offered = [f"{s.name} ({s.role}) {' '.join(s.endpoints)}" for s in one.services]
        mark = "*" if one.node_id == me else ""
        rows.append(
            [
                one.name + mark,
                one.node_id.hex()[:ID_SHOWN],
                one.state.name,
                rtt,
                " ".join(one.addresses),
                one.zone,
                ", ".join(offered),
            ]
        )
    return rows


def _ls(given: Given) -> Code:
    told = ask(given.address, secret=_checked(given), timeout=given.timeout)
    if given.json:
        print(json.dumps(mesh_dict(told), indent=2))
        return Code.OK
    rows = _rows(told.members, told.node_id)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print(printable("  ".join(cells).rstrip()))
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
    told = asking.ask("watch", timeout=given.timeout)
    for member in told["members"]:
        if member["state"] in ("ALIVE", "SUSPECT"):
            _print_event({"event": "UP", **member}, given.json)
    while True:
        event = asking.told()
        if "event" in event:
            _print_event(event, given.json)


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
