"""The command targets: what the project promised of its speed, each with the ratio measured here.

A target is data: which figure of which rows, against whom, and the bound. Measurements are those of
the other commands, shared where targets need the same. Law: a target is met by medians of one run
in which both sides took turns; what could not be measured, or only while the machine's host took
processors away, is neither met nor missed, and says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..base.need import BenchError
from ..commands.args import add_output, positive, some_words, whole
from ..commands.backlogs import COUNT as BACKLOG
from ..commands.backlogs import SIZE as BACKLOG_SIZE
from ..commands.backlogs import TIMES, backlog_case
from ..commands.many import connections_case, fanout_case, fanout_load
from ..commands.rate import LOADS, rate_cases
from ..commands.slow import OTHERS, RATE, SIZE, slow_case, slow_load
from ..commands.sources import COUNT, TRIGGER_ROWS, source_case, trigger_case
from ..commands.speed import throughput_case, trips_case
from ..commands.spools import (
    OPENING_MIB,
    REPLAY_MIB,
    SEALED_FILES,
    SEALED_MIB,
    append_case,
    opening_case,
    opening_load,
    read_case,
    spooled_case,
)
from ..commands.surveys import SURVEYS, survey_case, survey_load
from ..commands.workers import (
    PILES,
    PREFETCH,
    UNACKED,
    WORKERS,
    credits_case,
    credits_load,
    unacked_case,
)
from ..measure.rounds import Case, Row
from ..measure.stolen import Patience
from ..peers.roster import peer_named
from ..peers.seam import Peer
from ..report.output import Output, written
from ..report.table import aligned
from .baseline import StoredLine, add_baseline
from .markdown import markdown
from .spooling import spools
from .target import Target, least

SUBSCRIBERS = (1, 10, 100)
CONNECTIONS = (1000, 10_000)
RESPONDENTS = 100
SEALED = SEALED_MIB, SEALED_FILES
"""Of a spool of the 100 GB class: MiB of messages, and sealed files before them."""
BACKLOG_ROUNDS = 3
"""Of a long backlog, at most: one takes minutes."""
TENFOLD = "ten times as many"
"""The load of P17 in which what Spark takes for a job is little."""
SLOW_SOURCES = ("socket-spark", "kafka-spark")
"""Not measured with that."""
ITEM_BYTES, ITEMS_SHARE = 64, 4
"""Of a work item; and for so many messages of other rows there is one."""
SIZES = (64, 1024, 16384)
FANOUTS = {
    fanout_load(size, number): (size, number) for size in (64, 1024) for number in SUBSCRIBERS
}
"""Size and subscribers, by the name of the load."""
GROUPS: dict[str, tuple[str, ...]] = {
    "thr tcp": (
        *("meshmsg", "meshmsg-batch", "meshmsg-asyncio", "pyzmq", "pyzmq-batch"),
        *("pyzmq-asyncio", "libzmq-c", "raw-c", "meshmsg-sp", "pynng"),
        *("meshmsg-curve", "meshmsg-curve-batch", "pyzmq-curve", "libsodium-c"),
        *("meshmsg-tls", "meshmsg-tls-batch", "openssl-c", "pynng-tls"),
    ),
    "thr ipc": ("meshmsg-batch", "pyzmq", "pyzmq-batch", "raw-c"),
    "thr inproc": ("meshmsg", "meshmsg-batch", "pyzmq"),
    "lat tcp": (
        *("meshmsg", "meshmsg-spin", "meshmsg-asyncio", "pyzmq", "pyzmq-asyncio"),
        *("raw-c", "raw-c-spin", "meshmsg-sp", "pynng", "meshmsg-curve", "pyzmq-curve"),
        *("meshmsg-tls", "pynng-tls", "meshmsg-curve-crowd", "meshmsg-tls-crowd"),
        "meshmsg-acked-receipt",
    ),
    "fanout tcp": ("meshmsg", "meshmsg-batch", "pyzmq"),
    "survey tcp": ("meshmsg", "meshmsg-sp", "nanomsg", "raw-c-epoll"),
    "connections tcp": ("meshmsg", "pyzmq", "meshmsg-curve", "pyzmq-curve", "meshmsg-tls"),
    "rate tcp": ("meshmsg", "pyzmq"),
    "credits tcp": ("meshmsg-acked",),
    "unacked tcp": ("meshmsg-acked",),
    "slow tcp": ("meshmsg",),
    "append disk": (
        *("meshmsg-spool", "meshmsg-spool-many", "meshmsg-spool-full"),
        *("raw-fdatasync", "raw-fdatasync-4m", "raw-fdatasync-new"),
    ),
    "replay disk": ("meshmsg-spool", "meshmsg-spool-many", "meshmsg-batch"),
    "opening disk": ("meshmsg-spool",),
    "backlog tcp": ("meshmsg-spooled",),
    "backlog disk": ("meshmsg-spool", "meshmsg-spool-many"),
    "source spark": (
        *("meshmsg-spark", "pyzmq-spark", "pyzmq-spark-batch", "parquet-spark", "arrow-spark"),
        *("socket-spark", "kafka-spark", "meshmsg-spark-stream", "parquet-spark-stream"),
        "meshmsg-spark-put",
    ),
    "sink spark": ("meshmsg-spark-sink", "pyzmq-spark-rows"),
    "items spark": ("meshmsg-spark-items", "pyzmq-spark-items"),
    "trigger spark": ("meshmsg-spark", "kafka-spark", "arrow-spark"),
    "acked tcp": (
        *("meshmsg", "meshmsg-batch", "meshmsg-acked", "meshmsg-acked-batch"),
        *("rabbitmq-acked", "rabbitmq-acked-batch", "rabbitmq-confirmed"),
        *("rabbitmq-confirmed-batch", "redis-stream", "redis-stream-batch"),
    ),
    "spooled tcp": (
        *("meshmsg-batch", "meshmsg-spooled", "meshmsg-spooled-os", "redis", "nats"),
        *("redis-stream-always", "redis-stream-everysec", "rabbitmq-durable"),
        *("nats-jetstream-always", "nats-jetstream", "kafka-flushed", "kafka-acked"),
    ),
}
"""What is measured together, by whom. Brokers come last: once started they are there to the end."""


def fanouts() -> list[Target]:
    """P6."""
    return [
        Target("P6", "fanout tcp", "deliveries_per_s", "meshmsg", "pyzmq", 2.5, at=load)
        for load in FANOUTS
    ]


def surveys() -> list[Target]:
    """P8, over either wire."""
    load = survey_load(64, RESPONDENTS)
    return [
        Target("P8", "survey tcp", "p50_us", name, "nanomsg", 0.5, low=True, at=load)
        for name in ("meshmsg", "meshmsg-sp")
    ]


def curve() -> list[Target]:
    """P14: CURVE beside libzmq's, beside libsodium alone, and beside no protection.

    Memory is all of a connection's, of which CURVE may add 4 KiB to P9's 4.
    """
    ours, theirs = "meshmsg-curve", "pyzmq-curve"
    sizes = dict.fromkeys((64, 1024), 2.0)
    alone = dict.fromkeys((64, 1024), 0.7)
    return [
        *least("P14", "thr tcp", ours, theirs, sizes),
        *least("P14", "thr tcp", f"{ours}-batch", "libsodium-c", alone),
        Target("P14", "lat tcp", "p50_us", ours, "meshmsg", 1.3, low=True, at=64),
        Target("P14", "lat tcp", "p99_us", f"{ours}-crowd", ours, 2.0, low=True, at=64),
        Target("P14", "connections tcp", "connects_per_s", ours, theirs, 1.5, at="1,000"),
        Target("P14", "connections tcp", "server_bytes", ours, "", 8192, low=True, at="1,000"),
    ]


def tls() -> list[Target]:
    """P14: TLS beside no protection, OpenSSL alone, and NNG's.

    Memory is all of a connection's, where both sides have certificates.
    """
    ours, alone = "meshmsg-tls", "openssl-c"
    return [
        *least("P14", "thr tcp", ours, "meshmsg", {1024: 0.6}),
        *least("P14", "thr tcp", f"{ours}-batch", "meshmsg-batch", {64: 0.6, 1024: 0.45}),
        *least("P14", "thr tcp", f"{ours}-batch", alone, dict.fromkeys((64, 1024), 0.8)),
        *least("P14", "thr tcp", ours, "pynng-tls", dict.fromkeys((64, 1024), 1.0)),
        Target("P14", "lat tcp", "p50_us", ours, "meshmsg", 1.3, low=True, at=64),
        Target("P14", "lat tcp", "p99_us", f"{ours}-crowd", ours, 2.0, low=True, at=64),
        Target("P14", "connections tcp", "server_bytes", ours, "", 20480, low=True, at="1,000"),
    ]


def acked() -> list[Target]:
    """P15: at least once beside at most once, and beside brokers; what it holds up, and takes."""
    ours, load = "meshmsg-acked", credits_load(WORKERS, PREFETCH)
    rivals = ("rabbitmq-acked", "rabbitmq-confirmed", "redis-stream")
    piles = [
        Target("P15", "unacked tcp", "of_limits", ours, "", 1.0, low=True, at=name)
        for name in PILES
    ]
    return [
        *least("P15", "acked tcp", ours, "meshmsg", dict.fromkeys(SIZES, 0.8)),
        *least("P15", "acked tcp", f"{ours}-batch", "meshmsg-batch", dict.fromkeys(SIZES, 0.75)),
        *(one for rival in rivals for one in beside_broker(ours, rival)),
        Target("P15", "lat tcp", "p50_us", f"{ours}-receipt", "meshmsg", 1.25, low=True, at=64),
        Target("P15", "credits tcp", "held_up", ours, "", PREFETCH, low=True, at=load),
        Target("P15", "unacked tcp", "held", ours, "", UNACKED, at=next(iter(PILES))),
        *piles,
    ]


def beside_broker(own: str, rival: str) -> list[Target]:
    """Message by message, and by batch."""
    both = ((f"{own}{way}", f"{rival}{way}") for way in ("", "-batch"))
    return [one for pair in both for one in least("P15", "acked tcp", *pair, {1024: 10.0})]


def sparked() -> list[Target]:
    """P17: reading a filled spool into Spark, beside what else can be read there."""
    mesh, size = "meshmsg-spark", 1024
    bounds = {"pyzmq-spark": 3, "pyzmq-spark-batch": 0.8, "parquet-spark": 0.8, "arrow-spark": 0.6}
    more = {"socket-spark": 5, "kafka-spark": 1}
    rates: list[tuple[str, float, int | str]] = [
        *((beside, bound, size) for beside, bound in {**bounds, **more}.items()),
        *((beside, bound, TENFOLD) for beside, bound in bounds.items()),
    ]
    streams = ("meshmsg-spark-stream", "parquet-spark-stream")
    behind = ("p50_ms", "p99_ms", "trigger_ms", "idle_ms")
    return [
        *(
            Target("P17", "source spark", "messages_per_s", mesh, beside, bound, at=at)
            for beside, bound, at in rates
        ),
        Target("P17", "source spark", "messages_per_s", *streams, 0.8, at=TENFOLD),
        *(
            Target("P17", f"{kind} spark", "messages_per_s", f"{mesh}-{own}", beside, bound, at=at)
            for kind, own, beside, bound, at in (
                ("source", "put", "pyzmq-spark", 1, size),
                ("sink", "sink", "pyzmq-spark-rows", 2, size),
                ("items", "items", "pyzmq-spark-items", 0.8, ITEM_BYTES),
            )
        ),
        *(
            Target("P17", "trigger spark", figure, mesh, "kafka-spark", 1, low=True, at=size)
            for figure in behind
        ),
        Target("P17", "trigger spark", "trigger_ms", mesh, "arrow-spark", 1.1, low=True, at=size),
        Target("P17", "trigger spark", "driver_ms", mesh, "", 10, low=True, at=size),
    ]


def slows() -> list[Target]:
    """P18: what a slow subscriber costs the others (F23 of docs/faults.md)."""
    load = slow_load(RATE, SIZE, OTHERS)
    return [Target("P18", "slow tcp", "p99_ratio", "meshmsg", "", 2, low=True, at=load)]


def fixed_rates() -> list[Target]:
    """P10."""
    return [
        Target("P10", "rate tcp", figure, "meshmsg", "pyzmq", 1.0, low=True, at=load)
        for load in LOADS
        for figure in ("p99_us", "p99.9_us", "p99.99_us", "max_us")
    ]


TARGETS: tuple[Target, ...] = (
    *least("P1", "thr tcp", "meshmsg", "pyzmq", {64: 2, 1024: 2.5, 16384: 2.5}),
    *least("P1", "thr tcp", "meshmsg", "libzmq-c", dict.fromkeys(SIZES, 1.0)),
    *least("P2", "thr tcp", "meshmsg-batch", "pyzmq", {64: 10, 1024: 4.5}),
    *least("P2", "thr tcp", "meshmsg-batch", "raw-c", {1024: 0.8, 16384: 0.8}),
    *least("P2", "thr ipc", "meshmsg-batch", "pyzmq", {64: 10, 1024: 4.5}),
    *least("P2", "thr ipc", "meshmsg-batch", "raw-c", {1024: 0.8, 16384: 0.8}),
    Target("P3", "lat tcp", "p50_us", "meshmsg", "pyzmq", 0.6, low=True, at=64),
    Target("P3", "lat tcp", "p50_us", "meshmsg", "raw-c", 1.15, low=True, at=64),
    Target("P3", "lat tcp", "p99_us", "meshmsg", "raw-c", 1.3, low=True, at=64),
    Target("P4", "lat tcp", "p50_us", "meshmsg-spin", "raw-c-spin", 2.0, low=True, at=64),
    *least("P5", "thr tcp", "meshmsg-asyncio", "pyzmq-asyncio", {64: 10, 1024: 10}),
    *least("P5", "thr tcp", "meshmsg-asyncio", "meshmsg", {64: 0.5, 1024: 0.5}),
    Target("P5", "lat tcp", "p50_us", "meshmsg-asyncio", "pyzmq-asyncio", 0.5, low=True, at=64),
    *fanouts(),
    *least("P7", "thr inproc", "meshmsg", "pyzmq", {64: 2, 1024: 2}),
    *least("P7", "thr inproc", "meshmsg-batch", "pyzmq", {64: 10, 1024: 10}),
    *surveys(),
    *least("P8b", "thr tcp", "meshmsg-sp", "pynng", {64: 5, 1024: 5}),
    Target("P8c", "lat tcp", "p50_us", "meshmsg-sp", "pynng", 0.6, low=True, at=64),
    Target("P9", "connections tcp", "server_bytes", "meshmsg", "", 8192, low=True, at="1,000"),
    Target("P9", "connections tcp", "connects_per_s", "meshmsg", "pyzmq", 1.5, at="1,000"),
    Target("P9", "connections tcp", "server_bytes", "meshmsg", "", 8192, low=True, at="10,000"),
    *fixed_rates(),
    Target("P11", "thr tcp", "cpu_us", "meshmsg-batch", "pyzmq", 0.5, low=True, at=1024),
    Target("P11", "thr tcp", "cpu_us", "meshmsg", "pyzmq", 0.8, low=True, at=1024),
    *curve(),
    *tls(),
    *acked(),
    *spools(),
    *sparked(),
    *slows(),
)


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int = 5
    seconds: float = 1.0
    survey_rounds: int = 15
    rate_rounds: int = 10
    rate_seconds: float = 10.0
    """Times the rounds: the 10,000 messages of 1 MiB at 100/s of which there is a p99.99."""
    trips: int = 5000
    surveys: int = SURVEYS
    connections: tuple[int, ...] = CONNECTIONS
    patience: float = 1200.0
    replay_mib: int = REPLAY_MIB
    behind: int = BACKLOG
    """Messages of a short backlog; 0: none is measured."""
    sourced: int = COUNT
    """Messages that Spark reads."""
    triggered: int = TRIGGER_ROWS
    """Rows of a stream."""


WHOLE = Extent()
"""What docs/performance.md is made from."""
SHORT = Extent(3, 0.3, 3, 3, 3.0, 1000, 200, CONNECTIONS[:1], 300.0, 64, 0, 200_000, 1000)
"""Some ten minutes: enough to see what has become slower. Three rounds, so one cannot decide. No
backlog: of one that fills no batch, memory would say nothing."""


def add_commands(commands: Any) -> None:
    """Put targets among the commands."""
    numbers = list(dict.fromkeys(target.number for target in TARGETS))
    parser = commands.add_parser("targets", help="what was promised, and what was measured")
    parser.add_argument("--only", type=some_words, help=f"with commas, of {', '.join(numbers)}")
    parser.add_argument("--short", action="store_true", help="a few minutes; other defaults")
    for name, kind, what in (
        ("rounds", whole(1), "besides the warm-up"),
        ("seconds", positive, "about, a throughput"),
        ("survey_rounds", whole(1), "of surveys, which are short"),
        ("rate_rounds", whole(1), "of a fixed rate, besides the warm-up"),
        ("rate_seconds", positive, "a fixed rate"),
        ("trips", whole(2), "of a latency"),
        ("patience", positive, "seconds for rounds again in which the host took processors away"),
    ):
        usual = f"{getattr(WHOLE, name):g}, short: {getattr(SHORT, name):g}"
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=kind, help=f"{what} (default: {usual})")
    parser.add_argument("--seed", type=whole(0), default=1, help="of the messages' contents")
    parser.add_argument("--strict", action="store_true", help="fail when a target is missed")
    parser.add_argument("--markdown", metavar="FILE", help="write the table of targets there")
    add_output(parser)
    add_baseline(parser)
    parser.set_defaults(run=targets, processes=None, base="pyzmq")


def fill(chosen: argparse.Namespace) -> None:
    """Give what was not said its default."""
    for name, value in vars(SHORT if chosen.short else WHOLE).items():
        if getattr(chosen, name, None) is None:
            setattr(chosen, name, value)


def cases_of(group: str, wanted: Sequence[Target], chosen: argparse.Namespace) -> list[list[Case]]:
    """The cases of a group, those beside each other that are compared."""
    made = []
    for at in dict.fromkeys(target.at for target in wanted):
        # The short set measures at each size whom a target there is about; the whole, everybody.
        # So does whoever is beside brokers: they are slow, and compared at one size.
        few = chosen.short or group.startswith("acked")
        about = [one for one in wanted if one.at == at or not few]
        names = {name for target in about for name in (target.peer, target.beside)}
        if group.startswith("thr") and "meshmsg-batch" in names and not chosen.short:
            names.add("pyzmq-batch")
        if group.startswith("survey") and not chosen.short:
            names.add("raw-c-epoll")  # plain sockets, beside them
        if group.startswith("spooled") and not chosen.short:
            names |= set(GROUPS[group])  # also brokers that answer before they sync
        peers = [peer_named(name) for name in GROUPS[group] if name in names]
        made.append(cases_at(group, at, peers, chosen))
    return [cases for cases in made if cases]


def cases_at(
    group: str, at: str | int | None, peers: Sequence[Peer], chosen: argparse.Namespace
) -> list[Case]:
    """Those of one size, load or number; none, where that is not measured this time."""
    kind, transport = group.split()
    size = at if isinstance(at, int) else 0
    counts = {"lat": chosen.trips, "survey": chosen.surveys}
    chosen = argparse.Namespace(**{**vars(chosen), "count": counts.get(kind)})
    if kind in ("thr", "acked"):
        return [throughput_case(peer, transport, size, chosen, kind) for peer in peers]
    if kind == "lat":
        return [trips_case(peer, transport, size, chosen) for peer in peers]
    if kind == "fanout":
        size, number = FANOUTS[str(at)]
        return [fanout_case(peer, transport, size, number, chosen) for peer in peers]
    if kind == "survey":
        return [survey_case(peer, transport, 64, RESPONDENTS, chosen) for peer in peers]
    if kind == "connections":
        there = [number for number in chosen.connections if f"{number:,}" == at]
        return [connections_case(peer, transport, n) for n in there for peer in peers]
    if kind == "credits":
        return [credits_case(peer, transport, WORKERS, PREFETCH, chosen) for peer in peers]
    if kind == "unacked":
        return [unacked_case(peer, transport, PILES[str(at)], chosen.seed) for peer in peers]
    if kind == "slow":
        return [slow_case(peer, SIZE, chosen.seconds) for peer in peers]
    if kind == "append":
        return [append_case(peer, size, chosen) for peer in peers]
    if kind == "spooled":
        return [spooled_case(peer, transport, size, chosen) for peer in peers]
    if kind == "replay":
        told = (size, chosen.replay_mib, chosen.seconds, chosen.seed)
        return [read_case(peer, *told) for peer in peers]
    if kind == "opening":
        mib, files = (OPENING_MIB, 0) if at == opening_load(OPENING_MIB) else SEALED
        return [opening_case(peer, mib, chosen.seed, files) for peer in peers]
    if kind == "backlog":
        long = (chosen.behind, TIMES, BACKLOG_SIZE, chosen.seed)
        return [backlog_case(peer, *long) for peer in peers if chosen.behind]
    if kind == "source" and at == TENFOLD:
        there = [p for p in peers if p.name not in SLOW_SOURCES]
        return [source_case(p, 1024, 10 * chosen.sourced, chosen.seed, TENFOLD) for p in there]
    if kind in ("sink", "items"):
        count = chosen.sourced if kind == "sink" else chosen.sourced // ITEMS_SHARE
        return [source_case(p, size, count, chosen.seed, kind=kind) for p in peers]
    if kind == "source":
        return [source_case(p, size, chosen.sourced, chosen.seed) for p in peers]
    if kind == "trigger":
        return [trigger_case(p, size, chosen.triggered, chosen.seed) for p in peers]
    return rate_cases(peers, transport, LOADS[str(at)], chosen.rate_seconds, chosen.seed)


def verdicts(rows: Sequence[Row], wanted: Sequence[Target]) -> list[dict[str, Any]]:
    """Each target with what was measured."""
    found = []
    for target in wanted:
        value, reason = target.of(rows)
        met = None if value is None or reason else target.holds(value)
        found.append(
            {
                "number": target.number,
                "what": target.words(),
                "must": f"{'<=' if target.low else '>='} {target.bound:g}",
                "measured": value,
                "met": met,
                "reason": reason,
            }
        )
    return found


def shown(found: Sequence[dict[str, Any]]) -> list[str]:
    """For the terminal."""
    lines = [["", "target", "must be", "measured", ""]]
    for one in found:
        value = "-" if one["measured"] is None else f"{one['measured']:,.2f}"
        verdict = "met" if one["met"] else one["reason"] if one["met"] is None else "MISSED"
        lines.append([one["number"], one["what"], one["must"], value, verdict])
    met = sum(one["met"] is True for one in found)
    missed = sum(one["met"] is False for one in found)
    return [
        *aligned(lines, left=(0, 1, 4)),
        f"{met} met, {missed} missed, {len(found) - met - missed} not judged",
        "",
    ]


def targets(chosen: argparse.Namespace) -> int:
    """The command targets."""
    wanted = [t for t in TARGETS if chosen.only is None or t.number in chosen.only]
    unknown = sorted(set(chosen.only or ()) - {target.number for target in wanted})
    if unknown:
        raise BenchError(f"no target {', '.join(unknown)}")
    fill(chosen)
    output = Output(chosen, "What was promised of meshmsg's speed, and what was measured")
    line = StoredLine(chosen)
    groups: list[list[Case]] = []
    for group in GROUPS:
        own = [target for target in wanted if target.group == group]
        groups += cases_of(group, own, chosen) if own else []

    def rounds_of(cases: Sequence[Case]) -> int:
        own = {"rate": chosen.rate_rounds, "survey": chosen.survey_rounds}
        own["backlog"] = min(chosen.rounds, BACKLOG_ROUNDS)
        return int(own.get(cases[0].kind, chosen.rounds))

    output.patience = patience = Patience(chosen.patience)
    output.measure_all(groups, rounds_of, line.calibrate)
    output.facts |= {"rounds_again": patience.again, "rounds_disturbed": patience.disturbed}
    output.targets = found = verdicts(output.rows, wanted)
    for text in (*shown(found), *line.compare(output.rows)):
        output.line(text)
    output.finish()
    if chosen.markdown:
        written(chosen.markdown, markdown(found, output.facts, chosen))
    missed = [one for one in found if one["met"] is False]
    return 1 if missed and chosen.strict else 0
