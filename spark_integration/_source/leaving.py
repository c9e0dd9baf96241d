"""Spools that have left a mesh, or a list of endpoints: whether something of them was not read, and
what becomes of their places.

Not here: who has left (discovery.py). Law: a spool that was read to its end may go; who comes back
within `offsetTimeout` was not gone. A place goes only if the user said after which time. Time is
an argument.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

import meshmsg as mm

from .offsets import Places, Shown
from .options import SourceOptions

LOG = logging.getLogger("meshmsg")
PLACES_TOLD = 1_000
"""Spools of an offset from which on the log says how many there are, each time that doubles."""


def unlisted(places: Places, gone: Iterable[str], options: SourceOptions) -> Places:
    """Return what the places are of spools that no named endpoint shows, though all answer.

    They stay in the offset and say that they are gone: it is told once, and is no error of later
    runs. A spool that comes back is read on from its place.

    Args:
        places: How far all are read.
        gone: Which of them nobody shows.
        options: Of the source.

    Raises:
        SpoolChangedError: There is one that was not gone before, and `failOnDataLoss` is true.
    """
    left = [uuid for uuid in gone if not places[uuid].gone]
    for uuid in left:
        place = places[uuid]
        if options.fail_on_loss:
            raise mm.SpoolChangedError(
                f"the spool {uuid}, read up to {place.next - 1}, is shown by none of the "
                "endpoints, and all of them answer: was its folder made anew, or its endpoint "
                "taken out of the list? A batch with failOnDataLoss=false goes on without it",
                uuid=uuid,
                epoch=place.epoch,
            )
        LOG.warning(
            "left out: the spool %s, read up to %d, is shown by none of the endpoints, and what it "
            "has behind that is not read; should it come back, it is read on from there",
            *(uuid, place.next - 1),
        )
    return {uuid: places[uuid]._replace(gone=1) for uuid in left}


class Leaving:
    """What one query knows of those that are gone."""

    def __init__(self, options: SourceOptions, clock: Callable[[], float]) -> None:
        self._options, self._clock = options, clock
        self._ends: dict[str, int] = {}
        """By uuid: the number behind the last that it had."""
        self._since: dict[str, float] = {}
        self._told: set[str] = set()
        self._unheard = False
        """Whether an endpoint has never answered: it may show what seems to be gone."""
        self._many = PLACES_TOLD

    def check(
        self,
        places: Places,
        gone: Iterable[str],
        shown: Mapping[str, Shown],
        unheard: list[str],
    ) -> None:
        """Look at those that nobody shows.

        Args:
            places: How far all are read.
            gone: Which of them nobody shows.
            shown: What is shown.
            unheard: Endpoints that have never answered, and may show them.

        Raises:
            SpoolChangedError: One had messages that were not read, and `failOnDataLoss` is true.
        """
        for uuid, one in shown.items():
            self._ends[uuid] = max(one.stable, self._ends.get(uuid, 0))
        now, self._unheard = self._clock(), bool(unheard)
        self._since = {uuid: self._since.get(uuid, now) for uuid in gone}
        self._told &= self._since.keys()
        for uuid, since in self._since.items():
            patient = now - since < self._options.offset_timeout
            if not patient and not unheard and uuid not in self._told:
                self._gone(uuid, places)
                self._told.add(uuid)
        self._count(places)

    def without_retired(self, end: Places) -> Places:
        """Return the end of a batch, without the spools that are gone for `retireAfter`."""
        after = self._options.retire_after
        if after is None or self._unheard:
            return end
        after, now = max(after, self._options.offset_timeout), self._clock()
        retired = {uuid for uuid, since in self._since.items() if now - since >= after}
        for uuid in sorted(retired & end.keys()):
            LOG.warning(
                "retired: the spool %s, read up to %d, has been gone for retireAfter; should it "
                "come back, it is read from its first message on",
                *(uuid, end[uuid].next - 1),
            )
            self._ends.pop(uuid, None)
        return {uuid: place for uuid, place in end.items() if uuid not in retired}

    def _count(self, places: Places) -> None:
        if len(places) >= self._many:
            self._many = 2 * len(places)
            LOG.warning(
                "the checkpoint has %d spools in each of its offsets, and %d of them are shown by "
                "nobody: retireAfter drops those that are gone for good",
                *(len(places), len(self._since)),
            )

    def _gone(self, uuid: str, places: Places) -> None:
        place, end = places[uuid], self._ends.get(uuid)
        if end is None:
            LOG.warning(
                "the spool %s, read up to %d, is shown by nobody in the mesh: if it has more, that "
                "is read once it is there",
                *(uuid, place.next - 1),
            )
        elif end > place.next and self._options.fail_on_loss:
            raise mm.SpoolChangedError(
                f"the spool {uuid} has left the mesh, and its messages {place.next} to {end - 1} "
                "were not read; failOnDataLoss=false goes on without it",
                uuid=uuid,
                epoch=place.epoch,
            )
        elif end > place.next:
            LOG.warning(
                "left out: the spool %s has left the mesh, and its messages %d to %d were not read",
                *(uuid, place.next, end - 1),
            )
