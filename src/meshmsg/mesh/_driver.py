"""Drives the core of one node: a thread that sleeps until something comes or is due.

Not here: the connections (_link.py), what users are told (_watch.py), whom sockets connect to
(_follow.py). Law: the core is called under the lock; nothing of a user's is called under it; only
the thread sends. The main thread never has the lock, as a signal's function may leave
(_waking/calls.py).
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Protocol, TypeVar

from meshmsg._binding.errors import ClosedError, ForkedError, MeshError, TimedOutError
from meshmsg._events.log_records import (
    block_signals,
    record_of,
    records,
    tell_of_error,
    until_over,
)
from meshmsg._mesh.limits import RECORD_MAX
from meshmsg._mesh.octets import MalformedError, record_octets
from meshmsg._mesh.seam import Evidence, MeshCore
from meshmsg._mesh.told import Answer, Arrival, Event, EventKind, Send, State
from meshmsg._security.policy import Policy
from meshmsg.mesh._finding.asking import Seeding
from meshmsg.mesh._finding.seeds import Seed
from meshmsg.mesh._finding.strangers import Strangers, answers_for
from meshmsg.mesh._finding.unasked import Unasked, nobody_reaches
from meshmsg.mesh._finding.unreached import Unreached
from meshmsg.mesh._link import LINGER_S, QUESTION, Came, Link
from meshmsg.mesh._offers import Offers, fitting
from meshmsg.mesh._place import Place
from meshmsg.mesh._waking.bell import Bell
from meshmsg.mesh._waking.calls import Calls, Latch

if TYPE_CHECKING:
    from meshmsg.mesh._udp.port import Port  # which needs cryptography

OFFERS_S = 1.0
"""Seconds between two looks whether a socket that is announced was closed."""
OFFERS_LATE_S = 0.35
"""Seconds that such a look may be late: a node that has members is awake by then anyway."""
AGAIN_S = 0.2
"""Seconds until the thread goes on after an error of its own."""
LEAVE_S = 2.0
"""Seconds that a node that leaves has to tell the others."""
MEET_S = 0.5
"""Seconds that a node that leaves waits for the first answer, if it has just begun to join."""
JOIN_S = 5.0
"""Seconds that closing waits for the thread."""
FAR = 3_600.0
"""Seconds that the thread sleeps at most."""


_FoundT = TypeVar("_FoundT")


class Listens(Protocol):
    """Who is told what changes, on the thread of the mesh; nothing there may wait."""

    def told(self, events: Sequence[Event]) -> bool:
        """Take events; false: it wants no more."""
        ...

    def closed(self) -> None:
        """There will be no more."""
        ...


class Driver:
    """One node at work."""

    def __init__(
        self,
        core: MeshCore,
        place: Place,
        clock: Callable[[], float],
        security: Policy | None = None,
    ) -> None:
        self.core, self.place, self.clock = core, place, clock
        self.lock = threading.RLock()
        self.offers = Offers(security)
        self._calls = Calls()
        self._changed = Latch()
        """Opened as anything changes; then there is another one."""
        self.answer: Callable[[Came], bytes | None] = lambda came: None
        """Answers who asks; set by the mesh before it begins."""
        self.suspects: frozenset[bytes] = frozenset()
        """Nodes that are suspect, as of the last turn; of the thread."""
        self._listeners: list[Listens] = []
        self._mine: list[Event] = []
        """What changed of this node itself, which the core tells nobody here."""
        self._ready = select.poll()
        self._bell = Bell()
        self._ready.register(self._bell, select.POLLIN)
        self._offers_at = 0.0
        self._left_out: list[str] = []
        """Services that its record has no room for."""
        self._unreached, self._unasked = Unreached(), Unasked()
        self.strangers = Strangers(core.me().cluster)
        self._left_at: float | None = None
        self._leave_by = float("inf")
        """When it leaves, whoever it knows by then."""
        self._left = Latch()
        self._over = False
        self._closing = threading.Lock()
        """Of the first who closes it, for good."""
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self.pid = os.getpid()
        """The process that it is of."""
        self._own = core.me().addresses

    # Set up, and end

    def begin(
        self, link: Link, seeds: Sequence[Seed], rng: Random, port: Port | None = None
    ) -> None:
        """Start the thread, and that of the seeds; port: for datagrams, if they are asked for."""
        self.link, self.port = link, port
        self._ready.register(link.router.fileno(), select.POLLIN)
        if port is not None:
            self._ready.register(port.fileno(), select.POLLIN)
        self.seeding = Seeding(
            seeds, local=self.place.local, rng=rng, own=self._first_address, found=self._found
        )
        thread = threading.Thread(target=self._run, name="meshmsg-mesh", daemon=True)
        thread.start()
        self._thread = thread

    def _first_address(self) -> str:
        return next(iter(self.place.addresses), "")

    def _found(self, addresses: list[str]) -> None:
        with self.lock:
            self.core.seeds(self.clock(), addresses)
        self.ring()

    def ring(self) -> None:
        """Have the thread look; from any thread, also when it is over."""
        self._bell.ring()

    def do(self, call: Callable[[], _FoundT]) -> _FoundT:
        """Do that under the lock, and return what it returns; on the thread, for the main one.

        Raises:
            ForkedError: It was made before a fork.
        """
        self._check_process()  # the lock may be that of a thread that a fork has not taken along
        thread, mine = self._thread, threading.get_ident()
        if thread is None or thread.ident == mine or mine != threading.main_thread().ident:
            with self.lock:
                return call()
        return self._calls.ask(call, self.ring)

    def check(self) -> None:
        """Refuse what cannot be done any more.

        Raises:
            ClosedError: The mesh was closed.
            ForkedError: It was made before a fork.
        """
        self._check_process()
        if self._over:
            raise ClosedError("this Mesh was closed; make a new one")

    def _check_process(self) -> None:
        if os.getpid() != self.pid:
            raise ForkedError(
                f"this Mesh was made in process {self.pid}; make a new one after fork"
            )

    @property
    def over(self) -> bool:
        """Whether it was closed."""
        return self._over

    def leave(self, timeout: float) -> None:
        """Tell others that this node leaves, for some time at most; then close."""
        if os.getpid() == self.pid and not self._over and not self._ended.is_set():
            self._leave_by = min(self._leave_by, self.clock() + MEET_S)
            self.ring()
            self._left.wait(timeout)
        self.close()

    def close(self) -> None:
        """End the threads and the connections. Safe to call twice, and after a fork."""
        if os.getpid() != self.pid:
            return
        first = self._closing.acquire(blocking=False)
        self._over = True
        self.ring()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)
        if not first:
            return
        self.seeding.close()
        self.link.router.close()
        if self.port is not None:
            self.port.close()

    # Who listens

    def listen(self, listener: Listens, first: Callable[[], None] | None = None) -> None:
        """Have somebody told from now on; first: what is done before anything else is told."""

        def begin() -> None:
            self.check()
            if first is not None:
                first()
            self._listeners.append(listener)

        self.do(begin)
        self.ring()

    def check_room(self) -> None:
        """Refuse more than the record has room for, by where this node is, or will be seen most
        likely. The lock is held.

        Raises:
            MalformedError: It is more.
        """
        own = self.place.addresses or (self.place.endpoint,)
        services = tuple(self.offers.services(own))
        record_octets(replace(self.core.me(), addresses=own, services=services))

    def changed(self) -> None:
        """Say again what this node offers, and have the thread send it. The lock is held.

        What the record has no room for, as its endpoints are longer by now, is left out.
        """
        if self._left_at is not None:
            return
        before, services = self.core.me(), self.offers.services(self.place.addresses)
        fit = fitting(before, services) if tuple(services) != before.services else services
        self._tell_left_out([one.name for one in services[len(fit) :]])
        self.core.offer(self.clock(), fit)
        if self.core.me() != before:
            self._mine.append(Event(EventKind.CHANGED, self.core.members()[0], before))

    def _tell_left_out(self, names: list[str]) -> None:
        before, self._left_out = self._left_out, names
        if names and names != before:
            said = ", ".join(map(repr, names))
            self.warn([f"its record ({RECORD_MAX:,} octets) has no room to offer {said} any more"])

    def wait(self, until: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until something is so of the members; false: it was not in time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            changed = self._changed  # from before the look
            if until():
                return True
            self.check()
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            changed.wait(left)

    def _tell_of_change(self) -> None:
        """Have those look again who wait for members. On the thread."""
        before, self._changed = self._changed, Latch()
        before.open()

    def lost(self, nodes: Sequence[bytes]) -> None:
        """Take that connections of users to nodes were lost: each is asked at once."""
        with self.lock:
            for node in nodes:
                self._saw(self.clock(), node, Evidence.LOST)
        self.ring()

    def _saw(self, now: float, node: bytes, evidence: Evidence, address: str = "") -> None:
        """Tell the core. Who may be gone is asked over a connection, which is refused if it is."""
        if evidence == Evidence.LOST and self.port is not None:
            self.port.forget(node)
        self.core.saw(now, node, evidence, address)

    def heard(self, nodes: Sequence[bytes]) -> None:
        """Take that something came from nodes over connections of users: they are there."""
        with self.lock:
            for node in nodes:
                self.core.saw(self.clock(), node, Evidence.HEARD)

    # The thread

    def _run(self) -> None:
        until_over(block_signals)
        until_over(self._once)
        self._left.open()
        for listener in self._listeners:
            listener.closed()
        self._listeners.clear()
        self._over = True
        self._ended.set()
        self._calls.end()
        self._tell_of_change()
        self._bell.close()

    def _once(self) -> bool:
        try:
            if self._over:
                return True
            came = self._sleep()
            return self._over or self._turn(self.clock(), came)
        except (ClosedError, ForkedError):
            return True
        except BaseException:  # no memory, say
            tell_of_error("the mesh failed, and goes on")
            self._ended.wait(AGAIN_S)
            return False

    def _sleep(self) -> bool:
        """Sleep until something is to be done; return whether messages came."""
        with self.lock:
            due = min(self.core.due(), self._offers_at + OFFERS_LATE_S)
            if self._left_at is None:
                due = min(due, self._leave_by)
        wait = min(max(due - self.clock(), 0.0), FAR)
        ready = {fd for fd, _ in self._ready.poll(int(wait * 1000) + (wait > 0))}
        if (rung := self._bell.fileno()) in ready:
            ready.discard(rung)
            self._bell.hush()
        return bool(ready)

    def _turn(self, now: float, messages: bool) -> bool:
        """Take what came, do what is due, send what is to be sent; true: it is over."""
        questions: list[Came] = []
        with self.lock:
            self._calls.answer()
            for seen in self.link.happened():
                if seen.node is not None and seen.evidence is not None:
                    self._saw(now, seen.node, seen.evidence, seen.url)
                if seen.missed:
                    self.core.missed(now, seen.url)
            came_now = self.link.came() if messages else []
            for came in [*came_now, *(self.port.came(now) if self.port else ())]:
                if len(came.frames) == 1:
                    self.core.arrived(now, Arrival(came.source, came.frames[0], came.reply))
                elif came.frames[0] == QUESTION:
                    questions.append(came)
            self._hear_strangers(now)
            self._settle(now)
            self._leave(now)
            if self.core.due() <= now:
                self.core.tick(now)
            out, told = self.core.take(), [*self._mine, *self.core.events()]
            self._mine = []
            self.suspects = frozenset(self.core.suspects())
            listeners = list(self._listeners)
            if told:
                self._tell_of_change()
        self._send(now, out)
        for came in questions:
            answer = self.answer(came)
            if answer is not None:
                self.link.answer(came.reply, [came.frames[1], answer])
        for event in told:
            if event.kind == EventKind.UNREACHABLE:  # what it may answer on is made anew, in time
                record = event.member.record
                self.link.prove(now, record.addresses, record.node_id)
                if self.port is not None:
                    self.port.forget(record.node_id)
        if listeners:
            self._tell(listeners, told)
        self.link.close_idle(now)
        return self._is_left(now)

    def _leave(self, now: float) -> None:
        """Leave, if that is asked for and there is somebody to tell. The lock is held."""
        if self._left_at is not None or self._leave_by == float("inf"):
            return
        if now >= self._leave_by or not self.link.busy or len(self.core.members()) > 1:
            self.core.leave(now)
            self._left_at = now

    def _settle(self, now: float) -> None:
        """Say where this node is and what it offers, if that changed. The lock is held."""
        if now < self._offers_at and not self.link.seen and not self.link.dialed_at:
            return
        seen, self.link.seen = self.link.seen, []
        dialed, self.link.dialed_at = self.link.dialed_at, []
        if not self.place.addresses:  # any word is better than none
            seen += dialed
        moved = [self.place.seen_at(source, by) for source, by in seen]
        if any(moved):
            self._move(now)
            self.seeding.ask_again()
        if now >= self._offers_at:
            self._tell_of_trouble(now)
            if self.place.vanished():
                self._begin_anew()
        if any(moved) or now >= self._offers_at:
            self._offers_at = now + OFFERS_S
            self.changed()

    def _move(self, now: float) -> None:
        """Say where this node is. The lock is held."""
        try:
            self.core.moved(now, self.place.addresses)
        except MalformedError:  # no room beside what it offers; `changed` says what has
            self.core.offer(now, ())
            self.core.moved(now, self.place.addresses)

    def _begin_anew(self) -> None:
        """Make all connections anew: those there are come from an address that is gone. So others
        see this node where it is now, and tell it. The lock is held."""
        self.link.hang_up_all()
        if self.port is not None:
            for member in self.core.members():
                self.port.forget(member.record.node_id)

    def _tell_of_trouble(self, now: float) -> None:
        self.warn(self._unreached.look(now, self.seeding.tried(), self.link.dialed))
        self.warn(self._unasked.look(now, self.unasked))

    @property
    def unasked(self) -> str:
        """Why others may not reach this node, though they hear it; "": they do. The lock is held"""
        return nobody_reaches(self.place, self.core.unasked(self.clock()))

    def warn(self, several: Sequence[str]) -> None:
        """Say something in the log, as of this node."""
        me = self.core.me()
        for words in several:
            words = f"Mesh {me.name!r} of {me.cluster!r}: {words}"
            records.put(record_of(logging.WARNING, words))

    def _hear_strangers(self, now: float) -> None:
        """Note who spoke for another cluster: who came, and who was dialed. The lock is held."""
        if not (heard := self.core.strangers()):
            return
        came = []
        for one in heard:
            if url := self.link.url_of(one.reply):
                own = self.core.me().cluster
                self.link.is_elsewhere(url, answers_for(one.cluster, own))
            else:
                came.append(one)
        self.warn(self.strangers.came(now, came))

    def _send(self, now: float, out: Sequence[Send | Answer]) -> None:
        for one in out:
            if isinstance(one, Send):
                if self.port is None or not self.port.send(now, one.to, one.data, one.node):
                    self.link.send(now, one.to, one.data, one.node)
            elif one.reply > 0 or self.port is None:
                self.link.answer(one.reply, [one.data])
            else:
                back = self.port.answer(one.reply, one.data)
                if back is not None:
                    self.link.send(now, back[0], one.data, back[1])

    def _tell(self, listeners: Sequence[Listens], told: Sequence[Event]) -> None:
        gone = [one for one in listeners if not one.told(told)]
        if gone:
            with self.lock:
                self._listeners = [one for one in self._listeners if one not in gone]

    def _is_left(self, now: float) -> bool:
        """Whether the others were told that this node leaves."""
        if self._left_at is None:
            return False
        with self.lock:
            told = any(one.state == State.ALIVE for one in self.core.members()[1:])
            quiet = self.core.due() == float("inf")
        if told and now - self._left_at < LEAVE_S and (self.link.waits or not quiet):
            return False
        with suppress(TimedOutError, MeshError):
            self.link.router.drain(timeout=LEAVE_S if told else LINGER_S)
        return True
