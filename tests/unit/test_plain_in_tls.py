"""A password inside TLS: `mm.Plain(inside=)`. Both have to be right, and nothing of it is plain.

Not here: PLAIN by itself (test_plain.py), TLS by itself (test_tls.py).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._security.files.secret_files import write_secret
from tests.support.certs import Ca, alone
from tests.support.pairs import WAIT_S, wait_until

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
BIND = "tls+tcp://127.0.0.1:0"
USERS = {"alice": "correct horse"}


@pytest.fixture
def ca(tmp_path: Path) -> Ca:
    """Who signs for the server."""
    return Ca(tmp_path)


def ways(ca: Ca, folder: Path) -> dict[str, tuple[Any, Any]]:
    """The TLS around it, at the server and at the client."""
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    pinned = alone(folder, "pinned")
    secret = mm.Secret(write_secret(folder / "secret"))
    return {
        "nobody": (
            mm.Tls(**server.files, clients="none", allow=mm.ANYBODY),
            mm.Tls(ca=ca.file),
        ),
        "both": (mm.Tls(**server.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)),
        "pinned": (
            mm.Tls(**pinned.files, clients="none", allow=mm.ANYBODY),
            mm.Tls(allow=[pinned.pin]),
        ),
        "secret": (secret, secret),
    }


def told(socket: Any) -> mm.Event:
    """The first handshake that failed."""
    found: list[mm.Event] = []
    kind = mm.EventKind.HANDSHAKE_FAILED
    wait_until(lambda: found.extend(e for e in socket.events() if e.kind is kind) or found)
    return found[0]


@pytest.mark.parametrize("way", ["nobody", "both", "pinned", "secret"])
def test_who_knows_the_password_comes_in_and_is_known_by_the_user(
    ca: Ca, tmp_path: Path, way: str
) -> None:
    """Also one that only the password tells from others."""
    served, called = ways(ca, tmp_path)[way]
    who = mm.Plain(user="alice", password="correct horse", inside=called)
    with (
        mm.Pull(bind=BIND, security=mm.Plain(allow=USERS, inside=served)) as pull,
        mm.Push(connect=pull.endpoint, security=who) as push,
    ):
        push.send(b"x" * 100_000, timeout=WAIT_S)
        message = pull.recv(timeout=WAIT_S)
        assert (message.peer.user_id, message.peer.mechanism) == ("alice", "TLS+PLAIN")
        for peer in (*pull.peers(), *push.peers()):
            assert (peer.mechanism, peer.tls_version) == ("TLS+PLAIN", "TLSv1.3")


@pytest.mark.parametrize(
    ("who", "reason", "words"),
    [
        ({"password": "wrong"}, "NOT_ALLOWED", "another password"),
        ({"user": "bob"}, "NOT_ALLOWED", "bob"),
        ({"plain": False}, "MECHANISM", "mechanism"),
        ({"other": True}, "TLS_ALERT", "unknown CA"),
    ],
    ids=lambda v: next(iter(v)) if isinstance(v, dict) else "",
)
def test_who_has_but_one_of_both_does_not_come_in(
    ca: Ca, tmp_path: Path, who: dict[str, Any], reason: str, words: str
) -> None:
    """A wrong password or user, none, or another certificate than is believed."""
    served, called = ways(ca, tmp_path)["nobody"]
    if who.pop("other", False):
        called = mm.Tls(ca=Ca(tmp_path, "another").file)
    plain = who.pop("plain", True)
    given = {"user": "alice", "password": "correct horse", "inside": called, **who}
    with (
        mm.Pull(bind=BIND, security=mm.Plain(allow=USERS, inside=served)) as pull,
        mm.Push(connect=pull.endpoint, security=mm.Plain(**given) if plain else called) as push,
    ):
        found = told(pull)
        assert (found.reason.name, pull.peers(), push.peers()) == (reason, [], [])
        assert words in found.detail


def test_a_function_is_asked_for_the_user_and_a_file_is_followed(ca: Ca, tmp_path: Path) -> None:
    """Of asyncio sockets, too; the policy is Plain's."""
    served, called = ways(ca, tmp_path)["both"]
    seen: list[mm.Applicant] = []

    async def allow(who: mm.Applicant) -> mm.Allow:
        seen.append(who)
        return mm.Allow(f"user {who.user}")

    async def run() -> str:
        policy = mm.Plain(user="carol", password="p", inside=called)
        async with (
            meshmsg.aio.Pull(bind=BIND, security=mm.Plain(allow=allow, inside=served)) as pull,
            meshmsg.aio.Push(connect=pull.endpoint, security=policy) as push,
        ):
            await push.send(b"x", timeout=WAIT_S)
            return str((await pull.recv(timeout=WAIT_S)).peer.user_id)

    assert asyncio.run(run()) == "user carol"
    assert (seen[0].user, seen[0].password) == ("carol", "p")

    users = tmp_path / "users"
    users.touch(mode=0o600)
    users.write_text("alice=correct horse\n")
    who = mm.Plain(user="alice", password="correct horse", inside=called)
    with (
        mm.Pull(bind=BIND, security=mm.Plain(allow=users, inside=served)) as pull,
        mm.Push(connect=pull.endpoint, security=who) as push,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        users.write_text("alice=another one\n")
        wait_until(lambda: not pull.peers())
        assert pull.stats().closed[mm.Reason.REVOKED] == 1


def test_where_it_cannot_be_is_said(ca: Ca, tmp_path: Path) -> None:
    """Endpoints without TLS, SP, and a policy that asks by itself."""
    served, called = ways(ca, tmp_path)["both"]
    who = mm.Plain(user="alice", password="x", inside=called)
    for policy, url, words in (
        (who, "tcp://127.0.0.1:9", "tls+tcp://"),
        (who, "sp+tls+tcp://127.0.0.1:9", "SP has no PLAIN"),
        (mm.Plain(user="alice", password="x"), "tls+tcp://127.0.0.1:9", "inside="),
    ):
        with pytest.raises(mm.UsageError, match=words.replace("+", r"\+")):
            mm.Push(connect=url, security=policy)
    server = ca.sign("asks", "127.0.0.1")
    asks = mm.Tls(**server.files, ca=ca.file, allow=[server.pin])
    with pytest.raises(mm.UsageError, match="said by allow= of Plain"):
        mm.Plain(allow=USERS, inside=asks)
    with pytest.raises(TypeError, match="it is a Tls or a Secret"):
        mm.Plain(allow=USERS, inside=mm.NONE)  # type: ignore[arg-type]
    assert "correct" not in repr(mm.Plain(allow=USERS, inside=served))


@pytest.mark.parametrize("scheme", ["tcp", "tls+tcp"])
def test_who_is_denied_comes_back_late(scheme: str, tmp_path: Path) -> None:
    """Whatever it was that ended the connection after the word of the server."""
    inside = mm.Secret(write_secret(tmp_path / "secret")) if scheme == "tls+tcp" else None
    most = 0.2
    who = mm.Plain(user="alice", password="wrong", inside=inside)
    options: dict[str, Any] = {"reconnect_min": most / 100, "reconnect_max": most}
    served = mm.Plain(allow=USERS, inside=inside)
    with (
        mm.Pull(bind=f"{scheme}://127.0.0.1:0", security=served) as pull,
        mm.Push(connect=pull.endpoint, security=who, **options) as push,
    ):
        wait_until(lambda: any(event.retry_in is not None for event in push.events(since=0)))
        first = push.events(since=0)[0]
        assert first.reason is mm.Reason.ERROR_COMMAND
        assert first.retry_in is not None
        assert first.retry_in >= most / 2
