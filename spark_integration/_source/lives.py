"""Whether what was read of a spool is what is there: a copy from before may have grown past it.

Not here: a copy that has less than was read, or is in an earlier life (planning.py). Law: what is
next is read only once the message in front of it is of the life in which it was read, or of one
before; each life of a spool is looked at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import meshmsg as mm

from .offsets import Place, Places, Shown
from .opening import remote_of
from .options import SourceOptions

LOG = logging.getLogger("meshmsg")
LOOK_BYTES = 64 * 1024
"""Bytes that are asked for; a batch of the spool that has more comes as a whole."""
Look = Callable[[str, Shown, Place, SourceOptions], None]


def look_before(uuid: str, shown: Shown, place: Place, options: SourceOptions) -> None:
    """Look at the last message that was read, unless it is gone.

    Args:
        uuid: Of the spool.
        shown: Where it is, and what it has.
        place: How far it was read.
        options: Of the source.

    Raises:
        SpoolChangedError: It was put in a later life than the one in which it was read.
        MeshError: It could not be looked at.
    """
    last = place.next - 1
    if last < shown.first or place.epoch == 0:
        return
    with remote_of(
        shown.endpoints, options, options.offset_timeout, uuid=uuid, on_corruption="gap"
    ) as remote:
        try:
            for _ in remote.read(last, place.next, max_bytes=LOOK_BYTES, epoch=place.epoch):
                pass
        except mm.SpoolTrimmedError:  # meanwhile
            return
        except mm.SpoolChangedError as error:
            if error.uuid != uuid:  # another one is there by now, as the next answer says
                raise mm.PeerError(str(error)) from None
            raise mm.SpoolChangedError(
                f"the spool {uuid} was read up to {last} of life {place.epoch}, and has other "
                f"messages there: a copy from before was put back, and went on ({error})",
                uuid=uuid,
                epoch=error.epoch,
            ) from None


class Lives:
    """Which lives of its spools a query has looked at."""

    def __init__(self, options: SourceOptions, look: Look = look_before) -> None:
        self._options, self._look = options, look
        self._known: dict[str, int] = {}
        """By uuid: the life that goes on where the query is."""
        self._told: set[str] = set()

    def check(self, places: Places, shown: Mapping[str, Shown]) -> frozenset[str]:
        """Look at the spools that began another life since they were read.

        Args:
            places: How far all are read.
            shown: What is shown.

        Returns:
            Those that could not be looked at: nothing is read of them yet.

        Raises:
            SpoolChangedError: One is a copy from before.
        """
        late = set()
        for uuid, place in places.items():
            one = shown.get(uuid)
            if one is None or one.epoch <= place.epoch or self._known.get(uuid) == one.epoch:
                continue
            if one.down:  # nobody waits for it
                late.add(uuid)
                continue
            try:
                self._look(uuid, one, place, self._options)
            except mm.SpoolChangedError:
                raise
            except mm.MeshError as error:
                late.add(uuid)
                if uuid not in self._told:
                    LOG.warning("the spool %s is not read on yet: %s", uuid, error)
                continue
            self._known[uuid] = one.epoch
        self._told = late
        return frozenset(late)
