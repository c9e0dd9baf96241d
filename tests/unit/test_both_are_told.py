"""Whatever is wrong about a key, a name, a date or a file is told in one line, at both sides.

A table: how two sides are protected, and what each is told. Not here: each check by itself
(test_tls.py, test_curve_handshake.py ...), hostile peers (tests/hostile).
Law: a reason is the same each time, and its words say what to look at; no line is cut.
"""

from __future__ import annotations

import dataclasses
import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.certificates import DIALS, SERVES
from tests.support.certs import Ca, Cert, alone
from tests.support.pairs import WAIT_S, wait_until

DETAIL_MAX = 127
"""Octets of a detail: one that has so many may be cut."""
ENDS = (mm.EventKind.HANDSHAKE_FAILED, mm.EventKind.PEER_DOWN)
pytestmark = pytest.mark.skipif(
    not (mm.has("tls") and mm.has("curve")), reason="no OpenSSL 3, or no libsodium here"
)


class Keys:
    """What policies are made of, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server, self.alice, self.eve = (mm.keygen() for _ in range(3))
        self.ca, self.other = self.made(Ca, "ca"), self.made(Ca, "other", "other")
        self.serving, self.calling = self.ca.sign("server", "127.0.0.1"), self.ca.sign("client")
        self.secret, self.another = (write_secret(folder / name) for name in ("one", "two"))

    def made(self, kind: Callable[..., Any], name: str, *more: Any) -> Any:
        """Something in a folder of its own."""
        place = self.folder / f"in-{name}"
        place.mkdir()
        return kind(place, *more)

    def tls(self, server: Cert, client: Cert, **more: Any) -> tuple[Any, Any]:
        """Both believe the same CA; more: of the server's policy."""
        served = mm.Tls(**server.files, **{"ca": self.ca.file, **more})
        return served, mm.Tls(**client.files, ca=self.ca.file)

    def curve(self, allow: Any) -> tuple[Any, Any]:
        """Alice calls."""
        return mm.Curve(key=self.server, allow=allow), self.calls(self.alice)

    def calls(self, key: Any) -> Any:
        """Who calls that server."""
        return mm.Curve(server=self.server.public, key=key)

    def pins(self, *, served: bool) -> tuple[Any, Any]:
        """Each has its own certificate; served: it is the client's that is not the pinned one."""
        server, client, third = (
            self.made(alone, name, name) for name in ("pinned1", "pinned2", "pinned3")
        )
        theirs, ours = (third, server) if served else (client, third)
        return mm.Tls(**server.files, allow=[theirs.pin]), mm.Tls(**client.files, allow=[ours.pin])

    def taken_back(self, *, client: bool) -> tuple[Any, Any]:
        """By the CA, which the other side knows."""
        gone = self.calling if client else self.serving
        crl = self.ca.revoke(gone)
        served = mm.Tls(**self.serving.files, ca=self.ca.file, crl=crl if client else None)
        return served, mm.Tls(**self.calling.files, ca=self.ca.file, crl=None if client else crl)


class Case(NamedTuple):
    """What is wrong, and what is told of it."""

    policies: Callable[[Keys], tuple[Any, Any]]
    """Of who binds and of who connects; None is none."""
    at_server: str
    at_client: str


def both(policies: Callable[[Keys], tuple[Any, Any]], server: str, client: str) -> Case:
    """Write a row; each is "REASON words"."""
    return Case(policies, server, client)


NOT_IN = "NOT_ALLOWED its key"
CURVE_NO = "ERROR_COMMAND CURVE: the server does not let us in: '400'"
TLS_NO = "TLS_ALERT 'close notify' once it knows who we are: it does not let us in"
OUR_CERTIFICATE = "TLS_ALERT it does not take our certificate, its name, pin or date"
NOT_OUR_CA = "TLS_ALERT its ca= did not sign our certificate"
PLAIN_NO = "ERROR_COMMAND PLAIN: the server does not let us in: '400'"

CASES = {
    "the server has another key": both(
        lambda k: (mm.Curve(key=k.eve, allow=mm.ANYBODY), k.calls(k.alice)),
        "CRYPTO HELLO does not open: the client's server= is not our key",
        "HANDSHAKE_EOF our server= is most likely not its key",
    ),
    "a key of a client that nobody knows": both(
        lambda k: k.curve([k.eve.public]), f"{NOT_IN}|is not in allow=", CURVE_NO
    ),
    "a client without a key, and a list": both(
        lambda k: (mm.Curve(key=k.server, allow=[k.eve.public]), mm.Curve(server=k.server.public)),
        f"{NOT_IN}|is not in allow=",
        f"{CURVE_NO}; we have no key=, so no list has us",
    ),
    "a function of CURVE denies": both(
        lambda k: k.curve(lambda _: mm.Deny("not today")), "NOT_ALLOWED not today", CURVE_NO
    ),
    "a function of CURVE wants it later": both(
        lambda k: k.curve(lambda _: mm.Later("no database")),
        "NOT_ALLOWED later: no database",
        "HANDSHAKE_EOF it may not let this key in",
    ),
    "a certificate that a list does not have": both(
        lambda k: k.tls(k.serving, k.calling, allow=mm.AllowList()),
        f"{NOT_IN}|is not in allow=",
        TLS_NO,
    ),
    "a function of TLS denies": both(
        lambda k: k.tls(k.serving, k.calling, allow=lambda _: mm.Deny("not today")),
        "NOT_ALLOWED not today",
        TLS_NO,
    ),
    "a function of TLS wants it later": both(
        lambda k: k.tls(k.serving, k.calling, allow=lambda _: mm.Later("no database")),
        "NOT_ALLOWED later: no database",
        "HANDSHAKE_EOF it may not know us, or not let us in",
    ),
    "the server is of another CA": both(
        lambda k: k.tls(k.other.sign("server", "127.0.0.1"), k.calling),
        NOT_OUR_CA,
        "CERTIFICATE nobody in ca= signed its certificate: the issuer is CN=other",
    ),
    "the client is of another CA": both(
        lambda k: k.tls(k.serving, k.other.sign("client")),
        "CERTIFICATE nobody in ca= signed its certificate: the issuer is CN=other",
        NOT_OUR_CA,
    ),
    "the client has no certificate": both(
        lambda k: (k.tls(k.serving, k.calling)[0], mm.Tls(ca=k.ca.file)),
        "CERTIFICATE it has no certificate, and clients are to have one",
        "TLS_ALERT 'certificate required': we have no certificate to show",
    ),
    "the server has another name": both(
        lambda k: k.tls(k.ca.sign("named", "other.example"), k.calling),
        OUR_CERTIFICATE,
        "CERTIFICATE its certificate is not for '127.0.0.1', but for other.example",
    ),
    "the server's has expired": both(
        lambda k: k.tls(k.ca.sign("old", "127.0.0.1", days=(-3, -1)), k.calling),
        "TLS_ALERT 'certificate expired': our certificate, or its clock",
        "CERTIFICATE its certificate expired at 20",
    ),
    "the client's has expired": both(
        lambda k: k.tls(k.serving, k.ca.sign("old", days=(-3, -1))),
        "CERTIFICATE its certificate expired at 20",
        "TLS_ALERT 'certificate expired': our certificate, or its clock",
    ),
    "the server's is not valid yet": both(
        lambda k: k.tls(k.ca.sign("early", "127.0.0.1", days=(1, 30)), k.calling),
        OUR_CERTIFICATE,
        "CERTIFICATE its certificate is not valid before 20",
    ),
    "the client's is not valid yet": both(
        lambda k: k.tls(k.serving, k.ca.sign("early", days=(1, 30))),
        "CERTIFICATE its certificate is not valid before 20",
        OUR_CERTIFICATE,
    ),
    "the server shows a client's": both(
        lambda k: k.tls(k.ca.sign("dials", "127.0.0.1", usage=DIALS), k.calling),
        "TLS_ALERT our certificate is not for a server",
        "CERTIFICATE its certificate's extended key usage is not that of a server",
    ),
    "the client shows a server's": both(
        lambda k: k.tls(k.serving, k.ca.sign("serves", usage=SERVES)),
        "CERTIFICATE its certificate's extended key usage is not that of a client",
        "TLS_ALERT our certificate is not for a client",
    ),
    "the server's was taken back": both(
        lambda k: k.taken_back(client=False),
        "TLS_ALERT 'certificate revoked': its crl= has our certificate",
        "CERTIFICATE crl= says that its certificate was taken back",
    ),
    "the client's was taken back": both(
        lambda k: k.taken_back(client=True),
        "CERTIFICATE crl= says that its certificate was taken back",
        "TLS_ALERT 'certificate revoked': its crl= has our certificate",
    ),
    "the server has another pin": both(
        lambda k: k.pins(served=False),
        OUR_CERTIFICATE,
        "CERTIFICATE its key|is none of the pins of allow=",
    ),
    "the client has another pin": both(
        lambda k: k.pins(served=True),
        "CERTIFICATE its key|is none of the pins of allow=",
        OUR_CERTIFICATE,
    ),
    "another secret": both(
        lambda k: (mm.Secret(k.secret), mm.Secret(k.another)),
        "CRYPTO its secret is none of ours",
        "TLS_ALERT it most likely has another secret, or none",
    ),
    "another password": both(
        lambda _: (mm.Plain(allow={"alice": "1"}), mm.Plain(user="alice", password="2")),
        "NOT_ALLOWED the user 'alice' has another password",
        PLAIN_NO,
    ),
    "a user that nobody knows": both(
        lambda _: (mm.Plain(allow={"alice": "1"}), mm.Plain(user="bob", password="1")),
        "NOT_ALLOWED the user 'bob' is not in allow=",
        PLAIN_NO,
    ),
}

UNLIKE: dict[str, Callable[[Keys], tuple[Any, Any]]] = {
    "NULL": lambda _: (None, None),
    "CURVE": lambda k: k.curve(mm.ANYBODY),
    "PLAIN": lambda _: (mm.Plain(allow={"alice": "1"}), mm.Plain(user="alice", password="1")),
    "TLS": lambda k: k.tls(k.serving, k.calling),
    "a secret": lambda k: (mm.Secret(k.secret), mm.Secret(k.secret)),
}


def unlike(server: str, client: str) -> Case:
    """Each protects connections in its own way: what is told follows from who speaks TLS."""
    in_tls = [name in ("TLS", "a secret") for name in (server, client)]
    told = {
        (False, False): (
            f"MECHANISM the peer's mechanism is '{client}', ours {server}",
            f"MECHANISM the peer's mechanism is '{server}', ours {client}",
        ),
        (True, False): (
            "TLS_EXPECTED its first octet is ff, as of ZMTP without TLS",
            "PLAINTEXT its first octets are of TLS: is tls+ left out here?",
        ),
        (False, True): (
            "PLAINTEXT its first octets are of TLS: is tls+ left out here?",
            "HANDSHAKE_EOF before it said anything: it may not speak TLS there",
        ),
        (True, True): (
            ("CRYPTO it named no secret, and wants a certificate", "TLS_ALERT or it wants a secret")
            if server == "a secret"
            else (OUR_CERTIFICATE, "CERTIFICATE it shows a certificate, and has to know our secret")
        ),
    }[in_tls[0], in_tls[1]]
    return both(lambda k: (UNLIKE[server](k)[0], UNLIKE[client](k)[1]), *told)


CASES |= {
    f"{client} at a port of {server}": unlike(server, client)
    for server in UNLIKE
    for client in UNLIKE
    if server != client
}


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """Of this test."""
    return Keys(tmp_path)


def speaks_tls(policy: Any) -> bool:
    """Whether endpoints of this policy begin with tls+."""
    return isinstance(policy, (mm.Tls, mm.Secret))


def first_end(socket: Any) -> mm.Event:
    """Wait for the first connection that did not last."""
    found: list[mm.Event] = []
    wait_until(lambda: found.extend(e for e in socket.events() if e.kind in ENDS) or found)
    return found[0]


def check_told(event: mm.Event, expected: str, caplog: pytest.LogCaptureFixture) -> None:
    """It says so, whole and in one line, and so does one warning of the log."""
    reason, _, words = expected.partition(" ")
    assert event.reason.name == reason, event
    assert all(part in event.detail for part in words.split("|")), event
    assert len(event.detail.encode()) < DETAIL_MAX
    assert event.detail.isprintable()

    def lines() -> list[str]:
        records = [r for r in caplog.records if r.levelno == logging.WARNING]
        return [r.getMessage() for r in records if of_it(getattr(r, "event", None))]

    seen = dataclasses.replace(event, retry_in=None)

    def of_it(other: mm.Event | None) -> bool:
        """Whether it is this event; one of the two may have been taken before the next attempt
        was known."""
        return other is not None and dataclasses.replace(other, retry_in=None) == seen

    wait_until(lines)
    [line] = lines()
    assert event.detail in line
    assert event.kind.name in line
    assert "\n" not in line


@pytest.mark.parametrize("name", CASES)
def test_both_sides_are_told(name: str, keys: Keys, caplog: pytest.LogCaptureFixture) -> None:
    """By an event and a line of the log, with the reason, and by who waits; nobody is a peer."""
    case = CASES[name]
    served, called = case.policies(keys)
    bind = f"{'tls+' if speaks_tls(served) else ''}tcp://127.0.0.1:0"
    with mm.Pull(bind=bind, security=served) as pull, mm.Push(security=called) as push:
        place = pull.endpoint.partition("://")[2]
        push.connect(f"{'tls+' if speaks_tls(called) else ''}tcp://{place}")
        ends = first_end(pull), first_end(push)
        for event, expected in zip(ends, (case.at_server, case.at_client), strict=True):
            check_told(event, expected, caplog)
        assert pull.peers() == push.peers() == []
        with pytest.raises(mm.TimedOutError) as caught:
            push.wait_for_peers(timeout=0.01)
        words = case.at_client.partition(" ")[2]
        assert all(part in str(caught.value) for part in words.split("|"))


@pytest.mark.parametrize("way", ["CURVE", "TLS"])
def test_both_sides_are_told_of_who_is_taken_off_a_list(
    way: str, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    """The server at once; the client when it comes back."""
    key = keys.alice.public if way == "CURVE" else keys.calling.pin
    allow = mm.AllowList([key])
    policies = keys.curve(allow) if way == "CURVE" else keys.tls(keys.serving, keys.calling)
    served, called = policies
    if way == "TLS":
        served = mm.Tls(**keys.serving.files, ca=keys.ca.file, allow=allow)
    scheme = "tls+tcp" if way == "TLS" else "tcp"
    with (
        mm.Pull(bind=f"{scheme}://127.0.0.1:0", security=served) as pull,
        mm.Push(connect=pull.endpoint, security=called) as push,
    ):
        push.send(b"1", timeout=WAIT_S)
        pull.recv(timeout=WAIT_S)
        allow.remove(key)
        check_told(first_end(pull), "REVOKED what it proved is no longer taken", caplog)
        failed: list[mm.Event] = []
        kind = mm.EventKind.HANDSHAKE_FAILED
        wait_until(lambda: failed.extend(e for e in push.events() if e.kind is kind) or failed)
        check_told(failed[0], CURVE_NO if way == "CURVE" else TLS_NO, caplog)


def test_sp_at_a_port_of_tls_is_told_so(keys: Keys, caplog: pytest.LogCaptureFixture) -> None:
    """The other wire, likewise."""
    with (
        mm.Pull(bind="tls+tcp://127.0.0.1:0", security=mm.Secret(keys.secret)) as pull,
        mm.Push() as push,
    ):
        push.connect(f"sp+tcp://{pull.endpoint.partition('://')[2]}")
        check_told(first_end(pull), "TLS_EXPECTED as of SP without TLS", caplog)
        check_told(first_end(push), "PLAINTEXT its first octets are of TLS", caplog)


FILES: dict[str, Callable[[Keys, Path], Any]] = {
    "allow": lambda k, path: mm.Curve(key=k.server, allow=path),
    "key": lambda _, path: mm.Curve(key=path, allow=mm.ANYBODY),
    "server": lambda _, path: mm.Curve(server=path),
    "passwords": lambda _, path: mm.Plain(allow=path),
    "secret": lambda _, path: mm.Secret(path),
    "certificate": lambda k, path: opened(mm.Tls(cert=path, key=k.serving.key, ca=k.ca.file)),
    "private key": lambda k, path: opened(mm.Tls(cert=k.serving.cert, key=path, ca=k.ca.file)),
    "ca": lambda k, path: opened(mm.Tls(**k.serving.files, ca=path)),
    "crl": lambda k, path: opened(mm.Tls(**k.serving.files, ca=k.ca.file, crl=path)),
}


def opened(policy: Any) -> None:
    """Take it, as OpenSSL looks into it then."""
    with mm.Pull(bind="tls+tcp://127.0.0.1:0", security=policy):
        pass


def refuse(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody open it, not even root, as whom tests may run."""
    really = os.open

    def refused(place: Any, *more: Any, **named: Any) -> int:
        if not isinstance(place, int) and os.fspath(place) == os.fspath(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(place))
        return really(place, *more, **named)

    monkeypatch.setattr(os, "open", refused)


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("state", ["missing", "garbled", "no file", "for nobody"])
def test_a_file_that_cannot_be_used_is_told_by_its_name(
    what: str, state: str, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the error of who makes the policy or opens the socket; nothing of it is quoted."""
    path = tmp_path / "the-file"
    if state == "no file":
        os.mkfifo(path, 0o600)
    elif state != "missing":
        path.touch(0o600)
        path.write_bytes(b"s3cret \0 garbled \xff\n" * 3)
    if state == "for nobody":
        refuse(path, monkeypatch)
    with pytest.raises((mm.UsageError, OSError)) as caught:
        FILES[what](keys, path)
    words = str(caught.value)
    assert os.fspath(path) in words
    assert "s3cret" not in words
    assert words.isprintable()


CHANGED: dict[str, Callable[[Keys], tuple[Any, Path]]] = {
    "allow": lambda k: (lambda path: (mm.Curve(key=k.server, allow=path), path))(listed(k)),
    "passwords": lambda k: (lambda path: (mm.Plain(allow=path), path))(passwords(k)),
    "secret": lambda k: (mm.Secret(k.secret), k.secret),
    "certificate": lambda k: (k.tls(k.serving, k.calling)[0], k.serving.cert),
    "ca": lambda k: (k.tls(k.serving, k.calling)[0], k.ca.file),
}


def listed(keys: Keys) -> Path:
    """A list with nobody in it."""
    path = keys.folder / "allowed"
    path.touch(0o644)
    return path


def passwords(keys: Keys) -> Path:
    """A file of passwords."""
    path = keys.folder / "passwords"
    path.touch(0o600)
    path.write_text("alice=1\n")
    return path


@pytest.mark.parametrize("what", CHANGED)
@pytest.mark.parametrize("state", ["missing", "garbled"])
def test_a_file_that_is_spoilt_meanwhile_is_told_in_one_line(
    what: str, state: str, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, with its name, and that what was read before stays."""
    policy, path = CHANGED[what](keys)
    bind = f"{'tls+' if speaks_tls(policy) else ''}tcp://127.0.0.1:0"
    with mm.Pull(bind=bind, security=policy):
        if state == "missing":
            path.unlink()
        else:
            path.write_bytes(b"s3cret garbled\n")

        def lines() -> list[str]:
            return [text for text in caplog.messages if os.fspath(path) in text]

        wait_until(lines)
        [line] = lines()
        assert "stays" in line
        assert "s3cret" not in line
        assert line.isprintable()
