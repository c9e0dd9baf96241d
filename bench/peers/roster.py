"""All peers by name. To add one: a file with a Peer, and its line here or in rivals/roster.py.

Law: the names are the same whether rivals/ is here or not, so a scenario or a command line that
has them is understood everywhere; where they are not, their rows say so.
"""

from __future__ import annotations

from ..base.need import BenchError
from ..base.rooms import ONLY_IN_A_CHECKOUT, room_with
from .mesh import Mesh, MeshSpin
from .mesh_acked import MeshAcked, MeshAckedBatch, MeshAckedReceipt
from .mesh_aio import MeshAio
from .mesh_batch import MeshBatch
from .mesh_crowd import CrowdedCurve, CrowdedTls
from .mesh_curve import MeshCurve, MeshCurveBatch
from .mesh_sp import MeshSp, MeshSpBatch
from .mesh_spool import MeshSpool, MeshSpoolFull, MeshSpoolMany
from .mesh_spooled import MeshSpooled, MeshSpooledOs
from .mesh_tls import MeshTls, MeshTlsBatch
from .seam import Peer
from .zmq_python import Pyzmq, PyzmqAio, PyzmqBatch, PyzmqCurve

RIVALS = (
    *("pynng", "pynng-tls", "zenoh", "raw-python", "raw-fdatasync"),
    *("raw-fdatasync-4m", "raw-fdatasync-new"),
    *("libzmq-c", "nanomsg", "raw-c", "raw-c-64k", "raw-c-8k", "raw-c-each", "raw-c-spin"),
    *("openssl-c", "libsodium-c"),
    *("raw-c-epoll", "redis", "redis-stream", "redis-stream-batch"),
    *("redis-stream-always", "redis-stream-everysec"),
    *("nats", "nats-jetstream", "nats-jetstream-always", "nats-cluster"),
    *("serf", "serf-local"),
    *("rabbitmq", "rabbitmq-acked", "rabbitmq-acked-batch"),
    *("rabbitmq-confirmed", "rabbitmq-confirmed-batch", "rabbitmq-durable"),
    *("activemq", "kafka", "kafka-acked", "kafka-flushed"),
    *("meshmsg-spark", "pyzmq-spark", "pyzmq-spark-batch", "arrow-spark", "parquet-spark"),
    *("socket-spark", "kafka-spark", "meshmsg-spark-stream", "parquet-spark-stream"),
    *("meshmsg-spark-put", "meshmsg-spark-sink", "pyzmq-spark-rows"),
    *("meshmsg-spark-items", "pyzmq-spark-items"),
)
"""The names of those in rivals/."""


class Elsewhere(Peer):
    """A rival that is not here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def missing(self) -> str:
        """Where it is."""
        return ONLY_IN_A_CHECKOUT

    def why_not(self, kind: str, transport: str) -> str:
        """The same, as what it can is not known here."""
        return self.missing()


def rivals() -> list[Peer]:
    """Those in rivals/; where that is not here, what says so for each."""
    found = room_with("rivals", "roster")
    return [Elsewhere(name) for name in RIVALS] if found is None else list(found.RIVALS)


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Mesh(),
        MeshBatch(),
        MeshAio(),
        MeshSpin(),
        MeshSp(),
        MeshSpBatch(),
        MeshAcked(),
        MeshAckedBatch(),
        MeshAckedReceipt(),
        MeshSpool(),
        MeshSpoolMany(),
        MeshSpoolFull(),
        MeshSpooled(),
        MeshSpooledOs(),
        MeshCurve(),
        MeshCurveBatch(),
        MeshTls(),
        MeshTlsBatch(),
        CrowdedCurve(),
        CrowdedTls(),
        Pyzmq(),
        PyzmqBatch(),
        PyzmqAio(),
        PyzmqCurve(),
        *rivals(),
    )
}


def peer_named(name: str) -> Peer:
    """Look one up."""
    try:
        return PEERS[name]
    except KeyError:
        raise BenchError(f"no peer {name!r}; there are {', '.join(PEERS)}") from None
