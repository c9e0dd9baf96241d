"""Scenarios: what a YAML file says, checked, with errors that name file, step and field.

Not here: running them (measure/stage.py). Law: a name in a file is one of the names there are, or
an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ..base.need import BenchError, need
from ..ends.schedule import HEAD
from ..peers.roster import peer_named

FOLDER = Path(__file__).resolve().parent
TRANSPORTS = ("tcp", "ipc")
"""A scenario's ends are processes, so not inproc."""
MEASURES = ("throughput", "latency")
COUNT_MAX = 2**40
"""Messages, bytes or connections."""
RATE_MAX = 1_000_000_000
"""Messages a second: one a nanosecond."""
SECONDS_MAX = 30 * 24 * 3600
"""A month."""
T = TypeVar("T")


@dataclass(frozen=True)
class Producer:
    """Who sends what to whom."""

    name: str
    to: str
    size: int
    count: int = 0
    """Messages; or, with a rate, seconds says how many."""
    seconds: float = 0.0
    rate: float = 0.0
    """Messages a second on a schedule; 0 is as fast as it goes."""
    burst: int = 1
    connections: int = 1
    blocking: bool = True

    @property
    def messages(self) -> int:
        """How many it sends."""
        return self.count or max(self.burst, round(self.rate * self.seconds))


@dataclass(frozen=True)
class Consumer:
    """Who receives, and where."""

    name: str
    bind: str = ""
    """A URL; nothing is a free place on this machine."""


@dataclass(frozen=True)
class Step:
    """What runs at the same time."""

    name: str
    producers: tuple[Producer, ...]
    consumers: tuple[Consumer, ...]
    transport: str = "tcp"
    measure: str = "latency"

    @property
    def kind(self) -> str:
        """The kind of measurement a peer needs to have."""
        return "thr" if self.measure == "throughput" else "rate"

    def ends_at(self, consumer: str) -> int:
        """How many connections of producers end at a consumer."""
        return sum(one.connections for one in self.producers if one.to == consumer)


@dataclass(frozen=True)
class Scenario:
    """A file."""

    title: str
    peers: tuple[str, ...]
    steps: tuple[Step, ...]
    rounds: int = 5
    base: str | None = None
    seed: int = 1
    text: str = field(default="")


def known() -> list[str]:
    """The names of the scenarios that come with the bench."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name: str) -> Scenario:
    """Read a file, or one of those that come with the bench, by name."""
    path = FOLDER / f"{name}.yaml" if name in known() else Path(name)
    yaml = need("yaml", "a scenario")
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        names = ", ".join(known())
        raise BenchError(f"{path}: {error.strerror}; scenarios by name: {names}") from None
    except UnicodeDecodeError as error:
        raise BenchError(f"{path} is no UTF-8: byte {error.start} is none") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date like 2020-99-99, too
        raise BenchError(f"{path} is no YAML: {error}") from None
    return scenario_of(told, str(path))


def scenario_of(told: Any, where: str) -> Scenario:
    """Check what a file holds."""
    steps = [
        step_of(one, f"{where}: step {i + 1}") for i, one in enumerate(listed(told, "steps", where))
    ]
    made = filled(Scenario, {**told, "steps": tuple(steps)}, where)
    for name in made.peers:
        peer_named(name)
    if made.rounds < 1:
        raise BenchError(f"{where}: rounds is {made.rounds}; it is at least 1")
    names_differ((step.name for step in made.steps), where)
    return made


def step_of(told: Any, where: str) -> Step:
    """Check one step."""
    producers = [
        filled(Producer, one, f"{where}: producer {i + 1}")
        for i, one in enumerate(listed(told, "producers", where))
    ]
    consumers = [
        filled(Consumer, one, f"{where}: consumer {i + 1}")
        for i, one in enumerate(listed(told, "consumers", where))
    ]
    told = {**told, "producers": tuple(producers), "consumers": tuple(consumers)}
    step = filled(Step, told, where)
    for what, given, allowed in (
        ("transport", step.transport, TRANSPORTS),
        ("measure", step.measure, MEASURES),
    ):
        if given not in allowed:
            raise BenchError(f"{where}: {what} is {given!r}; it is one of {', '.join(allowed)}")
    names_differ([*(p.name for p in producers), *(c.name for c in consumers)], where)
    for one in producers:
        check_producer(one, step, f"{where}: {one.name}")
    for consumer in consumers:
        if not step.ends_at(consumer.name):
            raise BenchError(f"{where}: nobody sends to {consumer.name}")
        if consumer.bind and not consumer.bind.startswith(f"{step.transport}://"):
            raise BenchError(
                f"{where}: {consumer.name} binds {consumer.bind!r}; it is {step.transport}://..."
            )
    alone = len(producers) == len(consumers) == 1
    if step.measure == "throughput" and not (alone and producers[0].connections == 1):
        raise BenchError(f"{where}: throughput is of one producer, consumer and connection")
    return step


def check_producer(one: Producer, step: Step, where: str) -> None:
    """Refuse what cannot be sent."""
    if one.to not in {consumer.name for consumer in step.consumers}:
        raise BenchError(f"{where}: there is no consumer {one.to!r}")
    low = HEAD.size if step.measure == "latency" else 0
    for name, least in (("size", low), ("count", 0), ("connections", 1), ("burst", 1)):
        found = getattr(one, name)
        if found < least:
            raise BenchError(f"{where}: {name} is {found}; it is at least {least}")
        if found > COUNT_MAX:
            raise BenchError(f"{where}: {name} is {found}; it is at most {COUNT_MAX}")
    if not (0 <= one.rate <= RATE_MAX and 0 <= one.seconds <= SECONDS_MAX):
        raise BenchError(
            f"{where}: rate and seconds are 0 or more, and at most {RATE_MAX:,} and {SECONDS_MAX:,}"
        )
    if one.count and one.seconds:
        raise BenchError(f"{where}: count or seconds, not both")
    if not one.count and not (one.rate and one.seconds):
        raise BenchError(f"{where}: a count is wanted, or a rate and seconds")
    if step.measure == "throughput" and one.rate:
        raise BenchError(f"{where}: a rate is measured by its latency")


def listed(told: Any, name: str, where: str) -> list[Any]:
    """A list of at least one thing."""
    found = told.get(name) if isinstance(told, dict) else None
    if not isinstance(found, list) or not found:
        raise BenchError(f"{where}: a list of {name} is wanted")
    return found


def names_differ(names: Iterable[str], where: str) -> None:
    """Refuse a name that stands twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BenchError(f"{where}: {name!r} stands there twice")
        seen.add(name)


TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
}


def filled(kind: type[T], told: Any, where: str) -> T:
    """Make one of the classes above of a mapping, with the types it declares."""
    if not isinstance(told, dict):
        raise BenchError(f"{where}: names with values are wanted")
    declared = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(str(name) for name in told if name not in declared)
    if unknown:
        raise BenchError(f"{where}: unknown {', '.join(unknown)}; there are {', '.join(declared)}")
    values: dict[str, Any] = {}
    for name, one in declared.items():
        if name not in told:
            if one.default is MISSING:
                raise BenchError(f"{where}: {name} is wanted")
            continue
        value = told[name]
        if one.type == "tuple[str, ...]":
            value = tuple(listed(told, name, where))
            wrong = [item for item in value if not isinstance(item, str)]
        else:
            types = TYPES.get(str(one.type), (tuple,))
            wrong = [] if isinstance(value, types) else [value]
            if isinstance(value, bool) and bool not in types:
                wrong = [value]
        if wrong:
            raise BenchError(f"{where}: {name} is {wrong[0]!r}; it is {one.type}")
        values[name] = value
    return kind(**values)
