"""What the driver knows of the spools: who plans asks all at once, and a thread for each the rest.

Not here: what is planned from it (planning.py), what is held for a group (holding.py), how sizes
are found (sizes.py). Law: whoever plans waits for no endpoint that did not answer the last time or
is not connected, and for none longer than `offsetTimeout`; leases and trims are sent by the
threads, and nothing waits for them.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import meshmsg as mm

from .holding import HOLDER, Held, Holding
from .offsets import Place, Shown
from .opening import Asked, ask_now, connected, remote_of, silence_of
from .options import SourceOptions
from .sizes import mean_size, reads

if TYPE_CHECKING:
    from .discovery import Discovery

LOG = logging.getLogger("meshmsg")
RETRY_S = 0.25
"""Seconds until an endpoint that did not answer is asked again, if nobody wants to know."""
GRACE_S = 1.0
"""Seconds that one who answered the last time, and is not connected now, has to come back."""
KEEP_S = 5.0
"""Seconds until an endpoint is asked again, if nobody wants to know: a lease may be gone."""
SAMPLE_AGAIN = 4096
"""Messages that come until the size of the last ones is asked for again, at most."""
RUN_BYTES = 16
"""Of what tells one run of a query from another."""


class Endpoint:
    """What one endpoint says, and the thread that asks it. The lock is that of its Watch."""

    def __init__(
        self,
        url: str,
        options: SourceOptions,
        run: bytes,
        lock: threading.Lock,
        changed: threading.Condition,
    ) -> None:
        self.url = url
        self.info: mm.RemoteSpoolInfo | None = None
        self.error = ""
        """Why it did not, as far as it is told; else see `why`."""
        self.down = False
        """It did not answer the last time."""
        self.answered = 0
        """The last question that is answered, or will not be."""
        self.asked = 0
        self.mean = 0.0
        """Bytes of a message; 0: not known."""
        self.want: dict[str, Held] = {}
        self._options, self._changed = options, changed
        self._wanted = threading.Condition(lock)
        """Its thread waits here, so that an answer of another does not wake it."""
        self._told = threading.Condition(lock)
        """Who asked waits here, for one after another."""
        self._closed = False
        self._sampled = 0
        self._drawn = self._noted = 0
        """Numbers of questions, of whoever asked; a late answer to an earlier one is no news."""
        self.holding = Holding(url, options, run)
        self._remote = self._open()
        self._thread = threading.Thread(target=self._run, name="meshmsg-spark", daemon=True)
        self._thread.start()

    def _open(self) -> mm.RemoteSpool:
        return remote_of((self.url,), self._options, self._options.offset_timeout, holder=HOLDER)

    @property
    def why(self) -> str:
        """Why it says nothing, under the lock."""
        return self.error or silence_of(self._remote)

    def close(self) -> None:
        """Ask no more."""
        with self._changed:
            self._closed = True
            self._wanted.notify_all()
            remote = self._remote
        remote.close()
        self._thread.join()

    def begin(self) -> tuple[int, Asked] | None:
        """Ask it now, by whoever plans, under the lock; None: its thread has to."""
        begins = bool(self.want) and not self.holding.tried
        asked = None if self.down or self.info is None or begins else ask_now(self._remote)
        return None if asked is None else (self._draw(), asked)

    def collect(self, begun: tuple[int, Asked], deadline: float) -> bool:
        """Take the answer, without the lock; whether there was one that says enough."""
        number, asked = begun
        try:
            info = asked.info(max(deadline - time.monotonic(), 0.0))
        except mm.MeshError:  # its thread asks anew, and says what it is
            return False
        if info is None or self._is_due(info):
            return False
        with self._changed:
            if asked.remote is not self._remote:
                return False
            self._take(number, info)
        return True

    def ask(self) -> int:
        """Have it asked once more, under the lock; return the number of that question."""
        self.asked += 1
        self._wanted.notify_all()
        return self.asked

    def wait(self, question: int, patient: bool, asked: float) -> None:
        """Wait for the answer, under the lock; not of one that is down, unless patient."""

        def told() -> bool:
            return self.answered >= question or (self.down and not patient)

        timeout = self._options.offset_timeout
        left = asked + min(GRACE_S, timeout) - time.monotonic()
        late = not patient and not self._told.wait_for(told, max(left, 0))
        if late and not connected(self._remote):
            self.down, self.error = True, ""
        self._told.wait_for(told, max(asked + timeout - time.monotonic(), 0))

    def _run(self) -> None:
        while True:
            with self._changed:
                wait = RETRY_S if self.down else KEEP_S
                self._wanted.wait_for(lambda: self._closed or self.asked > self.answered, wait)
                if self._closed:
                    return
                asked, number = self.asked, self._draw()
            try:
                info = self._remote.info()
                begins = not self.holding.tried
                if begins:  # before it is planned: another query of the group is told at once
                    self._keep(info)
                self._note(asked, number, info, "")
                if not begins:
                    self._keep(info)
            except mm.ClosedError:
                return
            except mm.SpoolChangedError:  # which one is there now, it is asked anew
                self._remote.close()
                with self._changed:
                    if self._closed:
                        return
                    self._remote = self._open()
                self._sampled = 0
                self.holding.anew()
            except mm.MeshError as error:
                self._note(asked, number, None, str(error))

    def _note(self, asked: int, number: int, info: mm.RemoteSpoolInfo | None, error: str) -> None:
        if info is not None and self._is_due(info):
            self._sample(info)
        with self._changed:
            self.answered, self.down, self.error = asked, info is None, error
            if info is not None:
                self._take(number, info)
            self._told.notify_all()
            self._changed.notify_all()

    def _draw(self) -> int:
        """Return the number of a question, under the lock."""
        self._drawn += 1
        return self._drawn

    def _take(self, number: int, info: mm.RemoteSpoolInfo) -> None:
        """Believe an answer, under the lock, unless that to a later question was there before."""
        if number > self._noted:
            self._noted, self.info = number, info

    def _is_due(self, info: mm.RemoteSpoolInfo) -> bool:
        """Whether sizes are asked for, and there are twice as many messages as the last time, or so
        many more that what is read for it is little beside them."""
        after = min(2 * self._sampled, self._sampled + SAMPLE_AGAIN)
        due = info.stable_seq > info.first_seq and info.stable_seq >= after
        return due and self._options.needs_sizes

    def _sample(self, info: mm.RemoteSpoolInfo) -> None:
        """Take the mean size of the last messages."""
        try:
            mean = mean_size(reads(self._remote), info.first_seq, info.stable_seq)
        except mm.SpoolError as error:  # a task that comes there says it
            self.holding.say(f"{self.url}: the size of messages is not known: {error}")
            return
        if mean:
            self.mean, self._sampled = mean, info.stable_seq

    def _keep(self, info: mm.RemoteSpoolInfo) -> None:
        """Hold what the group needs, if somebody said what."""
        with self._changed:
            held = self.want.get(info.uuid)
        if held is not None:
            self.holding.keep(self._remote, info, held)


class Watch:
    """All endpoints of a source: those that options name, or that a mesh finds. Thread-safe: yes.

    Endpoints that a mesh finds come and go where somebody asks.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._options = options
        self._timeout = options.offset_timeout
        self._run = os.urandom(RUN_BYTES)
        self._want: dict[str, Held] = {}
        self._refused: dict[str, str] = {}
        """By endpoint: why it cannot be asked at all."""
        self.endpoints: list[Endpoint] = []
        self._mesh = _discovery(options)
        try:
            for url in options.endpoints:
                self.endpoints.append(self._endpoint(url))
        except BaseException:
            self.close()
            raise

    def ask(
        self, *, patient: bool = False, wanted: frozenset[str] = frozenset()
    ) -> dict[str, Shown]:
        """Ask all endpoints, and return what they say by uuid.

        Those that did not answer the last time are not waited for; what they said before counts.

        Args:
            patient: Wait for those as well, up to `offsetTimeout`; and for a mesh, until it has
                found as many as a query needs.
            wanted: Spools that a mesh is given as much time to find.

        Raises:
            TimedOutError: A mesh did not find so many.
            UsageError: What it found are no spools.
        """
        if self._mesh is None:
            return self._ask(patient)
        if patient:
            self._mesh.wait(self._timeout)
        deadline = time.monotonic() + self._timeout
        while True:
            self._follow(self._mesh)
            shown = self._ask(patient)
            left = deadline - time.monotonic()
            if wanted <= shown.keys() or left <= 0:
                return shown
            with self._changed:
                self._changed.wait(min(RETRY_S, left))

    def _endpoint(self, url: str) -> Endpoint:
        return Endpoint(url, self._options, self._run, self._lock, self._changed)

    def _ask(self, patient: bool) -> dict[str, Shown]:
        """Ask all, and then take the answers: a thread woken for each would cost more than it."""
        now = time.monotonic()
        with self._changed:
            begun = [(one, one.begin()) for one in self.endpoints]
            asked = [(one, one.ask()) for one, question in begun if question is None]
        late = [
            one
            for one, question in begun
            if question is not None and not one.collect(question, now + self._timeout)
        ]
        with self._changed:
            asked += [(one, one.ask()) for one in late]
            for one, number in asked:
                one.wait(number, patient, now)
            return self._shown()

    def _follow(self, mesh: Discovery) -> None:
        """Have the endpoints that the mesh says now: only who is there is asked anew."""
        there, away = mesh.found()
        with self._changed:
            kept = [
                one
                for one in self.endpoints
                if one.url in there or (one.url in away and not self._followed(one))
            ]
            gone = [one for one in self.endpoints if one not in kept]
            self.endpoints = kept
        for one in gone:
            LOG.info("%s is shown by the mesh no more", one.url)
            one.close()
        self._refused = {url: why for url, why in self._refused.items() if url in there}
        for url in sorted(there - {one.url for one in kept} - self._refused.keys()):
            try:
                made = self._endpoint(url)
            except mm.AddressError as error:
                self._refused[url] = str(error)
                continue
            with self._changed:
                made.want = self._want
                self.endpoints.append(made)

    def _followed(self, one: Endpoint) -> bool:
        """Whether what is silent there is shown elsewhere by now, in a later life."""
        return one.down and any(
            other.info.uuid == one.info.uuid and other.info.epoch > one.info.epoch
            for other in self.endpoints
            if one.info and other.info and not other.down
        )

    def last(self) -> dict[str, Shown]:
        """Return what they said last, without asking."""
        with self._changed:
            return self._shown()

    def silent(self) -> list[str]:
        """Return which endpoints have not answered, each with the reason."""
        with self._changed:
            found = {one.url: one.why for one in self.endpoints if one.down or not one.info}
            return [f"{url} ({why})" for url, why in (found | self._refused).items()]

    def unheard(self) -> list[str]:
        """Return which endpoints have never answered, each with the reason."""
        with self._changed:
            found = {one.url: one.why for one in self.endpoints if one.info is None}
            return [f"{url} ({why})" for url, why in (found | self._refused).items()]

    def nodes(self) -> tuple[str, ...]:
        """Return mesh ports that a task may ask where a spool is by now; none without a mesh."""
        return () if self._mesh is None else self._mesh.nodes()

    def clash(self) -> str:
        """Return why another query is taken to read for the group; "": none is."""
        with self._changed:
            return next((one.holding.clash for one in self.endpoints if one.holding.clash), "")

    def means(self) -> dict[str, float]:
        """Return the mean size of messages, by uuid, where it is known."""
        with self._changed:
            return {one.info.uuid: one.mean for one in self.endpoints if one.info and one.mean}

    def hold(self, places: Mapping[str, Place], done: Mapping[str, Place], group: str) -> None:
        """Have a group hold what is from some places on, and remove what is below others.

        Args:
            places: By uuid, what is held from there on: all of it, and what was held before is not.
            done: What is below is removed.
            group: What it is called.
        """
        with self._changed:
            self._want = {
                uuid: Held(place.next, done[uuid].next - 1 if uuid in done else 0, group)
                for uuid, place in places.items()
            }
            for one in self.endpoints:  # nobody waits for it
                one.want = self._want
                one.ask()

    def close(self) -> None:
        """Ask no more. Leases stay until they end."""
        for one in self.endpoints:
            one.close()
        if self._mesh is not None:
            self._mesh.close()

    def _shown(self) -> dict[str, Shown]:
        """Return what is shown; who answers stands in front of who does not."""
        found: dict[str, Shown] = {}
        for one in sorted(self.endpoints, key=lambda one: one.down):
            if (info := one.info) is None:
                continue
            before = found.get(info.uuid)
            urls = (*before.endpoints, one.url) if before else (one.url,)
            down = before.down if before else one.down  # the first answers if one does
            if before is None or (info.epoch, info.stable_seq) > (before.epoch, before.stable):
                found[info.uuid] = Shown(info.first_seq, info.stable_seq, info.epoch, urls, down)
            else:
                found[info.uuid] = before._replace(endpoints=urls)
        return found


def _discovery(options: SourceOptions) -> Discovery | None:
    """Join the mesh, if there is one to join: who names endpoints does not load it."""
    if options.mesh is None:
        return None
    from .discovery import Discovery

    return Discovery(options.mesh)
