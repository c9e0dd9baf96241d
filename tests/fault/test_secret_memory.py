"""Where keys are in a process: in memory that no core dump has, and nowhere else.

A process that uses keys is looked at from outside: octet by octet, all that it can read. Not here:
that memory itself (tests/c/test_secret.c), files (tests/unit/test_keys.py). Law: it never has a key
but by its file.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

import meshmsg as mm
from meshmsg._security import secret_memory
from meshmsg._security.keys import key_text
from tests.support.mm import ffi, lib
from tests.support.pairs import WAIT_S
from tests.support.programs import lines_of, running

KEYS = 32
"""Octets of a key."""
ZEROS = 6
"""Octets of zero that no key has, so it is none: pointers, lengths."""
TALKS = """
import os, signal, sys
import meshmsg as mm
folder = sys.argv[1]
served = mm.Curve(key=folder + "/server.key_secret", allow=folder + "/clients")
called = mm.Curve(server=folder + "/server.key", key=folder + "/alice.key_secret")
pull = mm.Pull(bind="tcp://127.0.0.1:0", security=served)
push = mm.Push(connect=pull.endpoint, security=called)
unknown = mm.Push(security=mm.Curve(server=folder + "/server.key"))
push.send(b"to be sealed")
assert pull.recv(timeout=60).peer.user_id == "alice"
said, says = os.pipe()
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        push.send(b"of the child")
    except mm.ForkedError:
        print(os.getpid(), flush=True)
    os.write(says, b"!")
    sys.stdin.readline()
    os._exit(0)
wrong = mm.Push(connect=pull.endpoint, security=mm.Curve(server=folder + "/alice.key"))
told = []
for event in wrong.watch():
    told.append(event)
    if event.kind is mm.EventKind.HANDSHAKE_FAILED:
        break
texts = [repr(served), repr(called), str(pull.events()), str(push.peers()), str(told)]
wrong.close()
os.read(said, 1)  # the child's line is the first
print("talked", " ".join(texts).replace("\\n", " "), flush=True)
os.waitpid(child, 0)
"""
pytestmark = [
    pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here"),
    pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="memory is not shown here"),
    pytest.mark.skipif(
        "libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan keeps what is freed"
    ),
]


class Talking:
    """A process in which a server and a client of these keys have talked, and its forked child."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        lines = lines_of(process)
        child, self.texts = next(lines), next(lines, b"").decode()
        if not self.texts.startswith("talked "):
            process.kill()
            raise AssertionError(process.communicate(timeout=WAIT_S)[1])
        self.parent, self.child = process.pid, int(child)


@contextmanager
def talking(folder: Path) -> Iterator[Talking]:
    """Run it."""
    with running(
        [sys.executable, "-W", "ignore", "-c", TALKS, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        yield Talking(process)
        process.communicate(timeout=WAIT_S)


@contextmanager
def still(pid: int) -> Iterator[None]:
    """Have a child of ours stand still: a thread of it that ends takes away what is being read."""
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    yield
    os.kill(pid, signal.SIGCONT)


def maps_of(pid: int) -> Iterator[tuple[range, str, set[str]]]:
    """Each map that can be read: where it is, its name, its flags."""
    where, name = range(0), ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (r?).* \d+ *(.*)$", line)
        if head:
            where = range(int(head[1], 16), int(head[2], 16)) if head[3] else range(0)
            name = head[4]
        elif line.startswith("VmFlags:") and where and not name.startswith("[v"):
            yield where, name, set(line.split()[1:])


def memory_of(pid: int) -> tuple[bytes, list[tuple[str, bytes]]]:
    """What is in pages for secrets; and all else, map by map, which is what a core dump has."""
    secret, rest = b"", []
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for where, name, flags in maps_of(pid):
            memory.seek(where.start)
            octets = b""
            while len(octets) < len(where):
                part = memory.read(len(where) - len(octets))
                if not part:
                    break
                octets += part
            if {"dd", "wf"} <= flags:
                secret += octets
            elif "dd" not in flags:
                rest.append((name, octets))
    return secret, rest


def octets_of(path: Path, kind: str = "secret") -> bytes:
    """The key of a file, as octets."""
    text = re.search(rf'{kind}-key = "(.{{40}})"', path.read_text())
    assert text
    raw = ffi.new("uint8_t[32]")
    lib.mm_key_parse(text[1].encode(), 40, raw, ffi.new("size_t *"))
    return bytes(ffi.buffer(raw))


def found(key: bytes, rest: list[tuple[str, bytes]]) -> list[str]:
    """In which maps it is, and how often."""
    return [f"{name or 'no name'}: {octets.count(key)}" for name, octets in rest if key in octets]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Keys of a server and a client."""
    (tmp_path / "clients").mkdir()
    mm.keygen(tmp_path / "server")
    mm.keygen(tmp_path / "alice")
    os.link(tmp_path / "alice.key", tmp_path / "clients" / "alice.key")
    return tmp_path


def test_keys_are_nowhere_but_in_memory_that_no_core_dump_has(folder: Path) -> None:
    """Those of files, and those that were made for the connections."""
    long_term = {name: octets_of(folder / f"{name}.key_secret") for name in ("server", "alice")}
    with talking(folder) as process:
        with still(process.parent):
            secret, rest = memory_of(process.parent)
        of_child, rest_of_child = memory_of(process.child)
    for name, key in long_term.items():
        assert secret.count(key) == 1, name
        assert found(key, rest + rest_of_child) == [], name
    assert of_child.count(0) == len(of_child) > 0
    # What messages are sealed by lies there as well, of each side once; what has zeros is no key.
    known = {octets_of(folder / f"{name}.key", "public") for name in long_term}
    pieces = {secret[at : at + KEYS] for at in range(0, len(secret), KEYS)} - known
    drawn = {piece for piece in pieces if piece.count(0) < ZEROS}
    assert max(map(secret.count, drawn)) == 2
    for key in drawn:
        assert found(key, rest + rest_of_child) == []


def test_no_text_has_a_key(folder: Path) -> None:
    """What policies, events and peers show, of a failure as well."""
    with talking(folder) as process:
        texts = process.texts
    assert "Curve(" in texts
    assert "HANDSHAKE_FAILED" in texts
    for name in ("server", "alice"):
        key = octets_of(folder / f"{name}.key_secret")
        for shown in (key_text(key), key.hex(), repr(key)[2:-1], str(list(key))[1:-1]):
            assert shown not in texts


def test_what_the_system_refuses_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are used all the same."""
    lacks = 0
    monkeypatch.setattr(secret_memory, "_told", 0)
    monkeypatch.setattr(secret_memory, "lib", SimpleNamespace(mm_secrets_lack=lambda handle: lacks))
    secret_memory.tell(1)
    assert caplog.messages == []
    for lacks in (1, 1, 5, 5, 4):  # noqa: B007
        secret_memory.tell(1)
    first, second = caplog.messages
    assert "ulimit -l" in first
    assert "forked" in second
