"""The peers of this room.  Their names stand in peers/roster.py, too."""

from __future__ import annotations

from ..peers.seam import Peer
from .activemq_broker import ActiveMq
from .kafka_acked import KafkaAcked, KafkaFlushed
from .kafka_broker import Kafka
from .nats_broker import Nats
from .nats_cluster import NatsCluster
from .nats_jetstream import JetStream, JetStreamAlways
from .nng_python import Pynng
from .nng_tls import PynngTls
from .programs import PROGRAMS
from .rabbit_acked import RabbitAcked, RabbitAckedBatch, RabbitConfirmed, RabbitConfirmedBatch
from .rabbit_broker import Rabbit
from .rabbit_durable import RabbitDurable
from .raw_disk import RawDisk, RawDiskLarge, RawDiskNew
from .raw_python import RawPython
from .redis_broker import Redis
from .redis_durable import RedisAlways, RedisEverySecond
from .redis_stream import RedisStream, RedisStreamBatch
from .serf_agents import Serf, SerfLocal
from .spark_kafka import SparkKafka
from .spark_source import (
    SparkArrow,
    SparkMesh,
    SparkParquet,
    SparkPyzmq,
    SparkPyzmqBatch,
    SparkSocket,
)
from .spark_streams import SparkMeshStream, SparkParquetStream
from .spark_works import (
    SparkMeshItems,
    SparkMeshPut,
    SparkMeshSink,
    SparkPyzmqItems,
    SparkPyzmqRows,
)
from .zenoh_python import Zenoh

REDIS, RABBIT, KAFKA, SPARK = Redis(), Rabbit(), Kafka(), SparkMesh()

RIVALS: tuple[Peer, ...] = (
    Pynng(),
    PynngTls(),
    Zenoh(),
    RawPython(),
    RawDisk(),
    RawDiskLarge(),
    RawDiskNew(),
    *PROGRAMS,
    REDIS,
    RedisStream(REDIS),
    RedisStreamBatch(REDIS),
    RedisAlways(),
    RedisEverySecond(),
    Nats(),
    JetStream(),
    JetStreamAlways(),
    NatsCluster(),
    Serf(),
    SerfLocal(),
    RABBIT,
    RabbitAcked(RABBIT),
    RabbitAckedBatch(RABBIT),
    RabbitConfirmed(RABBIT),
    RabbitConfirmedBatch(RABBIT),
    RabbitDurable(RABBIT),
    ActiveMq(),
    KAFKA,
    KafkaAcked(KAFKA),
    KafkaFlushed(),
    SPARK,
    SparkPyzmq(),
    SparkPyzmqBatch(),
    SparkArrow(),
    SparkParquet(),
    SparkSocket(),
    SparkKafka(KAFKA),
    SparkMeshStream(SPARK),
    SparkParquetStream(),
    SparkMeshPut(),
    SparkMeshSink(),
    SparkPyzmqRows(),
    SparkMeshItems(),
    SparkPyzmqItems(),
)
