"""TLS with others: NNG over SP, `openssl s_client` and Python's own ssl, with certificates of both
sides, 1.3 and 1.2, either side listening.

Not here: policies as Python has them; octets of TLS (tests/c).
Law: skipped, with its reason, only where the other library is not.
"""

from __future__ import annotations

import shutil
import socket as plain
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.mm import ffi, lib
from tests.support.pairs import WAIT_S, wait_until
from tests.support.programs import running

SIZES = [0, 1, 255, 16_384, 16_385, 65_536, 1 << 20]

write = pytest.importorskip("tests.support.certificates", exc_type=ImportError).write
pytestmark = [
    pytest.mark.leaves_threads,
    pytest.mark.skipif(bool(ffi.string(lib.mm_tls_missing())), reason="no OpenSSL here"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a server and a client, and who signed them."""
    there = tmp_path_factory.mktemp("certificates")
    write(there)
    return there


def protect(socket: Any, folder: Path, name: str, *, old: bool = False) -> None:
    """Protect a socket by this certificate; `old` speaks TLS 1.2, too."""
    texts = [(folder / file).read_bytes() for file in (f"{name}.pem", f"{name}.key", "ca.pem")]
    kept = [ffi.from_buffer(text) for text in texts]
    opts = ffi.new("mm_tls_opts *")
    for body, text in zip((opts.certificate, opts.key, opts.ca), kept, strict=True):
        body.data, body.size = text, len(text)
    opts.min_version = lib.MM_TLS_1_2 if old else lib.MM_TLS_1_3
    why = ffi.new("char[]", 128)
    rc = lib.mm_socket_tls(socket._handle, opts, why, 128)
    assert rc == 0, ffi.string(why)


def bound(socket: Any, url: str = "tls+tcp://127.0.0.1:0") -> str:
    """Bind it, and return where."""
    out = ffi.new("char[]", 256)
    assert lib.mm_bind(socket._handle, url.encode(), out, 256) == 0
    return bytes(ffi.string(out)).decode()


def port(endpoint: str) -> int:
    """Return the port of an endpoint."""
    return int(endpoint.rpartition(":")[2])


def came(socket: Any, seen: list[mm.Event], kind: mm.EventKind) -> bool:
    """Collect its events up to the first of a kind, and say whether that came."""
    for event in socket.events():
        seen.append(event)
        if event.kind is kind:
            return True
    return False


def nng_config(pynng: Any, folder: Path, *, serves: bool) -> Any:
    """Return what NNG is to have of its own certificate and of ours."""
    name = "server" if serves else "client"
    return pynng.TLSConfig(
        pynng.TLSConfig.MODE_SERVER if serves else pynng.TLSConfig.MODE_CLIENT,
        server_name=None if serves else "peer.example",
        ca_string=(folder / "ca.pem").read_text(),
        own_key_string=(folder / f"{name}.key").read_text(),
        own_cert_string=(folder / f"{name}.pem").read_text(),
        auth_mode=pynng.TLSConfig.AUTH_MODE_REQUIRED,
    )


@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
def test_nng_and_we_exchange_messages_both_knowing_the_other(folder: Path, we_bind: bool) -> None:
    """SP lies in TLS, whoever listens; NNG hears no ALPN and says none."""
    pynng = pytest.importorskip("pynng")
    with (
        mm.Pair() as ours,
        pynng.Pair0(
            tls_config=nng_config(pynng, folder, serves=not we_bind),
            recv_timeout=int(WAIT_S * 1000),
            send_timeout=int(WAIT_S * 1000),
        ) as theirs,
    ):
        protect(ours, folder, "server" if we_bind else "client")
        if we_bind:
            theirs.dial(f"tls+tcp://127.0.0.1:{port(bound(ours))}", block=False)
        else:
            theirs.listen("tls+tcp://127.0.0.1:0")
            at = port(str(theirs.listeners[0].local_address))
            url = f"sp+tls+tcp://127.0.0.1:{at}"
            assert lib.mm_connect(ours._handle, url.encode()) == 0
        ours.wait_for_peers(1, timeout=WAIT_S)
        for size in SIZES[1:]:  # of an empty body pynng 0.9 makes an error
            ours.send(b"x" * size, timeout=WAIT_S)
            assert theirs.recv() == b"x" * size
            theirs.send(b"y" * size)
            assert ours.recv(timeout=WAIT_S) == b"y" * size
        theirs.close()
        seen: list[mm.Event] = []
        wait_until(lambda: came(ours, seen, mm.EventKind.PEER_DOWN))
        assert seen[-1].reason is mm.Reason.EOF


def test_nng_that_wants_a_certificate_is_told_apart_from_an_attack(folder: Path) -> None:
    """NNG says so by an alert that nobody can open: the event says that this may be it."""
    pynng = pytest.importorskip("pynng")
    with pynng.Push0(tls_config=nng_config(pynng, folder, serves=True)) as theirs:
        theirs.listen("tls+tcp://127.0.0.1:0")
        url = f"sp+tls+tcp://127.0.0.1:{port(str(theirs.listeners[0].local_address))}"
        policy = mm.Tls(ca=folder / "ca.pem", names=["peer.example"])
        with mm.Pull(connect=url, security=policy) as pull:
            # now and then its end overtakes its alert, and it is dialled again
            wait_until(lambda: [e for e in pull.events(since=0) if e.reason is mm.Reason.CRYPTO])
            seen = [e for e in pull.events(since=0) if e.reason is mm.Reason.CRYPTO]
        assert seen[0].kind is mm.EventKind.HANDSHAKE_FAILED
        assert "so does NNG if it does not take our certificate, or wants one" in seen[0].detail


def test_we_exchange_messages_over_zmtp(folder: Path) -> None:
    """Who dials says who it is by a certificate, too, and both are told of by their mechanism."""
    with mm.Push() as push, mm.Pull() as pull:
        protect(push, folder, "client")
        protect(pull, folder, "server")
        assert lib.mm_connect(push._handle, bound(pull).encode()) == 0
        for size in SIZES:
            push.send(b"x" * size, timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x" * size
        assert [peer.mechanism for peer in pull.peers()] == ["TLS"]


@pytest.mark.parametrize("version", ["-tls1_3", "-tls1_2"])
def test_openssl_s_client_hears_a_greeting_inside(folder: Path, version: str) -> None:
    """It says ten octets of one, and is greeted; it checks our name by itself."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl program")
    with mm.Pull() as pull:
        protect(pull, folder, "server", old=True)
        command = [
            *[program, "s_client", "-quiet", "-connect", f"127.0.0.1:{port(bound(pull))}"],
            *["-servername", "peer.example", "-verify_hostname", "peer.example"],
            *["-verify_return_error", "-CAfile", str(folder / "ca.pem"), version],
            *["-cert", str(folder / "client.pem"), "-key", str(folder / "client.key")],
        ]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with running(command, stderr=subprocess.DEVNULL, **pipes) as client:
            client.stdin.write(b"\xff\0\0\0\0\0\0\0\1\x7f\3")
            client.stdin.flush()
            said = client.stdout.read(12)
        assert said[:1] == b"\xff"
        assert said[9:] == b"\x7f\3\1"


def test_python_s_ssl_is_refused_without_a_certificate_and_told_why(folder: Path) -> None:
    """The alert of TLS 1.3 comes behind its handshake."""
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    with mm.Pull() as pull:
        protect(pull, folder, "server")
        at = ("127.0.0.1", port(bound(pull)))
        with (
            plain.create_connection(at, timeout=WAIT_S) as raw,
            context.wrap_socket(raw, server_hostname="peer.example") as peer,
            pytest.raises(ssl.SSLError, match="(?i)certificate.required"),
        ):
            peer.recv(1)
        wait_until(lambda: any(e.reason is mm.Reason.CERTIFICATE for e in pull.events()))
