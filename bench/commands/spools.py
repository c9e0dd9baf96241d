"""The commands append, spooled, replay and opening: what is kept on a disk, how fast it is kept,
sent on, read, and opened after a kill.

What a sync of the disk takes by itself (T_sync) is measured before each round, and stands beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..base.disk import sync_us
from ..base.task import Task
from ..ends.lead import Gathered
from ..measure.launch import gather
from ..measure.rounds import Case, Figures, Row
from ..measure.stats import Distributions, latency_figures, merged
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, add_size, add_transport, positive, whole
from .speed import Throughput, throughput_case

DISK = "disk"
"""Where there is no other end, in the place of a transport."""
TCP = "tcp"
APPEND_PEERS = "meshmsg-spool,meshmsg-spool-many"
SPOOLED_PEERS = "meshmsg-batch,meshmsg-spooled,meshmsg-spooled-os"
REPLAY_PEERS = "meshmsg-spool,meshmsg-spool-many"
OPENING_PEERS = "meshmsg-spool"
APPEND_SIZES = (200, 1024)
FIRST_APPENDS = 300
"""Messages of the warm-up round, from which the count of the others is made."""
APPENDS_MIN = 100
WARM_APPENDS = 50
MANY_MIN = 20_000
"""The same for who puts many at once: fewer are one sync."""
MIB = 1024 * 1024
REPLAY_MIB = 256
OPENING_MIB = 1024
OPENING_SIZE = 1024
SEALED_FILES = 1600
"""Of 64 MiB each: 100 GiB, almost all of it holes."""
SEALED_MIB = 56
"""Put behind those, so that the last file is nearly full as its process is killed."""


def add_commands(commands: Any) -> None:
    """Put all four among the commands."""
    parser = commands.add_parser("append", help="messages kept on the disk: a call, and a second")
    _add_extent(parser)
    add_size(parser, ",".join(map(str, APPEND_SIZES)), least=1)
    add_common(parser, APPEND_PEERS)
    parser.set_defaults(run=append)
    parser = commands.add_parser("spooled", help="the same as thr, of messages kept by the sender")
    _add_extent(parser)
    add_transport(parser)
    add_size(parser, "1024")
    add_common(parser, SPOOLED_PEERS)
    parser.set_defaults(run=spooled)
    parser = commands.add_parser("replay", help="reading a spool that is full")
    parser.add_argument("--mib", type=whole(1), default=REPLAY_MIB, help="of messages")
    parser.add_argument(
        "--seconds", type=positive, default=1.0, help="about, of peers that replay nothing"
    )
    add_size(parser, ",".join(map(str, APPEND_SIZES)), least=1)
    add_common(parser, REPLAY_PEERS)
    parser.set_defaults(run=replay)
    parser = commands.add_parser("opening", help="opening a spool whose process was killed")
    parser.add_argument("--mib", type=whole(1), default=OPENING_MIB, help="of messages")
    parser.add_argument(
        "--files", type=whole(0), default=0, help="segment files before, of holes (%(default)s)"
    )
    add_common(parser, OPENING_PEERS, rounds=3)
    parser.set_defaults(run=opening)


def _add_extent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--count", type=whole(2), help="messages a measurement (default: for --seconds)"
    )
    parser.add_argument("--seconds", type=positive, default=1.0, help="about, a measurement")


def beside_sync(case: Case) -> Case:
    """The same, with what a sync of the disk takes at that time."""
    measured: Callable[[bool], Figures] = case.measure

    def measure(warming: bool) -> Figures:
        t_sync = sync_us()
        return {**measured(warming), "t_sync_us": t_sync}

    return replace(case, measure=measure)


def kept_figures(found: Gathered, task: Task) -> Figures:
    """How many messages a second one end kept, or read, and what it used."""
    (said,) = found.said
    rate = said["count"] / said["seconds"]
    use = found.used[0]
    return {
        "messages_per_s": rate,
        "mb_per_s": rate * task.size / 1e6,
        "cpu_us": use["cpu_s"] * 1e6 / task.count,
        "rss_mb": use["rss_mb"],
    }


class Appends(Distributions):
    """Measures one peer; the warm-up finds out how many messages take the time wanted."""

    def __init__(self, peer: Peer, task: Task, seconds: float | None) -> None:
        super().__init__()
        self._peer, self._seconds = peer, seconds
        count = task.count if seconds is None else FIRST_APPENDS
        self._task = replace(task, count=count, warm=min(WARM_APPENDS, count))

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        found = gather(self._peer, DISK, [self._task])
        figures = kept_figures(found, self._task)
        times = found.said[0]["latency_ns"]
        if warming and self._seconds is not None:
            self._fit(figures["messages_per_s"] * self._seconds, many=not times)
        if times and not warming:
            self._all.append(times)
        return {**(latency_figures(times) if times else {}), **figures}

    def _fit(self, wanted: float, *, many: bool) -> None:
        """Who puts many at once is measured once more: a few are no measure of that."""
        least = MANY_MIN if many else APPENDS_MIN
        self._task = replace(self._task, count=max(least, int(wanted)))
        if many:
            rate = kept_figures(gather(self._peer, DISK, [self._task]), self._task)
            assert self._seconds is not None
            fitting = int(rate["messages_per_s"] * self._seconds)
            self._task = replace(self._task, count=max(least, fitting))

    def forget(self) -> None:
        """Have the last round not count; one without times is in no distribution."""
        if self._all:
            super().forget()

    def known(self) -> Row:
        """For the row."""
        found: Row = {"count": self._task.count}
        return {**found, "latency_ns": merged(self._all)} if self._all else found


def append_case(peer: Peer, size: int, chosen: argparse.Namespace) -> Case:
    """One peer's case."""
    task = Task("append", peer.name, False, "", size, chosen.count or 0, seed=chosen.seed)
    one = Appends(peer, task, None if chosen.count else chosen.seconds)
    facts = {"size": size}
    case = Case(peer, "append", DISK, one, facts, extra=one.known, forget=one.forget)
    return beside_sync(case)


def append(chosen: argparse.Namespace) -> int:
    """The command append."""
    return _measured(
        chosen, [[append_case(p, size, chosen) for p in chosen.peer] for size in chosen.size]
    )


def spooled_case(peer: Peer, transport: str, size: int, chosen: argparse.Namespace) -> Case:
    """One peer's case."""
    return beside_sync(throughput_case(peer, transport, size, chosen, "spooled"))


def spooled(chosen: argparse.Namespace) -> int:
    """The command spooled."""
    return _measured(
        chosen,
        [
            [spooled_case(peer, transport, size, chosen) for peer in chosen.peer]
            for transport in chosen.transport
            for size in chosen.size
        ],
    )


def replay_case(peer: Peer, size: int, mib: int, seed: int) -> Case:
    """One peer's case."""
    count = max(1, mib * MIB // size)
    task = Task("replay", peer.name, False, "", size, count, seed=seed)

    def measure(_: bool) -> Figures:
        return kept_figures(gather(peer, DISK, [task]), task)

    return beside_sync(Case(peer, "replay", DISK, measure, {"size": size, "count": count}))


def unspooled_case(peer: Peer, size: int, seconds: float, seed: int) -> Case:
    """One that has no spool: as many messages a second as its receiver gets over tcp."""
    one = Throughput(peer, TCP, Task("thr", peer.name, True, "", size, seed=seed), seconds)

    def measure(warming: bool) -> Figures:
        found = one(warming)
        kept = {name: found[name] for name in ("mb_per_s", "cpu_us")}
        return {"messages_per_s": found["receiver_per_s"], **kept}

    facts = {"size": size, "over": TCP}
    case = Case(peer, "replay", DISK, measure, facts, extra=one.known, needs="thr", over=TCP)
    return beside_sync(case)


def read_case(peer: Peer, size: int, mib: int, seconds: float, seed: int) -> Case:
    """Either of both."""
    if "replay" in peer.kinds or "thr" not in peer.kinds:
        return replay_case(peer, size, mib, seed)
    return unspooled_case(peer, size, seconds, seed)


def replay(chosen: argparse.Namespace) -> int:
    """The command replay."""
    mib, seconds, seed = chosen.mib, chosen.seconds, chosen.seed
    return _measured(
        chosen,
        [
            [read_case(peer, size, mib, seconds, seed) for peer in chosen.peer]
            for size in chosen.size
        ],
    )


def opening_load(mib: int, files: int = 0) -> str:
    """The name of one case."""
    return f"{files:,} sealed files" if files else f"{mib:,} MiB"


def opening_case(peer: Peer, mib: int, seed: int, files: int = 0) -> Case:
    """One peer's case."""
    count = mib * MIB // OPENING_SIZE
    task = Task("opening", peer.name, False, "", OPENING_SIZE, count, seed=seed, files=files)

    def measure(_: bool) -> Figures:
        (said,) = gather(peer, DISK, [task]).said
        return {"open_ms": said["open_ns"] / 1e6, "cold_ms": said["cold_ns"] / 1e6}

    facts = {"load": opening_load(mib, files), "size": OPENING_SIZE, "count": count}
    return beside_sync(Case(peer, "opening", DISK, measure, facts))


def opening(chosen: argparse.Namespace) -> int:
    """The command opening."""
    mib, seed, files = chosen.mib, chosen.seed, chosen.files
    return _measured(chosen, [[opening_case(peer, mib, seed, files) for peer in chosen.peer]])


def _measured(chosen: argparse.Namespace, groups: Sequence[Sequence[Case]]) -> int:
    output = Output(chosen)
    output.measure_all(groups)
    return output.finish()
