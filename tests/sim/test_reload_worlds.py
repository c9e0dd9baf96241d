"""Policies of TLS that change while a simulated world goes on, around the handshake, behind it, and
under faults: who would not be taken by what is new is out, who is taken stays, and nothing is lost
that was not counted.

Not here: keys removed from a list of CURVE (test_protected_worlds.py), who looks at files outside
of a world (tests/unit/test_rotation.py).
Law: nobody looks at files in a world: the test does, at its virtual time.
"""

from __future__ import annotations

import base64
import os
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._security.policy import Policy
from meshmsg.testing import SimWorld
from tests.sim.protected_scenes import (
    ALWAYS,
    CHUNK,
    MARK,
    MESSAGES,
    SEEDS,
    UP_TLS,
    even,
    marked,
    numbers,
    pem,
    work,
)
from tests.sim.scenes import PATIENCE_S, Scene, check_counters, receive_all, try_send
from tests.support.certificates import Entity, revoked
from tests.support.worlds import found, seek

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
STEP_S = 0.001
SHAKEN = 14
"""Steps after which both are connected."""
OUT_WITHIN_S = 1.0
FEWER = 5
"""Of the seeds, one: each new policy is a new context of OpenSSL, which takes its time."""
Change = Callable[[], None]


def pin(entity: Entity) -> str:
    """The hash of its key, as lists have it."""
    return f"sha256//{base64.b64encode(bytes.fromhex(entity.pin())).decode()}"


def put(path: Path, *parts: bytes) -> Path:
    """Change a file as docs/security.md says: whole."""
    beside = path.with_suffix(".new")
    beside.touch(0o600)
    beside.write_bytes(b"".join(parts))
    beside.replace(path)
    return path


def look(policy: Policy) -> None:
    """Have its files read again, all of which are right."""
    for files in policy._followed():
        assert files.look() == ""


@dataclass
class Case:
    """Who binds, who stays and who goes; and what is done so that it does."""

    serves: Policy
    stays: Policy
    goes: Policy
    change: Change


def pinned(folder: Path, *, signed: bool) -> Case:
    """A pin is removed from a list, by which certificates are known, or only asked about."""
    ca = even("ca")
    server, stays, goes = even("s", ca, "127.0.0.1"), even("stays", ca), even("goes", ca)
    allow = mm.AllowList([pin(one) for one in (stays, goes)])
    serves = mm.Tls(**pem(server), ca=ca.pem() if signed else None, allow=allow)
    clients = [mm.Tls(**pem(one), ca=ca.pem()) for one in (stays, goes)]
    return Case(serves, *clients, lambda: allow.remove(pin(goes)))


def other_ca(folder: Path) -> Case:
    """Who signed one of them is believed no more."""
    new, old = even("new"), even("old")
    server, stays, goes = even("s", new, "127.0.0.1"), even("stays", new), even("goes", old)
    file = put(folder / "ca", new.pem(), old.pem())
    serves = mm.Tls(**pem(server), ca=file)

    def change() -> None:
        put(file, new.pem())
        look(serves)

    return Case(serves, *(mm.Tls(**pem(one), ca=new.pem()) for one in (stays, goes)), change)


def taken_back(folder: Path) -> Case:
    """Who signed takes back what it signed."""
    ca = even("ca")
    server, stays, goes = even("s", ca, "127.0.0.1"), even("stays", ca), even("goes", ca)
    file = put(folder / "crl", revoked(ca, days=ALWAYS))
    serves = mm.Tls(**pem(server), ca=ca.pem(), crl=file)

    def change() -> None:
        put(file, revoked(ca, goes, days=ALWAYS))
        look(serves)

    return Case(serves, *(mm.Tls(**pem(one), ca=ca.pem()) for one in (stays, goes)), change)


def other_server(folder: Path) -> Case:
    """One of them believes the server no more."""
    ca, other = even("ca"), even("other")
    server, stays, goes = even("s", ca, "127.0.0.1"), even("stays", ca), even("goes", ca)
    file = put(folder / "ca", ca.pem())
    clients = mm.Tls(**pem(stays), ca=ca.pem()), mm.Tls(**pem(goes), ca=file)

    def change() -> None:
        put(file, other.pem())
        look(clients[1])

    return Case(mm.Tls(**pem(server), ca=ca.pem()), *clients, change)


def other_secret(folder: Path) -> Case:
    """The old one of two secrets is taken away."""
    new, old = secret(), secret()
    file = put(folder / "both", new, old)
    serves = mm.Secret(file)
    stays, goes = (
        mm.Secret(put(folder / name, line)) for name, line in (("stays", new), ("goes", old))
    )

    def change() -> None:
        put(file, new)
        look(serves)

    return Case(serves, stays, goes, change)


def secret() -> bytes:
    """A line of a file of secrets."""
    return base64.b64encode(os.urandom(32)) + b"\n"


CASES: dict[str, Callable[[Path], Case]] = {
    "pin": lambda folder: pinned(folder, signed=False),
    "list": lambda folder: pinned(folder, signed=True),
    "ca": other_ca,
    "crl": taken_back,
    "server": other_server,
    "secret": other_secret,
}


class Stage:
    """One that pulls, and two that push; the second one is to go."""

    def __init__(self, world: SimWorld, case: Case) -> None:
        seek(world, MARK)
        self.world = world
        self.pull = mm.Pull(bind=UP_TLS, engine=world.engine(), security=case.serves)
        self.pushes = [
            mm.Push(connect=self.pull.endpoint, engine=world.engine(), security=policy)
            for policy in (case.stays, case.goes)
        ]
        self.sent = [0, 0]
        self.got = list[int]()

    def step(self) -> None:
        """Each sends one if there is room, and the world goes on a little."""
        for who, push in enumerate(self.pushes):
            self.sent[who] += try_send(push, marked(2 * self.sent[who] + who), 0)
        self.world.run(STEP_S)
        with suppress(mm.WouldBlockError):
            self.got += numbers(self.pull.recv_many(1000, timeout=0))

    def ends(self, *, were_peers: bool) -> None:
        """What must hold of each."""
        stays, goes = self.pushes
        self.got += numbers(receive_all(self.pull, OUT_WITHIN_S))
        assert [len(push.peers()) for push in self.pushes] == [1, 0]
        assert len(self.pull.peers()) == 1
        self.got += numbers(receive_all(self.pull, PATIENCE_S))
        came = [[number // 2 for number in self.got if number % 2 == who] for who in range(2)]
        assert came[0] == list(range(self.sent[0])), "who stays has lost some"
        assert stays.stats().disconnects == 0
        assert came[1] == sorted(set(came[1])), "twice, or out of order"
        stats = goes.stats()
        excused = stats.in_doubt_messages + stats.dropped + stats.queued_out_messages
        assert self.sent[1] - len(came[1]) <= excused, "lost, and not counted"
        told = {**self.pull.stats().closed, **stats.closed}
        if were_peers:
            assert mm.Reason.REVOKED in told
        else:
            assert stats.handshakes_failed > 0
        for socket in (*self.pushes, self.pull):
            check_counters(socket)
            socket.close()
        assert found(self.world) == 0, "a body is plain to read"


@pytest.mark.parametrize("kind", CASES)
def test_who_is_not_taken_any_more_is_out_whenever_that_is(kind: str, tmp_path: Path) -> None:
    """At each step of the handshake and behind it: one is out, the other one has lost nothing."""
    were_peers = set[bool]()
    for at in (*range(SHAKEN), 10 * SHAKEN):
        case = CASES[kind](tmp_path)
        with SimWorld(at, latency=(STEP_S, STEP_S)) as world:
            stage = Stage(world, case)
            for step in range(at + SHAKEN):
                if step == at:
                    before = len(stage.pushes[1].peers()) == 1 == len(stage.pull.peers()) - 1
                    case.change()
                stage.step()
            were_peers.add(before)
            stage.ends(were_peers=before)
    assert were_peers == {False, True}


@dataclass
class Turn:
    """Files of both sides, which take something new in place of something old, step by step."""

    policies: tuple[Policy, Policy]
    steps: Sequence[Sequence[Change]]
    """Of each side."""

    def order(self, dice: random.Random | None) -> list[Change]:
        """As docs/security.md says, both sides together; or, with dice, each without a look at the
        other one, so that they may be strangers in between."""
        left = [list(steps) for steps in self.steps]
        sides = [0, 1] * len(left[0])
        if dice is not None:
            dice.shuffle(sides)
        return [left[side].pop(0) for side in sides]


def turn_of_secrets(folder: Path) -> Turn:
    """What is new is behind, then in front, then alone."""
    old, new = secret(), secret()
    files = [put(folder / side, old) for side in ("serves", "asks")]
    policies = mm.Secret(files[0]), mm.Secret(files[1])

    def step(side: int, *lines: bytes) -> Change:
        def change() -> None:
            put(files[side], *lines)
            look(policies[side])

        return change

    contents = ((old, new), (new, old), (new,))
    return Turn(policies, [[step(side, *lines) for lines in contents] for side in range(2)])


def turn_of_cas(folder: Path) -> Turn:
    """Who signs is another one: both are believed, then what it signed is shown, then it alone is
    believed."""
    old, new = even("old"), even("new")
    names = ("127.0.0.1",)
    shown = {by.name: [even("s", by, *names), even("c", by)] for by in (old, new)}
    policies: list[Policy] = []

    def write(side: int, what: dict[str, bytes]) -> dict[str, Path]:
        return {part: put(folder / f"{part}{side}", octets) for part, octets in what.items()}

    def step(side: int, what: dict[str, bytes]) -> Change:
        def change() -> None:
            write(side, what)
            look(policies[side])

        return change

    for side in range(2):
        policies.append(mm.Tls(**write(side, {**pem(shown["old"][side]), "ca": old.pem()})))
    both, alone = {"ca": old.pem() + new.pem()}, {"ca": new.pem()}
    pairs = [pem(one) for one in shown["new"]]
    contents = [(both, both), pairs, (alone, alone)]
    steps = [[step(side, what[side]) for what in contents] for side in range(2)]
    return Turn((policies[0], policies[1]), steps)


TURNS: dict[str, Callable[[Path], Turn]] = {"secrets": turn_of_secrets, "cas": turn_of_cas}


@pytest.mark.parametrize("first", range(0, SEEDS // FEWER, CHUNK))
@pytest.mark.parametrize("kind", TURNS)
def test_what_changes_under_faults_is_changed_for_all(
    kind: str, first: int, tmp_path: Path
) -> None:
    """Under each seed, step by step or, for odd ones, each side by itself: in the end both meet by
    what is new; nothing comes twice, and what was lost is counted."""
    for seed in range(first, min(first + CHUNK, SEEDS // FEWER)):
        dice = random.Random(seed)
        turn = TURNS[kind](tmp_path)
        steps = turn.order(dice if seed % 2 else None)
        at = dict(zip(sorted(dice.sample(range(MESSAGES), len(steps))), steps, strict=True))

        def change(_: Scene, number: int, at: dict[int, Change] = at) -> None:
            at.get(number, lambda: None)()

        work(seed, turn.policies, mechanism="TLS", up=UP_TLS, meanwhile=change)
