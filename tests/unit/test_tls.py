"""`security=mm.Tls(...)` and `mm.Secret(...)`: who is believed, and what is said to who is not.

Not here: TLS itself (tests/c/test_tls.c), peers of NNG and OpenSSL (tests/interop/test_tls.py).
"""

from __future__ import annotations

import asyncio
import pickle
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._security.files.secret_files import write_secret
from tests.support.certificates import DIALS, SERVES
from tests.support.certs import Ca, alone
from tests.support.pairs import WAIT_S, wait_until

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
BIND = "tls+tcp://127.0.0.1:0"


@pytest.fixture
def ca(tmp_path: Path) -> Ca:
    """Who signs for both sides."""
    return Ca(tmp_path)


@contextmanager
def pair(server: Any, client: Any, bind: str = BIND) -> Iterator[tuple[mm.Pull, mm.Push]]:
    """Two sockets that are to talk to each other."""
    with (
        mm.Pull(bind=bind, security=server) as pull,
        mm.Push(connect=pull.endpoint, security=client) as push,
    ):
        yield pull, push


def talk(pull: mm.Pull, push: mm.Push) -> None:
    """One message each of sizes below and above a record."""
    for size in (0, 1, 64, 16_384, 1_000_000):
        push.send(b"x" * size, timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"x" * size


def why(socket: Any) -> str:
    """Say why the first handshake failed, once there is one."""
    found: list[mm.Event] = []
    kind = mm.EventKind.HANDSHAKE_FAILED
    wait_until(lambda: found.extend(e for e in socket.events() if e.kind is kind) or found)
    return f"{found[0].reason.name}: {found[0].detail}"


def test_both_prove_by_certificates_of_one_ca_who_they_are(ca: Ca) -> None:
    """What is known of the peer is its key, and how."""
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    with pair(mm.Tls(**server.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)) as (a, b):
        talk(a, b)
        [seen], [sees] = a.peers(), b.peers()
        assert seen.mechanism == sees.mechanism == "TLS"
        assert client.pin in mm.AllowList([seen.key])
        assert server.pin in mm.AllowList([sees.key])
        for told, shown in ((seen, client), (sees, server)):
            assert (told.tls_version, told.cipher[:4]) == ("TLSv1.3", "TLS_")
            assert ssl.DER_cert_to_PEM_cert(told.certificate) in shown.files["cert"].read_text()
            assert told.as_dict()["certificate"] == b64encode(told.certificate).decode()


def test_a_list_says_who_may_come_in_and_by_which_name(ca: Ca, tmp_path: Path) -> None:
    """By pins: who signed does not matter; who is removed is disconnected."""
    server, client = alone(tmp_path, "server"), alone(tmp_path, "client")
    allow = mm.AllowList({client.pin: "alice"})
    with pair(mm.Tls(**server.files, allow=allow), mm.Tls(**client.files, allow=[server.cert])) as (
        pull,
        push,
    ):
        talk(pull, push)
        assert pull.peers()[0].user_id == "alice"
        assert client.cert in allow
        allow.remove(client.pin)
        wait_until(lambda: not pull.peers())
        assert mm.Reason.REVOKED in [event.reason for event in pull.events()]


def test_a_list_that_changes_changes_who_is_believed(tmp_path: Path) -> None:
    """At both sides: who is added comes in, and who connects leaves a server that is taken off."""
    server, client = alone(tmp_path, "server"), alone(tmp_path, "client")
    allow, servers = mm.AllowList(), mm.AllowList([server.pin])
    with pair(mm.Tls(**server.files, allow=allow), mm.Tls(**client.files, allow=servers)) as (
        pull,
        push,
    ):
        why(pull)
        allow.add(client.pin)
        talk(pull, push)
        servers.remove(server.pin)
        wait_until(lambda: not push.peers())
        assert mm.Reason.REVOKED in [event.reason for event in push.events()]
        servers.add(server.pin)
        talk(pull, push)


@pytest.mark.parametrize("policy", ["no pin", "another pin"])
def test_who_is_not_in_the_list_does_not_come_in(tmp_path: Path, policy: str) -> None:
    """Told at both sides."""
    server, client = alone(tmp_path, "server"), alone(tmp_path, "client")
    other = alone(tmp_path, "other")
    allow = mm.AllowList([other.pin] if policy == "another pin" else [])
    with pair(mm.Tls(**server.files, allow=allow), mm.Tls(**client.files, allow=[server.pin])) as (
        pull,
        push,
    ):
        said = why(pull)
        assert said.startswith("CERTIFICATE")
        assert "none of the pins of allow=" in said
        with pytest.raises(mm.TimedOutError):
            push.wait_for_peers(timeout=0.5)


@pytest.mark.parametrize(
    ("names", "more", "words"),
    [
        (["127.0.0.2"], {}, "127.0.0.1"),
        (["*.example"], {}, "127.0.0.1"),
        ([], {}, "127.0.0.1"),
        (["127.0.0.1"], {"days": (-1, -0.5)}, "expired"),
        (["127.0.0.1"], {"days": (1, 2)}, "not valid before"),
        (["127.0.0.1"], {"usage": DIALS}, "extended key usage"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused_by_who_connects(
    ca: Ca, names: list[str], more: dict[str, Any], words: str
) -> None:
    """Wrong host, dates or purpose: which check it was is in one line, at both sides."""
    server, client = ca.sign("server", *names, **more), ca.sign("client")
    with pair(mm.Tls(**server.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)) as (a, b):
        said = why(b)
        assert said.startswith("CERTIFICATE")
        assert words in said
        assert "TLS_ALERT" in why(a)


def test_who_signed_matters_at_both_sides(ca: Ca, tmp_path: Path) -> None:
    """Another CA, of the client and of the server."""
    other = Ca(tmp_path, "other")
    server, client = ca.sign("server", "127.0.0.1"), other.sign("client")
    with pair(mm.Tls(**server.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)) as (a, b):
        assert why(a).startswith("CERTIFICATE")
        assert "TLS_ALERT" in why(b)
    stranger = other.sign("server", "127.0.0.1")
    with pair(mm.Tls(**stranger.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)) as (a, b):
        assert why(b).startswith("CERTIFICATE")


def test_names_take_the_place_of_the_host(ca: Ca) -> None:
    """URIs, as in meshes of services."""
    server = ca.sign("server", "spiffe://etl/loader")
    client = ca.sign("client", usage=DIALS)
    for names, comes in ((["spiffe://etl/*"], True), (["spiffe://web/*"], False)):
        called = mm.Tls(**client.files, ca=ca.file, names=names)
        with pair(mm.Tls(**server.files, ca=ca.file), called) as (pull, push):
            if comes:
                talk(pull, push)
            else:
                assert "spiffe://etl/loader" in why(push)


def test_a_revoked_certificate_is_refused(ca: Ca) -> None:
    """By the list of the CA, at the server."""
    server, client, good = (ca.sign(name, "127.0.0.1") for name in ("server", "client", "good"))
    served = mm.Tls(**server.files, ca=ca.file, crl=ca.revoke(client))
    with pair(served, mm.Tls(**client.files, ca=ca.file)) as (pull, _):
        assert "crl= says that its certificate was taken back" in why(pull)
    with pair(served, mm.Tls(**good.files, ca=ca.file)) as (pull, push):
        talk(pull, push)


@pytest.mark.parametrize("clients", ["optional", "none"])
def test_a_client_may_have_no_certificate(ca: Ca, clients: Any) -> None:
    """Where the server says so."""
    server = ca.sign("server", "127.0.0.1", usage=SERVES)
    served = mm.Tls(**server.files, ca=ca.file, clients=clients, allow=mm.ANYBODY)
    with pair(served, mm.Tls(ca=ca.file)) as (pull, push):
        talk(pull, push)


def test_a_client_without_a_certificate_is_refused_where_one_is_required(ca: Ca) -> None:
    """Both sides say what is missing."""
    server = ca.sign("server", "127.0.0.1")
    with pair(mm.Tls(**server.files, ca=ca.file), mm.Tls(ca=ca.file)) as (pull, push):
        assert why(pull).startswith("CERTIFICATE")
        assert "certificate" in why(push)


def test_a_function_is_asked_and_sees_the_certificate(ca: Ca) -> None:
    """What it returns is the peer's user id."""
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    asked: list[mm.Applicant] = []

    def allow(who: mm.Applicant) -> mm.Allow:
        asked.append(who)
        return mm.Allow("bob")

    served = mm.Tls(**server.files, ca=ca.file, allow=allow)
    with pair(served, mm.Tls(**client.files, ca=ca.file)) as (pull, push):
        talk(pull, push)
        assert pull.peers()[0].user_id == "bob"
    assert asked[0].mechanism == "TLS"
    assert client.pin in mm.AllowList([asked[0].key])
    assert ssl.DER_cert_to_PEM_cert(asked[0].certificate) in client.files["cert"].read_text()
    assert "certificate" not in repr(asked[0])


def test_who_connects_and_has_a_ca_does_not_ask_its_list(ca: Ca) -> None:
    """The list says who may come in here: a server that the CA signed need not be in it."""
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    called = mm.Tls(**client.files, ca=ca.file, allow=[ca.sign("other").pin])
    with pair(mm.Tls(**server.files, ca=ca.file), called) as (pull, push):
        talk(pull, push)


def test_a_pin_is_removed_also_while_certificate_and_key_are_being_changed(tmp_path: Path) -> None:
    """The list is what it says it is; the core gets it as soon as the files are a pair again."""
    server, client = alone(tmp_path, "server"), alone(tmp_path, "client")
    other = alone(tmp_path, "other")
    allow = mm.AllowList([client.pin, other.pin])
    right = server.files["key"].read_bytes()
    with pair(mm.Tls(**server.files, allow=allow), mm.Tls(**client.files, allow=[server.pin])) as (
        pull,
        push,
    ):
        talk(pull, push)
        beside = tmp_path / "beside"
        beside.write_bytes(other.files["key"].read_bytes())
        beside.chmod(0o600)
        beside.replace(server.files["key"])
        allow.remove(client.pin)
        assert client.pin not in allow
        beside.write_bytes(right)
        beside.chmod(0o600)
        beside.replace(server.files["key"])
        wait_until(lambda: not pull.peers())


def test_a_shared_secret_is_all_that_a_cluster_needs(tmp_path: Path) -> None:
    """One file for all; another one does not come in, and both sides say so."""
    one, other = write_secret(tmp_path / "one"), write_secret(tmp_path / "other")
    with pair(mm.Secret(one), mm.Secret(one)) as (pull, push):
        talk(pull, push)
        told = push.peers()[0]
        assert (told.tls_version, told.certificate) == ("TLSv1.3", b"")
    with pair(mm.Secret(one), mm.Secret(other)) as (pull, push):
        assert "secret" in why(pull).lower()
        assert "secret" in why(push).lower()


def test_a_secret_is_changed_while_connections_stay(tmp_path: Path) -> None:
    """First at who binds, then at who connects, then the old one is taken away."""
    path = write_secret(tmp_path / "served")
    new, old = write_secret(tmp_path / "new"), write_secret(tmp_path / "old")
    path.write_bytes(old.read_bytes())
    with mm.Pull(bind=BIND, security=mm.Secret(path)) as pull:
        with mm.Push(connect=pull.endpoint, security=mm.Secret(old)) as first:
            talk(pull, first)
            path.write_bytes(new.read_bytes() + old.read_bytes())
            with mm.Push(connect=pull.endpoint, security=mm.Secret(new)) as second:
                talk(pull, second)
            talk(pull, first)


def test_new_certificates_are_taken_while_connections_stay(ca: Ca, tmp_path: Path) -> None:
    """A wrong pair changes nothing, and is told."""
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    served, called = mm.Tls(**server.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)
    with pair(served, called) as (pull, push):
        talk(pull, push)
        newer = ca.sign("server", "127.0.0.1")
        assert newer.pin != server.pin

        def seen() -> str:
            with mm.Push(connect=pull.endpoint, security=called) as another:
                another.wait_for_peers(timeout=WAIT_S)
                return another.peers()[0].key

        wait_until(lambda: newer.pin in mm.AllowList([seen()]))
        talk(pull, push)


def test_the_same_of_asyncio_and_of_sp(ca: Ca) -> None:
    """TLS, then what each wire says."""
    server, client = ca.sign("server", "127.0.0.1"), ca.sign("client")
    served, called = mm.Tls(**server.files, ca=ca.file), mm.Tls(**client.files, ca=ca.file)

    async def run() -> None:
        async with meshmsg.aio.Rep(bind=BIND, security=served) as rep:
            for url in (rep.endpoint, f"sp+{rep.endpoint}"):
                async with meshmsg.aio.Req(connect=url, security=called) as req:
                    asked = asyncio.ensure_future(req.request(b"ping", timeout=WAIT_S))
                    request = await rep.recv(timeout=WAIT_S)
                    request.reply(b"pong")
                    assert await asked == b"pong"

    asyncio.run(run())


def test_endpoints_and_policies_agree_or_raise(ca: Ca, tmp_path: Path) -> None:
    """Nothing falls back to plain."""
    server = ca.sign("server", "127.0.0.1")
    tls = mm.Tls(**server.files, ca=ca.file)
    for url in ("tcp://127.0.0.1:0", f"ipc://{tmp_path}/s", "sp+tcp://127.0.0.1:0"):
        with pytest.raises(mm.UsageError, match=r"Tls is for endpoints tls\+tcp://"):
            mm.Pull(bind=url, security=tls)
    for security in (None, mm.NONE):
        with pytest.raises(mm.MeshError, match="tls"):
            mm.Pull(bind=BIND, security=security)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cert": "a.pem"}, "cert= and key= go together"),
        ({"cert": "a.pem", "key": "b.pem"}, "who is believed"),
        ({"ca": "system", "clients": "some"}, "clients is 'some'; it is one of required"),
        ({"ca": "system", "min_version": "1.1"}, "min_version is '1.1'; it is one of 1.3, 1.2"),
        ({"ca": "system", "names": ["é"]}, "names has 'é'"),
    ],
)
def test_what_is_missing_or_wrong_is_said(arguments: dict[str, Any], words: str) -> None:
    """Where the policy is made."""
    with pytest.raises(mm.UsageError, match=words):
        mm.Tls(**arguments)


def test_a_private_key_that_others_can_read_is_refused(ca: Ca) -> None:
    """With the chmod."""
    server = ca.sign("server", "127.0.0.1")
    server.key.chmod(0o644)
    with pytest.raises(mm.UsageError, match="has a private key, and others can reach it"):
        mm.Tls(**server.files, ca=ca.file)


def test_a_key_of_another_certificate_is_refused(ca: Ca) -> None:
    """Before anybody connects."""
    one, other = ca.sign("one", "127.0.0.1"), ca.sign("other", "127.0.0.1")
    with pytest.raises(mm.UsageError, match=r"one\.pem"):
        mm.Pull(bind=BIND, security=mm.Tls(cert=one.cert, key=other.key, ca=ca.file))


def test_no_text_of_a_policy_has_a_secret(ca: Ca, tmp_path: Path) -> None:
    """Neither repr nor pickle."""
    server, secret = ca.sign("server"), write_secret(tmp_path / "cluster.secret")
    content = server.key.read_bytes()
    policies = [
        mm.Tls(cert=server.cert.read_bytes(), key=content, ca=ca.file),
        mm.Secret(secret),
    ]
    for policy in policies:
        assert "PRIVATE" not in repr(policy)
        assert secret.read_text().split()[-1] not in repr(policy)
        with pytest.raises(mm.UsageError, match="is not pickled"):
            pickle.dumps(policy)


def test_a_file_of_policies_has_tls_and_secrets(
    ca: Ca, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are relative to it; a whole program is protected without a line of its own."""
    ca.sign("server", "127.0.0.1")
    ca.sign("client")
    write_secret(tmp_path / "cluster")
    files = {
        "tls.ini": "[bind]\nmechanism = tls\ncert = server.pem\nkey = server.key.pem\n"
        "ca = ca.pem\n[connect]\nmechanism = tls\ncert = client.pem\nkey = client.key.pem\n"
        "ca = ca.pem\n",
        "secret.ini": "[bind]\nmechanism = secret\npath = cluster\n"
        "[connect]\nmechanism = secret\npath = cluster\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        monkeypatch.setenv("MESHMSG_SECURITY", str(tmp_path / name))
        with (
            mm.Engine() as engine,
            mm.Pull(bind=BIND, engine=engine) as pull,
            mm.Push(connect=pull.endpoint, engine=engine) as push,
        ):
            talk(pull, push)
            assert pull.peers()[0].mechanism == "TLS"
