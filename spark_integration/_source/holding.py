"""What a group holds and trims at one spool, and whether another query does the same.

Not here: who asks the spool (watch.py). Law: nothing is held or trimmed in a group's name before
this run has the group's run lease: two queries of one group would trim what the other needs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

import meshmsg as mm

from .options import SourceOptions

LOG = logging.getLogger("meshmsg")
HOLDER = b"meshmsg-spark"
"""Who has the leases: the same for each run of a query, so that it has them again."""
RUN = "..run"
"""Behind the name of a group: the lease of the run that reads for it now."""
RUN_S = 20.0
"""Seconds that the run lease outlives its run: it is short, as a run that follows waits for it."""
PATIENCE_S = 2 * RUN_S
"""Seconds that another run may have it until that is an error: it does not end, so it lives."""
SHARE = 3
"""A lease is renewed once that part of its time is over."""


class Held(NamedTuple):
    """What a group needs of a spool: its lease begins there, and what is below may go."""

    first: int
    done: int
    group: str


class Holding:
    """What is held and trimmed at one endpoint. One thread calls it."""

    def __init__(
        self,
        url: str,
        options: SourceOptions,
        run: bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url, self._options, self._run, self._clock = url, options, run, clock
        self.leased: tuple[str, int, int] | None = None
        """The spool, its life and the first number that is held."""
        self.tried = False
        """Whether anything was asked for the group yet."""
        self.trimmed = 0
        """What is up to there was trimmed."""
        self.refused: set[str] = set()
        """What the server does for nobody."""
        self.clash = ""
        """Why another query is taken to read for the group; "": none is."""
        self._renewed = self._run_renewed = 0.0
        self._run_of: tuple[str, int] | None = None
        self._held_since: float | None = None
        """When it was first seen that another run has the run lease."""
        self._said = ""

    def anew(self) -> None:
        """Another spool is there now."""
        self.trimmed = 0
        self.refused.clear()

    def keep(self, remote: mm.RemoteSpool, info: mm.RemoteSpoolInfo, held: Held) -> None:
        """Hold what the group needs, and have the rest trimmed.

        Raises:
            MeshError: The server did not answer.
        """
        group, ttl = held.group, self._options.group_ttl
        self.tried = True
        if not self._is_alone(remote, info, group):
            return
        first = min(max(held.first, info.first_seq), info.stable_seq)
        lease, now = (info.uuid, info.epoch, first), self._clock()
        due = lease != self.leased or now - self._renewed > ttl / SHARE
        if due and self._done("lease", lambda: remote.lease(group, first, ttl)):
            self.leased, self._renewed = lease, now
        done = min(held.done, info.stable_seq - 1)
        if done > self.trimmed and self._done("trim", lambda: remote.trim(done, name=group)):
            self.trimmed = done

    def say(self, text: str) -> None:
        """Log it, unless that was said last."""
        if text != self._said:
            LOG.warning("%s", text)
        self._said = text

    def _is_alone(self, remote: mm.RemoteSpool, info: mm.RemoteSpoolInfo, group: str) -> bool:
        """Whether no other run reads for the group, as far as its run lease tells.

        It begins behind all that is there: it holds nothing that could be trimmed.
        """
        run, now = (info.uuid, info.epoch), self._clock()
        if run == self._run_of and now - self._run_renewed <= RUN_S / SHARE:
            return True
        try:
            if not remote._lease_as(self._run, group + RUN, info.stable_seq, RUN_S):
                self._note_other(group, now)
                return False
        except (mm.WouldBlockError, mm.RefusedError, mm.SpoolError):
            pass  # as the group's own lease will say
        self._run_of, self._run_renewed = run, now
        self._held_since, self.clash = None, ""
        return True

    def _note_other(self, group: str, now: float) -> None:
        self._run_of = None
        if self._held_since is None:
            self._held_since = now
        if now - self._held_since >= PATIENCE_S:
            self.clash = (
                f"another query reads with groupId {group!r}, as {self._url} tells: each would "
                "trim what the other needs. Give each query a groupId of its own"
            )
        self.say(
            f"{self._url}: another run has groupId {group!r}. If it has ended, that is over within "
            f"{RUN_S:.0f} s; nothing is held or trimmed meanwhile"
        )

    def _done(self, what: str, call: Callable[[], object]) -> bool:
        """Whether it was done; a server that refuses it says so once, and is asked no more."""
        if what in self.refused:
            return False
        try:
            call()
        except mm.RefusedError as error:
            self.refused.add(what)
            LOG.warning("%s does not %s for the group: %s", self._url, what, error)
            return False
        except (mm.SpoolError, mm.WouldBlockError) as error:
            self.say(f"{self._url} could not {what} for the group: {error}")
            return False
        return True
