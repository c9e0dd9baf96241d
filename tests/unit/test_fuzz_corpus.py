"""The fuzzers' corpus is replayed on every run, under the sanitizers, with no fuzzer needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tests" / "fuzz"
CC = os.environ.get("CC") or shutil.which("cc") or ""


@pytest.mark.skipif(not CC, reason="no C compiler on this machine")
@pytest.mark.parametrize("name", ["reader", "hello", "sp", "opening"])
def test_the_corpus_is_harmless(name: str, tmp_path: Path) -> None:
    """Every input, whole and in pieces, gives the same and breaks nothing."""
    inputs = sorted((FUZZ / "corpus" / name).iterdir())
    assert len(inputs) >= 5
    sources = [*(ROOT / "csrc/base").glob("*.c"), *(ROOT / "csrc/codec").glob("*.c")]
    flags = [
        "-std=c11",
        "-D_GNU_SOURCE",
        "-g",
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    program = tmp_path / "replay"
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    command = [CC, *flags, f"-I{ROOT / 'csrc/include'}", f"-I{ROOT / 'csrc'}", *map(str, sources)]
    command += [str(FUZZ / "fuzz_main.c"), str(FUZZ / f"fuzz_{name}.c"), "-o", str(program)]
    subprocess.run(command, check=True, env=env)
    done = subprocess.run([program, *inputs], capture_output=True, text=True, env=env, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(inputs)} inputs\n"
