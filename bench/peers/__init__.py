"""All peers by name. To add one: a file with a Peer, and its line here."""

from __future__ import annotations

from .._need import BenchError
from .activemq_broker import ActiveMq
from .kafka_broker import Kafka
from .mesh import Mesh, MeshSpin
from .mesh_aio import MeshAio
from .mesh_batch import MeshBatch
from .mesh_sp import MeshSp, MeshSpBatch
from .nats_broker import Nats
from .nng_python import Pynng
from .programs import PROGRAMS
from .rabbit_broker import Rabbit
from .raw_python import RawPython
from .redis_broker import Redis
from .seam import Peer
from .zenoh_python import Zenoh
from .zmq_python import Pyzmq, PyzmqAio, PyzmqBatch

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Mesh(),
        MeshBatch(),
        MeshAio(),
        MeshSpin(),
        MeshSp(),
        MeshSpBatch(),
        Pyzmq(),
        PyzmqBatch(),
        PyzmqAio(),
        Pynng(),
        Zenoh(),
        RawPython(),
        *PROGRAMS,
        Redis(),
        Nats(),
        Rabbit(),
        ActiveMq(),
        Kafka(),
    )
}


def peer_named(name: str) -> Peer:
    """Look one up."""
    try:
        return PEERS[name]
    except KeyError:
        raise BenchError(f"no peer {name!r}; there are {', '.join(PEERS)}") from None
