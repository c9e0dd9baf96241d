"""meshmsg with CURVE or TLS, beside 10,000 peers that begin a handshake and go no further.

They are on the same listener as the one that is measured, and each has been answered once. None of
them is timed out meanwhile: what it costs when they come again and again is told beside the row.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import meshmsg

from ..base.descriptors import allow_files
from ..base.hosts import LOOPBACK, tcp
from ..base.task import PATIENCE, Task
from .crowd import Crowd, first_words
from .mesh import AT_ONCE_MAX, MeshAnswerer
from .mesh_curve import MeshCurve, called, served
from .mesh_tls import MeshTls, over_tls, policy
from .seam import Answerer

CROWD = 10_000
CURVE_GREETING = (
    b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + b"\x01" + bytes(31)
)
"""Of ZMTP 3.1, by a server: what follows it is a client's HELLO."""


class CrowdedAnswerer(MeshAnswerer):
    """A Rep; the crowd is there once it is."""

    def __init__(
        self, task: Task, dial: Callable[[str], Any], greeting: bytes, policy: Any
    ) -> None:
        """dial: opens a peer of that endpoint."""
        allow_files(CROWD)
        super().__init__(
            task,
            security=policy,
            connections_max=AT_ONCE_MAX,
            half_open_max=AT_ONCE_MAX,
            handshake_timeout=PATIENCE,
        )
        with (
            socket.create_server((LOOPBACK, 0)) as listening,
            dial(tcp(LOOPBACK, listening.getsockname()[1])),
        ):
            words = first_words(listening, greeting)
        self._crowd = Crowd(int(self.endpoint.rpartition(":")[2]), CROWD, words)

    def close(self) -> None:
        """Close the socket, and end the crowd."""
        self._crowd.close()
        super().close()


class CrowdedCurve(MeshCurve):
    """Message by message."""

    name = "meshmsg-curve-crowd"
    transports = ("tcp",)
    kinds: tuple[str, ...] = ("lat",)

    def answerer(self, task: Task) -> Answerer:
        """A Rep."""

        def dial(url: str) -> Any:
            return meshmsg.Req(connect=url, security=called())

        return CrowdedAnswerer(task, dial, CURVE_GREETING, served())


class CrowdedTls(MeshTls):
    """Message by message."""

    name = "meshmsg-tls-crowd"
    kinds: tuple[str, ...] = ("lat",)

    def answerer(self, task: Task) -> Answerer:
        """A Rep."""

        def dial(url: str) -> Any:
            return meshmsg.Req(connect=f"tls+{url}", security=policy())

        return CrowdedAnswerer(over_tls(task), dial, b"", policy())
