"""What meshmsg and a peer program must do together where CURVE or PLAIN protects them.

A test file derives a class from ``SecuredTests``, beside one of ``PeerTests`` (foreign.py).
Not here: libzmq by way of pyzmq, and what only it can do (test_curve.py, test_plain.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.test_pyzmq import PAIRS, name
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.peerproc import Peer

OURS, THEIRS, OTHER = mm.keygen(), mm.keygen(), mm.keygen()
USERS = {"them": "staple"}
SIZES = [0, 1, 222, 223, 255, 256, 2047, 2048, 65_536, 1 << 20]
who_serves = pytest.mark.parametrize("serve", [True, False], ids=["we-serve", "they-serve"])
who_binds = pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])


def ours_as(*, serve: bool) -> mm.Curve:
    """Return our policy: a server that lets them in, or a client that knows them."""
    if serve:
        return mm.Curve(key=OURS, allow=mm.AllowList({THEIRS.public: "them"}))
    return mm.Curve(key=OURS, server=THEIRS.public)


def protect(theirs: Peer, *, serve: bool, server: str = OURS.public) -> None:
    """Their side of it."""
    if serve:
        theirs.secure("curve-client", THEIRS.public, THEIRS.secret, server)
    else:
        theirs.secure("curve-server", THEIRS.public, THEIRS.secret)


def is_told(socket: Any, reason: mm.Reason, words: str) -> bool:
    """Whether an event of the socket says so."""
    return any(e.reason is reason and words in e.detail for e in socket.events())


class SecuredTests:
    """What every peer program that can do CURVE and PLAIN does."""

    def meet(self, ours: Any, they_connect: bool) -> None:
        """Wait until we have a peer."""
        ours.wait_for_peers(timeout=WAIT_S)

    def join(self, ours: Any, theirs: Peer, we_bind: bool) -> None:
        """Connect them, either way."""
        if we_bind:
            theirs.connect(ours.bind(of_its_own()))
        else:
            ours.connect(theirs.bind(of_its_own()))
        self.meet(ours, we_bind)

    @who_binds
    @who_serves
    @pytest.mark.parametrize(("role", "kind", "exchange"), PAIRS, ids=name)
    def test_a_protected_pair(
        self,
        role: type[Any],
        kind: int,
        exchange: Callable[[Any, Any], None],
        serve: bool,
        we_bind: bool,
        theirs: Peer,
    ) -> None:
        """Each legal pair does what it is for; who binds has nothing to do with who serves."""
        named = {"identity": b"us"} if role in (mm.Dealer, mm.Req) else {}
        theirs.open(kind, b"them")
        protect(theirs, serve=serve)
        with role(security=ours_as(serve=serve), **named) as ours:
            self.join(ours, theirs, we_bind)
            exchange(ours, theirs)
            (peer,) = ours.peers()
            assert (peer.mechanism, peer.key) == ("CURVE", THEIRS.public)
            assert peer.user_id == ("them" if serve else "")

    @who_serves
    def test_protected_messages_of_all_sizes_come_in_order(self, serve: bool, theirs: Peer) -> None:
        """Both ways, of several frames, in boxes of both lengths."""
        messages = [[b"%d" % i, b"x" * SIZES[i % len(SIZES)]] for i in range(40)]
        theirs.open(zmq.PAIR)
        protect(theirs, serve=serve)
        with mm.Pair(security=ours_as(serve=serve)) as ours:
            self.join(ours, theirs, True)
            for message in messages:
                ours.send_frames(message, timeout=WAIT_S)
                theirs.send_multipart(message)
            assert [theirs.recv_multipart() for _ in messages] == messages
            assert [ours.recv_frames(timeout=WAIT_S) for _ in messages] == messages

    def test_a_client_that_knows_another_server_is_told_of(self, theirs: Peer) -> None:
        """It never gets in, and ours says which check that was."""
        theirs.open(zmq.PUSH)
        protect(theirs, serve=True, server=OTHER.public)
        with mm.Pull(security=ours_as(serve=True)) as ours:
            theirs.connect(ours.bind(of_its_own()))
            wait_until(lambda: is_told(ours, mm.Reason.CRYPTO, "server= is not our key"))
            assert not ours.peers()

    def test_a_client_that_is_not_on_the_list_is_told_of(self, theirs: Peer) -> None:
        """With its key."""
        theirs.open(zmq.PUSH)
        protect(theirs, serve=True)
        policy = mm.Curve(key=OURS, allow=mm.AllowList({OTHER.public: "other"}))
        with mm.Pull(security=policy) as ours:
            theirs.connect(ours.bind(of_its_own()))
            wait_until(lambda: is_told(ours, mm.Reason.NOT_ALLOWED, THEIRS.public))
            assert not ours.peers()

    def test_a_client_with_a_password_comes_in(self, theirs: Peer) -> None:
        """Its user is who it is known as."""
        theirs.open(zmq.PUSH)
        theirs.secure("plain-client", "them", USERS["them"])
        with mm.Pull(security=mm.Plain(allow=USERS)) as ours:
            self.join(ours, theirs, True)
            theirs.send(b"hi")
            message = ours.recv(timeout=WAIT_S)
            assert (message, message.peer.user_id) == (b"hi", "them")
            assert ours.peers()[0].mechanism == "PLAIN"

    def test_a_client_with_another_password_is_told_of(self, theirs: Peer) -> None:
        """And never comes in."""
        theirs.open(zmq.PUSH)
        theirs.secure("plain-client", "them", "battery")
        with mm.Pull(security=mm.Plain(allow=USERS)) as ours:
            theirs.connect(ours.bind(of_its_own()))
            wait_until(lambda: is_told(ours, mm.Reason.NOT_ALLOWED, "has another password"))
            assert not ours.peers()

    def test_a_server_of_passwords_lets_us_in(self, theirs: Peer, tmp_path: Path) -> None:
        """czmq reads a file of them; JeroMQ has nobody to ask, and takes any."""
        file = tmp_path / "passwords"
        file.write_text("us=horse\n", encoding="ascii")
        theirs.open(zmq.PULL)
        theirs.secure("plain-server", str(file))
        with mm.Push(security=mm.Plain(user="us", password="horse")) as ours:
            self.join(ours, theirs, False)
            ours.send(b"hi", timeout=WAIT_S)
            assert theirs.recv() == b"hi"
            assert ours.peers()[0].mechanism == "PLAIN"
