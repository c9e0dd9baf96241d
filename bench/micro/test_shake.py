"""Micro-benchmarks of TLS handshakes over memory, both sides: ours, and OpenSSL's alone (shake.c).

Not here: what a connection costs besides (the command connections). Law: as in test_micro.py;
without a compiler, or OpenSSL, these are skipped.
"""

from __future__ import annotations

import base64
import ctypes
import subprocess
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.certificate import CERTIFICATE, KEY, PIN
from meshmsg.bench.base.tools import compiler

HERE = Path(__file__).resolve().parent
CSRC = HERE.parents[1] / "csrc"
FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-pthread")
COUNT = 20
"""Handshakes a call."""


@pytest.fixture(scope="session")
def shake(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The loops, built with the library's own flags of optimisation."""
    cc = compiler()
    if cc is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("micro") / "shake.so"
    below = [path for name in ("base", "crypto", "wire") for path in CSRC.glob(f"{name}/**/*.c")]
    sources = [HERE / "shake.c", *sorted(below), CSRC / "plat" / "posix" / "library.c"]
    include = [f"-I{CSRC}", f"-I{CSRC / 'include'}"]
    command = [cc, *FLAGS, *include, *map(str, sources), "-o", str(made), "-ldl"]
    subprocess.run(command, check=True, timeout=120)
    return ctypes.CDLL(str(made))


@pytest.mark.benchmark(group="handshakes of TLS")
def test_two_sides_of_ours_shake_hands(benchmark: Any, shake: Any) -> None:
    """20 times, with P-256 and pins, mutually."""
    pin = base64.b64decode(PIN.removeprefix("sha256//"))
    done = benchmark(shake.micro_shake, CERTIFICATE.encode(), KEY.encode(), pin, COUNT)
    if done < 0:
        pytest.skip("there is no OpenSSL")
    assert done == COUNT


@pytest.mark.benchmark(group="handshakes of TLS")
def test_two_sides_of_openssl_alone_shake_hands(benchmark: Any, shake: Any) -> None:
    """20 times, with the same certificate, of which nothing is looked at but the signature."""
    done = benchmark(shake.micro_shake_bare, CERTIFICATE.encode(), KEY.encode(), COUNT)
    if done < 0:
        pytest.skip("there is no OpenSSL")
    assert done == COUNT
