"""Members of a group at a Pub with a spool, for threads and for asyncio.

Not here: what is asserted of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import meshmsg as mm
from tests.support.feeding import World
from tests.support.pairs import WAIT_S, wait_until

SHORT_S = 0.01
"""Seconds that one of several is asked for before the next is."""


def member(world: World, pub: Any, group: str = "w", topics: Any = "", **options: Any) -> Any:
    """Open a Sub in a group."""
    return world.socket("Sub", connect=pub.endpoint, topics=topics, group=group, **options)


def joined(pub: Any, count: int, topic: str = "") -> None:
    """Wait until so many have begun."""
    pub.wait_for_subscribers(topic, count=count, timeout=WAIT_S)


def info(pub: Any, name: str = "w") -> Any:
    """What a group is now; None: there is none."""
    return next((one for one in pub.groups() if one.name == name), None)


def until(pub: Any, holds: Callable[[Any], bool], name: str = "w") -> Any:
    """Wait until that holds of a group; what it is then."""
    wait_until(lambda: (one := info(pub, name)) is not None and holds(one))
    return info(pub, name)


def shared(subs: list[Any], count: int, *, once: bool = False) -> list[list[Any]]:
    """Receive so many, from whichever has one; what each got, in its order.

    `once`: each is asked for what it has once, at least.
    """
    got: list[list[Any]] = [[] for _ in subs]
    while once or sum(map(len, got)) < count:
        once = False
        for sub, own in zip(subs, got, strict=True):
            try:
                while True:
                    own.append(sub.recv(timeout=SHORT_S))
            except mm.TimedOutError:
                pass
    return got


def bodies(messages: list[Any]) -> list[bytes]:
    """What is in them."""
    return [bytes(message) for message in messages]


def sent(pub: Any, count: int, *, topics: int = 8, first: int = 0) -> list[bytes]:
    """Publish so many, in turn under so many topics; their bodies."""
    found = [b"%d" % i for i in range(first, first + count)]
    for i, body in enumerate(found, first):
        pub.send(body, topic=f"t{i % topics}", timeout=WAIT_S)
    return found
