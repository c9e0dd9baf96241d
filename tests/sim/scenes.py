"""What happens in a simulated world under a seed: topologies, traffic, faults, and what must hold.

Law: everything is drawn from the seed; the same seed makes the same world. Each scene first runs
under faults (safety), then healed (liveness): everybody must find each other again within a bound.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import meshmsg as mm
from meshmsg.testing import SimFaults, SimWorld

MESSAGES = 60
HEALED_WITHIN_S = 60.0
"""Virtual seconds after which everybody must be connected again: back-off is 10 s at most, a
half-open connection is noticed after 15 s."""
PATIENCE_S = 5.0
UP = "tcp://127.0.0.1:0"
RECV_SIDE = ("dropped_filtered", "dropped_malformed", "dropped_late", "dropped_conflated")


@dataclass
class Scene:
    """A world, the dice, and what the scene is about."""

    world: SimWorld
    dice: random.Random
    lossless: bool
    """No fault of this seed can lose what was written."""

    sockets: list[Any] = field(default_factory=list)

    def engine(self) -> mm.Engine:
        """Open an engine."""
        return self.world.engine()

    def own(self, socket: Any) -> Any:
        """Remember a socket, to close it at the end."""
        self.sockets.append(socket)
        return socket


def faults_of(dice: random.Random, harmless: bool) -> SimFaults:
    """Draw what goes wrong: harmless faults only delay, the others also cut connections."""
    cuts = 0.0 if harmless else dice.choice([0.0, 0.001, 0.01])
    return SimFaults(
        split=dice.choice([0.0, 0.3, 0.9]),
        short_write=dice.choice([0.0, 0.3, 0.9]),
        eagain=dice.choice([0.0, 0.2, 0.5]),
        reset=cuts,
        refuse=dice.choice([0.0, 0.3]),
        accept_emfile=dice.choice([0.0, 0.2]),
        half_open=0.0 if harmless else dice.choice([0.0, 0.05]),
    )


def open_scene(seed: int) -> Scene:
    """Make the world of a seed."""
    dice = random.Random(seed)
    lossless = dice.random() < 0.5
    latency = dice.choice([(0.0, 0.0), (0.0001, 0.001), (0.001, 0.2)])
    faults = faults_of(dice, lossless)
    return Scene(SimWorld(seed, latency=latency, faults=faults), dice, lossless)


def check_counters(socket: Any) -> None:
    """The accounting identity, on both sides of a socket."""
    stats = socket.stats()
    recv_drops = sum(getattr(stats, name) for name in RECV_SIDE)
    sent_drops = stats.dropped - recv_drops
    queued = stats.queued_out_messages + stats.queued_in_messages
    seen = stats.written_messages + stats.received_messages + queued
    seen += stats.dropped + stats.filtered_messages
    assert stats.sent_messages + stats.parsed_messages == seen
    both = stats.sent_messages > 0 and stats.parsed_messages > 0
    if not both:
        assert (
            stats.sent_messages == stats.written_messages + sent_drops + stats.queued_out_messages
        )
    assert stats.parsed_messages >= stats.received_messages + stats.queued_in_messages
    assert stats.confirmed_messages <= stats.written_messages


def receive_all(socket: Any, quiet_s: float) -> list[bytes]:
    """Everything that still comes, until nothing did for so long."""
    found: list[bytes] = []
    while True:
        try:
            found += socket.recv_many(100, timeout=quiet_s)
        except mm.TimedOutError:
            return found


def partition_now_and_then(scene: Scene, one: mm.Engine, two: mm.Engine) -> None:
    """Cut two engines off each other for a while, or let the wall clock jump."""
    roll = scene.dice.random()
    if roll < 0.05:
        scene.world.partition(one, two, scene.dice.uniform(0.01, 3.0), one_way=roll < 0.02)
    elif roll < 0.08:
        scene.world.jump_wall_clock(scene.dice.uniform(-3600, 3600))
    elif roll < 0.09 and not scene.lossless:
        scene.world.reset_all()


def heal(scene: Scene) -> None:
    """No faults from now on, and time to find each other again."""
    scene.world.heal()
    scene.world.run(HEALED_WITHIN_S)


def try_send(socket: Any, body: bytes, timeout: float) -> bool:
    """Send, or report that there was no room in time."""
    try:
        socket.send(body, timeout=timeout)
    except (mm.TimedOutError, mm.WouldBlockError):
        return False
    return True


def push_pull(scene: Scene) -> None:
    """Work is shared out: nothing twice, in order per pair, nothing lost that was not counted."""
    engines = [scene.engine() for _ in range(4)]
    pulls = [scene.own(mm.Pull(bind=UP, engine=engines[i])) for i in range(2)]
    places = [pull.endpoint for pull in pulls]
    pushes = [
        scene.own(
            mm.Push(
                connect=places,
                engine=engines[2 + i],
                send_queue_messages=scene.dice.choice([1, 5, 1000]),
            )
        )
        for i in range(2)
    ]
    got: list[list[bytes]] = [[], []]
    sent = 0
    for number in range(MESSAGES):
        for who, push in enumerate(pushes):
            sent += try_send(push, b"%d %d" % (who, number), 2.0)
        for i, pull in enumerate(pulls):
            if scene.dice.random() < 0.5:
                got[i] += receive_all(pull, 0.001)
        partition_now_and_then(scene, engines[0], engines[2])
    heal(scene)
    for push in pushes:
        assert len(push.peers()) == 2, "not everybody is connected again"
        push.drain(timeout=HEALED_WITHIN_S)
    for i, pull in enumerate(pulls):
        got[i] += receive_all(pull, PATIENCE_S)
        numbers = [tuple(map(int, body.split())) for body in got[i]]
        for who in range(2):
            mine = [number for w, number in numbers if w == who]
            if scene.lossless:
                assert mine == sorted(mine), "out of order between one pair"
    everything = Counter(got[0] + got[1])
    assert max(everything.values(), default=0) <= 1, "a message came twice"
    for socket in (*pushes, *pulls):
        check_counters(socket)
    lost = sent - len(everything)
    excused = sum(p.stats().in_doubt_messages + p.stats().dropped for p in pushes)
    assert lost <= excused, f"{lost} lost, {excused} accounted for"
    if scene.lossless:
        assert lost == 0
        assert sum(p.stats().queued_out_messages for p in pushes) == 0


def pub_sub(scene: Scene) -> None:
    """Subscribers get a gap-free or counted stream of their topic, in order, and only that."""
    engines = [scene.engine() for _ in range(3)]
    pub = scene.own(
        mm.Pub(
            bind=UP,
            engine=engines[0],
            overflow=scene.dice.choice(["drop_newest", "drop_oldest", "block"]),
            send_queue_messages=scene.dice.choice([2, 1000]),
        )
    )
    subs = [
        scene.own(mm.Sub(connect=pub.endpoint, topics=[f"t{i}."], engine=engines[1 + i]))
        for i in range(2)
    ]
    scene.world.run(1.0)
    got: list[list[int]] = [[], []]
    for number in range(MESSAGES):
        for i in range(2):
            try:
                pub.send(b"%d" % number, topic=f"t{i}.x", timeout=2.0)
            except mm.TimedOutError:
                continue
        for i, sub in enumerate(subs):
            if scene.dice.random() < 0.5:
                got[i] += map(int, receive_all(sub, 0.001))
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    for i, sub in enumerate(subs):
        assert pub.subscribers(f"t{i}.y") == 1, "a subscription did not come back"
        got[i] += map(int, receive_all(sub, PATIENCE_S))
        assert len(set(got[i])) == len(got[i]), "a message came twice"
        assert got[i] == sorted(got[i]), "out of order"
        pub.send(b"-1", topic=f"t{i}.last")
        assert sub.recv(timeout=PATIENCE_S) == b"-1"
        check_counters(sub)


def req_rep(scene: Scene) -> None:
    """Every request gets its own reply or an error, and the socket never gets stuck."""
    engines = [scene.engine() for _ in range(2)]
    rep = scene.own(mm.Rep(bind=UP, engine=engines[0]))
    req = scene.own(mm.Req(connect=rep.endpoint, engine=engines[1]))
    answered = 0
    for number in range(MESSAGES // 2):
        body = b"%d" % number
        ids = ask(req, body)
        if ids is not None:
            serve(rep)
            answered += take_reply(req, ids, body)
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    receive_and_answer(rep)
    ids = ask(req, b"last")
    assert ids is not None, "no peer after everything was healed"
    serve(rep)
    assert take_reply(req, ids, b"last") == 1
    if scene.lossless:
        assert answered > 0
    check_counters(rep)
    check_counters(req)


def ask(req: Any, body: bytes) -> int | None:
    """Send a request; return its id, or None when there was no room in time."""
    from meshmsg._binding.core import ffi, lib

    number = ffi.new("uint64_t *")
    sizes = ffi.new("uint64_t[]", [len(body)])
    rc = lib.mm_request_packed(req._handle, body, sizes, 1, ffi.NULL, 0, 2000, 0, number)
    return int(number[0]) if rc == 0 else None


def serve(rep: Any) -> None:
    """Answer what comes within a moment."""
    try:
        request = rep.recv(timeout=1.0)
    except mm.TimedOutError:
        return
    request.reply(request + b"!")
    receive_and_answer(rep)


def receive_and_answer(rep: Any) -> None:
    """Answer all that is there."""
    while True:
        try:
            request = rep.recv(timeout=0)
        except mm.WouldBlockError:
            return
        request.reply(request + b"!")


def take_reply(req: Any, number: int, body: bytes) -> int:
    """1: the reply came, and it is this request's; 0: an error did."""
    from meshmsg._binding.core import borrow, give_back, lib

    slot = borrow()
    try:
        rc = lib.mm_recv_reply(req._handle, number, slot.batch, 2000, 0)
        if rc < 0:
            assert rc in (lib.MM_ETIMEDOUT, lib.MM_ECONNRESET)
            lib.mm_request_cancel(req._handle, number)
            return 0
        assert req._unpack_one(slot) == body + b"!"
        return 1
    finally:
        give_back(slot)


def dealer_router(scene: Scene) -> None:
    """Named peers are found again under their name, and nobody gets another's message."""
    engines = [scene.engine() for _ in range(3)]
    router = scene.own(mm.Router(bind=UP, engine=engines[0], handover=True))
    names = [b"one", b"two"]
    dealers = [
        scene.own(mm.Dealer(connect=router.endpoint, identity=name, engine=engines[1 + i]))
        for i, name in enumerate(names)
    ]
    for number in range(MESSAGES // 2):
        for name, dealer in zip(names, dealers, strict=True):
            try_send(dealer, b"%s %d" % (name, number), 1.0)
        answer_by_name(router, 0.01)
        for name, dealer in zip(names, dealers, strict=True):
            assert all(body.startswith(name) for body in receive_all(dealer, 0.001))
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    answer_by_name(router, PATIENCE_S)
    for name, dealer in zip(names, dealers, strict=True):
        receive_all(dealer, PATIENCE_S)
        dealer.send(name + b" last", timeout=PATIENCE_S)
        answer_by_name(router, PATIENCE_S)
        assert dealer.recv(timeout=PATIENCE_S) == name + b" last"
        check_counters(dealer)
    check_counters(router)


def answer_by_name(router: Any, quiet_s: float) -> None:
    """Send everything that comes back to whom it came from."""
    while True:
        try:
            message = router.recv(timeout=quiet_s)
        except mm.TimedOutError:
            return
        try:
            router.send(bytes(message), to=message.peer)
        except (mm.PeerError, mm.WouldBlockError):
            continue


def pair(scene: Scene, wire: str = "") -> None:
    """Two that only know each other: in order both ways, nothing twice."""
    engines = [scene.engine() for _ in range(2)]
    a = scene.own(mm.Pair(bind=UP, engine=engines[0]))
    b = scene.own(mm.Pair(connect=wire + a.endpoint, engine=engines[1]))
    heard: dict[str, list[int]] = {"a": [], "b": []}
    sent = {"a": 0, "b": 0}
    for number in range(MESSAGES):
        for name, socket in (("a", a), ("b", b)):
            sent[name] += try_send(socket, b"%d" % number, 1.0)
            heard[name] += map(int, receive_all(socket, 0.001))
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    for name, socket in (("a", a), ("b", b)):
        heard[name] += map(int, receive_all(socket, PATIENCE_S))
        assert heard[name] == sorted(set(heard[name])), "twice, or out of order"
    if scene.lossless:
        assert (len(heard["a"]), len(heard["b"])) == (sent["b"], sent["a"])


def survey(scene: Scene) -> None:
    """Every answer belongs to its survey, each peer gives one, and each survey ends in its time."""
    engines = [scene.engine() for _ in range(4)]
    asker = scene.own(mm.Surveyor(bind=UP, engine=engines[0]))
    peers = [scene.own(mm.Respondent(connect=asker.endpoint, engine=e)) for e in engines[1:]]
    open_surveys: list[tuple[bytes, float, mm.Survey]] = []
    for number in range(MESSAGES // 2):
        body, deadline = b"%d" % number, scene.dice.choice([0.01, 0.3, 3.0])
        until = scene.world.now + deadline
        open_surveys.append((body, until, asker.survey(body, deadline=deadline)))
        for who, peer in enumerate(peers):
            if scene.dice.random() < 0.8:
                answer_surveys(peer, who, scene.dice.choice([0.001, 0.2]))
        while len(open_surveys) > scene.dice.choice([0, 1, 5]):
            finish(scene, *open_surveys.pop(scene.dice.randrange(len(open_surveys))))
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    for left in open_surveys:
        finish(scene, *left)
    for who, peer in enumerate(peers):
        answer_surveys(peer, who, PATIENCE_S)
    last = asker.survey(b"last", deadline=PATIENCE_S)
    assert len(last.asked) == len(peers), "not everybody is connected again"
    for who, peer in enumerate(peers):
        answer_surveys(peer, who, 0.5)
    began = scene.world.now
    assert len(list(last)) == len(peers)
    assert scene.world.now - began < PATIENCE_S, "it waited though everybody had answered"
    stats = asker.stats()
    assert stats.parsed_messages == stats.received_messages + stats.dropped_late
    assert stats.dropped_malformed == 0
    for peer in peers:
        check_counters(peer)


def answer_surveys(peer: Any, who: int, quiet_s: float) -> None:
    """Answer all that comes, until nothing did for so long."""
    while True:
        try:
            request = peer.recv(timeout=quiet_s)
        except mm.TimedOutError:
            return
        request.reply(b"%s %d" % (request, who))


def finish(scene: Scene, body: bytes, until: float, asked: mm.Survey) -> None:
    """Read a survey to its end; or leave it half read, which ends it, too."""
    found: list[list[bytes]] = []
    until = max(until, scene.world.now) + 0.001
    for answer in asked:
        found.append(answer.split())
        if scene.dice.random() < 0.1:
            asked.close()
    assert scene.world.now <= until, "it waited beyond its deadline"
    assert all(words[0] == body for words in found), "an answer to another survey"
    assert len({words[1] for words in found}) == len(found), "a peer answered twice"
    assert set(asked.answered) <= set(asked.asked)
    assert len(asked.answered) == len(found)


def bus(scene: Scene) -> None:
    """Everybody hears everybody else, in order, nothing twice, and nobody hears himself."""
    engines = [scene.engine() for _ in range(3)]
    overflow = scene.dice.choice(["drop_newest", "drop_oldest", "block"])
    buses: list[Any] = []
    for engine in engines:
        options: Any = {
            "overflow": overflow,
            "send_queue_messages": scene.dice.choice([2, 1000]),
            "connect": [other.endpoint for other in buses],
        }
        buses.append(scene.own(mm.Bus(bind=UP, engine=engine, **options)))
    heard: list[list[bytes]] = [[], [], []]
    scene.world.run(1.0)
    for number in range(MESSAGES // 2):
        for who, one in enumerate(buses):
            try_send(one, b"%d %d" % (who, number), 1.0)
            if scene.dice.random() < 0.5:
                heard[who] += receive_all(one, 0.001)
        partition_now_and_then(scene, engines[0], engines[2])
    heal(scene)
    for who, one in enumerate(buses):
        heard[who] += receive_all(one, PATIENCE_S)
    for who, one in enumerate(buses):
        assert len(one.peers()) == 2, "not everybody is connected again"
        one.send(b"%d %d" % (who, MESSAGES), timeout=PATIENCE_S)
    for who, one in enumerate(buses):
        heard[who] += receive_all(one, PATIENCE_S)
        for other in range(len(buses)):
            mine = [int(body.split()[1]) for body in heard[who] if body.startswith(b"%d " % other)]
            assert mine == sorted(set(mine)), "twice, or out of order"
            assert (mine[-1:] == [MESSAGES]) == (other != who), "the last one is missing, or back"
        stats = one.stats()
        assert stats.parsed_messages >= stats.received_messages + stats.queued_in_messages


SCENES = [push_pull, pub_sub, req_rep, dealer_router, pair, survey, bus]


def play(seed: int, scenes: Sequence[Callable[[Scene], None]] = SCENES, wire: str = "") -> int:
    """Play the scene of a seed; return the hash of all that happened."""
    scene = open_scene(seed)
    plot = scenes[seed % len(scenes)]
    with scene.world as world:
        try:
            plot(scene)
            for engine in list(world._engines):
                engine.close()
            assert world.open_streams == 0, "streams are left open"
        except BaseException as error:
            trace = "\n".join(world.trace(60))
            error.args = (f"seed={seed} {wire}{plot.__name__}: {error}\n{trace}",)
            raise
        finally:
            for socket in scene.sockets:
                socket.close()
        return world.trace_hash
