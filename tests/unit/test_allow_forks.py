"""Policies and a fork: the child has none of the parent's sockets, and can protect its own.

Not here: what is forked otherwise (tests/fault).
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from tests.support.forked import in_child
from tests.support.pairs import WAIT_S, of_its_own

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")


@pytest.mark.parametrize("asks", [True, False], ids=["function", "list"])
def test_a_child_protects_sockets_of_its_own_by_the_same_policy(asks: bool) -> None:
    """A list that is changed there changes nothing here."""
    server, alice = mm.keygen(), mm.keygen()
    allowed = mm.AllowList({alice.public: "alice"})
    policy = mm.Curve(key=server, allow=(lambda _: mm.Allow("alice")) if asks else allowed)
    called = mm.Curve(server=server, key=alice)
    with (
        mm.Pull(bind=of_its_own(), security=policy) as pull,
        mm.Push(connect=pull.endpoint, security=called) as push,
    ):
        push.wait_for_peers(timeout=WAIT_S)

        def work() -> bool:
            with (
                mm.Pull(bind=of_its_own(), security=policy) as own,
                mm.Push(connect=own.endpoint, security=called) as other,
            ):
                other.send(b"hi", timeout=WAIT_S)
                assert own.recv(timeout=WAIT_S) == b"hi"
                assert own.peers()[0].user_id == "alice"
                allowed.remove(alice)
                return len(own.peers()) == (1 if asks else 0)

        assert in_child(work)
        push.send(b"still", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"still"
        assert alice in allowed
