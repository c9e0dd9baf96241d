"""Scenes with links of SP, and with links of both wires at one socket.

Not here: the tools of a scene, and what is ZMTP's alone (scenes.py). Law: as there; SP has no
heartbeats, so what was written when a connection ended is not counted as in doubt.
"""

from __future__ import annotations

from collections import Counter

import meshmsg as mm
from tests.sim.scenes import (
    HEALED_WITHIN_S,
    MESSAGES,
    PATIENCE_S,
    UP,
    Scene,
    ask,
    check_counters,
    heal,
    partition_now_and_then,
    play,
    receive_all,
    receive_and_answer,
    serve,
    take_reply,
    try_send,
)
from tests.sim.scenes import pair as pair_over


def push_pull(scene: Scene) -> None:
    """Two Pushes over SP and one over ZMTP into one Pull; one of them also sends frames."""
    engines = [scene.engine() for _ in range(4)]
    pull = scene.own(mm.Pull(bind=UP, engine=engines[0]))
    queue = scene.dice.choice([1, 5, 1000])
    pushes = [
        scene.own(
            mm.Push(connect=wire + pull.endpoint, engine=engines[1 + i], send_queue_messages=queue)
        )
        for i, wire in enumerate(("sp+", "", "sp+"))
    ]
    got: list[bytes] = []
    sent = [0, 0, 0]
    for number in range(MESSAGES):
        size = scene.dice.choice([0, 10, 20_000, 300_000])
        for who, push in enumerate(pushes):
            sent[who] += try_send(push, b"%d %d " % (who, number) + b"x" * size, 2.0)
        if scene.dice.random() < 0.5:
            got += receive_all(pull, 0.001)
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    for push in pushes:
        assert len(push.peers()) == 1, "not everybody is connected again"
        push.drain(timeout=HEALED_WITHIN_S)
    got += receive_all(pull, PATIENCE_S)
    heard = [(int(body.split()[0]), int(body.split()[1])) for body in got]
    assert max(Counter(heard).values(), default=0) <= 1, "a message came twice"
    for who, push in enumerate(pushes):
        mine = [number for w, number in heard if w == who]
        assert mine == sorted(mine), "out of order"
        check_counters(push)
        if scene.lossless:
            assert len(mine) == sent[who]
            assert push.stats().dropped == 0
    check_counters(pull)


def pushed_either_way(scene: Scene) -> None:
    """One Push to a Pull of each wire: what waits for the one that is cut goes to the other."""
    engines = [scene.engine() for _ in range(3)]
    pulls = [scene.own(mm.Pull(bind=UP, engine=engines[1 + i])) for i in range(2)]
    places = [pulls[0].endpoint, "sp+" + pulls[1].endpoint]
    push = scene.own(mm.Push(connect=places, engine=engines[0]))
    got: list[bytes] = []
    sent = framed = 0
    for number in range(MESSAGES):
        sent += try_send(push, b"%d" % number, 2.0)
        if scene.dice.random() < 0.2 and len(push.peers()) == 2:
            try:
                push.send_frames([b"frames", b"%d" % number], timeout=2.0)
                framed += 1
            except (mm.TimedOutError, mm.UsageError):
                pass
        for pull in pulls:
            if scene.dice.random() < 0.3:
                got += receive_all(pull, 0.001)
        partition_now_and_then(scene, engines[0], engines[1 + number % 2])
        if scene.dice.random() < 0.05 and not scene.lossless:
            scene.world.reset_all()
    heal(scene)
    assert {peer.wire for peer in push.peers()} == {"zmtp", "sp"}
    push.drain(timeout=HEALED_WITHIN_S)
    for pull in pulls:
        got += receive_all(pull, PATIENCE_S)
        check_counters(pull)
    plain = Counter(got)
    assert max(plain.values(), default=0) <= (1 if framed == 0 else 2), "a message came twice"
    check_counters(push)
    if scene.lossless:
        assert len(got) == sent + framed
        assert push.stats().dropped == 0


def pub_sub(scene: Scene) -> None:
    """Over SP everything travels, and each gives out its own; over ZMTP beside it, as ever."""
    engines = [scene.engine() for _ in range(3)]
    policy = scene.dice.choice(["drop_newest", "drop_oldest", "block"])
    pub = scene.own(mm.Pub(bind=UP, engine=engines[0], overflow=policy))
    subs = [
        scene.own(mm.Sub(connect=wire + pub.endpoint, topics=[f"t{i}."], engine=engines[1 + i]))
        for i, wire in enumerate(("sp+", ""))
    ]
    scene.world.run(1.0)
    got: list[list[int]] = [[], []]

    def take(i: int, quiet_s: float) -> None:
        for body in receive_all(subs[i], quiet_s):
            got[i].append(int(body.removeprefix(b"t0.")))

    for number in range(MESSAGES):
        for i in range(2):
            try:
                pub.send(b"%d" % number, topic=f"t{i}.", timeout=2.0)
            except mm.TimedOutError:
                continue
        for i in range(2):
            if scene.dice.random() < 0.5:
                take(i, 0.001)
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    for i, sub in enumerate(subs):
        assert pub.subscribers(f"t{i}.") == 1 + i, "a subscription did not come back"
        take(i, PATIENCE_S)
        assert got[i] == sorted(set(got[i])), "twice, or out of order"
        pub.send(b"-1", topic=f"t{i}.")
        assert sub.recv(timeout=PATIENCE_S) == (b"t0.-1" if i == 0 else b"-1")
        stats = sub.stats()
        filtered = stats.filtered_messages + stats.dropped
        assert stats.parsed_messages <= stats.received_messages + filtered


def req_rep(scene: Scene) -> None:
    """A Req over SP and one over ZMTP at one Rep: to each its own reply, or an error."""
    engines = [scene.engine() for _ in range(3)]
    rep = scene.own(mm.Rep(bind=UP, engine=engines[0]))
    reqs = [
        scene.own(mm.Req(connect=wire + rep.endpoint, engine=engines[1 + i]))
        for i, wire in enumerate(("sp+", ""))
    ]
    answered = 0
    for number in range(MESSAGES // 2):
        for who, req in enumerate(reqs):
            body = b"%d %d" % (who, number)
            asked = ask(req, body)
            if asked is not None:
                assert asked >> 31 == 1
                serve(rep)
                answered += take_reply(req, asked, body)
        partition_now_and_then(scene, engines[0], engines[1])
    heal(scene)
    receive_and_answer(rep)
    for req in reqs:
        asked = ask(req, b"last")
        assert asked is not None, "no peer after everything was healed"
        serve(rep)
        assert take_reply(req, asked, b"last") == 1
    if scene.lossless:
        assert answered > 0
    check_counters(rep)


def pair(scene: Scene) -> None:
    """Two that only know each other, over PAIR v1: in order both ways, nothing twice."""
    pair_over(scene, "sp+")


SP_SCENES = [push_pull, pushed_either_way, pub_sub, req_rep, pair]


def play_sp(seed: int) -> int:
    """Play the scene of a seed; return the hash of all that happened."""
    return play(seed, SP_SCENES, "SP ")
