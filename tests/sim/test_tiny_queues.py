"""Queues smaller than a message, and peers that come and go at every moment: nobody gets stuck.

Law: everything is drawn from the seed. In the end one worker stays and takes all there is, so
whatever was sent must be taken, or counted as dropped, or in doubt; and the socket sends on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest

import meshmsg as mm
from tests.sim.scenes import (
    PATIENCE_S,
    UP,
    Scene,
    ask,
    check_counters,
    play,
    take_reply,
    try_send,
)
from tests.support.room import room

SEEDS = int(os.environ.get("MESHMSG_SIM_SEEDS", "250"))
CHUNK = 25
ROUNDS = 12
SIZES = [0, 1, 100, 255, 256, 5_000, 20_000, 32_704, 40_000]
PATIENCE_FOR_ALL_S = 300.0
ROLES: list[tuple[Any, Any]] = [(mm.Push, mm.Pull), (mm.Dealer, mm.Dealer), (mm.Pair, mm.Pair)]


def tiny(scene: Scene, way: str) -> dict[str, int]:
    """Draw the limits of a queue, from less than one message to plenty."""
    return {
        f"{way}_queue_messages": scene.dice.choice([1, 2, 7, 1000]),
        f"{way}_queue_bytes": scene.dice.choice([1, 65, 400, 16_384, 1 << 24]),
    }


class Coming:
    """A sender, and the workers that it has at this moment."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.dice = scene, scene.dice
        self.sends, self.takes = scene.dice.choice(ROLES)
        self.engines = [scene.engine() for _ in range(3)]
        self.sizes = scene.dice.choice([SIZES[:5], SIZES[3:8], SIZES])
        self.workers: list[Any] = []
        self.got: list[int] = []
        self.sent = 0
        options: dict[str, Any] = tiny(scene, "send")
        options["overflow"] = scene.dice.choice(["block", "drop_newest", "drop_oldest"])
        self.sender = scene.own(self.sends(bind=UP, engine=self.engines[0], **options))

    def come(self) -> Any:
        """One more worker, over either wire."""
        wire = "sp+" if self.sends is not mm.Dealer and self.dice.random() < 0.3 else ""
        worker = self.takes(
            connect=wire + self.sender.endpoint,
            engine=self.dice.choice(self.engines[1:]),
            **tiny(self.scene, "recv"),
        )
        self.workers.append(self.scene.own(worker))
        if self.dice.random() < 0.7:
            with suppress(mm.TimedOutError):
                worker.wait_for_peers(timeout=1.0)
        return worker

    def send(self) -> None:
        """Some messages, each with its number in front."""
        for _ in range(self.dice.randrange(1, 12)):
            body = b"%d " % self.sent + bytes(self.dice.choice(self.sizes))
            self.sent += try_send(self.sender, body, 0.05)

    def take(self, worker: Any, count: int, timeout: float) -> bool:
        """Take that many at most; false: nothing came."""
        try:
            bodies = worker.recv_many(count, timeout=timeout)
        except mm.TimedOutError:
            return False
        self.got += [int(body.split(b" ", 1)[0]) for body in bodies]
        return True

    def go(self, worker: Any) -> None:
        """Leave at once, or after a part of what there is."""
        if self.dice.random() < 0.5:
            self.take(worker, self.dice.randrange(1, 4), 0.01)
        self.workers.remove(worker)
        worker.close()


def tiny_queues(scene: Scene) -> None:
    """Workers come and go while one sends; the last of them takes what is left."""
    day = Coming(scene)
    for _ in range(ROUNDS):
        if len(day.workers) < 3 and scene.dice.random() < 0.6:
            day.come()
        day.send()
        for worker in list(day.workers):
            if scene.dice.random() < 0.4:
                day.go(worker)
            elif scene.dice.random() < 0.5:
                day.take(worker, 5, 0.001)
    for worker in list(day.workers):
        day.go(worker)
    scene.world.heal()
    last = day.come()
    day.sender.wait_for_peers(timeout=PATIENCE_FOR_ALL_S)
    while day.take(last, 100, PATIENCE_S):
        pass
    stats = day.sender.stats()
    assert stats.queued_out_messages == 0, f"{stats.queued_out_messages} stay where they are"
    before = len(day.got)
    assert try_send(day.sender, b"%d " % day.sent + bytes(20_000), PATIENCE_S), "stuck"
    day.sent += 1
    assert day.take(last, 1, PATIENCE_S)
    assert len(day.got) == before + 1
    assert len(set(day.got)) == len(day.got), "a message came twice"
    check_counters(day.sender)


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_socket_is_stuck_by_what_lost_peers_give_back(first: int) -> None:
    """Limits below one message, all roles that share out, both wires, ends at any moment."""
    for seed in range(first, min(first + CHUNK, SEEDS)):
        play(seed, [tiny_queues])


BELOW: dict[str, Any] = {
    "send_queue_bytes": 1,
    "recv_queue_bytes": 1,
    "send_queue_messages": 1,
    "recv_queue_messages": 1,
}
MANY = 12
TALKS: list[tuple[str, str]] = [
    *[("Push", "Pull"), ("Dealer", "Router"), ("Router", "Dealer"), ("Pair", "Pair")],
    *[("Pub", "Sub"), ("XPub", "XSub"), ("Bus", "Bus"), ("Dealer", "Dealer")],
]


@pytest.mark.parametrize("size", [0, 300, 20_000, 50_000, 300_000])
@pytest.mark.parametrize("roles", TALKS, ids=lambda roles: "-".join(roles))
def test_every_role_gets_through_queues_below_one_message(
    roles: tuple[str, str], size: int
) -> None:
    """An empty queue takes any one message, each way, whatever its kind; nothing is lost."""
    with room(buffer_size=4096) as r:
        options = {"overflow": "block"} if roles[0] in ("Pub", "XPub", "Bus", "Router") else {}
        named = {"identity": b"d"} if roles[1] == "Dealer" else {}
        to: dict[str, Any] = {"to": b"d"} if roles[0] == "Router" else {}
        sender = r.open(roles[0], engine=r.hub, bind=UP, **BELOW, **options)
        taker = r.open(roles[1], connect=sender.endpoint, **BELOW, **named)
        if roles[1] in ("Sub", "XSub"):
            taker.subscribe("")
        sender.wait_for_peers(timeout=PATIENCE_S)
        r.world.run(1.0)
        got: list[bytes] = []
        for number in range(MANY):
            body = b"%d " % number + bytes(size)
            while not try_to(sender, body, to):
                got.append(bytes(taker.recv(timeout=PATIENCE_S)))
        while len(got) < MANY:
            got.append(bytes(taker.recv(timeout=PATIENCE_S)))
        assert [int(body.split(b" ", 1)[0]) for body in got] == list(range(MANY))
        check_counters(sender)


def try_to(socket: Any, body: bytes, to: dict[str, Any]) -> bool:
    """Send, or say that there was no room in time."""
    try:
        socket.send(body, timeout=1.0, **to)
    except mm.TimedOutError:
        return False
    return True


@pytest.mark.parametrize("size", [0, 300, 20_000, 50_000])
def test_questions_and_answers_get_through_queues_below_one_message(size: int) -> None:
    """Requests and surveys, and what is replied to them."""
    with room(buffer_size=4096) as r:
        rep = r.open("Rep", engine=r.hub, bind=UP, **BELOW)
        req = r.open("Req", connect=rep.endpoint, **BELOW)
        asker = r.open("Surveyor", engine=r.hub, bind=UP, overflow="block", **BELOW)
        asked = r.open("Respondent", connect=asker.endpoint, **BELOW)
        req.wait_for_peers(timeout=PATIENCE_S)
        asked.wait_for_peers(timeout=PATIENCE_S)
        for number in range(MANY):
            body = b"%d" % number + bytes(size)
            numbered = ask(req, body)
            assert numbered is not None
            request = rep.recv(timeout=PATIENCE_S)
            assert request == body
            assert request.reply(request + b"!")
            assert take_reply(req, numbered, body) == 1
            survey = asker.survey(body, deadline=PATIENCE_S)
            question = asked.recv(timeout=PATIENCE_S)
            assert question.reply(question)
            assert list(survey) == [body]
