"""A listener of TLS under attack, before anybody is a peer: each ending is counted under its
reason, and a well-behaved peer never notices.

Not here: who is let in and then breaks a rule (test_tls_inside.py), our dialer
(test_tls_dialer.py), crowds (test_tls_crowds.py). README.md here says which test shows what.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import read_secrets, write_secret
from tests.hostile.test_hostile import check
from tests.support import refcodec as ref
from tests.support import refsp
from tests.support import reftls as tls
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.tlspeer import SecretPeer

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
UP = "tls+tcp://127.0.0.1:0"
FLAT = 1 << 18
"""Octets that some hundred connections may leave: 256 events are remembered, with their words."""
WARM_UP = 20
"""Connections before memory is looked at."""
SEED = 20


class Attacked:
    """A Pull that wants a shared secret, and a Push that knows it and goes on using it."""

    def __init__(self, pull: mm.Pull, push: mm.Push, secret: bytes) -> None:
        self.pull, self.push, self._secret = pull, push, secret

    @staticmethod
    def octets(secret: Path) -> bytes:
        """What is in the file."""
        return read_secrets(secret)[0]

    def peer(self) -> SecretPeer:
        """Somebody new, who knows the secret, too."""
        return SecretPeer(self.pull.endpoint, self._secret)

    def ended(self, **reasons: int) -> None:
        """Each that came ended, for these reasons and so often; only the good one is a peer."""
        wanted = {mm.Reason[name]: count for name, count in reasons.items()}
        wait_until(lambda: sum(self.pull.stats().closed.values()) >= sum(reasons.values()))
        assert self.pull.stats().closed == wanted
        check(self.pull, self.push)
        wait_until(lambda: self.pull.stats().half_open == 0)
        assert len(self.pull.peers()) == 1

    def why(self) -> str:
        """What its first event of an end says."""
        kinds = mm.EventKind.HANDSHAKE_FAILED, mm.EventKind.PEER_DOWN
        return next(e.detail for e in self.pull.events() if e.kind in kinds)


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that all know."""
    return write_secret(tmp_path_factory.mktemp("secret") / "cluster.secret")


@contextmanager
def served(secret: Path, **options: Any) -> Iterator[Attacked]:
    """A Pull under attack, and a Push that goes on using it."""
    with (
        mm.Pull(bind=UP, security=mm.Secret(secret), **options) as pull,
        mm.Push(connect=pull.endpoint, security=mm.Secret(secret)) as push,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        check(pull, push)
        yield Attacked(pull, push, Attacked.octets(secret))
        check(pull, push)
        assert push.stats().disconnects == 0


@contextmanager
def flat(growth_max: int = FLAT) -> Iterator[None]:
    """Memory and descriptors are then as before."""
    gc.collect()
    before, files = live_bytes(), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= files)  # a closed one parts in peace
    wait_until(lambda: live_bytes() - before < growth_max)


def pieces(octets: bytes, size: int) -> bytes:
    """A message of the handshake in records of so many octets."""
    return b"".join(
        tls.record(tls.HANDSHAKE, octets[at : at + size]) for at in range(0, len(octets), size)
    )


def hello(**changes: Any) -> Callable[[SecretPeer], bytes]:
    """Say another hello."""

    def build(peer: SecretPeer) -> bytes:
        for name, value in changes.items():
            setattr(peer.client, name, value)
        return pieces(peer.client.hello(), 1 << 14)

    return build


def behind(octets: bytes) -> Callable[[SecretPeer], bytes]:
    """Say these in one write with the hello."""
    return lambda peer: peer.hello() + octets


OLD = b"\x03\x03" + bytes(32) + b"\x00\x00\x02\xc0\x2b\x01\x00"
SSL3 = b"\x03\x00" + bytes(32) + b"\x00\x00\x02\x00\x05\x01\x00"
STRANGERS: dict[str, tuple[Callable[[SecretPeer], bytes], str, str]] = {
    "HTTP": (lambda _: b"GET / HTTP/1.1\r\n\r\n", "TLS_EXPECTED", "it said 'GET / HTTP/1.1"),
    "ZMTP": (lambda _: ref.greeting(), "TLS_EXPECTED", "as of ZMTP without TLS"),
    "SP": (lambda _: refsp.hello(refsp.PUSH), "TLS_EXPECTED", "as of SP without TLS"),
    "SSL 2": (lambda _: b"\x80\x2e\x01\x00\x02" + bytes(43), "TLS_EXPECTED", "octet is 80"),
    "version 4": (lambda p: b"\x16\x04" + p.hello()[2:], "TLS_EXPECTED", "second octet is 04"),
    **{
        f"type {kind} first": (
            lambda p, kind=kind: bytes([kind]) + p.hello()[1:],
            "TLS_EXPECTED",
            "octet is",
        )
        for kind in (0, 20, 21, 23, 24, 255)
    },
    "a record of 2^16 - 1": (lambda _: b"\x16\x03\x01\xff\xff", "CRYPTO", "packet length too long"),
    "a record of 2^14 + 1": (
        lambda _: b"\x16\x03\x01\x40\x01" + bytes(16385),
        "HANDSHAKE",
        "over 16384 octets",
    ),
    "records of 0": (lambda _: tls.record(22, b"") * 1000, "CRYPTO", "record too small"),
    "a hello of 2^24 - 1": (
        lambda _: tls.record(22, b"\x01\xff\xff\xff" + bytes(100)),
        "CRYPTO",
        "excessive message size",
    ),
    "a hello over 16 KiB": (
        hello(more=tls.extension(0x5555, bytes(17000))),
        "HANDSHAKE",
        "over 16384 octets",
    ),
    "another message": (lambda _: pieces(tls.message(2, OLD), 99), "CRYPTO", "unexpected message"),
    "SSL 3": (lambda _: pieces(tls.message(1, SSL3), 99), "MECHANISM", "no TLS that both can do"),
    "TLS 1.2": (lambda _: pieces(tls.message(1, OLD), 99), "MECHANISM", "no TLS that both can do"),
    "versions of TLS 1.2": (hello(versions=b"\x03\x03"), "MECHANISM", "no TLS that both can do"),
    "versions to come": (hello(versions=b"\x03\x05"), "MECHANISM", "no TLS that both can do"),
    "another cipher": (hello(suites=b"\x13\x03"), "MECHANISM", "no shared cipher"),
    "another group": (hello(group=0x7777), "MECHANISM", "no suitable key share"),
    "another ALPN": (hello(alpn="http/1.1"), "MECHANISM", "by ALPN it speaks 'http/1.1'"),
    "a share of zeros": (hello(share=bytes(32)), "CRYPTO", "bad key share"),
    "a short share": (hello(share=bytes(31)), "CRYPTO", "TLS"),
    "another identity": (hello(identity=b"x" * 64), "CRYPTO", "its secret is none of ours"),
    "an identity of 10,000": (hello(identity=b"x" * 10_000), "CRYPTO", "secret is none of ours"),
    "an identity of 60,000": (hello(identity=b"x" * 60_000), "HANDSHAKE", "over 16384 octets"),
    "another binder": (hello(binder=bytes(32)), "CRYPTO", "binder does not verify"),
    "another secret": (hello(psk=bytes(32), identity=b"y" * 64), "CRYPTO", "none of ours"),
    "hello twice": (lambda p: p.hello() * 2, "CRYPTO", "bad record type"),
    "HTTP behind hello": (behind(b"GET / HTTP/1.1\r\n\r\n"), "CRYPTO", "wrong version number"),
    "ZMTP behind hello": (behind(ref.greeting()), "CRYPTO", "wrong version number"),
    "data behind hello": (behind(tls.record(23, bytes(99))), "CRYPTO", "decryption failed"),
    "a wrong change of ciphers": (behind(tls.record(20, b"\x02")), "CRYPTO", "invalid ccs"),
    "many changes of ciphers": (behind(tls.record(20, b"\x01") * 999), "CRYPTO", "ccs message"),
    "half an alert": (behind(tls.record(21, b"\x02")), "CRYPTO", "invalid alert"),
    "warnings": (behind(tls.alert(90, 1) * 999), "CRYPTO", "too many warn alerts"),
    "close_notify": (behind(tls.alert(0, 1)), "HANDSHAKE_EOF", "'close notify'"),
    "close_notify, fatal": (behind(tls.alert(0, 2)), "HANDSHAKE_EOF", "'close notify'"),
    "close_notify, level 0": (behind(tls.alert(0, 0)), "HANDSHAKE_EOF", "'close notify'"),
    "an alert": (behind(tls.alert(40)), "TLS_ALERT", "'handshake failure'"),
    "an alert that warns": (behind(tls.alert(48, 1)), "TLS_ALERT", "'unknown CA'"),
    "an alert of level 255": (behind(tls.alert(48, 255)), "TLS_ALERT", "'unknown CA'"),
    "an unknown alert": (behind(tls.alert(200)), "TLS_ALERT", "'alert 200'"),
    "an unknown alert that warns": (behind(tls.alert(200, 1)), "TLS_ALERT", "'alert 200'"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_is_closed_and_counted_under_its_reason(name: str, secret: Path) -> None:
    """Other wires, wrong records and hellos, alerts: nothing of ours but TLS is heard."""
    build, reason, words = STRANGERS[name]
    with served(secret) as attacked, flat():
        with attacked.peer() as peer:
            heard = peer.send(build(peer)).until_closed()
        assert heard == b"" or heard[0] in (tls.ALERT, tls.HANDSHAKE)
        attacked.ended(**{reason: 1})
        assert words in attacked.why()


def sealed(kind: int, body: bytes) -> Callable[[SecretPeer], bytes]:
    """A record in the place of Finished, under the keys of the handshake."""
    return lambda peer: peer.client.ours.seal(kind, body)


def finished_twice(peer: SecretPeer) -> bytes:
    """The same record."""
    return peer.client.finished() * 2


IN_PLACE_OF_FINISHED: dict[str, tuple[Callable[[SecretPeer], bytes], str, str]] = {
    "another proof": (sealed(22, tls.message(20, bytes(32))), "CRYPTO", "digest check failed"),
    "a longer proof": (sealed(22, tls.message(20, bytes(33))), "CRYPTO", "bad digest length"),
    "a certificate": (sealed(22, tls.message(11, bytes(4))), "CRYPTO", "unexpected message"),
    "a message": (sealed(23, b"early"), "CRYPTO", "unexpected record"),
    "close_notify": (sealed(21, b"\x01\x00"), "HANDSHAKE_EOF", "'close notify'"),
    "an alert": (sealed(21, b"\x02\x30"), "TLS_ALERT", "'unknown CA'"),
    "an unknown alert": (sealed(21, b"\x02\xc8"), "TLS_ALERT", "'alert 200'"),
    "close_notify, not sealed": (lambda _: tls.alert(0, 1), "HANDSHAKE_EOF", "'close notify'"),
    "an alert, not sealed": (lambda _: tls.alert(40), "TLS_ALERT", "'handshake failure'"),
    "HTTP": (lambda _: b"GET / HTTP/1.1\r\n\r\n", "CRYPTO", "wrong version number"),
    "ZMTP": (lambda _: ref.greeting(), "CRYPTO", "wrong version number"),
    "Finished, not sealed": (
        lambda p: pieces(p.client.ours.finished(p.client.said), 99),
        "CRYPTO",
        "bad record type",
    ),
    "Finished twice": (finished_twice, "CRYPTO", "decryption failed"),
    "hello again": (lambda p: p.hello(), "CRYPTO", "bad record type"),
}


@pytest.mark.parametrize("name", IN_PLACE_OF_FINISHED)
def test_who_does_not_prove_that_it_knows_the_secret_is_closed(name: str, secret: Path) -> None:
    """It was answered, and its proof is no proof, or says that it ends."""
    build, reason, words = IN_PLACE_OF_FINISHED[name]
    with served(secret) as attacked, flat():
        with attacked.peer() as peer:
            peer.answered().send(build(peer)).until_closed()
        attacked.ended(**{reason: 1})
        assert words in attacked.why()


def test_a_handshake_that_is_cut_at_any_octet_is_counted_and_leaves_nothing(secret: Path) -> None:
    """The hello and the proof, then FIN."""
    with served(secret, handshake_timeout=WAIT_S) as attacked, ExitStack() as stack:
        with attacked.peer() as peer:
            sizes = len(peer.hello()), len(peer.answered().client.finished())
        count = 1
        for message, size in enumerate(sizes):
            for cut in range(1 if message == 0 else 0, size):
                with attacked.peer() as peer:
                    said = peer.hello() if message == 0 else peer.answered().client.finished()
                    peer.send(said[:cut]).socket.shutdown(1)
                    peer.until_closed()
                count += 1
                if count == WARM_UP:
                    stack.enter_context(flat())
        attacked.ended(HANDSHAKE_EOF=count)


def test_a_handshake_that_stops_anywhere_ends_by_its_time(secret: Path) -> None:
    """All at once; the good one goes on meanwhile."""
    with served(secret, handshake_timeout=2) as attacked, flat(), ExitStack() as peers:
        any_of = random.Random(SEED)
        stops = [any_of.random() for _ in range(30)]
        for stop in stops:
            for answered in (False, True):
                peer = peers.enter_context(attacked.peer())
                said = peer.answered().client.finished() if answered else peer.hello()
                peer.send(said[: int(stop * len(said))])
        attacked.ended(HANDSHAKE_TIMEOUT=2 * len(stops))
        assert "the handshake took too long" in attacked.why()


def test_one_octet_at_a_time_is_understood_and_does_not_prolong_a_handshake(secret: Path) -> None:
    """Whoever is done in time comes in; the time is that of all of it."""
    with served(secret) as attacked, attacked.peer() as peer:
        for octet in peer.hello():
            peer.send(bytes([octet]))
        peer.hear_answer()
        greeting = ref.greeting() + ref.ready(b"PUSH")
        said = peer.client.finished() + peer.client.ours.seal(tls.DATA, greeting)
        for octet in said + peer.client.ours.seal(tls.DATA, ref.message(b"a", b"b")):
            peer.send(bytes([octet]))
        assert attacked.pull.recv_frames(timeout=WAIT_S) == [b"a", b"b"]
    with served(secret, handshake_timeout=0.3) as attacked, attacked.peer() as peer:
        left = peer.hello()[:-1]
        while not attacked.pull.stats().closed:
            peer.send(left[:1])
            left = left[1:]
            check(attacked.pull, attacked.push)
        attacked.ended(HANDSHAKE_TIMEOUT=1)


def test_a_hello_may_be_in_many_records(secret: Path) -> None:
    """Of one octet each: as long as all of it is small."""
    with served(secret) as attacked, attacked.peer() as peer:
        peer.send(pieces(peer.client.hello(), 1)).hear_answer().send(peer.client.finished())
        peer.say(ref.greeting() + ref.ready(b"PUSH") + ref.message(b"came"))
        assert attacked.pull.recv(timeout=WAIT_S) == b"came"


def test_no_bit_of_a_handshake_may_be_changed(secret: Path) -> None:
    """One of each octet, of the hello and of the proof: nobody comes in. What is then longer than
    before is waited for until it is cut."""
    any_of = random.Random(SEED)
    taken = {"CRYPTO", "MECHANISM", "HANDSHAKE", "TLS_EXPECTED", "HANDSHAKE_EOF"}
    with served(secret) as attacked, ExitStack() as stack:
        with attacked.peer() as peer:
            sizes = len(peer.hello()), len(peer.answered().client.finished())
        count = 1
        for message, size in enumerate(sizes):
            for at in range(3 if message == 0 else 0, size):  # nobody looks at a hello's version
                with attacked.peer() as peer:
                    said = peer.hello() if message == 0 else peer.answered().client.finished()
                    changed = bytearray(said)
                    changed[at] ^= 1 << any_of.randrange(8)
                    peer.send(bytes(changed)).socket.shutdown(1)
                    peer.until_closed()
                count += 1
                if count == WARM_UP:
                    stack.enter_context(flat())
        wait_until(lambda: attacked.pull.stats().handshakes_failed == count)
        closed = attacked.pull.stats().closed
        assert {reason.name for reason in closed} <= taken
        assert closed[mm.Reason.CRYPTO] > count * 0.8
        assert len(attacked.pull.peers()) == 1


def test_what_was_recorded_is_of_no_use_elsewhere(secret: Path) -> None:
    """A hello is answered by other keys, so the rest of a connection is not taken, and what was in
    it comes once."""
    with served(secret) as attacked:
        with attacked.peer() as peer:
            said = [peer.hello()]
            peer.send(said[0]).hear_answer()
            said.append(peer.client.finished())
            greeting = ref.greeting() + ref.ready(b"PUSH")
            said.append(peer.client.ours.seal(tls.DATA, greeting + ref.message(b"once")))
            peer.send(said[1] + said[2])
            assert attacked.pull.recv(timeout=WAIT_S) == b"once"
            with attacked.peer() as beside:  # while the first is there
                beside.send(b"".join(said)).until_closed()
            peer.say(ref.message(b"still there"))
            assert attacked.pull.recv(timeout=WAIT_S) == b"still there"
            peer.say(b"\x01\x00", tls.ALERT).until_closed()
        with attacked.peer() as later:  # piece by piece, as it was
            for one in said:
                later.send(one)
            later.until_closed()
        with attacked.peer() as reordered:
            reordered.send(said[1] + said[0] + said[2]).until_closed()
        attacked.ended(CRYPTO=2, EOF=1, TLS_EXPECTED=1)
