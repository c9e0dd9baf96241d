"""Files of TLS that change while connections stay, and what of them is never told.

Not here: what they are for (test_tls.py), files with random content (test_files_fuzzed.py).
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.certs import Ca, Cert, alone, written
from tests.support.pairs import WAIT_S, told_all, wait_until

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
BIND = "tls+tcp://127.0.0.1:0"
TALKS = """
import os, sys
import meshmsg as mm
cert, key, ca = sys.argv[1:]
os.environ["SSL_CERT_FILE"] = ca
served = mm.Tls(cert=cert, key=key, clients="none", allow=mm.ANYBODY)
with mm.Pull(bind="tls+tcp://127.0.0.1:0", security=served) as pull:
    with mm.Push(connect=pull.endpoint, security=mm.Tls(ca="system")) as push:
        push.send(b"hello", timeout=60)
        print(pull.recv(timeout=60).decode())
"""


@pytest.fixture
def ca(tmp_path: Path) -> Iterator[Ca]:
    """Who signs for both sides; all have been told of once the test is over."""
    yield Ca(tmp_path)
    told_all()


def served_key(pull: mm.Pull, called: mm.Tls) -> str:
    """The pin that who connects now sees."""
    with mm.Push(connect=pull.endpoint, security=called) as push:
        push.wait_for_peers(timeout=WAIT_S)
        return push.peers()[0].key


def test_a_pair_that_does_not_fit_changes_nothing_until_it_does(
    ca: Ca, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The key was renewed before its certificate, by two writes."""
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    other = tmp_path / "other"
    other.mkdir()
    served, called = mm.Tls(**server.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)
    with mm.Pull(bind=BIND, security=served) as pull:
        before = served_key(pull, called)
        newer = written(other, ca.sign("newer", "127.0.0.1").entity)
        newer.key.replace(server.key)
        wait_until(lambda: "what was read before stays" in caplog.text)
        assert str(server.key) in caplog.text
        assert served_key(pull, called) == before
        newer.cert.replace(server.cert)
        wait_until(lambda: newer.pin in mm.AllowList([served_key(pull, called)]))


@pytest.mark.parametrize("dials", [True, False])
@pytest.mark.parametrize("spoilt", ["gone", "wrong", "open"])
def test_pins_change_whatever_is_with_the_files(tmp_path: Path, spoilt: str, dials: bool) -> None:
    """Who is removed is out when `remove` returns, and who is added comes in."""
    server, client = alone(tmp_path, "server"), alone(tmp_path, "client")
    theirs, ours = mm.AllowList([client.pin]), mm.AllowList([server.pin])
    served, called = (
        mm.Tls(**one.files, allow=allow) for one, allow in ((server, theirs), (client, ours))
    )
    with (
        mm.Pull(bind=BIND, security=served) as pull,
        mm.Push(connect=pull.endpoint, security=called, reconnect_max=0.2) as push,
    ):
        for socket in (pull, push):
            socket.wait_for_peers(timeout=WAIT_S)
        socket, allow, whose = (push, ours, client) if dials else (pull, theirs, server)
        if spoilt == "gone":
            whose.cert.unlink()
        elif spoilt == "wrong":
            whose.cert.write_text("no certificate")
        else:
            whose.key.chmod(0o666)
        pin = server.pin if dials else client.pin
        allow.remove(pin)
        assert not socket.peers()
        assert socket.stats().closed[mm.Reason.REVOKED] == 1
        if dials:
            with pytest.raises(mm.WouldBlockError):
                push.send(b"to nobody", timeout=0)
        wait_until(lambda: not push.peers())
        allow.add(pin)
        push.send(b"hi", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"hi"


def test_who_is_taken_back_while_connected_is_disconnected_and_others_stay(ca: Ca) -> None:
    """By the list of the CA, once it is written anew."""
    server, bad, good = (ca.sign(name, "127.0.0.1") for name in ("server", "bad", "good"))
    served = mm.Tls(**server.files, ca=ca.file, crl=ca.revoke())

    def push(who: Cert) -> mm.Push:
        policy = mm.Tls(**who.files, ca=ca.file)
        return mm.Push(connect=pull.endpoint, security=policy, reconnect_max=0.2)

    with (
        mm.Pull(bind=BIND, security=served) as pull,
        push(bad) as one,
        push(good) as other,
    ):
        pull.wait_for_peers(2, timeout=WAIT_S)
        one.wait_for_peers(timeout=WAIT_S)
        ca.revoke(bad)
        wait_until(lambda: pull.stats().closed.get(mm.Reason.REVOKED) == 1)
        other.send(b"still here", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"still here"
        wait_until(lambda: any("taken back" in event.detail for event in pull.events()))


def test_those_whom_the_system_believes_may_be_enough(ca: Ca) -> None:
    """Where the system has them is OpenSSL's to say, also by its variables."""
    server = ca.sign("server", "127.0.0.1")
    program = [sys.executable, "-c", TALKS, str(server.cert), str(server.key), str(ca.file)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.stdout == "hello\n", done.stderr


def test_no_secret_is_in_what_is_told(
    ca: Ca, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of who comes in, and of who does not: events, peers, statistics, the log, errors."""
    caplog.set_level(logging.DEBUG, logger="meshmsg")
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    right, wrong = (write_secret(tmp_path / name) for name in ("right", "wrong"))
    files = [server.key, client.key, right, wrong]
    secrets = [
        line for file in files for line in file.read_text().splitlines() if line[:1].isalnum()
    ]
    secrets += ["correct horse", "battery staple"]
    tls, shared = mm.Tls(**server.files, ca=ca.file), mm.Secret(right)
    plain = mm.Plain(allow={"alice": "correct horse"}, inside=shared)
    ways: list[tuple[Any, Any]] = [
        (tls, mm.Tls(**client.files, ca=ca.file)),
        (tls, mm.Tls(ca=ca.file)),
        (shared, shared),
        (shared, mm.Secret(wrong)),
        (plain, mm.Plain(user="alice", password="correct horse", inside=shared)),
        (plain, mm.Plain(user="alice", password="battery staple", inside=shared)),
    ]
    told: list[object] = []
    for policy, other in ways:
        with (
            mm.Pull(bind=BIND, security=policy) as pull,
            mm.Push(connect=pull.endpoint, security=other) as push,
        ):
            wait_until(lambda pull=pull: pull.peers() or pull.stats().handshakes_failed)
            for socket in (pull, push):
                told += [socket, *socket.events(), *socket.peers(), socket.stats(), policy, other]
            with pytest.raises(mm.MeshError) as raised:
                pull.recv(timeout=0)
            told.append(raised.value)
    told_all()
    words = "\n".join([*map(repr, told), *map(str, told), caplog.text])
    assert [secret for secret in secrets if secret in words] == []
