"""docs/security.md does what it says: its guide is typed into an empty folder, as it stands there.

Not here: how keys are changed (test_rotation.py), what each part of the page promises.
"""

from __future__ import annotations

import os
import re
import shutil
import socket as system
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.certs import Ca
from tests.support.pairs import WAIT_S
from tests.support.programs import running

PAGE = (Path(__file__).resolve().parents[2] / "docs/security.md").read_text(encoding="utf-8")
GUIDE = PAGE.partition("\n## In ten minutes\n")[2].partition("\n## ")[0]
LINES_MAX = 4
"""That a stranger types in a shell."""
_FENCED = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[str]:
    """The guide's blocks of that kind, in order."""
    return [textwrap.dedent(text) for name, text in _FENCED.findall(GUIDE) if name == kind]


def free_port() -> int:
    """One that nobody has now."""
    with system.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
@pytest.mark.parametrize("mask", ["022", "077"])
def test_the_guide_works_in_an_empty_folder(tmp_path: Path, mask: str) -> None:
    """Its lines of shell, then its two programs, between two folders that are two machines."""
    programs, server, client = (tmp_path / name for name in ("bin", "server", "client"))
    for folder in (programs, server, client):
        folder.mkdir()
    program = programs / "meshmsg"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m meshmsg "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    [typed] = blocks("sh")
    assert len(typed.splitlines()) == LINES_MAX
    command = ["sh", "-euc", f"umask {mask}\n{typed}"]
    subprocess.run(command, cwd=server, env=environment, check=True, timeout=WAIT_S)
    for name in ("server.key", "alice.key_secret"):
        (server / name).rename(client / name)
    serves, calls = blocks("python")
    port = free_port()
    serves, calls = (one.replace("5555", str(port)) for one in (serves, calls))
    assert "where `host` is the name" in GUIDE
    calls = calls.replace("//host:", "//127.0.0.1:")
    run = [sys.executable, "-c"]
    options = {"cwd": server, "stdout": subprocess.PIPE, "text": True}
    with running([*run, serves], **options) as served:
        subprocess.run([*run, calls], cwd=client, check=True, timeout=WAIT_S)
        told, _ = served.communicate(timeout=WAIT_S)
    assert told == "hello from alice\n"
    assert told.strip() in GUIDE


def test_the_rows_of_the_threat_table_have_all_three_parts() -> None:
    """Who, what is promised, and what is not: none is empty."""
    table = PAGE.partition("\n## Against whom\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) >= 6
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)


@pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")
def test_a_ca_of_ones_own_is_made_as_the_page_says(tmp_path: Path) -> None:
    """Both sides have what it signed, and each believes the other."""
    part = PAGE.partition("\n### A CA of your own\n")[2].partition("\n## ")[0]
    typed = "\n".join(text for name, text in _FENCED.findall(part) if name == "sh")
    command = ["sh", "-euc", typed]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=WAIT_S, capture_output=True)
    files = {name: tmp_path / file for name, file in re.findall(r'(\w+)="([\w.]+)"', part)}
    assert set(files) == {"cert", "key", "ca"}
    policy = mm.Tls(**files)
    with (
        mm.Pull(bind="tls+tcp://127.0.0.1:0", security=policy) as pull,
        mm.Push(connect=pull.endpoint, security=policy) as push,
    ):
        push.send(b"hello", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"hello"


@pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
def test_the_protected_queue_of_the_page_of_patterns_runs(tmp_path: Path) -> None:
    """Beside a secret that was made as it says."""
    page = Path(__file__).resolve().parents[2] / "docs/patterns.md"
    found = (text for _, text in _FENCED.findall(page.read_text(encoding="utf-8")))
    block = next(text for text in found if "mm.Secret" in text)
    words = re.search(r"# meshmsg (keygen .*)", block)
    assert words is not None
    run = [sys.executable, "-m", "meshmsg", *words[1].split()]
    subprocess.run(run, cwd=tmp_path, check=True, timeout=WAIT_S)
    subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True, timeout=WAIT_S)


@pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
def test_the_lines_of_tls_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By sockets at other endpoints; also the forms of pins that are named."""
    monkeypatch.chdir(tmp_path)
    ca = Ca(tmp_path)
    for name in ("s", "c"):
        one = ca.sign(name)
        one.cert.rename(f"{name}.crt")
        one.key.rename(f"{name}.pem")
    write_secret("cluster.secret")
    part = PAGE.partition("\n## TLS\n")[2].partition("\n### ")[0]
    code = "\n".join(text for name, text in _FENCED.findall(part) if name == "python")
    code = re.sub(r"//\*:\d+", "//127.0.0.1:0", re.sub(r"//host:\d+", "//127.0.0.1:9", code))
    assert code.count("security=") == 6
    with ExitStack() as opened:
        named: dict[str, Any] = {"Tls": mm.Tls, "Secret": mm.Secret}
        for role in (mm.Push, mm.Pull, mm.Req, mm.Rep):
            named[role.__name__] = lambda role=role, **given: opened.enter_context(role(**given))
        exec(code, {"mm": SimpleNamespace(**named)})
    assert '`allow=["c.crt"]`,\n  `{"c.crt": "alice"}`' in part
    pin = mm.Tls(cert="s.crt", key="s.pem", allow=["c.crt"])._rule.list
    users = mm.Tls(cert="s.crt", key="s.pem", allow={"c.crt": "alice"})._rule.list
    assert pin is not None
    assert users is not None
    assert pin._users.keys() == users._users.keys()
    assert [*users._users.values()] == ["alice"]
