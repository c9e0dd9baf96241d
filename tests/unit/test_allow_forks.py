"""Policies and a fork: the child has none of the parent's sockets, and can protect its own.

Not here: what is forked otherwise (tests/fault).
"""

from __future__ import annotations

import os

import pytest

import meshmsg as mm
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
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with (
                    mm.Pull(bind=of_its_own(), security=policy) as own,
                    mm.Push(connect=own.endpoint, security=called) as other,
                ):
                    other.send(b"hi", timeout=WAIT_S)
                    assert own.recv(timeout=WAIT_S) == b"hi"
                    assert own.peers()[0].user_id == "alice"
                    allowed.remove(alice)
                    assert len(own.peers()) == (1 if asks else 0)
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        push.send(b"still", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"still"
        assert alice in allowed
