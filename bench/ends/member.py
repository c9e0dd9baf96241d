"""A member of a mesh: a process that joins, and prints whom it sees come and go, with when.

    python -m bench.ends.member KIND NAME [SEED]

The seed is where others are; of NATS the addresses of its servers. Each line is JSON: where it is
(`at`), `joins`, `up` or `down` with a name, each with the time of the machine's monotonic clock,
which all processes share. It ends with standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..base.need import need
from ..peers.seam import DOWN, UP

CLUSTER = "bench"
Told = Callable[[str, str], None]
"""What happened, and to whom."""


def tell(word: str, name: str) -> None:
    """A line, at once."""
    line = json.dumps({word: name, "t": time.monotonic()}) + "\n"
    os.write(1, line.encode())  # at once, whatever thread it is


def mesh_member(name: str, seed: str | None) -> None:
    """Of meshmsg's: it announces a Pull, and watches that service."""
    import meshmsg
    from meshmsg.mesh import EventKind, Mesh

    tell("joins", name)
    mesh = Mesh(cluster=CLUSTER, name=name, seeds=[seed] if seed else None)
    pull = meshmsg.Pull(bind="tcp://127.0.0.1:0")
    mesh.announce("work", pull)
    tell("at", mesh.endpoint)
    for event in mesh.watch("work"):
        if event.kind in (EventKind.UP, EventKind.UNREACHABLE, EventKind.LEFT):
            tell(UP if event.kind is EventKind.UP else DOWN, event.member.record.name)


def zenoh_member(name: str, seed: str | None) -> None:
    """Of Zenoh's: peers that gossip, and tokens of liveliness."""
    zenoh: Any = need("zenoh", "the peer zenoh")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]  # zenoh does not tell the one that it would choose
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("scouting/gossip/enabled", "true")
    config.insert_json5("listen/endpoints", json.dumps([f"tcp/127.0.0.1:{port}"]))
    config.insert_json5("connect/endpoints", json.dumps([seed] if seed else []))
    tell("joins", name)
    session = zenoh.open(config)

    def came(sample: Any) -> None:
        who = str(sample.key_expr).rpartition("/")[2]
        if who != name:
            tell(UP if sample.kind == zenoh.SampleKind.PUT else DOWN, who)

    watch = session.liveliness().declare_subscriber("bench/*", came, history=True)
    token = session.liveliness().declare_token(f"bench/{name}")
    tell("at", f"tcp/127.0.0.1:{port}")
    threading.Event().wait()
    del watch, token


def nats_member(name: str, seed: str | None) -> None:
    """A client of NATS, which hears in the system account who comes and goes."""
    asyncio.run(_nats_member(need("nats", "the peer nats-cluster"), name, (seed or "").split(",")))


async def _nats_member(nats: Any, name: str, servers: list[str]) -> None:
    number = int("".join(filter(str.isdigit, name)))
    url = servers[number % len(servers)]

    async def changed(message: Any) -> None:
        who = json.loads(message.data)["client"].get("name")
        if who != name:
            tell(UP if message.subject.endswith(".CONNECT") else DOWN, who)

    async def listed(message: Any) -> None:
        for one in json.loads(message.data)["data"]["connections"]:
            if one.get("name", name) != name:
                tell(UP, one["name"])

    tell("joins", name)
    client = await nats.connect(url, name=name)
    for what in ("CONNECT", "DISCONNECT"):
        await client.subscribe(f"$SYS.ACCOUNT.*.{what}", cb=changed)
    answers = client.new_inbox()
    await client.subscribe(answers, cb=listed)
    await client.publish("$SYS.REQ.SERVER.PING.CONNZ", reply=answers)  # each server answers
    await client.flush()
    tell("at", url)
    await asyncio.Event().wait()


KINDS = {"meshmsg": mesh_member, "zenoh": zenoh_member, "nats-cluster": nats_member}


def _until_told() -> None:
    """End with standard input."""
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Run one, until standard input ends."""
    kind, name, *seed = sys.argv[1:]
    threading.Thread(target=_until_told, daemon=True).start()
    KINDS[kind](name, seed[0] if seed else None)


if __name__ == "__main__":
    main()
