"""Builds the small C rivals of bench/c, once for a source and a compiler, when both are there."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from ..base.need import BenchError
from ..base.tools import compiler

SOURCES = Path(__file__).resolve().parents[1] / "c"
COMMON = ("main.c", "end.c", "paced.c", "survey.c")
FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-flto", "-Wall", "-Wextra", "-pthread")
COMPILE_SECONDS = 120
"""What a compiler may take."""


def folder() -> Path:
    """Where built programs are kept: of this user alone."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "meshmsg-bench"


def has_header(name: str) -> bool:
    """Whether the compiler finds it."""
    cc = compiler()
    if cc is None:
        return False
    done = subprocess.run(
        [cc, "-E", "-x", "c", "-"], input=f"#include <{name}>\n", capture_output=True, text=True
    )
    return done.returncode == 0


def build(source: str, libraries: tuple[str, ...]) -> Path:
    """The program of a rival; built if there is none of exactly these sources and flags."""
    cc = compiler()
    if cc is None:
        raise BenchError("there is no C compiler")
    digest = hashlib.sha256(repr((cc, FLAGS, libraries)).encode())
    for name in sorted(SOURCES.glob("*.[ch]")):
        digest.update(name.read_bytes())
    program = folder() / f"{source.removesuffix('.c')}-{digest.hexdigest()[:16]}"
    if program.exists():
        return program
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder()) as scratch:
        made = Path(scratch) / "program"
        files = [str(SOURCES / name) for name in (*COMMON, source)]
        command = [cc, *FLAGS, *files, "-o", str(made), *(f"-l{name}" for name in libraries)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            raise BenchError(f"{cc} did not finish {source}") from None
        if done.returncode:
            raise BenchError(f"{source} does not compile: {done.stderr.strip()[-500:]}")
        made.replace(program)
    return program
