"""mypy and pyright agree on what the public names are."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
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
    mypy, pyright = ["--strict", "--no-incremental"], ["--pythonpath", sys.executable]
    options = mypy if checker == "mypy" else pyright
    command = [sys.executable, "-m", checker, *options, "tests/typing/consumer.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_public_type_is_known() -> None:
    """`pyright --verifytypes`, but for the bench: a command, whose modules nobody imports."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    command = [sys.executable, "-m", "pyright", "--verifytypes", "meshmsg", "--ignoreexternal"]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, "--outputjson"], cwd=ROOT, env=own, capture_output=True, text=True
    )
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    public = [symbol for symbol in symbols if symbol["isExported"]]
    assert len(public) > 100
    assert [
        symbol["name"]
        for symbol in public
        if not symbol["isTypeKnown"] and not symbol["name"].startswith("meshmsg.bench.")
    ] == []


def test_an_installed_copy_has_the_same_types(tmp_path: Path) -> None:
    """Of a typed package pyright infers less than of sources: the verbs are not among that."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "own"], check=True)
    site = next((tmp_path / "own" / "lib").glob("python*/site-packages"))
    unused = shutil.ignore_patterns("bench", "*.so")
    shutil.copytree(ROOT / "src/meshmsg", site / "meshmsg", ignore=unused)
    (site / "others.pth").write_text("\n".join(p for p in sys.path if "site-packages" in p))
    shutil.copy(ROOT / "tests/typing/consumer.py", tmp_path)
    command = [sys.executable, "-m", "pyright", "--pythonpath", tmp_path / "own/bin/python"]
    done = subprocess.run(
        [*command, "consumer.py"],
        cwd=tmp_path,
        env=without_sources(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def without_sources() -> dict[str, str]:
    """The environment, without a path to the source tree."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
