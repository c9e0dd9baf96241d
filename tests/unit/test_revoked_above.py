"""Lists of the revoked, where somebody stands between who is believed and a peer.

Not here: lists of who is believed itself (test_tls.py, test_tls_files.py). Each certificate of a
chain but the last, which `ca=` has, is looked for in a list of who signed it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.certificates import Entity, make, revoked
from tests.support.certs import Cert, written
from tests.support.pairs import WAIT_S, wait_until

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
BIND = "tls+tcp://127.0.0.1:0"


class Chain:
    """A root, one between, and who stands below it, who has both in its file."""

    def __init__(self, folder: Path) -> None:
        self.root = make("root", signs=True)
        self.between = make("between", by=self.root, signs=True)
        self.client = self._below(folder, "client")
        self.server = self._below(folder, "server")
        self.lists = folder / "revoked.pem"
        self.ca = folder / "ca.pem"
        self.believe(self.root)

    def _below(self, folder: Path, name: str) -> Cert:
        cert = written(folder, make(name, by=self.between, names=("127.0.0.1",)))
        cert.cert.write_bytes(cert.entity.pem() + self.between.pem())
        return cert

    def believe(self, who: Entity) -> None:
        """Who is in `ca=`."""
        self.ca.write_bytes(who.pem())

    def revoke(self, *lists: bytes) -> None:
        """What is in `crl=`, as one who renews a file writes it."""
        beside = self.lists.with_suffix(".new")
        beside.write_bytes(b"".join(lists))
        beside.replace(self.lists)

    @contextmanager
    def pair(self) -> Iterator[tuple[mm.Pull, mm.Push]]:
        """A server with the lists, and a client."""
        served = mm.Tls(**self.server.files, ca=self.ca, crl=self.lists)
        called = mm.Tls(**self.client.files, ca=self.ca)
        with (
            mm.Pull(bind=BIND, security=served) as pull,
            mm.Push(connect=pull.endpoint, security=called, reconnect_max=0.2) as push,
        ):
            yield pull, push

    def refused(self, words: str) -> None:
        """The server says so."""
        with self.pair() as (pull, _):
            wait_until(lambda: any(words in event.detail for event in pull.events(since=0)))
            assert not pull.peers()

    def comes(self) -> None:
        """The client is let in."""
        with self.pair() as (pull, push):
            push.send(b"hello", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"hello"


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    """New ones for each test."""
    return Chain(tmp_path)


def test_who_was_signed_by_one_that_was_revoked_is_refused(chain: Chain) -> None:
    """The list of the root has the one between."""
    chain.revoke(revoked(chain.root, chain.between), revoked(chain.between))
    chain.refused("crl= says that its certificate was taken back (1 above it)")


def test_a_list_of_each_that_signed_lets_in_whom_none_names(chain: Chain) -> None:
    """In any order."""
    chain.revoke(revoked(chain.between), revoked(chain.root))
    chain.comes()


@pytest.mark.parametrize(
    ("has", "words"),
    [
        ("between", "crl= has no list of its certificate's issuer (1 above it): CN=root"),
        ("root", "crl= has no list of its certificate's issuer: CN=between"),
    ],
)
def test_a_list_that_is_missing_is_named(chain: Chain, has: str, words: str) -> None:
    """Nobody can say whether that one was revoked."""
    chain.revoke(revoked(chain.between if has == "between" else chain.root))
    chain.refused(words)


def test_a_list_that_ended_is_named(chain: Chain) -> None:
    """Its signer should have written a newer one."""
    chain.revoke(revoked(chain.root, days=(-3, -1)), revoked(chain.between))
    chain.refused("the list of its certificate's issuer in crl= expired (1 above it): CN=root")


def test_who_is_believed_itself_needs_no_list(chain: Chain) -> None:
    """The one between is in `ca=`; that it was revoked only the root could say, which is not."""
    chain.believe(chain.between)
    chain.revoke(revoked(chain.between))
    chain.comes()
    chain.revoke(revoked(chain.between, chain.client.entity))
    chain.refused("crl= says that its certificate was taken back")


def test_who_is_connected_leaves_once_the_one_above_it_is_revoked(chain: Chain) -> None:
    """As if its own certificate had been."""
    chain.revoke(revoked(chain.between), revoked(chain.root))
    with chain.pair() as (pull, push):
        push.wait_for_peers(timeout=WAIT_S)
        pull.wait_for_peers(timeout=WAIT_S)
        chain.revoke(revoked(chain.between), revoked(chain.root, chain.between))
        wait_until(lambda: pull.stats().closed.get(mm.Reason.REVOKED) == 1)


def test_a_list_that_ends_while_a_peer_is_connected_ends_nothing(chain: Chain) -> None:
    """As a certificate that ends: dates count when somebody comes."""
    chain.revoke(revoked(chain.between), revoked(chain.root))
    with chain.pair() as (pull, push):
        push.wait_for_peers(timeout=WAIT_S)
        chain.revoke(revoked(chain.between, days=(-3, -1)), revoked(chain.root))
        called = mm.Tls(**chain.client.files, ca=chain.ca)

        def refuses() -> bool:
            """Whether who comes now is refused: the file is looked at once a second."""
            with mm.Push(connect=pull.endpoint, security=called) as late:
                wait_until(lambda: late.peers() or late.stats().handshakes_failed)
                return late.stats().handshakes_failed > 0

        wait_until(refuses)
        assert any("in crl= expired" in event.detail for event in pull.events(since=0))
        push.send(b"still here", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"still here"
        assert mm.Reason.REVOKED not in pull.stats().closed
