"""A signal comes while a native call puts a message: the caller hears whether it was put.

Not here: calls in Python (tests/unit/test_spool_sent_signals.py).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fault.signalled import CALLS, ENDS, LEVELS
from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT

CC = os.environ.get("CC") or shutil.which("cc") or ""
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="what is loaded in front is of Linux"),
    pytest.mark.skipif(not CC, reason="no C compiler on this machine"),
    pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="beside a sanitizer"),
]


def test_a_signal_in_a_native_call_is_told_with_what_was_put(tmp_path: Path) -> None:
    """Its function raises, closes the spool, or comes back; at each level, of append and send."""
    library = tmp_path / "signalling.so"
    source = ROOT / "tests" / "fault" / "signalling.c"
    subprocess.run([CC, *FLAGS, source, "-o", library, "-ldl"], check=True, timeout=WAIT_S)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.fault.signalled", tmp_path / "spools"],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True, text=True, check=False, timeout=WAIT_S, cwd=ROOT,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    said = {tuple(of): rest for *of, name, value, last in map(json.loads, ran.stdout.splitlines())
            if (rest := (name, value, last))}  # fmt: skip
    for level in LEVELS:
        for call in CALLS:
            returned = 1 if call == "append" else None
            assert said[level, call, "raises"] == ("Interrupted", 1, 1)
            assert said[level, call, "closes"] == ("returned", returned, 1)
            assert said[level, call, "returns"] == ("returned", returned, 1)
    assert len(said) == len(LEVELS) * len(CALLS) * len(ENDS)
