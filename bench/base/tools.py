"""What other programs of this machine say: the C compiler, the releases of libraries."""

from __future__ import annotations

import os
import shutil
import subprocess

WORDS_SECONDS = 30
"""What a program may take to tell its version."""


def compiler() -> str | None:
    """The C compiler of this machine: $CC, or cc, gcc, clang."""
    named = os.environ.get("CC", "").split()
    for name in (*named[:1], "cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return found
    return None


def first_words(*command: str) -> str:
    """The first line a program says; nothing if it cannot be run, or says nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WORDS_SECONDS)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.split("\n", 1)
    return "" if done.returncode else lines[0].strip()


def package_version(name: str) -> str:
    """The release of a C library, as pkg-config tells it; nothing if it does not."""
    return first_words("pkg-config", "--modversion", name) if name else ""
