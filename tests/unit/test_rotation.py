"""Keys are changed by the steps of docs/security.md, one after the other, while others go on.

Each test follows one list of steps there. Not here: what a file that is wrong does
(test_allow_lists.py, test_tls.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.program import main
from tests.support.certs import Ca, alone
from tests.support.pairs import WAIT_S, of_its_own, wait_until

AGAIN_S = 2.0
"""Seconds after which a message is looked for: more than it takes to look at files."""
ENDED = (mm.Reason.REVOKED, mm.Reason.EOF, mm.Reason.RESET)
BIND = "tls+tcp://127.0.0.1:0"
curve = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
tls = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are those of the page."""
    monkeypatch.chdir(tmp_path)


def meshmsg(*words: str) -> None:
    """Type it."""
    assert main(list(words)) == 0


def put(path: str | Path, content: bytes) -> None:
    """Change a file as the page says: whole."""
    beside = Path(f"{path}.new")
    beside.touch(0o600)
    beside.write_bytes(content)
    os.replace(beside, path)


@contextmanager
def called(pull: mm.Pull, security: Any) -> Iterator[mm.Push]:
    """A client that was let in, and whose message came."""
    with mm.Push(
        connect=pull.endpoint, security=security, reconnect_min=0.02, reconnect_max=0.1
    ) as push:
        talk(pull, push)
        yield push


def talk(pull: mm.Pull, push: mm.Push) -> mm.Message:
    """One message; what goes into a connection that is just being ended is sent once more."""
    push.send(b"x", timeout=WAIT_S)
    for _ in range(int(WAIT_S / AGAIN_S)):
        try:
            return pull.recv(timeout=AGAIN_S)
        except mm.TimedOutError:
            closed = {**push.stats().closed, **pull.stats().closed}
            if any(reason in closed for reason in ENDED):
                push.send(b"x", timeout=WAIT_S)
    raise AssertionError("it never came")


def stays_out(pull: mm.Pull, security: Any) -> None:
    """A client that is refused."""
    with mm.Push(connect=pull.endpoint, security=security) as push:
        failed = mm.EventKind.HANDSHAKE_FAILED
        wait_until(lambda: any(event.kind is failed for event in push.events()))
        assert push.peers() == []


def revoked(socket: Any) -> bool:
    """Whether it has disconnected somebody so."""
    return mm.Reason.REVOKED in socket.stats().closed


@curve
def test_the_key_of_a_curve_server() -> None:
    """Clients of the old key come in until the third step, those of the new one from the first."""
    meshmsg("keygen", "old")
    old, new = mm.Curve(server="old.key"), None
    with mm.Pull(
        bind=of_its_own(), security=mm.Curve(key="old.key_secret", allow=mm.ANYBODY)
    ) as pull:
        with called(pull, old):
            pass
    meshmsg("keygen", "new")
    both = mm.Curve(key=["new.key_secret", "old.key_secret"], allow=mm.ANYBODY)
    with mm.Pull(bind=of_its_own(), security=both) as pull:
        new = mm.Curve(server="new.key")
        with called(pull, old), called(pull, new):
            pass
    with mm.Pull(
        bind=of_its_own(), security=mm.Curve(key="new.key_secret", allow=mm.ANYBODY)
    ) as pull:
        with called(pull, new):
            stays_out(pull, old)


@curve
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_key_of_a_curve_client(kind: str) -> None:
    """The server is not started again, and knows it by the same user id."""
    meshmsg("keygen", "server")
    meshmsg("keygen", "alice")
    Path("allowed").touch(0o644) if kind == "file" else Path("allowed").mkdir(0o755)
    meshmsg("keys", "allow", "allowed", "alice.key")
    policy = mm.Curve(key="server.key_secret", allow="allowed")
    with mm.Pull(bind=of_its_own(), security=policy) as pull:
        before, after = (
            lambda name=name: mm.Curve(server="server.key", key=f"{name}.key_secret")
            for name in ("alice", "alice2")
        )
        with called(pull, before()) as first:
            meshmsg("keygen", "alice2")
            meshmsg("keys", "allow", "allowed", "alice2.key", "alice")
            with called(pull, after()) as second:
                assert talk(pull, first).peer.user_id == talk(pull, second).peer.user_id == "alice"
                meshmsg("keys", "remove", "allowed", "alice.key")
                wait_until(lambda: revoked(pull))
                assert talk(pull, second).peer.user_id == "alice"
                stays_out(pull, before())


@tls
def test_a_certificate_of_the_same_ca(tmp_path: Path) -> None:
    """The connections that are there stay; who comes now sees the new one."""
    ca = Ca(tmp_path)
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    mine = mm.Tls(**client.files, ca=ca.file)
    with mm.Pull(bind=BIND, security=mm.Tls(**server.files, ca=ca.file)) as pull:
        with called(pull, mine) as first:
            aside = tmp_path / "aside"
            aside.mkdir()
            newer = Ca.sign(_signing_in(ca, aside), "server", "127.0.0.1")
            put(server.key, newer.key.read_bytes())
            put(server.cert, newer.cert.read_bytes())

            def shown() -> str:
                with called(pull, mine) as another:
                    return another.peers()[0].key

            wait_until(lambda: newer.pin in mm.AllowList([shown()]))
            talk(pull, first)
            assert not revoked(pull)
            assert not revoked(first)


def _signing_in(ca: Ca, folder: Path) -> Ca:
    """The same, and its certificates are written there."""
    other = object.__new__(Ca)
    other._folder, other._entity, other.file = folder, ca._entity, ca.file
    return other


@tls
def test_the_ca(tmp_path: Path) -> None:
    """Both are believed in between; whom the old one signed leaves with it."""
    old, new = Ca(tmp_path, "old"), Ca(tmp_path, "new")
    put("ca.pem", old.file.read_bytes())
    files = {
        name: ca.sign(name, "127.0.0.1").files
        for name, ca in (("server", old), ("client", old), ("late", old), ("client2", new))
    }
    served = mm.Tls(**files["server"], ca="ca.pem")
    with mm.Pull(bind=BIND, security=served) as pull:
        late = mm.Tls(**files["late"], ca="ca.pem")
        with called(pull, late) as last:
            put("ca.pem", old.file.read_bytes() + new.file.read_bytes())
            newer = new.sign("newserver", "127.0.0.1")
            put(files["server"]["key"], newer.key.read_bytes())
            put(files["server"]["cert"], newer.cert.read_bytes())
            second = mm.Tls(**files["client2"], ca="ca.pem")

            def new_ones_meet() -> bool:
                with mm.Push(connect=pull.endpoint, security=second) as push:
                    wait_until(lambda: push.peers() or push.events())
                    seen = [one.key for one in push.peers()]
                    return bool(seen) and newer.pin in mm.AllowList(seen)

            wait_until(new_ones_meet)
            talk(pull, last)
            with called(pull, second) as push:
                put("ca.pem", new.file.read_bytes())
                wait_until(lambda: revoked(pull))
                talk(pull, push)
                stays_out(pull, late)


@tls
def test_a_pinned_certificate(tmp_path: Path) -> None:
    """Its new pin is there before it is."""
    server, client = alone(tmp_path, "server"), alone(tmp_path, "client")
    newer = alone(tmp_path, "newer")
    put("pins", f"{client.pin} alice\n".encode())
    with mm.Pull(bind=BIND, security=mm.Tls(**server.files, allow="pins")) as pull:
        policy = mm.Tls(**client.files, allow=[server.pin])
        with called(pull, policy) as push:
            put("pins", f"{client.pin} alice\n{newer.pin} alice\n".encode())
            put(client.key, newer.key.read_bytes())
            put(client.cert, newer.cert.read_bytes())
            talk(pull, push)
            put("pins", f"{newer.pin} alice\n".encode())
            wait_until(lambda: revoked(pull))
            wait_until(lambda: newer.pin in mm.AllowList([one.key for one in pull.peers()]))
            assert talk(pull, push).peer.user_id == "alice"


@tls
def test_a_shared_secret() -> None:
    """Two machines, each with its own copy: they meet at every step, in either order."""
    for name in ("first", "old", "new"):
        meshmsg("keygen", name, "--secret")
    old, new = (Path(f"{name}.secret").read_bytes() for name in ("old", "new"))
    for machine in ("a", "b"):
        put(machine, old)
    with mm.Pull(bind=BIND, security=mm.Secret("a")) as pull:
        with called(pull, mm.Secret("b")) as push:
            for content in (old + new, new + old, new):
                for machine in ("b", "a"):
                    put(machine, content)
                    talk(pull, push)
                    with called(pull, mm.Secret("b")):
                        pass
            put("old.secret", old)
            wait_until(lambda: revoked(pull) or revoked(push))
            talk(pull, push)
            stays_out(pull, mm.Secret("old.secret"))
