"""The peers of this room.  Their names stand in peers/roster.py, too."""

from __future__ import annotations

from ..peers.seam import Peer
from .activemq_broker import ActiveMq
from .kafka_broker import Kafka
from .nats_broker import Nats
from .nng_python import Pynng
from .nng_tls import PynngTls
from .programs import PROGRAMS
from .rabbit_broker import Rabbit
from .raw_python import RawPython
from .redis_broker import Redis
from .zenoh_python import Zenoh

RIVALS: tuple[Peer, ...] = (
    Pynng(),
    PynngTls(),
    Zenoh(),
    RawPython(),
    *PROGRAMS,
    Redis(),
    Nats(),
    Rabbit(),
    ActiveMq(),
    Kafka(),
)
