"""Serf: agents that find each other by gossip over UDP (SWIM), in a mesh of their own.

An agent is a member. What it knows is what its log says, at its default level: `EventMemberJoin`
and `EventMemberFailed`, as they happen. Its scripts for events are told a second later: it waits
for more of the same. Law: only loopback, on ports of its own; nobody is looked for by multicast.
"""

from __future__ import annotations

import re
import shutil
import socket
import time
from typing import Any

from ..base.hosts import LOOPBACK
from ..base.tools import first_words
from ..peers.seam import DOWN, UP, Peer

BEGINS = "Starting Serf agent..."
TRIES = 100
"""Ports that are tried, of which one has to be free for TCP and for UDP."""
AT = re.compile(r"Bind addr: '(\S+)'")
CHANGED = re.compile(r"serf: EventMember(Join|Failed): (\S+)")
WORDS = {"Join": UP, "Failed": DOWN}


def free_for_both() -> int:
    """A port of loopback that nobody has, neither for TCP nor for UDP."""
    for _ in range(TRIES):
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind((LOOPBACK, 0))
            port: int = tcp.getsockname()[1]
            try:
                udp.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise OSError("no port is free for TCP and UDP")


class Serf(Peer):
    """Serf as it is: with the profile for a LAN."""

    name = "serf"
    profile = "lan"
    """Times of its protocol, by name."""
    transports: tuple[str, ...] = ("tcp",)
    kinds: tuple[str, ...] = ("mesh",)
    in_python = False

    def missing(self) -> str | None:
        """Whether it is installed."""
        return None if shutil.which("serf") else "serf is not installed"

    def version(self) -> str:
        """What it says itself, and its profile; Debian's 0.9.4 says 0.8.2-dev."""
        return f"{first_words('serf', 'version') or 'unknown'} ({self.profile})"

    def member_command(self, name: str, seed: str | None) -> list[str]:
        """An agent."""
        return [
            *("serf", "agent", f"-node={name}", f"-profile={self.profile}"),
            *(f"-bind={LOOPBACK}:{free_for_both()}", f"-rpc-addr={LOOPBACK}:0"),
            *([] if seed is None else [f"-join={seed}"]),
        ]

    def member_said(self, line: str) -> dict[str, Any]:
        """What it says to people, and its log; the time is when it was read here."""
        now = time.monotonic()
        if BEGINS in line:
            return {"joins": "", "t": now}
        if bound := AT.search(line):
            return {"at": bound[1], "t": now}
        if changed := CHANGED.search(line):
            return {WORDS[changed[1]]: changed[2], "t": now}
        return {}


class SerfLocal(Serf):
    """With the profile for loopback, which asks and gossips sooner: the nearest to a mesh here."""

    name = "serf-local"
    profile = "local"
