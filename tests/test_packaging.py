"""What is shipped: an sdist that builds, an abi3 wheel with everything in it and one exported
symbol."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build sdist, then the wheel from the sdist, from a copy of what git knows."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        path = ROOT / name
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.exists():
            shutil.copy2(path, target, follow_symlinks=False)
    build = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(folder / "out"),
        str(source),
    ]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return next((folder / "out").glob("*.whl"))


def test_the_wheel_is_abi3(wheel: Path) -> None:
    """One wheel serves every CPython from 3.10 on."""
    assert "-cp310-abi3-linux" in wheel.name


def test_the_wheel_holds_all_packages(wheel: Path) -> None:
    """The linked ones too, and the marker that it is typed."""
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "__init__.py",
        "py.typed",
        "_mm.pyi",
        "_mm.abi3.so",
        "aio/__init__.py",
        "testing/__init__.py",
        "patterns/__init__.py",
        "spark/__init__.py",
        "bench/__main__.py",
    ):
        assert f"meshmsg/{name}" in names
    assert not [name for name in names if name.startswith(("tests", "csrc", "examples"))]


def test_the_wheel_says_its_license(wheel: Path) -> None:
    """As SPDX names it, and with the text."""
    archive = zipfile.ZipFile(wheel)
    folder = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    assert "\nLicense-Expression: Apache-2.0\n" in archive.read(folder).decode()
    text = archive.read(folder.replace("METADATA", "licenses/LICENSE")).decode()
    assert text == (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not on this machine")
def test_the_extension_exports_its_two_modules(wheel: Path, tmp_path: Path) -> None:
    """PyInit__mm and PyInit__fast: nothing of ours can clash with another library."""
    zipfile.ZipFile(wheel).extract("meshmsg/_mm.abi3.so", tmp_path)
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", tmp_path / "meshmsg/_mm.abi3.so"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == [
        "PyInit__fast",
        "PyInit__mm",
    ]
