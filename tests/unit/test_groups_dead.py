"""Dead letters of groups: `Pub(spool=, max_attempts=, dead_letter=)`.

Not here: dead letters of a Push (test_dead_letters.py, test_dead_spools.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World, nothing, told
from tests.support.grouped import bodies, info, joined, member, sent, shared, until
from tests.support.pairs import WAIT_S, told_all, wait_until
from tests.support.replayed import publishing

PATIENT: dict[str, Any] = {"ack": "manual", "prefetch": 1}


def failing(sub: Any, bad: bytes, count: int) -> list[bytes]:
    """Take so many others, and give back the bad one as often as it comes; what was done."""
    done: list[bytes] = []
    while len(done) < count:
        message = sub.recv(timeout=WAIT_S)
        if bytes(message) == bad:
            assert message.nack() is True
        else:
            done.append(bytes(message))
            assert message.ack() is True
    return done


def letters(pub: Any, count: int) -> list[Any]:
    """Take so many of those that are kept."""
    got: list[Any] = []
    wait_until(lambda: got.extend(pub.dead_letters()) or len(got) >= count)
    return got


def test_what_every_member_gives_back_is_a_dead_letter(world: World, tmp_path: Path) -> None:
    """After that many attempts, with all that is known of it; the group goes on behind it."""
    kept: dict[str, Any] = {"pub_dead_letter": "keep", "pub_max_attempts": 3}
    with (
        publishing(world, tmp_path / "s", **kept) as (_, pub),
        member(world, pub, **PATIENT) as sub,
    ):
        joined(pub, 1)
        pub.send(b"bad", topic="t", key=b"k", headers={"own": "1"})
        put = sent(pub, 5, topics=1, first=1)
        assert failing(sub, b"bad", 5) == put
        one = until(pub, lambda one: one.dead == 1 and one.acked == 5)
        assert (one.attempts, one.floor) == (0, 0), "it is done once somebody has had its letter"
        event = told(pub, mm.EventKind.DEAD_LETTER)
        assert (event.count, event.detail) == (
            1,
            "group w: a message will not be delivered (attempts, number 1), and goes where "
            "dead_letter says",
        )
        assert one.redelivered == 2, "the last time it was not given to another one"
        assert pub.stats().dead_messages == 1, "of a group, too"
        (letter,) = letters(pub, 1)
        assert isinstance(letter, mm.DeadLetter)
        assert (letter, letter.topic, letter.frames) == (b"bad", "t", (b"t", b"bad"))
        assert (letter.key, letter.headers["own"]) == (b"k", "1")
        assert (letter.reason, letter.attempt, letter.group) == ("attempts", 3, "w")
        assert letter.seq is not None
        assert letter.seq[1] == 1
        assert until(pub, lambda one: one.floor == 6).lag == 0
        nothing(sub)
        assert pub.dead_letters() == []


def test_dead_letters_of_a_group_that_was_moved_still_count(world: World, tmp_path: Path) -> None:
    """`dead_messages` of the Pub is a counter, and only grows."""
    kept: dict[str, Any] = {"pub_dead_letter": "keep", "pub_max_attempts": 1}
    with publishing(world, tmp_path / "s", **kept) as (_, pub):
        with member(world, pub, **PATIENT) as sub:
            joined(pub, 1)
            pub.send(b"bad", topic="t")
            assert sub.recv(timeout=WAIT_S).nack() is True
            until(pub, lambda one: one.dead == 1)
            assert len(letters(pub, 1)) == 1
        until(pub, lambda one: one.members == 0)
        pub.forget_group("w")
        assert pub.groups() == []
        assert pub.stats().dead_messages == 1


def test_a_member_that_never_finishes_uses_up_attempts(world: World, tmp_path: Path) -> None:
    """It has a message for longer than `ack_timeout`, or is lost with it."""
    kept: dict[str, Any] = {"pub_dead_letter": "keep", "pub_max_attempts": 2}
    with (
        publishing(world, tmp_path / "s", pub_ack_timeout=0.05, **kept) as (_, pub),
        member(world, pub, **PATIENT) as a,
        member(world, pub, **PATIENT) as b,
    ):
        joined(pub, 2)
        pub.send(b"slow")
        (letter,) = letters(pub, 1)
        assert (letter, letter.reason, letter.attempt) == (b"slow", "attempts", 2)
        assert len(shared([a, b], 2)) == 2, "both had it"
        assert until(pub, lambda one: one.floor == 1).unacked == 0


def test_each_group_has_its_own(world: World, tmp_path: Path) -> None:
    """What one cannot do the other may have done; what is over by its `ttl` is one as well."""
    kept: dict[str, Any] = {"pub_dead_letter": "keep", "pub_max_attempts": 1}
    with (
        publishing(world, tmp_path / "s", **kept) as (_, pub),
        member(world, pub, "a", **PATIENT) as a,
        member(world, pub, "b", **PATIENT) as b,
    ):
        pub.seek_group("late", "earliest")
        joined(pub, 2)
        pub.send(b"1", topic="t")
        pub.send(b"2", topic="t", ttl=0.001)
        a.recv(timeout=WAIT_S).nack()
        b.recv(timeout=WAIT_S).ack()
        with member(world, pub, "late", **PATIENT) as late:
            assert late.recv(timeout=WAIT_S) == b"1"  # while it has that, the other waits
            found = {(one.group, bytes(one)): one for one in letters(pub, 2)}
            while ("late", b"2") not in found:
                found |= {(one.group, bytes(one)): one for one in letters(pub, 1)}
        assert ("a", b"1") in found
        assert ("b", b"1") not in found
        over = found["late", b"2"]
        assert (over.reason, over.attempt, over.topic) == ("expired", 0, "t")


def test_a_spool_keeps_them_and_publishes_them_again(world: World, tmp_path: Path) -> None:
    """With why, how often, which message and which group; and to the same group, once mended."""
    with mm.Spool(tmp_path / "dead", durability="os") as dead:
        own: dict[str, Any] = {"pub_dead_letter": dead, "pub_max_attempts": 2}
        with (
            publishing(world, tmp_path / "s", **own) as (_, pub),
            member(world, pub, **PATIENT) as sub,
        ):
            joined(pub, 1)
            pub.send(b"bad", topic="t", key=b"k")
            pub.send(b"good", topic="t")
            assert failing(sub, b"bad", 1) == [b"good"]
            (kept,) = dead.read(1, timeout=WAIT_S).messages
            assert until(pub, lambda one: one.floor == 2).dead == 1
        assert (kept, kept.topic, kept.key) == (b"bad", "t", b"k")
        history = {name: kept.headers[f"x-dead-{name}"] for name in ("reason", "attempts", "group")}
        assert history == {"reason": "attempts", "attempts": "2", "group": "w"}
        assert kept.headers["x-dead-seq"].endswith(":1")
    with (
        publishing(world, tmp_path / "dead") as (_, again),
        member(world, again, topics="t", **PATIENT) as sub,
    ):
        joined(again, 1, "t")
        sub.close()
        until(again, lambda one: one.members == 0)
        again.seek_group("w", "earliest")
        with member(world, again, topics="t") as mended:
            message = mended.recv(timeout=WAIT_S)
            assert (message, message.topic, message.key) == (b"bad", "t", b"k")
            nothing(mended)


def test_a_function_is_called_with_each(world: World, tmp_path: Path) -> None:
    """By the events' thread, or the loop; the message is done then."""
    got: list[tuple[bytes, str | None]] = []

    def bury(letter: mm.DeadLetter) -> None:
        got.append((bytes(letter), letter.group))

    own: dict[str, Any] = {"pub_dead_letter": bury, "pub_max_attempts": 1}
    with publishing(world, tmp_path / "s", **own) as (_, pub), member(world, pub, **PATIENT) as sub:
        joined(pub, 1)
        pub.send(b"bad", topic="t")
        pub.send(b"good", topic="t")
        assert failing(sub, b"bad", 1) == [b"good"]
        until(pub, lambda one: one.floor == 2)
        assert got == [(b"bad", "w")]


def test_a_letter_that_nobody_took_comes_again_in_the_next_life(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As its message is not done; the log says so."""
    kept: dict[str, Any] = {"pub_dead_letter": "keep", "pub_max_attempts": 1}
    with (
        publishing(world, tmp_path / "s", **kept) as (_, pub),
        member(world, pub, **PATIENT) as sub,
    ):
        joined(pub, 1)
        pub.send(b"bad", topic="t")
        sub.recv(timeout=WAIT_S).nack()
        until(pub, lambda one: one.dead == 1)
        pub.close()
    told_all()
    assert "1 dead letter was not taken" in caplog.text
    with publishing(world, tmp_path / "s") as (_, pub), member(world, pub) as sub:
        assert info(pub).floor == 0
        assert bodies(shared([sub], 1)[0]) == [b"bad"]


def test_what_finds_no_room_among_them_is_tried_until_it_does(world: World, tmp_path: Path) -> None:
    """And not lost, however slowly they are taken."""
    kept: dict[str, Any] = {"pub_dead_letter": "keep", "pub_max_attempts": 1}
    with (
        publishing(world, tmp_path / "s", pub_send_queue_messages=2, **kept) as (_, pub),
        member(world, pub, **PATIENT) as sub,
    ):
        joined(pub, 1)
        put = sent(pub, 8, topics=1)
        came: list[bytes] = []

        def all_came() -> bool:
            for message in shared([sub], 0, once=True)[0]:
                message.nack()
            came.extend(bodies(pub.dead_letters(1)))
            return len(came) == len(put)

        wait_until(all_came)
        assert sorted(came) == put
        assert until(pub, lambda one: one.lag == 0).attempts == 0


def test_without_a_place_it_is_dropped_and_counted(world: World, tmp_path: Path) -> None:
    """And still in the spool."""
    with (
        publishing(world, tmp_path / "s", pub_max_attempts=1) as (spool, pub),
        member(world, pub, **PATIENT) as sub,
    ):
        joined(pub, 1)
        pub.send(b"bad", topic="t")
        sub.recv(timeout=WAIT_S).nack()
        one = until(pub, lambda one: one.floor == 1)
        assert (one.attempts, one.dead, one.lag) == (1, 0, 0)
        assert spool.info().last_seq == 1


def test_what_cannot_be_is_refused(world: World, tmp_path: Path) -> None:
    """Before anything is open."""
    with pytest.raises(mm.UsageError, match="groups of a Pub"):
        world.socket("Pub", dead_letter="keep")
    with publishing(world, tmp_path / "s") as (spool, pub):
        with pytest.raises(mm.UsageError, match="dead_letter='keep'|dead_letter=\"keep\""):
            pub.dead_letters()
        plain = getattr(spool, "_spool", spool)
        plain = plain if isinstance(plain, mm.Spool) else spool
        for role in ("Pub", "Push"):
            with pytest.raises(mm.UsageError, match="its own spool"):
                world.socket(role, spool=spool, dead_letter=plain)
