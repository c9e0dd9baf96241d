"""OpenSSL as meshmsg finds it, in a process that uses another's, or the same, as well: Python's ssl
before it, after it and at once, and a program that exports the names of a copy of its own.

Not here: what is done with OpenSSL (tests/c/test_openssl.c); what was tried on other Pythons, and
why it is bound so (docs/adr/0069-bound-to-itself.md).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC") or shutil.which("cc") or ""
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-fPIC"]
INCLUDES = [f"-I{ROOT / name}" for name in ("csrc", "csrc/include", "tests/c")]
SOURCES = [
    *(ROOT / "csrc" / "crypto").glob("*.c"),
    *(ROOT / "csrc" / name for name in ("plat/posix/library.c", "base/base.c")),
    ROOT / "tests" / "c" / "tls_beside.c",
]
COUNT = 100

pytestmark = pytest.mark.skipif(not CC, reason="no C compiler on this machine")


def run(*args: str | Path) -> str:
    """Run a command that must end well; a sanitized pytest's preloads are not for it."""
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        args, capture_output=True, text=True, timeout=120, check=False, env=env, cwd=ROOT
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return handshakes of ours, as a library to load; skips where there is no OpenSSL."""
    path = tmp_path_factory.mktemp("beside") / "beside.so"
    run(CC, *FLAGS, *INCLUDES, "-shared", *SOURCES, "-ldl", "-o", path)
    count = "import ctypes,sys; print(ctypes.CDLL(sys.argv[1]).tls_beside(2))"
    if run(sys.executable, "-I", "-c", count, path) == "-1\n":
        pytest.skip("no OpenSSL 3 on this machine")
    return path


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    """Return the certificate and key of the C tests, as a file."""
    text = (ROOT / "tests" / "c" / "tls_pair.h").read_text(encoding="utf-8")
    lines = re.findall(r'^ +"([^"]*)\\n";?$', text, re.MULTILINE)
    path = tmp_path / "both.pem"
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


@pytest.mark.parametrize("order", ["ours", "theirs", "both"])
def test_pythons_ssl_and_ours_do_not_disturb_each_other(
    order: str, library: Path, pem: Path
) -> None:
    """Whoever loads OpenSSL first, and in two threads at once."""
    program = ROOT / "tests" / "support" / "tls_beside.py"
    said = run(sys.executable, "-I", program, library, order, str(COUNT), pem)
    assert said == f"{COUNT} {COUNT}\n"


def test_names_that_the_program_exports_are_not_called(library: Path) -> None:
    """A static interpreter has a copy of its own, for itself."""
    program = library.parent / "exporter"
    source = ROOT / "tests" / "c" / "tls_exporter.c"
    run(CC, *FLAGS, source, "-rdynamic", "-ldl", "-o", program)
    assert run(program, library) == "10\n"
