"""A socket leaves a peer once nothing is under way there: nothing is lost, whatever its role.

Not here: who is left, and when (tests/mesh/test_mesh_handing_over.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._socket.endpoints import retire
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until

HERE = "tcp://127.0.0.1:0"
COUNT = 2_000
PART = 20


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is closed at the end of the test."""
    with ExitStack() as made:
        yield made


def pair(stack: ExitStack, kind: Any, other: Any, **options: Any) -> tuple[Any, list[Any]]:
    """A socket that is connected to two; it would leave within no time."""
    told = options.pop("others", {})
    others = [stack.enter_context(other(bind=HERE, **told)) for _ in range(2)]
    made = stack.enter_context(kind(linger=0, **options))
    for one in others:
        made.connect(one.endpoint)
    made.wait_for_peers(2, timeout=WAIT_S)
    return made, others


def at(socket: Any) -> set[str]:
    """Where its peers are, that it does not leave."""
    return {one.endpoint for one in socket.peers() if one.stopping != "left"}


def left(socket: Any, other: Any) -> bool:
    """Whether it is connected there no more."""
    return other.endpoint not in {one.endpoint for one in socket.peers()}


def numbers(messages: Any) -> list[int]:
    """What was sent."""
    return [int(message) for message in messages]


def all_of(*pulls: Any, count: int) -> list[int]:
    """Take what comes to these, so many in all."""
    got: list[int] = []

    def came() -> bool:
        for pull in pulls:
            with suppress(mm.WouldBlockError):
                got.extend(numbers(pull.recv_many(timeout=0)))
        return len(got) >= count

    wait_until(came)
    return sorted(got)


def test_a_request_under_way_has_its_answer_and_the_next_goes_elsewhere(stack: ExitStack) -> None:
    """Then the peer is left, and not before."""
    req, (one, two) = pair(stack, mm.Req, mm.Rep)
    asked = [Later(lambda: req.request(b"?", timeout=WAIT_S)) for _ in range(2)]
    first, second = (rep.recv(timeout=WAIT_S) for rep in (one, two))
    retire(req, one.endpoint)
    second.reply(b"two")
    assert at(req) == {two.endpoint}
    for _ in range(PART):
        more = Later(lambda: req.request(b"?", timeout=WAIT_S))
        two.recv(timeout=WAIT_S).reply(b"more")
        assert bytes(more.result()) == b"more"
    assert not left(req, one)
    first.reply(b"one")
    assert sorted(bytes(each.result()) for each in asked) == [b"one", b"two"]
    wait_until(lambda: left(req, one))


def test_a_request_that_nobody_waits_for_any_more_keeps_nobody(stack: ExitStack) -> None:
    """Its time-out is over: the peer is left without an answer."""
    req, (one, two) = pair(stack, mm.Req, mm.Rep)
    asked = [Later(lambda: req.request(b"?", timeout=0.3)) for _ in range(2)]
    held = [rep.recv(timeout=WAIT_S) for rep in (one, two)]
    retire(req, one.endpoint)
    assert [type(each.error()) for each in asked] == [mm.TimedOutError] * 2
    wait_until(lambda: left(req, one))
    assert at(req) == {two.endpoint}
    assert len(held) == 2


def test_who_is_connected_to_again_is_asked_again_while_it_owes_an_answer(stack: ExitStack) -> None:
    """As the other one goes: over a new connection, beside the one that is left."""
    req, (one, two) = pair(stack, mm.Req, mm.Rep)
    asked = [Later(lambda: req.request(b"?", timeout=WAIT_S)) for _ in range(2)]
    first, second = (rep.recv(timeout=WAIT_S) for rep in (one, two))
    retire(req, one.endpoint)
    second.reply(b"two")
    retire(req, two.endpoint)
    req.connect(one.endpoint)
    wait_until(lambda: at(req) == {one.endpoint})
    more = Later(lambda: req.request(b"?", timeout=WAIT_S))
    one.recv(timeout=WAIT_S).reply(b"more")
    assert bytes(more.result()) == b"more"
    first.reply(b"one")
    assert sorted(bytes(each.result()) for each in asked) == [b"one", b"two"]
    wait_until(lambda: len(req.peers()) == 1)


def test_a_survey_under_way_has_all_its_answers(stack: ExitStack) -> None:
    """The next one asks the other peer alone."""
    surveyor, (one, two) = pair(stack, mm.Surveyor, mm.Respondent)
    survey = surveyor.survey(b"?", deadline=WAIT_S)
    asked = [each.recv(timeout=WAIT_S) for each in (one, two)]
    retire(surveyor, one.endpoint)
    wait_until(lambda: at(surveyor) == {two.endpoint})
    asked[1].reply(b"two")
    assert not left(surveyor, one)
    asked[0].reply(b"one")
    assert sorted(bytes(answer) for answer in survey) == [b"one", b"two"]
    wait_until(lambda: left(surveyor, one))


def test_what_is_not_acknowledged_is_waited_for_and_goes_to_nobody_else(stack: ExitStack) -> None:
    """What was not begun goes to the other one at once."""
    one, two = (
        stack.enter_context(mm.Pull(bind=HERE, ack="manual", prefetch=prefetch))
        for prefetch in (PART // 2, 2 * PART)
    )
    push = stack.enter_context(mm.Push(connect=one.endpoint, delivery="at_least_once", linger=0))
    push.send_many([b"%d" % number for number in range(PART)])
    held = [one.recv(timeout=WAIT_S) for _ in range(PART // 2)]  # all that it has room for
    push.connect(two.endpoint)
    push.wait_for_peers(2, timeout=WAIT_S)
    retire(push, one.endpoint)
    push.send_many([b"%d" % number for number in range(PART, PART + PART // 2)])
    rest = [two.recv(timeout=WAIT_S) for _ in range(PART)]
    assert sorted(numbers([*held, *rest])) == list(range(PART + PART // 2))
    assert not left(push, one)
    for message in held:
        message.ack()
    wait_until(lambda: left(push, one))
    for message in rest:
        message.ack()
    assert push.drain(timeout=WAIT_S).unconfirmed == 0
    assert push.stats().redelivered_messages == 0


def test_a_push_is_read_to_the_end(stack: ExitStack) -> None:
    """Each message comes once, also what the one that is left has no room for yet."""
    push, (one, two) = pair(stack, mm.Push, mm.Pull, others={"recv_queue_messages": 10})
    sending = Later(lambda: push.send_many([b"%d" % number for number in range(COUNT)]))
    first = numbers(one.recv(timeout=WAIT_S) for _ in range(PART))
    retire(push, one.endpoint)
    rest = all_of(one, two, count=COUNT - PART)
    assert sending.result() == COUNT
    assert sorted(first + rest) == list(range(COUNT))
    wait_until(lambda: left(push, one))
    assert push.drain(timeout=WAIT_S).in_doubt == 0


def test_a_pull_takes_all_that_was_on_its_way_to_it(stack: ExitStack) -> None:
    """Its sender is asked for the last one; what was not begun is for others."""
    pull, (one, two) = pair(stack, mm.Pull, mm.Push, recv_queue_messages=10)
    other = stack.enter_context(mm.Pull(connect=one.endpoint))
    one.wait_for_peers(2, timeout=WAIT_S)
    sending = Later(lambda: one.send_many([b"%d" % number for number in range(COUNT)]))
    first = numbers(pull.recv(timeout=WAIT_S) for _ in range(PART))
    retire(pull, one.endpoint)
    rest = all_of(pull, other, count=COUNT - PART)
    assert sending.result() == COUNT
    assert sorted(first + rest) == list(range(COUNT))
    wait_until(lambda: left(pull, one))
    assert at(pull) == {two.endpoint}
    assert one.drain(timeout=WAIT_S).in_doubt == 0


def test_a_pull_is_left_by_nobody_before_it_acknowledged(stack: ExitStack) -> None:
    """What it had is given to nobody else, as it is done with it later."""
    pull, (one, _) = pair(
        stack, mm.Pull, mm.Push, ack="manual", prefetch=PART, others={"delivery": "at_least_once"}
    )
    one.send_many([b"%d" % number for number in range(PART)])
    held = [pull.recv(timeout=WAIT_S) for _ in range(PART)]
    retire(pull, one.endpoint)
    other = stack.enter_context(mm.Pull(connect=one.endpoint, ack="manual"))
    one.wait_for_peers(2, timeout=WAIT_S)
    for message in held:
        assert not left(pull, one)
        message.ack()
    assert one.drain(timeout=WAIT_S).unconfirmed == 0
    wait_until(lambda: left(pull, one))
    assert one.stats().redelivered_messages == 0
    with pytest.raises(mm.WouldBlockError):
        other.recv(timeout=0)


def test_a_subscriber_takes_all_that_was_published_before(stack: ExitStack) -> None:
    """Of the one that it leaves: what was queued for it comes."""
    sub, (one, two) = pair(
        stack, mm.Sub, mm.Pub, topics="", recv_queue_messages=10, others={"overflow": "block"}
    )
    for each in (one, two):
        each.wait_for_subscribers("", timeout=WAIT_S)
    for number in range(PART):
        one.send(b"%d" % number)
    retire(sub, one.endpoint)
    assert numbers(sub.recv(timeout=WAIT_S) for _ in range(PART)) == list(range(PART))
    wait_until(lambda: left(sub, one))
    two.send(b"0")
    assert sub.recv(timeout=WAIT_S) == b"0"


def test_a_dealer_hears_a_peer_that_it_leaves(stack: ExitStack) -> None:
    """Nobody knows what that has yet to say, so it is there for a while; nothing goes to it."""
    dealer, (one, two) = pair(stack, mm.Dealer, mm.Router)
    for _ in range(2):
        dealer.send(b"?")
    asked = [router.recv_frames(timeout=WAIT_S) for router in (one, two)]
    retire(dealer, one.endpoint)
    wait_until(lambda: at(dealer) == {two.endpoint})
    for _ in range(PART):
        dealer.send(b"?")
        two.recv_frames(timeout=WAIT_S)
    for number, router in enumerate((one, two)):
        router.send_frames([bytes(asked[number][0]), b"%d" % number])
    assert sorted(numbers(dealer.recv(timeout=WAIT_S) for _ in range(2))) == [0, 1]


def test_who_never_answers_is_left_as_the_socket_is_closed(stack: ExitStack) -> None:
    """And not before; `close` waits for nothing but its linger."""
    req, (one, two) = pair(stack, mm.Req, mm.Rep)
    asked = [Later(lambda: req.request(b"?", timeout=WAIT_S)) for _ in range(2)]
    held = [rep.recv(timeout=WAIT_S) for rep in (one, two)]
    retire(req, one.endpoint)
    retire(req, two.endpoint)
    assert at(req) == set()
    assert len(req.peers()) == len(held)
    req.close()
    assert [type(each.error()) for each in asked] == [mm.ClosedError] * 2
    wait_until(lambda: not one.peers() and not two.peers())


def test_one_that_goes_while_it_is_left_ends_what_it_had(stack: ExitStack) -> None:
    """As ever: its requests fail, and nobody dials it again."""
    req, (one, two) = pair(stack, mm.Req, mm.Rep)
    asked = [Later(lambda: req.request(b"?", timeout=WAIT_S)) for _ in range(2)]
    _, second = (rep.recv(timeout=WAIT_S) for rep in (one, two))
    retire(req, one.endpoint)
    one.close()
    second.reply(b"two")
    errors = [each.error() for each in asked]
    assert sorted(type(each).__name__ for each in errors) == ["NoneType", "PeerError"]
    assert at(req) == {two.endpoint}
    assert req._connected == [two.endpoint]
