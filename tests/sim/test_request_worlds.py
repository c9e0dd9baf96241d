"""Requests in faulty worlds of virtual time: many at once, with retries and deadlines, to servers
that answer, refuse, stay silent, answer too late or leave.

Law: each request ends exactly once, with its reply, its refusal, a time-out or a lost peer; nobody
is asked more often than it may be; the books balance.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import EAGAIN, EREFUSED, borrow, ffi, give_back, lib
from meshmsg._binding.data import question_of
from meshmsg._roles.attempts import Attempts
from meshmsg._roles.questions import refused
from meshmsg.testing import SimFaults, SimWorld

UP = "tcp://127.0.0.1:0"
SERVERS = 3
REQUESTS = 40
STEP_S = 0.02


@dataclass
class Asked:
    """One request, driven as `Req.request` drives it, but without a wait."""

    req: mm.Req
    number: int
    attempts: Attempts
    retries: int
    ends: float
    id: int = 0
    until: float = 0.0
    made: int = 0
    outcomes: list[object] = field(default_factory=list)

    @property
    def frames(self) -> list[bytes]:
        """What it asks."""
        return [b"%d" % self.number, b"", b"q"][: 1 + self.number % 3]

    def step(self, now: float) -> None:
        """Begin an attempt, look for its end, or do nothing."""
        if self.outcomes:
            return
        if not self.until:
            self.made += 1
            time = self.attempts.begin(now)
            self.until = now + (time if time is not None else 1e9)
        error = self._try()
        if error is None and not self.outcomes and now >= self.until:
            error = mm.TimedOutError("late", code=lib.MM_ETIMEDOUT)
        if error is None:
            return
        asked, self.until = self.id != 0, 0.0
        lib.mm_request_cancel(self.req._handle, self.id)
        self.id = 0
        try:
            self.attempts.next(self.req, error, asked, now)
        except mm.MeshError as final:
            self.outcomes.append(final)

    def _try(self) -> mm.MeshError | None:
        if not self.id:
            body, octets = question_of(self.frames, "request_frames", "request")
            sizes = ffi.from_buffer("uint64_t[]", octets)
            out = ffi.new("uint64_t *")
            rc = lib.mm_request_packed(
                self.req._handle, body, sizes, len(self.frames), ffi.NULL, 0, 0, 0, out
            )
            assert rc in (0, EAGAIN)
            self.id = int(out[0])
            return None
        slot = borrow()
        try:
            rc = lib.mm_recv_reply(self.req._handle, self.id, slot.batch, 0, 0)
            if rc == EAGAIN:
                return None
            if rc == EREFUSED:
                return refused(self.req, slot)
            if rc < 0:
                return mm.PeerError("gone", code=rc)
            self.outcomes.append(self.req._unpack_one(slot))
            return None
        finally:
            give_back(slot)


class Server:
    """A Rep that does with each request as chance says, and leaves now and then."""

    def __init__(self, world: SimWorld, chance: random.Random) -> None:
        self.world, self.chance = world, chance
        self.engine = world.engine()
        self.rep = mm.Rep(bind=UP, engine=self.engine)
        self.url = self.rep.endpoint
        self.later: list[mm.Request] = []
        self.seen: list[bytes] = []

    def step(self) -> None:
        """Answer, refuse, forget, keep for later; or begin anew."""
        if self.chance.random() < 0.01:
            self.rep.close()
            self.rep = mm.Rep(bind=self.url, engine=self.engine)
        while True:
            try:
                request = self.rep.recv(timeout=0)
            except mm.WouldBlockError:
                break
            self.seen.append(request.frames[0])
            self.answer(request, self.chance.choice(["reply", "refuse", "silence", "later"]))
        if self.later and self.chance.random() < 0.2:
            self.answer(self.later.pop(), self.chance.choice(["reply", "refuse"]))

    def answer(self, request: mm.Request, how: str) -> None:
        """One of the four."""
        number = request.frames[0]
        try:
            if how == "reply":
                request.reply_frames([b"to", b"", number])
            elif how == "refuse":
                request.refuse(f"refused {number.decode()}")
        except mm.ClosedError:
            pass  # it was received before the server began anew
        if how == "later":
            self.later.append(request)


def opened(world: SimWorld, req: mm.Req, chance: random.Random) -> list[Asked]:
    """Requests with limits of every kind; all have an end."""
    found = []
    for number in range(REQUESTS):
        timeout = chance.choice([None, 0.1, 0.5])
        deadline = chance.choice([0.3, 2.0]) if timeout is None else chance.choice([None, 1.0])
        retries = chance.choice([0, 1, 5])
        ends = deadline if deadline is not None else (timeout or 0) * (retries + 1)
        attempts = Attempts(timeout, retries, deadline, world.now)
        found.append(Asked(req, number, attempts, retries, world.now + ends))
    return found


def check_outcome(asked: Asked) -> str:
    """It is one of four, and this request's own."""
    [outcome] = asked.outcomes
    assert asked.made <= asked.retries + 1
    if isinstance(outcome, mm.Message):
        assert outcome.frames == (b"to", b"", b"%d" % asked.number)
        return "reply"
    if isinstance(outcome, mm.RefusedError):
        assert outcome.reason == f"refused {asked.number}"
        return "refused"
    assert isinstance(outcome, (mm.TimedOutError, mm.PeerError))
    return "late" if isinstance(outcome, mm.TimedOutError) else "gone"


def check_books(socket: Any) -> None:
    """What came was received, dropped or waits; what was sent likewise."""
    s = socket.stats()
    assert s.sent_messages + s.parsed_messages == (
        s.written_messages
        + s.received_messages
        + s.queued_out_messages
        + s.queued_in_messages
        + s.dropped
    )


def ends_of(seed: int) -> set[str]:
    """Let a world of that seed come to its end; how its requests ended."""
    chance = random.Random(seed)
    faults = SimFaults(reset=0.002, split=0.2) if seed % 2 else SimFaults()
    with SimWorld(seed, faults=faults) as world:
        servers = [Server(world, chance) for _ in range(SERVERS)]
        engine = world.engine()
        req = mm.Req(connect=[server.url for server in servers], engine=engine)
        waiting = opened(world, req, chance)
        while not all(asked.outcomes for asked in waiting):
            for asked in waiting:
                asked.step(world.now)
            for server in servers:
                server.step()
            if chance.random() < 0.02:
                world.partition(engine, chance.choice(servers).engine, 0.3)
            world.run(STEP_S)
            for asked in waiting:
                assert asked.outcomes or world.now < asked.ends + 6 * STEP_S * (asked.made + 1)
        world.heal()
        for server in servers:
            assert all(server.seen.count(b"%d" % a.number) <= a.made for a in waiting)
        for socket in (req, *(server.rep for server in servers)):
            check_books(socket)
            socket.close()
        return {check_outcome(asked) for asked in waiting}


@pytest.mark.parametrize("seed", range(40))
def test_each_request_ends_once_whatever_becomes_of_servers_and_connections(seed: int) -> None:
    """In worlds with and without faults."""
    assert ends_of(seed) <= {"reply", "refused", "late", "gone"}


def test_all_four_ends_are_seen() -> None:
    """So the worlds are not too kind."""
    assert set().union(*map(ends_of, range(10))) == {"reply", "refused", "late", "gone"}


@pytest.mark.parametrize("seed", range(20))
def test_each_peer_of_a_survey_answered_declined_or_is_missing(seed: int) -> None:
    """One of the three, with what it said; and the books balance."""
    chance = random.Random(seed)
    faults = SimFaults(reset=0.005, split=0.2) if seed % 2 else SimFaults()
    with SimWorld(seed, faults=faults) as world:
        asker = mm.Surveyor(bind=UP, engine=world.engine())
        engines = [world.engine() for _ in range(4)]
        peers = [mm.Respondent(connect=asker.endpoint, engine=engine) for engine in engines]
        for _ in range(10):
            world.run(0.2)
            survey = asker.survey(b"q", deadline=0.5)
            if chance.random() < 0.2:
                world.partition(asker._engine, chance.choice(engines), 0.3)
            for _ in range(30):
                world.run(STEP_S)
                for number, peer in enumerate(peers):
                    speak(peer, number, chance)
            answers = list(survey)
            heard = [*survey.answered, *survey.declined, *survey.missing]
            assert sorted(heard) == list(survey.asked)
            assert [answer.peer for answer in answers] == list(survey.answered)
            assert {peer.reason for peer in survey.declined} <= {f"no {n}" for n in range(4)}
            check_books_of_asker(asker)
        for socket in (asker, *peers):
            socket.close()


def speak(peer: mm.Respondent, number: int, chance: random.Random) -> None:
    """Answer, refuse, or say nothing to what was asked."""
    try:
        request = peer.recv(timeout=0)
    except mm.WouldBlockError:
        return
    roll = chance.random()
    if roll < 0.4:
        request.reply(b"yes %d" % number)
    elif roll < 0.8:
        request.refuse(f"no {number}")


def check_books_of_asker(asker: mm.Surveyor) -> None:
    """What came: answers, refusals, and what was too late."""
    s = asker.stats()
    assert s.parsed_messages == s.received_messages + s.queued_in_messages + s.dropped_late
