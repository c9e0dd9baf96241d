"""What the driver knows of the spools: a thread for each endpoint asks, and planning reads.

Not here: what is planned from it (planning.py). Law: whoever plans waits for no endpoint that did
not answer the last time or is not connected, and for none longer than `offsetTimeout`; leases and
trims are sent by the threads, and nothing waits for them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import meshmsg as mm

from .offsets import Place, Shown
from .opening import connected, remote_of
from .options import SourceOptions

if TYPE_CHECKING:
    from .discovery import Discovery

LOG = logging.getLogger("meshmsg")
RETRY_S = 0.25
"""Seconds until an endpoint that did not answer is asked again, if nobody wants to know."""
GRACE_S = 1.0
"""Seconds that one who answered the last time, and is not connected now, has to come back."""
KEEP_S = 5.0
"""Seconds until an endpoint is asked again, if nobody wants to know: a lease may be gone."""
SAMPLE_MESSAGES = 256
"""Messages whose mean size stands for those of a spool."""
SAMPLE_BYTES = 2**20
"""Bytes of them."""
HOLDER = b"meshmsg-spark"
"""Who has the leases: the same for each run of a query, so that it has them again."""


class Held(NamedTuple):
    """What a group needs of a spool: its lease begins there, and what is below may go."""

    first: int
    done: int


class Endpoint:
    """What one endpoint says, and the thread that asks it. The lock is that of its Watch."""

    def __init__(
        self, url: str, options: SourceOptions, lock: threading.Lock, changed: threading.Condition
    ) -> None:
        self.url = url
        self.info: mm.RemoteSpoolInfo | None = None
        self.error = "it has not answered yet"
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
        self._sampled = self._trimmed = 0
        self._leased: tuple[str, int, int] | None = None
        self._renewed = 0.0
        self._refused: set[str] = set()
        self._said = ""
        self._remote = self._open()
        self._thread = threading.Thread(target=self._run, name="meshmsg-spark", daemon=True)
        self._thread.start()

    def _open(self) -> mm.RemoteSpool:
        return remote_of((self.url,), self._options, self._options.offset_timeout, holder=HOLDER)

    def close(self) -> None:
        """Ask no more."""
        with self._changed:
            self._closed = True
            self._wanted.notify_all()
            remote = self._remote
        remote.close()
        self._thread.join()

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
            self.down, self.error = True, "it is not connected"
        self._told.wait_for(told, max(asked + timeout - time.monotonic(), 0))

    def _run(self) -> None:
        while True:
            with self._changed:
                wait = RETRY_S if self.down else KEEP_S
                self._wanted.wait_for(lambda: self._closed or self.asked > self.answered, wait)
                if self._closed:
                    return
                asked = self.asked
            try:
                info = self._remote.info()
                self._note(asked, info, "")
                self._keep(info)
            except mm.ClosedError:
                return
            except mm.SpoolChangedError:  # which one is there now, it is asked anew
                self._remote.close()
                with self._changed:
                    if self._closed:
                        return
                    self._remote = self._open()
                self._sampled = self._trimmed = 0
                self._refused.clear()
            except mm.MeshError as error:
                self._note(asked, None, str(error))

    def _note(self, asked: int, info: mm.RemoteSpoolInfo | None, error: str) -> None:
        if info is not None and self._options.needs_sizes:
            self._sample(info)
        with self._changed:
            self.answered, self.down, self.error = asked, info is None, error
            self.info = info if info is not None else self.info
            self._told.notify_all()
            self._changed.notify_all()

    def _sample(self, info: mm.RemoteSpoolInfo) -> None:
        """Take the mean size of the last messages, once there are twice as many as before."""
        if info.stable_seq <= info.first_seq or info.stable_seq < 2 * self._sampled:
            return
        first = max(info.first_seq, info.stable_seq - SAMPLE_MESSAGES)
        try:
            for batch in self._remote.read(first, info.stable_seq, max_bytes=SAMPLE_BYTES):
                if len(batch):
                    self.mean, self._sampled = batch.nbytes / len(batch), info.stable_seq
                break
        except mm.SpoolError as error:  # a task that comes there says it
            self._say(f"{self.url}: the size of messages is not known: {error}")

    def _keep(self, info: mm.RemoteSpoolInfo) -> None:
        """Hold what the group needs, and have the rest trimmed."""
        group, ttl = self._options.group, self._options.group_ttl
        with self._changed:
            held = self.want.get(info.uuid)
        if group is None or held is None:
            return
        first = min(max(held.first, info.first_seq), info.stable_seq)
        lease, now = (info.uuid, info.epoch, first), time.monotonic()
        due = lease != self._leased or now - self._renewed > ttl / 3
        if due and self._done("lease", lambda: self._remote.lease(group, first, ttl)):
            self._leased, self._renewed = lease, now
        done = min(held.done, info.stable_seq - 1)
        if done > self._trimmed and self._done("trim", lambda: self._remote.trim(done, name=group)):
            self._trimmed = done

    def _done(self, what: str, call: Callable[[], object]) -> bool:
        """Whether it was done; a server that refuses it says so once, and is asked no more."""
        if what in self._refused:
            return False
        try:
            call()
        except mm.RefusedError as error:
            self._refused.add(what)
            LOG.warning("%s does not %s for the group: %s", self.url, what, error)
            return False
        except (mm.SpoolError, mm.WouldBlockError) as error:
            self._say(f"{self.url} could not {what} for the group: {error}")
            return False
        return True

    def _say(self, text: str) -> None:
        """Log it, unless that was said last."""
        if text != self._said:
            LOG.warning("%s", text)
        self._said = text


class Watch:
    """All endpoints of a source: those that options name, or that a mesh finds. Thread-safe: yes.

    Endpoints that a mesh finds come and go where somebody asks.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._options = options
        self._timeout = options.offset_timeout
        self._want: dict[str, Held] = {}
        self._refused: dict[str, str] = {}
        """By endpoint: why it cannot be asked at all."""
        self.endpoints: list[Endpoint] = []
        self._mesh = _discovery(options)
        try:
            for url in options.endpoints:
                self.endpoints.append(Endpoint(url, options, self._lock, self._changed))
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

    def _ask(self, patient: bool) -> dict[str, Shown]:
        with self._changed:
            asked = [(one, one.ask()) for one in self.endpoints]
            now = time.monotonic()
            for one, question in asked:  # most have answered once the first has
                one.wait(question, patient, now)
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
                made = Endpoint(url, self._options, self._lock, self._changed)
            except mm.AddressError as error:
                self._refused[url] = str(error)
                continue
            with self._changed:
                made.want.update(self._want)
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
            found = {one.url: one.error for one in self.endpoints if one.down or not one.info}
            return [f"{url} ({why})" for url, why in (found | self._refused).items()]

    def unheard(self) -> list[str]:
        """Return which endpoints have never answered, each with the reason."""
        with self._changed:
            found = {one.url: one.error for one in self.endpoints if one.info is None}
            return [f"{url} ({why})" for url, why in (found | self._refused).items()]

    def nodes(self) -> tuple[str, ...]:
        """Return mesh ports that a task may ask where a spool is by now; none without a mesh."""
        return () if self._mesh is None else self._mesh.nodes()

    def means(self) -> dict[str, float]:
        """Return the mean size of messages, by uuid, where it is known."""
        with self._changed:
            return {one.info.uuid: one.mean for one in self.endpoints if one.info and one.mean}

    def hold(self, places: Mapping[str, Place], done: Mapping[str, Place]) -> None:
        """Have the group hold what is from some places on, and remove what is below others."""
        with self._changed:
            for uuid, place in places.items():
                below = done[uuid].next - 1 if uuid in done else 0
                self._want[uuid] = Held(place.next, below)
            for one in self.endpoints:  # nobody waits for it
                one.want.update(self._want)
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
            if before is None or (info.epoch, info.stable_seq) > (before.epoch, before.stable):
                found[info.uuid] = Shown(info.first_seq, info.stable_seq, info.epoch, urls)
            else:
                found[info.uuid] = before._replace(endpoints=urls)
        return found


def _discovery(options: SourceOptions) -> Discovery | None:
    """Join the mesh, if there is one to join: who names endpoints does not load it."""
    if options.mesh is None:
        return None
    from .discovery import Discovery

    return Discovery(options.mesh)
