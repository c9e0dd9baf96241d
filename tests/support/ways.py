"""Ways to protect a pair of sockets, as a table: what tests that hold however a connection is
protected go through.

Not here: such tests; keys of one library's own (curved.py).
Law: a way is made where it is used, as policies are not shared between tests.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.certificates import make

CALLER = "caller"
"""The user id of the side that does not serve, where that is let in by its key."""


@dataclass(frozen=True)
class Way:
    """How two sockets are protected."""

    mechanism: str
    """As `PeerInfo.mechanism` has it."""
    needs: str
    """What `mm.has` is asked for; "" is nothing."""
    policies: Callable[[], tuple[Any, Any]]
    """Policies of who binds and of who dials."""
    binder_serves: bool = True
    """Whether the one that binds knows the other by its user id; else the other way round."""
    scheme: str = ""
    """In front of endpoints."""
    transports: tuple[str, ...] = ("tcp", "ipc")
    caller: str = CALLER
    """The user id of the side that does not serve."""
    threads: bool = False
    """Whether it needs a thread, and so is in no simulated world (tests/c has those)."""

    @property
    def missing(self) -> str:
        """Why it cannot be tested here, or ""."""
        return "" if not self.needs or mm.has(self.needs) else f"this machine has no {self.needs}"


def curve() -> tuple[mm.Curve, mm.Curve]:
    """Policies of CURVE: a server with a list of keys, and a client that is in it."""
    server, client = mm.keygen(), mm.keygen()
    served = mm.Curve(key=server, allow={client.public: CALLER})
    return served, mm.Curve(server=server.public, key=client)


def plain() -> tuple[mm.Plain, mm.Plain]:
    """Policies of PLAIN: a server with a user, who is the client."""
    return mm.Plain(allow={CALLER: "secret"}), mm.Plain(user=CALLER, password="secret")


def tls() -> tuple[mm.Tls, mm.Tls]:
    """Policies of TLS: each side knows the other's certificate by its pin."""
    server, client = make("server"), make("client")
    pins = [f"sha256//{b64encode(bytes.fromhex(one.pin())).decode()}" for one in (server, client)]
    served = mm.Tls(cert=server.pem(), key=server.key_pem(), allow={pins[1]: CALLER})
    return served, mm.Tls(cert=client.pem(), key=client.key_pem(), allow=[pins[0]])


@cache
def _folder() -> TemporaryDirectory[str]:
    """Until this process ends: a policy looks at its file as long as it is there."""
    return TemporaryDirectory(prefix="ways")


@cache
def secret_file(name: str = "cluster.secret") -> Path:
    """A file with a secret; another name, another secret."""
    return write_secret(Path(_folder().name) / name)


def secret() -> tuple[mm.Secret, mm.Secret]:
    """Policies of one secret that both know."""
    return mm.Secret(secret_file()), mm.Secret(secret_file())


WAYS: dict[str, Way] = {
    "curve": Way("CURVE", "curve", curve),
    "curve-dialer-serves": Way("CURVE", "curve", lambda: curve()[::-1], binder_serves=False),
    "plain": Way("PLAIN", "", plain, threads=True),
    "plain-dialer-serves": Way(
        "PLAIN", "", lambda: plain()[::-1], binder_serves=False, threads=True
    ),
    "tls": Way("TLS", "tls", tls, scheme="tls+", transports=("tcp",)),
    "secret": Way("TLS", "tls", secret, scheme="tls+", transports=("tcp",), caller=""),
}
