"""What is read next: offsets and tasks of a query, planned from what the spools say.

Not here: who asks the spools (watch.py), Spark's names for it (readers.py). Law: an offset never
goes back; nothing that is not durable is offered; a range that was planned once is planned the
same again. Time is an argument.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import meshmsg as mm

from .leaving import Leaving, unlisted
from .lives import Lives, look_before
from .moments import number_at
from .naming import GroupName
from .offsets import (
    Place,
    Places,
    Shown,
    Span,
    began,
    behind,
    done_before,
    from_json,
    limited,
    limited_bytes,
    on,
    rows_between,
    sized,
    spans,
    split,
    to_json,
)
from .options import EARLIEST, LATEST, Moments, SourceOptions, Start
from .reading import RangePartition
from .watch import Watch

LOG = logging.getLogger("meshmsg")
T = TypeVar("T")


class Planner:
    """Plans one query, or one batch read."""

    def __init__(
        self,
        options: SourceOptions,
        *,
        clock: Callable[[], float] = time.monotonic,
        watch: Callable[[SourceOptions], Any] = Watch,
        find: Callable[[str, Shown, int, SourceOptions], int] = number_at,
        look: Callable[[str, Shown, Place, SourceOptions], None] = look_before,
    ) -> None:
        self._options, self._clock, self._open = options, clock, watch
        self._find = find
        self._watching: Any = None
        self._initial: Places | None = None
        self._target: dict[str, Shown] | None = None
        self._last: Places = {}
        self._ends: deque[Places] = deque(maxlen=options.retain + 1)
        self._held = False
        self._began = clock()
        self._behind: dict[str, float] = {}
        self._leaving = Leaving(options, clock)
        self._lives = Lives(options, look)
        self._group = GroupName(options)
        self._told = ""

    def initial(self) -> dict[str, Any]:
        """Return where a new query begins; the same each time it is asked.

        Raises:
            TimedOutError: No endpoint answered within `offsetTimeout`.
            UsageError, SpoolAheadError: `startingOffsets` names what is not there.
        """
        if self._initial is None:
            shown = self._heard(everybody=False)
            starting = self._numbers(self._options.starting, shown)
            self._initial = places_of("startingOffsets", starting, shown)
        return self._group.written(to_json(self._initial))

    def latest(
        self,
        start: Mapping[str, Any],
        *,
        rows: int | None = None,
        size: int | None = None,
        least: int | None = None,
    ) -> dict[str, Any]:
        """Return where the next batch ends.

        Args:
            start: The offset where it begins.
            rows: So many numbers at most.
            size: About so many bytes at most.
            least: Wait for so many numbers, up to `maxTriggerDelay` since the last batch.

        Raises:
            SpoolTrimmedError: What is next was removed, and `failOnDataLoss` is true.
            SpoolChangedError: A copy from before was put back, or a spool is gone.
            UsageError: Another query reads with the same `groupId`.
        """
        places = from_json(start)
        self._group.read(start)
        self._hold(places, new=places == self._initial)
        shown = self._assigned(self._watch.ask()) if self._target is None else self._target
        self._tell()
        if clash := self._watch.clash():
            raise mm.UsageError(clash)
        left = self._check(places, shown)
        late = self._lives.check(places, shown)
        ahead = {
            uuid: on(place, shown[uuid]) if uuid in shown and uuid not in late else place
            for uuid, place in places.items()
        } | left
        self._last = ahead
        joined = {
            uuid: Place(one.first, one.epoch, kept=one.first)  # nothing of it is read yet
            for uuid, one in shown.items()
            if uuid not in places
        }
        if least is not None and self._target is None and self._early(places, ahead, least):
            return self._end(places, {**places, **left, **joined})
        if rows is not None:
            ahead = limited(places, ahead, rows)
        if size is not None:
            ahead = limited_bytes(places, ahead, size, self._watch.means())
        if ahead != places:
            self._began = self._clock()
        return self._end(places, {**ahead, **joined})

    def _end(self, start: Places, end: Places) -> dict[str, Any]:
        """Return the end of a batch; of none the text is that of its start."""
        if end != start:
            end = self._leaving.without_retired(end)
            self._last = {uuid: place for uuid, place in self._last.items() if uuid in end}
            end = sized(start, end, self._rows_of_task())
            told = self._group.name is not None or start == self._initial
            end = behind(start, end, told=told)
        return self._group.written(to_json(end))

    def latest_of_all(self) -> dict[str, Any]:
        """Return where all that is there ends, of Spark that does not say where a batch begins.

        Raises:
            TimedOutError: An endpoint has never answered: what was read of it is not known.
        """
        shown = self._assigned(self._watch.ask(patient=bool(self._watch.unheard())))
        if unheard := self._watch.unheard():
            raise _silent(unheard, "Spark before 4.2 needs all endpoints as a query begins")
        end = {
            **self._last,
            **{
                uuid: on(self._last.get(uuid, Place(1, one.epoch)), one)
                for uuid, one in shown.items()
            },
        }
        self._last = sized(self._last, end, self._rows_of_task())
        return to_json(self._last)

    def report(self) -> dict[str, Any] | None:
        """Return where all that is there ends, as it was said last; None: nothing was."""
        shown = self._assigned(self._watch.last())
        found = {uuid: Place(one.stable, one.epoch) for uuid, one in shown.items()}
        return self._group.written(to_json({**self._last, **found})) if found else None

    def prepare(self) -> None:
        """What is there now is all that is read.

        Raises:
            TimedOutError: No endpoint answered within `offsetTimeout`.
        """
        self._target = self._heard(everybody=False)

    def tasks(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[RangePartition]:
        """Return the tasks that read from one offset to another.

        Raises:
            TimedOutError: No endpoint shows a spool of them, within `offsetTimeout`, or one that
                began another life does not tell of the one before.
            SpoolChangedError: A copy from before was put back.
        """
        places, ends = from_json(start), from_json(end)
        self._group.read(end)  # its start may be that of a run which died, and was drawn anew
        if new := places == self._initial:
            places = began(places, ends)
        self._hold(places, new=new)
        found = spans(places, ends)
        if not found:
            return []
        tasks = self._partitions(found, {uuid: one.rows for uuid, one in ends.items() if one.rows})
        read = {span.uuid: places[span.uuid] for span in found if span.uuid in places}
        if late := self._lives.check(read, self._watch.last()):
            raise _silent(self._watch.silent(), f"they do not tell of {', '.join(sorted(late))}")
        return tasks

    def all(self) -> list[RangePartition]:
        """Return the tasks of a batch read, and ask no more.

        Raises:
            TimedOutError: An endpoint did not answer within `offsetTimeout`.
            UsageError, SpoolAheadError: An option names what is not there.
            SpoolTrimmedError: What is first was removed, and `failOnDataLoss` is true.
        """
        try:
            shown = self._heard(everybody=True)
            for uuid in self._options.assign or ():
                if uuid not in shown:
                    raise _not_shown("assign", uuid, self._watch.last())
            starting = self._numbers(self._options.starting, shown)
            ending = self._numbers(self._options.ending, shown)
            start = places_of("startingOffsets", starting, shown)
            end = places_of("endingOffsets", ending, shown)
            _check_order(self._options, start, end)
            self._check(start, shown)
            return self._partitions(spans(start, end), self._rows_of_task())
        finally:
            self.close()

    def commit(self, end: Mapping[str, Any]) -> None:
        """Spark needs nothing below an offset any more: the group trims, some batches later."""
        self._ends.append(from_json(end))
        if len(self._ends) > self._options.retain and self._group.name is not None:
            done = self._assigned(self._ends[0])
            self._watch.hold(done, done, self._group.name)

    def close(self) -> None:
        """Ask no more."""
        if self._watching is not None:
            self._watching.close()
            self._watching = None

    @property
    def _watch(self) -> Any:
        """Threads begin where planning is, and nowhere else."""
        if self._watching is None:
            self._watching = self._open(self._options)
        return self._watching

    def _numbers(self, said: Start, shown: Mapping[str, Shown]) -> str | Mapping[str, int]:
        """Return what an option says, with numbers in place of times.

        Raises:
            UsageError: It names a spool that is not shown.
        """
        if not isinstance(said, Moments):
            return said
        times = said.each
        if said.every is not None:
            times = dict.fromkeys(shown, said.every)
        for uuid in times:
            if uuid not in shown:
                raise _not_shown(said.name, uuid, shown)
        return {
            uuid: self._find(uuid, shown[uuid], time, self._options) for uuid, time in times.items()
        }

    def _assigned(self, found: Mapping[str, T]) -> dict[str, T]:
        """Return what is of spools that are to be read."""
        wanted = self._options.assign
        return {uuid: one for uuid, one in found.items() if wanted is None or uuid in wanted}

    def _heard(self, *, everybody: bool) -> dict[str, Shown]:
        shown = self._assigned(self._watch.ask(patient=True))
        silent = self._watch.silent()
        if silent and (everybody or not shown):
            raise _silent(silent, "they did not answer within offsetTimeout")
        self._tell()
        return shown

    def _tell(self) -> None:
        """Log who does not answer, each time that changes."""
        silent = ", ".join(self._watch.silent())
        if silent != self._told and silent:
            LOG.warning("no answer from %s: what is there is read once they answer", silent)
        self._told = silent

    def _hold(self, places: Places, *, new: bool) -> None:
        """As a run begins: what it reads next stays, and what earlier ones have done goes.

        Of a new query nothing was done, also where it begins with `latest`.
        """
        if not self._held and self._group.name is not None:
            mine = self._assigned(places)
            done = {} if new else done_before(mine, self._options.retain)
            self._watch.hold({**mine, **done}, done, self._group.name)
        self._held = True

    def _early(self, places: Places, ahead: Places, least: int) -> bool:
        waited = self._clock() - self._began
        return rows_between(places, ahead) < least and waited < self._options.max_delay

    def _check(self, places: Places, shown: Mapping[str, Shown]) -> Places:
        """Raise for what cannot be read any more, or is not what it was; return the places that are
        gone on without from now on."""
        for uuid, place in places.items():
            one = shown.get(uuid)
            if one is None:
                continue
            if one.epoch < place.epoch or one.stable < place.next:
                self._wait_for(uuid, place, one)
            else:
                self._behind.pop(uuid, None)
                if one.first > place.next and self._options.fail_on_loss:
                    raise mm.SpoolTrimmedError(
                        f"messages {place.next} to {one.first - 1} of the spool {uuid} were "
                        "removed and not read; failOnDataLoss=false goes on behind them",
                        seq=place.next,
                        first=one.first,
                    )
        seen = shown.keys() | self._watch.last().keys()
        gone = [uuid for uuid in self._assigned(places) if uuid not in seen]
        if self._options.mesh is not None:
            self._leaving.check(places, gone, shown, self._watch.unheard())
            return {}
        return {} if self._watch.silent() else unlisted(places, gone, self._options)

    def _wait_for(self, uuid: str, place: Place, one: Shown) -> None:
        """A view is behind for a second or so; what stays so is a copy."""
        now = self._clock()
        if now - self._behind.setdefault(uuid, now) >= self._options.offset_timeout:
            raise mm.SpoolChangedError(
                f"the spool {uuid} ends with message {one.stable - 1} of life {one.epoch}, and was "
                f"read up to {place.next - 1} of life {place.epoch}: a copy from before was put "
                "back",
                uuid=uuid,
                epoch=one.epoch,
            )

    def _rows_of_task(self) -> dict[str, int]:
        """Return how many numbers of each spool a task has at most, as sizes are now."""
        most = self._options.partition_bytes
        if most is None:
            return {}
        return {uuid: max(int(most / mean), 1) for uuid, mean in self._watch.means().items()}

    def _partitions(self, found: list[Span], rows: Mapping[str, int]) -> list[RangePartition]:
        """Return the tasks of ranges. One that nobody has any more has its task, with nothing to
        read: others behind it keep their numbers, by which a sink knows their rows."""
        known = self._watch.last()
        if any(span.uuid not in known for span in found):
            wanted = frozenset(span.uuid for span in found)
            known = self._watch.ask(patient=True, wanted=wanted)
        made, nodes = [], self._watch.nodes()
        for span in split(found, self._options.min_partitions, rows):
            if span.uuid not in known:
                silent = self._watch.silent()
                if silent or self._options.fail_on_loss:
                    raise _silent(silent, f"no endpoint that answers shows the spool {span.uuid}")
                LOG.warning("left out: messages %d to %d of %s, which nobody shows", *_lost(span))
                made.append(RangePartition(*span._replace(first=span.end), (), nodes))
                continue
            made.append(RangePartition(*span, known[span.uuid].endpoints, nodes))
        return made


def _not_shown(name: str, uuid: str, shown: Mapping[str, Shown]) -> mm.UsageError:
    return mm.UsageError(
        f"option {name} names the spool {uuid}, which no endpoint shows: they show "
        f"{', '.join(shown) or 'none'}"
    )


def places_of(name: str, said: str | Mapping[str, int], shown: Mapping[str, Shown]) -> Places:
    """Return what an option says, of the spools that are shown.

    Raises:
        UsageError: It names one that is not shown.
        SpoolAheadError: It names a number that is not durable.
    """
    made: Places = {}
    ahead = said == "latest" or name == "endingOffsets"
    for uuid, one in shown.items():
        made[uuid] = Place(one.stable if ahead else one.first, one.epoch)
    for uuid, seq in () if isinstance(said, str) else said.items():
        found = shown.get(uuid)
        if found is None:
            raise _not_shown(name, uuid, shown)
        if seq > found.stable:
            raise mm.SpoolAheadError(
                f"option {name} has {seq} for the spool {uuid}, where what is durable ends with "
                f"{found.stable - 1}",
                seq=seq,
                stable_seq=found.stable,
            )
        where = {EARLIEST: found.first, LATEST: found.stable}.get(seq, seq)
        made[uuid] = Place(where, found.epoch)
    if said == "earliest" and name == "endingOffsets":
        raise mm.UsageError("option endingOffsets is earliest: nothing would be read")
    return made


def _check_order(options: SourceOptions, start: Places, end: Places) -> None:
    """Refuse an end in front of its beginning, as that reads nothing.

    What is earliest may be behind it, as the rest was removed. Two times may be so where a clock
    was put back; else options were refused.

    Raises:
        UsageError: Of some spool it is so.
    """
    first, last = options.starting, options.ending
    if first == "earliest" or (isinstance(first, Moments) and isinstance(last, Moments)):
        return
    for uuid in start.keys() & end.keys():
        said = first.get(uuid) if isinstance(first, Mapping) else None
        if said != EARLIEST and start[uuid].next > end[uuid].next:
            raise mm.UsageError(
                f"of the spool {uuid} the read begins at {start[uuid].next} ({_name(first)}) and "
                f"ends in front of {end[uuid].next} ({_name(last, 'ending')}): nothing would be "
                "read"
            )


def _name(said: Start, word: str = "starting") -> str:
    return said.name if isinstance(said, Moments) else f"{word}Offsets"


def _lost(span: Span) -> tuple[int, int, str]:
    return span.first, span.end - 1, span.uuid


def _silent(silent: list[str], why: str) -> mm.TimedOutError:
    return mm.TimedOutError(f"{why}: {', '.join(silent) or 'all endpoints answer'}")
