"""A machine with neither libsodium nor OpenSSL: what needs none of them works, and the rest says
what to install.

The libraries' names lead to files that are none. Not here: libraries that are there
(test_openssl_beside.py, tests/unit).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLAIN = """
import sys
sys.modules["nacl"] = None
import meshmsg as mm
assert (mm.has("curve"), mm.has("tls")) == (False, False)
with mm.Pull(bind="tcp://127.0.0.1:0") as pull, mm.Push(connect=pull.endpoint) as push:
    push.send(b"as ever", timeout=60)
    print(pull.recv(timeout=60).decode())
served, called = mm.Plain(allow={"alice": "secret"}), mm.Plain(user="alice", password="secret")
with mm.Pull(bind=f"ipc://{sys.argv[1]}", security=served) as pull:
    with mm.Push(connect=pull.endpoint, security=called) as push:
        push.send(b"by name", timeout=60)
        message = pull.recv(timeout=60)
        print(message.peer.user_id)
"""
NEEDS = """
import sys
sys.modules["nacl"] = None
import meshmsg as mm
try:
    {call}
except mm.MeshError as error:
    print(type(error).__name__, error)
"""
COMMAND = """
import sys
sys.modules["nacl"] = None
from meshmsg.__main__ import main
sys.exit(main())
"""
CURVE = "libsodium"
KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
"""That of RFC 32."""
TLS = "OpenSSL"


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """The environment of such a machine."""
    there = tmp_path / "none"
    there.mkdir()
    for name in ("libsodium.so.26", "libsodium.so.23", "libssl.so.4", "libssl.so.3"):
        (there / name).write_bytes(b"none")
    env = {name: value for name, value in os.environ.items() if name != "MESHMSG_SECURITY"}
    return {**env, "LD_LIBRARY_PATH": str(there)}


def said(env: dict[str, str], *arguments: object) -> tuple[int, str, str]:
    """What this Python says of it."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=120, env=env,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_messages_are_sent_and_passwords_are_checked(
    without: dict[str, str], short_path: Path
) -> None:
    """PLAIN over ipc needs neither."""
    code, out, error = said(without, "-c", PLAIN, short_path / "here")
    assert (code, out) == (0, "as ever\nalice\n"), error


@pytest.mark.parametrize(
    ("call", "library"),
    [
        ("mm.keygen()", CURVE),
        (f"mm.Push(connect='tcp://127.0.0.1:9', security=mm.Curve(server={KEY!r}))", CURVE),
        ("mm.Tls(cert=b'', key=b'', ca=b'')", TLS),
        ("mm.Secret('cluster.secret')", TLS),
    ],
)
def test_what_needs_a_library_says_what_to_install(
    without: dict[str, str], call: str, library: str
) -> None:
    """Which, and how it comes."""
    code, out, error = said(without, "-c", NEEDS.format(call=call))
    assert code == 0, error
    assert out.startswith("ResourceError ")
    assert library in out
    assert "install" in out


def test_the_command_says_so_too(without: dict[str, str], tmp_path: Path) -> None:
    """In one line, and it fails, and writes nothing."""
    code, out, error = said(without, "-c", COMMAND, "keygen", tmp_path / "me")
    assert (code != 0, out) == (True, "")
    assert CURVE in error
    assert "install" in error
    assert len(error.splitlines()) == 1, error
    assert not list(tmp_path.glob("me*"))
