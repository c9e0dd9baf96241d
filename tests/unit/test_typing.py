"""mypy and pyright agree on what the public names are."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_consumer_type_checks(checker: str) -> None:
    """tests/typing/consumer.py, strictly."""
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    options = ["--strict", "--no-incremental"] if checker == "mypy" else []
    command = [sys.executable, "-m", checker, *options, "tests/typing/consumer.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
