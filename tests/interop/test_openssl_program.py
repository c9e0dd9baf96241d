"""TLS with `openssl s_server` and `openssl s_client`: whom we dial and believe, and what a client
may try that we do not do.

Not here: what is said inside (test_tls.py has a greeting that `s_client` hears), other libraries.
Law: the program is another process with its own checks; it is ended by its test.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.certs import Ca, alone
from tests.support.pairs import WAIT_S, told_all, wait_until

PROGRAM = shutil.which("openssl")
GREETING = b"\x7f\x03\x01"
"""Where a greeting of ZMTP 3.1 says its version."""
LOCAL = "127.0.0.1"

pytestmark = [
    pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here"),
    pytest.mark.skipif(PROGRAM is None, reason="no openssl program"),
]


@pytest.fixture
def ca(tmp_path: Path) -> Iterator[Ca]:
    """Who signs for both sides; all have been told of once the test is over."""
    yield Ca(tmp_path)
    told_all()


class Program:
    """One that runs, and what it has said so far."""

    def __init__(self, *arguments: object) -> None:
        assert PROGRAM is not None
        self._process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.said = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while part := self._process.stdout.read1():
            self.said += part

    def write(self, octets: bytes) -> None:
        """As if it was typed."""
        assert self._process.stdin is not None
        self._process.stdin.write(octets)
        self._process.stdin.flush()

    def says(self, words: bytes) -> None:
        """Wait until it has."""
        wait_until(lambda: words in self.said)

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        self._reader.join(WAIT_S)
        self._process.communicate(timeout=WAIT_S)


@contextmanager
def running(*arguments: object) -> Iterator[Program]:
    """One that is ended."""
    program = Program(*arguments)
    try:
        yield program
    finally:
        program.end()


@contextmanager
def server(files: dict[str, Path], *arguments: object) -> Iterator[tuple[Program, str]]:
    """`s_server`, and where we dial it."""
    own = ["-cert", files["cert"], "-key", files["key"]]
    with running("s_server", "-accept", f"{LOCAL}:0", *own, *arguments) as program:
        program.says(b"ACCEPT ")
        wait_until(lambda: re.search(rb"ACCEPT \S*:\d+\s", program.said))
        found = re.search(rb"ACCEPT \S*:(\d+)\s", program.said)
        assert found is not None
        yield program, f"tls+tcp://{LOCAL}:{int(found[1])}"


def client(pull: mm.Pull, ca: Ca, files: dict[str, Path], *arguments: object) -> Any:
    """`s_client`, which knows us."""
    at = pull.endpoint.removeprefix("tls+tcp://")
    own = ["-cert", files["cert"], "-key", files["key"], "-CAfile", ca.file]
    return running("s_client", "-connect", at, *own, *arguments)


def refusal(socket: mm.Pull | mm.Push) -> mm.Event:
    """Why the first handshake failed."""
    failed = mm.EventKind.HANDSHAKE_FAILED

    def all_of() -> list[mm.Event]:
        return [event for event in socket.events(since=0) if event.kind is failed]

    wait_until(all_of)
    return all_of()[0]


@pytest.mark.parametrize("version", ["1.3", "1.2"])
def test_a_server_that_the_ca_signed_hears_our_greeting(ca: Ca, version: Any) -> None:
    """It wants a certificate of ours, and checks it by itself."""
    theirs, ours = ca.sign("server", LOCAL), ca.sign("client")
    wants = ["-Verify", 1, "-verify_return_error", "-CAfile", ca.file]
    with (
        server(theirs.files, f"-tls{version.replace('.', '_')}", *wants) as (program, url),
        mm.Push(connect=url, security=mm.Tls(**ours.files, ca=ca.file, min_version=version)),
    ):
        program.says(GREETING)
        assert b"CN = client" in program.said or b"CN=client" in program.said


@pytest.mark.parametrize("version", ["1.3", "1.2"])
def test_a_server_that_wants_a_certificate_gets_none(ca: Ca, version: Any) -> None:
    """Its alert says so, unless its end overtakes that: then it is dialled again."""
    theirs = ca.sign("server", LOCAL)
    wants = ["-Verify", 1, "-verify_return_error", "-CAfile", ca.file]
    with (
        server(theirs.files, f"-tls{version.replace('.', '_')}", *wants) as (_, url),
        mm.Push(connect=url, security=mm.Tls(ca=ca.file, min_version=version)) as push,
    ):
        wait_until(lambda: any(e.reason is mm.Reason.TLS_ALERT for e in push.events()))


def wrong_name(ca: Ca, _: Path) -> tuple[dict[str, Path], str]:
    """Of another host."""
    return ca.sign("server", "other.example").files, "other.example"


def wrong_ca(_: Ca, folder: Path) -> tuple[dict[str, Path], str]:
    """Signed by itself."""
    return alone(folder, "server", LOCAL).files, "nobody in ca= signed its certificate"


def expired(ca: Ca, _: Path) -> tuple[dict[str, Path], str]:
    """Of yesterday."""
    return ca.sign("server", LOCAL, days=(-9, -1)).files, "its certificate expired at"


@pytest.mark.parametrize("wrong", [wrong_name, wrong_ca, expired], ids=lambda one: one.__name__)
def test_a_server_that_is_not_believed_hears_no_word(ca: Ca, tmp_path: Path, wrong: Any) -> None:
    """We say what is wrong, and it has our alert."""
    files, words = wrong(ca, tmp_path)
    with (
        server(files) as (program, url),
        mm.Push(connect=url, security=mm.Tls(ca=ca.file)) as push,
    ):
        event = refusal(push)
        assert event.reason is mm.Reason.CERTIFICATE
        assert words in event.detail
        program.says(b"alert")
        assert GREETING not in program.said


OLD = ("-cipher", "DEFAULT@SECLEVEL=0")
"""Else OpenSSL does not even try versions that are broken."""


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
@pytest.mark.parametrize("ours", ["1.3", "1.2"])
def test_versions_before_1_2_are_refused_by_who_dials(ca: Ca, version: str, ours: Any) -> None:
    """The server has nothing newer."""
    theirs = ca.sign("server", LOCAL)
    with (
        server(theirs.files, version, *OLD) as (program, url),
        mm.Push(connect=url, security=mm.Tls(ca=ca.file, min_version=ours)) as push,
    ):
        assert refusal(push).reason in {mm.Reason.TLS_ALERT, mm.Reason.MECHANISM}
        assert GREETING not in program.said


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
@pytest.mark.parametrize("ours", ["1.3", "1.2"])
def test_versions_before_1_2_are_refused_by_who_listens(ca: Ca, version: str, ours: Any) -> None:
    """And others that come are served."""
    served, theirs = ca.sign("server", LOCAL), ca.sign("client")
    policy = mm.Tls(**served.files, ca=ca.file, min_version=ours)
    with mm.Pull(bind=f"tls+tcp://{LOCAL}:0", security=policy) as pull:
        with client(pull, ca, theirs.files, version, *OLD) as program:
            event = refusal(pull)
            assert event.reason is mm.Reason.MECHANISM
            assert "no TLS that both can do" in event.detail
            program.says(b"protocol version")
        called = mm.Tls(**theirs.files, ca=ca.file)
        with mm.Push(connect=pull.endpoint, security=called) as push:
            push.send(b"served", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"served"


def test_a_client_that_wants_to_renegotiate_waits_in_vain(ca: Ca) -> None:
    """TLS 1.2 has it, and we do not; others do not notice."""
    served, theirs = ca.sign("server", LOCAL), ca.sign("client")
    policy = mm.Tls(**served.files, ca=ca.file, min_version="1.2")
    called = mm.Tls(**theirs.files, ca=ca.file)
    with (
        mm.Pull(bind=f"tls+tcp://{LOCAL}:0", security=policy, handshake_timeout=1) as pull,
        mm.Push(connect=pull.endpoint, security=called) as other,
        client(pull, ca, theirs.files, "-tls1_2") as program,
    ):
        other.wait_for_peers(timeout=WAIT_S)
        program.says(b"Verify return code: 0")
        program.write(b"R\n")
        program.says(b"RENEGOTIATING")
        assert refusal(pull).reason is mm.Reason.HANDSHAKE_TIMEOUT
        assert program.said.count(b"depth=0") == 1  # the server's certificate came once
        other.send(b"still here", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"still here"


def test_octets_that_come_before_the_handshake_is_done_are_not_read(ca: Ca, tmp_path: Path) -> None:
    """Early data, offered with the session of another server, which takes it."""
    served, theirs = ca.sign("server", LOCAL), ca.sign("client")
    session, early = tmp_path / "session", tmp_path / "early"
    early.write_bytes(b"\xff\0\0\0\0\0\0\0\1" + GREETING)
    with server(served.files, "-early_data", "-CAfile", ca.file) as (_, url):
        at = url.removeprefix("tls+tcp://")
        with running("s_client", "-connect", at, "-sess_out", session) as program:
            wait_until(lambda: session.exists() and session.read_bytes().endswith(b"-----\n"))
    with (
        mm.Pull(bind=f"tls+tcp://{LOCAL}:0", security=mm.Tls(**served.files, ca=ca.file)) as pull,
        client(pull, ca, theirs.files, "-sess_in", session, "-early_data", early) as program,
    ):
        program.says(b"Early data was rejected")
        called = mm.Tls(**theirs.files, ca=ca.file)
        with mm.Push(connect=pull.endpoint, security=called) as other:
            other.send(b"served", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"served"
        assert len(pull.peers()) <= 1
