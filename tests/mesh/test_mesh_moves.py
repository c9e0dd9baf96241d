"""A node announces its service at another endpoint: who follows goes there, and loses nothing.

Not here: addresses of machines that change (tests/fault/test_faults_moved.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.mesh import Mesh
from tests.support.feeding import World
from tests.support.later import Later
from tests.support.meshes import WAIT_S, eventually, following, urls
from tests.support.numbered import Numbers

MOVES = 10
PART = 300
"""Messages that come between two moves, at least."""


@pytest.fixture
def b(seed: Mesh) -> Mesh:
    """The node that offers."""
    return seed


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is closed at the end of the test."""
    with ExitStack() as made:
        yield made


def pull_in(stack: ExitStack, **options: Any) -> mm.Pull:
    """Open one."""
    return stack.enter_context(mm.Pull(bind="tcp://127.0.0.1:0", **options))


def test_a_push_goes_to_the_new_endpoint_and_each_message_comes_once(
    world: World, a: Any, b: Mesh, stack: ExitStack
) -> None:
    """They are sent all the time; the one before gets the rest of what is on its way to it."""
    old, new = pull_in(stack), pull_in(stack)
    b.announce("s", old)
    push = stack.enter_context(following(world, a, "s", "Push"))
    with Numbers(push) as numbers:
        numbers.more(PART, old)
        b.announce("s", new)
        numbers.until([old, new], lambda: urls(push) == [new.endpoint])
        numbers.more(PART, new, old)
    numbers.rest(old, new)
    assert numbers.came_once()
    assert push.stats().dropped == 0


def test_a_push_follows_from_place_to_place_and_back(
    world: World, a: Any, b: Mesh, stack: ExitStack
) -> None:
    """Also to one that it had left before: that is no old news."""
    pulls = [pull_in(stack), pull_in(stack)]
    push = stack.enter_context(following(world, a, "s", "Push"))
    with Numbers(push) as numbers:
        for move in range(MOVES):
            here, before = pulls[move % 2], pulls[1 - move % 2]
            b.announce("s", here)
            numbers.until(pulls, lambda: urls(push) == [here.endpoint])  # noqa: B023
            numbers.more(PART, here, before)
    numbers.rest(*pulls)
    assert numbers.came_once()


def test_what_the_one_before_had_and_did_not_do_comes_to_the_new_one(
    world: World, a: Any, b: Mesh, stack: ExitStack
) -> None:
    """It is closed with messages that it had, as its node offers the next; nothing is lost."""
    old, new = (pull_in(stack, ack="manual", prefetch=PART) for _ in range(2))
    b.announce("s", old)
    push = stack.enter_context(following(world, a, "s", "Push", delivery="at_least_once"))
    with Numbers(push) as numbers:
        numbers.more(PART, old)
        old.close()
        b.announce("s", new)
        numbers.more(PART, new)
    numbers.rest(new)
    assert urls(push) == [new.endpoint]
    eventually(lambda: push.stats().acked_messages == numbers.sent)
    assert push.stats().dropped == 0


def test_a_subscriber_follows_with_its_topics(world: World, a: Any, b: Mesh) -> None:
    """It gets what each publisher sends once it is there."""
    with following(world, a, "s", "Sub", topics="t") as sub:
        for _ in range(3):
            with mm.Pub(bind="tcp://127.0.0.1:0") as pub:
                b.announce("s", pub)
                pub.wait_for_subscribers("t", timeout=WAIT_S)
                pub.send(b"not asked for", topic="other")
                pub.send(pub.endpoint.encode(), topic="t")
                assert bytes(sub.recv(timeout=WAIT_S)) == pub.endpoint.encode()
        eventually(lambda: urls(sub) == [pub.endpoint])


def test_who_asks_follows_with_the_next_question(world: World, a: Any, b: Mesh) -> None:
    """Of each place it gets that one's answer."""
    with following(world, a, "s", "Req") as req:
        for _ in range(3):
            with mm.Rep(bind="tcp://127.0.0.1:0") as rep:
                b.announce("s", rep)
                asked = Later(lambda: req.request(b"?", timeout=WAIT_S, retries=5))
                rep.recv(timeout=WAIT_S).reply(rep.endpoint.encode())
                assert bytes(asked.result()) == rep.endpoint.encode()
