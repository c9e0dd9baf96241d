"""Groups over connections that are protected: members are peers as others, also to lists of who may
come in.

Not here: what protects (test_security.py), what a group does (test_groups.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.grouped import bodies, joined, member, sent, shared, until
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
WORLD = World(None)


@contextmanager
def protected(path: Path) -> Iterator[tuple[Any, mm.AllowList, dict[str, mm.Curve]]]:
    """A Pub with a spool that two keys may come to, and what each says."""
    server, alice, bob = mm.keygen(), mm.keygen(), mm.keygen()
    allowed = mm.AllowList({alice.public: "alice", bob.public: "bob"})
    policy = mm.Curve(key=server, allow=allowed)
    clients = {
        name: mm.Curve(server=server, key=key) for name, key in (("alice", alice), ("bob", bob))
    }
    with publishing(WORLD, path, pub_security=policy) as (_, pub):
        yield pub, allowed, clients


def test_members_are_known_and_whoever_is_removed_from_the_list_ends(tmp_path: Path) -> None:
    """What it had goes to another one."""
    with protected(tmp_path / "s") as (pub, allowed, clients):
        alice = member(WORLD, pub, security=clients["alice"], ack="manual")
        joined(pub, 1)
        put = sent(pub, 5, topics=1)
        assert bodies(shared([alice], 5)[0]) == put
        with member(WORLD, pub, security=clients["bob"]) as bob:
            joined(pub, 2)
            known = {(peer.user_id, peer.mechanism) for peer in pub.peers()}
            assert known == {("alice", "CURVE"), ("bob", "CURVE")}
            allowed.remove(alice_key(allowed, pub))
            until(pub, lambda one: one.members == 1)
            assert pub.stats().closed[mm.Reason.REVOKED] == 1
            got = shared([bob], 5)[0]
            assert bodies(got) == put
            assert {message.attempt for message in got} == {2}
        alice.close()
        wait_until(lambda: pub.stats().peers == 0)


def alice_key(allowed: mm.AllowList, pub: Any) -> str:
    """The public key of who is known as alice."""
    return next(peer.key for peer in pub.peers() if peer.user_id == "alice")


def test_who_binds_may_be_the_member(tmp_path: Path) -> None:
    """The Pub dials, and is the client of its subscriber."""
    server, client = mm.keygen(), mm.keygen()
    own = mm.Curve(key=server, allow=[client.public])
    with mm.Sub(bind="tcp://127.0.0.1:0", topics="", group="w", security=own) as sub:
        policy = mm.Curve(server=server, key=client)
        with publishing(WORLD, tmp_path / "s", pub_security=policy) as (_, pub):
            pub.connect(sub.endpoint)
            joined(pub, 1)
            pub.send(b"x")
            assert bytes(sub.recv(timeout=WAIT_S)) == b"x"
            pub.disconnect(sub.endpoint)
            until(pub, lambda one: one.members == 0)
