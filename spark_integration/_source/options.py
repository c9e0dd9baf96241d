"""The options of the source: read from text, checked, and refused when they are unknown.

Not here: what is done with them. Law: no secret is an option, as options show in plans and logs:
`security` is a path.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from meshmsg import UsageError
from meshmsg.spark._parsing import (
    ENDPOINTS_MAX,
    TIMEOUT_MAX_S,
    endpoints,
    flag,
    listed,
    near,
    seconds,
    size,
    text,
    whole,
)

from .elsewhere import why_not
from .schema import COLUMNS, DEFAULT_COLUMNS, HEADERS, META

SEQ_MAX = 2**63 - 1
"""The largest number that an option can name."""
TTL_MAX_S = 7 * 86_400.0
"""Seconds of a lease over the wire: a week."""
RETIRE_MAX_S = 365 * 86_400.0
"""Seconds that a spool may be gone from a mesh before its place goes: a year."""
BATCH_BYTES_MAX = 2**30
"""Bytes of a record batch: what 32-bit offsets of Arrow can address, with room."""
GROUP_MAX = 53
"""Characters of a `groupId`: what a lease may be called, without that of its run (holding.py)."""
MARK_SIZE = 8
"""Octets that are drawn for a group of which only the beginning is said; two digits for each."""
PREFIX_MAX = GROUP_MAX - 1 - 2 * MARK_SIZE
"""Characters of a `groupIdPrefix`."""
RETAIN_MAX = 10_000
"""Ends of batches that are remembered."""
RETRIES_MAX = 1_000
"""Times that a task asks anew before it fails."""
PARTITIONS_MAX = 100_000
"""Tasks of a batch."""
EARLIEST, LATEST = -2, -1
"""What stands in JSON for the first message that is there, and for what comes from now on."""
UUID = re.compile(r"[0-9a-f]{32}")

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
TIME_MAX_US = 2**62
"""Microseconds since 1970 that an option can name."""


class Moments(NamedTuple):
    """Times, in microseconds since 1970: the first message that was put then or later."""

    name: str
    """Of the option."""
    every: int | None
    """Of each spool."""
    each: Mapping[str, int]
    """Of some, by uuid."""


Start = str | Mapping[str, int] | Moments
"""`earliest`, `latest`, a number for each uuid, or times."""


class MeshOptions(NamedTuple):
    """Which mesh, and what is looked for in it: the options `mesh.*`."""

    cluster: str
    service: str
    seeds: tuple[str, ...]
    secret: str | None = None
    """The path of its file."""
    bind: str | None = None
    least: int = 1
    """So many nodes are waited for as a query begins."""


@dataclass(frozen=True)
class SourceOptions:
    """What a user asked for; times are seconds, sizes are bytes."""

    endpoints: tuple[str, ...]
    """Nothing, if a mesh finds them."""
    columns: tuple[str, ...]
    starting: Start
    ending: Start = "latest"
    max_rows: int | None = None
    max_bytes: int | None = None
    min_rows: int | None = None
    max_delay: float = 900.0
    min_partitions: int = 1
    partition_bytes: int | None = None
    fail_on_loss: bool = True
    compacted: bool = False
    group: str | None = None
    group_prefix: str | None = None
    group_ttl: float = 86_400.0
    retain: int = 1
    offset_timeout: float = 10.0
    fetch_timeout: float = 120.0
    fetch_retries: int = 0
    fetch_interval: float = 0.01
    batch_bytes: int = 2 * 2**20
    security: str | None = None
    topic: str | None = None
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    live: bool = False
    live_window: float = 1.0
    mesh: MeshOptions | None = None
    retire_after: float | None = None
    assign: tuple[str, ...] | None = None
    """Uuids of the spools that are read; None: all."""

    @property
    def needs_sizes(self) -> bool:
        """Whether the mean size of messages has to be known."""
        return self.max_bytes is not None or self.partition_bytes is not None


def _columns(name: str, value: str) -> tuple[str, ...]:
    found = listed(name, value)
    for column in found:
        if column not in COLUMNS:
            raise UsageError(
                f"option {name} has {column!r}; the columns are {', '.join(COLUMNS)}"
                + near(column, COLUMNS)
            )
    return found


def _each(name: str, value: str) -> Any:
    """Return what JSON says of each spool; None: it is no JSON.

    Raises:
        UsageError: It says two things of one.
    """
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(key for key, _ in pairs)
        twice.extend(key for key, count in counts.items() if count > 1)
        return dict(pairs)

    try:
        found = json.loads(value, object_pairs_hook=once)
    except ValueError:
        return None
    if twice:
        raise UsageError(f"option {name} has {twice[0]!r} twice, and once is enough")
    return found


def _places(name: str, value: str) -> Start:
    word = value.strip()
    if word.lower() in ("earliest", "latest"):
        return word.lower()
    found = _each(name, word)
    if not isinstance(found, dict) or not found:
        raise UsageError(
            f"option {name} is {value!r}; it is earliest, latest, or JSON such as "
            '{"UUID OF A SPOOL": 17}, where -2 is earliest and -1 latest'
        )
    for uuid, seq in found.items():
        if not UUID.fullmatch(uuid):
            raise UsageError(f"option {name} has {uuid!r}; a spool has a uuid of 32 hex digits")
        known = isinstance(seq, int) and not isinstance(seq, bool)
        if not known or not (0 < seq <= SEQ_MAX or seq in (EARLIEST, LATEST)):
            raise UsageError(
                f"option {name} has {seq!r} for {uuid}; it is a number from 1 on, {EARLIEST} for "
                f"earliest or {LATEST} for latest"
            )
    return found


def _group(most: int) -> Callable[[str, str], str]:
    """Return what reads a name that a lease can have."""

    def parsed(name: str, value: str) -> str:
        word = text(name, value)
        if not re.fullmatch(rf"[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{most - 1}}}", word):
            raise UsageError(
                f"option {name} is {value!r}; it is 1 to {most} of A-Z, a-z, 0-9, dot, underscore "
                "and hyphen, with no dot in front"
            )
        return word

    return parsed


def _assigned(name: str, value: str) -> tuple[str, ...]:
    found = listed(name, value)
    for uuid in found:
        if not UUID.fullmatch(uuid):
            raise UsageError(
                f"option {name} has {uuid!r}; it is uuids of spools, 32 hex digits each, with "
                "commas between"
            )
    return found


def _time(name: str, value: str) -> int:
    """Return microseconds since 1970, of milliseconds as Kafka has them or of an ISO time."""
    word = value.strip()
    if re.fullmatch(r"[0-9]{1,18}", word) and int(word) * 1000 <= TIME_MAX_US:
        return int(word) * 1000
    try:
        found = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", word))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or found < EPOCH:
        raise UsageError(
            f"option {name} has {value!r}; it is milliseconds since 1970, or a time with its zone "
            "such as 2026-11-28T09:30:00+01:00"
        )
    return (found - EPOCH) // timedelta(microseconds=1)


def _moment(name: str, value: str) -> Moments:
    return Moments(name, _time(name, value), {})


def _moments(name: str, value: str) -> Moments:
    found = _each(name, value)
    if not isinstance(found, dict) or not found or not all(map(UUID.fullmatch, found)):
        raise UsageError(
            f'option {name} is {value!r}; it is JSON such as {{"UUID OF A SPOOL": 1795858200000}}'
        )
    return Moments(name, None, {uuid: _time(name, str(time)) for uuid, time in found.items()})


def _pattern(name: str, value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise UsageError(f"option {name} is {value!r}, no regular expression: {error}") from None
    return value


def _seeds(name: str, value: str) -> tuple[str, ...]:
    """Return seeds of a mesh as the text that they are, each looked at."""
    from meshmsg.mesh import parse_seed

    found = endpoints(name, value)
    try:
        for one in found:
            parse_seed(one)
    except UsageError as error:
        raise UsageError(f"option {name}: {error}") from None
    return found


def _delivery(name: str, value: str) -> bool:
    word = value.strip().lower().replace("-", "_")
    if word not in ("at_least_once", "at_most_once"):
        raise UsageError(f"option {name} is {value!r}; it is at_least_once or at_most_once")
    return word == "at_most_once"


@dataclass(frozen=True)
class _Option:
    """How it is read, where it is kept, and for which readers it is."""

    read: Callable[[str, str], Any]
    kept: str
    readers: frozenset[str] = field(default=frozenset(("batch", "stream")))


BATCH, STREAM, LIVE = (frozenset((word,)) for word in ("batch", "stream", "live"))
_OPTIONS: dict[str, _Option] = {
    "endpoints": _Option(endpoints, "endpoints", BATCH | STREAM | LIVE),
    "columns": _Option(_columns, "columns", BATCH | STREAM | LIVE),
    "includeHeaders": _Option(flag, "", BATCH | STREAM | LIVE),
    "includeMeta": _Option(flag, "", BATCH | STREAM | LIVE),
    "startingOffsets": _Option(_places, "starting"),
    "endingOffsets": _Option(_places, "ending", BATCH),
    "startingTimestamp": _Option(_moment, "starting"),
    "startingOffsetsByTimestamp": _Option(_moments, "starting"),
    "endingTimestamp": _Option(_moment, "ending", BATCH),
    "endingOffsetsByTimestamp": _Option(_moments, "ending", BATCH),
    "maxOffsetsPerTrigger": _Option(whole(1, SEQ_MAX), "max_rows", STREAM),
    "maxBytesPerTrigger": _Option(size(1, SEQ_MAX), "max_bytes", STREAM),
    "minOffsetsPerTrigger": _Option(whole(1, SEQ_MAX), "min_rows", STREAM),
    "maxTriggerDelay": _Option(seconds(TIMEOUT_MAX_S), "max_delay", STREAM),
    "minPartitions": _Option(whole(1, PARTITIONS_MAX), "min_partitions", BATCH | STREAM | LIVE),
    "maxBytesPerPartition": _Option(size(1, SEQ_MAX), "partition_bytes"),
    "failOnDataLoss": _Option(flag, "fail_on_loss"),
    "compacted": _Option(flag, "compacted"),
    "groupId": _Option(_group(GROUP_MAX), "group", STREAM),
    "groupIdPrefix": _Option(_group(PREFIX_MAX), "group_prefix", STREAM),
    "groupTtl": _Option(seconds(TTL_MAX_S), "group_ttl", STREAM),
    "retainBatches": _Option(whole(0, RETAIN_MAX), "retain", STREAM),
    "offsetTimeout": _Option(seconds(TIMEOUT_MAX_S), "offset_timeout"),
    "fetchTimeout": _Option(seconds(TIMEOUT_MAX_S), "fetch_timeout"),
    "fetchRetries": _Option(whole(0, RETRIES_MAX), "fetch_retries"),
    "fetchRetryInterval": _Option(seconds(TIMEOUT_MAX_S), "fetch_interval"),
    "batchBytes": _Option(size(4096, BATCH_BYTES_MAX), "batch_bytes", BATCH | STREAM),
    "security": _Option(text, "security", BATCH | STREAM | LIVE),
    "topic": _Option(text, "topic", BATCH | STREAM | LIVE),
    "assign": _Option(_assigned, "assign"),
    "subscribe": _Option(listed, "topics", BATCH | STREAM),
    "subscribePattern": _Option(_pattern, "pattern", BATCH | STREAM),
    "mesh.cluster": _Option(text, "mesh.cluster"),
    "mesh.service": _Option(text, "mesh.service"),
    "mesh.seeds": _Option(_seeds, "mesh.seeds"),
    "mesh.secretFile": _Option(text, "mesh.secret"),
    "mesh.bind": _Option(text, "mesh.bind"),
    "mesh.minProducers": _Option(whole(1, ENDPOINTS_MAX), "mesh.least"),
    "retireAfter": _Option(seconds(RETIRE_MAX_S), "retire_after", STREAM),
    "delivery": _Option(_delivery, "live", BATCH | STREAM | LIVE),
    "liveWindow": _Option(seconds(TIMEOUT_MAX_S), "live_window", LIVE),
}
OPTION_NAMES = tuple(_OPTIONS)
"""All options of the source, as they are spelled."""
_BY_WORD = {name.lower(): name for name in _OPTIONS}


def source_options(given: Mapping[str, str], *, stream: bool) -> SourceOptions:
    """Return the options of a reader, checked.

    Args:
        given: What Spark hands over: text by name; case does not matter.
        stream: Whether they are of `readStream`.

    Raises:
        UsageError: An option is unknown, of another kind of reader, or wrong.
    """
    named: dict[str, str] = {}
    for word, value in given.items():
        name = "endpoints" if word.lower() == "path" else _BY_WORD.get(word.lower())
        if name is None:
            raise UsageError(
                f"option {word} is none of the meshmsg source" + why_not(word, OPTION_NAMES)
            )
        if name in named:
            raise UsageError("endpoints and load(PATH) are there, and one of them is enough")
        named[name] = value
    live = "delivery" in named and _delivery("delivery", named["delivery"])
    if live and not stream:
        raise UsageError('delivery="at_most_once" is of readStream only: nothing is read twice')
    kind = "live" if live else "stream" if stream else "batch"
    found: dict[str, Any] = {"starting": "latest" if stream else "earliest"}
    flags = {"includeHeaders": False, "includeMeta": False}
    said: dict[str, str] = {}
    for name, value in named.items():
        option = _OPTIONS[name]
        if kind not in option.readers:
            raise UsageError(f"option {name} is not one of {_KINDS[kind]}")
        read = option.read(name, value)
        if option.kept:
            if option.kept in said:
                raise UsageError(f"{said[option.kept]} and {name} are there, and one is enough")
            said[option.kept] = name
            found[option.kept] = read
        else:
            flags[name] = read
    _found_by(found)
    found["columns"] = _with(found.get("columns"), flags)
    options = SourceOptions(**found)
    _together(options)
    return options


def _found_by(found: dict[str, Any]) -> None:
    """Have either endpoints, or a mesh that finds them.

    Raises:
        UsageError: There are both, or neither, or less of a mesh than is needed.
    """
    mesh = {name[5:]: found.pop(name) for name in list(found) if name.startswith("mesh.")}
    if not mesh:
        if "endpoints" in found:
            return
        raise UsageError(
            "option endpoints is missing: where the spools are shown, such as "
            "tcp://10.0.0.5:5570; or mesh.cluster, mesh.seeds and mesh.service, which find them"
        )
    if "endpoints" in found:
        raise UsageError("endpoints and mesh.* are there, and one of them is enough")
    for name in ("cluster", "seeds", "service"):
        if name not in mesh:
            raise UsageError(f"option mesh.{name} is missing: a mesh needs it, as it has others")
    found["mesh"], found["endpoints"] = MeshOptions(**mesh), ()


def columns_asked(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that options ask for; others are looked at by the reader.

    Raises:
        UsageError: One of them is wrong.
    """
    named = {_BY_WORD.get(word.lower(), ""): value for word, value in given.items()}
    flags = {
        name: flag(name, named.get(name, "false")) for name in ("includeHeaders", "includeMeta")
    }
    columns = _columns("columns", named["columns"]) if "columns" in named else None
    return _with(columns, flags)


_KINDS = {
    "batch": "spark.read",
    "stream": "readStream",
    "live": 'delivery="at_most_once", which reads nothing twice',
}


def _with(columns: tuple[str, ...] | None, flags: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the columns, with those that flags ask for."""
    made = list(DEFAULT_COLUMNS if columns is None else columns)
    for name, column in (("includeHeaders", HEADERS), ("includeMeta", META)):
        if flags[name] and column not in made:
            made.append(column)
    return tuple(made)


def _together(options: SourceOptions) -> None:
    """Raise if what each may be, both cannot."""
    if options.topics is not None and options.pattern is not None:
        raise UsageError("subscribe and subscribePattern are there, and one of them is enough")
    if options.group is not None and options.group_prefix is not None:
        raise UsageError("groupId and groupIdPrefix are there, and one of them is enough")
    if options.retire_after is not None and options.mesh is None:
        raise UsageError("option retireAfter is of spools that a mesh finds: mesh.* is not there")
    least, most = options.min_rows, options.max_rows
    if least is not None and most is not None and least > most:
        raise UsageError(
            f"minOffsetsPerTrigger is {least:,} and maxOffsetsPerTrigger is {most:,}: the first is "
            "not above the second"
        )
    _in_order(options.starting, options.ending)


def _in_order(starting: Start, ending: Start) -> None:
    """Raise if a read ends before it begins, by times: it would find nothing, and say nothing.

    Numbers are compared once it is known what is latest.
    """
    if not isinstance(starting, Moments) or not isinstance(ending, Moments):
        return
    for uuid in ("", *starting.each, *ending.each):
        first, end = (one.each.get(uuid, one.every) for one in (starting, ending))
        if first is not None and end is not None and first > end:
            which = f" for {uuid}" if uuid else ""
            raise UsageError(
                f"{starting.name} is {_shown_time(first)} and {ending.name} is "
                f"{_shown_time(end)}{which}: the first is not above the second"
            )


def _shown_time(microseconds: int) -> str:
    return (EPOCH + timedelta(microseconds=microseconds)).isoformat()
