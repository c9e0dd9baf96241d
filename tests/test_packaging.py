"""What is shipped: an sdist that builds, an abi3 wheel with everything in it and one exported
symbol, which works on each Python it is for; and one line to who has no compiler, or no GIL."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git knows."""
    source = tmp_path_factory.mktemp("dist") / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        path = ROOT / name
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.exists():
            shutil.copy2(path, target, follow_symlinks=False)
    return source


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """Build sdist, then the wheel from the sdist."""
    build = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(source.parent / "out"),
        str(source),
    ]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return next((source.parent / "out").glob("*.whl"))


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    """The wheel's files, as an installation has them."""
    folder = wheel.parent.parent / "unpacked"
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def metadata(wheel: Path) -> dict[str, list[str]]:
    """What the wheel says of itself."""
    archive = zipfile.ZipFile(wheel)
    name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    message = message_from_bytes(archive.read(name))
    return {key.lower(): [str(value) for value in message.get_all(key, [])] for key in message}


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
        "tracing/__init__.py",
        "patterns/__init__.py",
        "spark/__init__.py",
        "spark/_source/__init__.py",
        "bench/__main__.py",
    ):
        assert f"meshmsg/{name}" in names
    assert "pyspark_meshmsg/__init__.py" in names  # where Spark looks for the source
    assert not [name for name in names if name.startswith(("tests", "csrc", "examples"))]


ROOMS = {"base", "commands", "ends", "measure", "peers", "report", "scenarios"}
"""Of the bench, what measures a machine of one's own."""


def test_the_wheel_has_the_rooms_of_the_bench_that_measure_meshmsg(wheel: Path) -> None:
    """Not the rivals, nor what was promised, nor the micro-benchmarks."""
    names = zipfile.ZipFile(wheel).namelist()
    of_bench = [name.split("/")[2:] for name in names if name.startswith("meshmsg/bench/")]
    assert {parts[0] for parts in of_bench if len(parts) > 1} == ROOMS
    assert {parts[0] for parts in of_bench if len(parts) == 1} == {"__init__.py", "__main__.py"}
    assert "meshmsg/bench/scenarios/mixed.yaml" in names
    assert not [name for name in names if re.search(r"test_\w+\.py|\.c$|\.json$", name)]


@pytest.mark.parametrize("command", ["targets", "micro"])
def test_a_command_that_an_installed_bench_has_not_says_where_it_is(
    unpacked: Path, command: str
) -> None:
    """As does its help."""
    done = bench(unpacked, command, "--short")
    assert done.returncode == 1
    assert done.stderr == (
        f"python -m meshmsg.bench: {command} is in a checkout of meshmsg only: there, "
        f"python -m bench {command}\n"
    )
    assert "is in a checkout of meshmsg only" in bench(unpacked, "--help").stdout


def test_an_installed_bench_measures_meshmsg_and_says_where_rivals_are(unpacked: Path) -> None:
    """By a command and by a scenario; the rivals it is told of are rows that say so."""
    told = ("--rounds", "1", "--json", "-")
    thr = bench(unpacked, "thr", "--count", "100", "--size", "64", "--transport", "tcp", *told)
    run = bench(unpacked, "run", "fixed-rate", "--scale", "0.001", *told)
    for done in (thr, run):
        assert done.returncode == 0, done.stderr
        rows = {row["peer"]: row["missing"] for row in json.loads(done.stdout)["rows"]}
        assert rows["meshmsg"] is None
        assert rows["libzmq-c"] == rows["raw-c"]
        assert rows["raw-c"] == "is in a checkout of meshmsg only: there, python -m bench"


def bench(unpacked: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the bench of an installation."""
    command = [sys.executable, "-m", "meshmsg.bench", *words]
    own = {**os.environ, "PYTHONPATH": str(unpacked)}
    return subprocess.run(command, capture_output=True, text=True, cwd=unpacked, env=own)


def test_the_wheel_has_a_program(wheel: Path) -> None:
    """Which is what `python -m meshmsg` runs."""
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert "meshmsg = meshmsg._cli.program:main" in archive.read(name).decode()
    assert "meshmsg/__main__.py" in archive.namelist()


def test_the_sdist_is_the_source_tree(wheel: Path) -> None:
    """With what is read and what is run: docs, examples, tests, the changelog, the Makefile."""
    [sdist] = wheel.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "CHANGELOG.md",
        "Makefile",
        "bench/micro/test_micro.py",
        "csrc/cffi_build.py",
        "csrc/include/meshmsg_testing.h",
        "csrc/meshmsg.pc.in",
        "docs/semantics.md",
        "docs/adr/README.md",
        "examples/c/hello.c",
        "examples/pub_sub.py",
        "src/meshmsg/bench/c/raw.c",
        "src/meshmsg/bench/targets/baseline.json",
        "tests/test_packaging.py",
        "tests/golden/greeting.bin",
    ):
        assert name in names
    assert not [name for name in names if name.endswith((".so", ".pyc", ".o"))]


def test_the_metadata_says_who_for_whom_and_what_about(wheel: Path) -> None:
    """Each Python that is tested here, and no address that does not exist."""
    told = metadata(wheel)
    for version in PYTHONS:
        assert f"Programming Language :: Python :: {version}" in told["classifier"]
    assert told["requires-python"] == [f">={PYTHONS[0]}"]
    assert "The meshmsg authors" in told["author"]
    assert "zeromq" in told["keywords"][0].split(",")
    assert "project-url" not in told


def test_the_wheel_says_its_license(wheel: Path) -> None:
    """As SPDX names it, and with the text."""
    archive = zipfile.ZipFile(wheel)
    folder = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    assert "\nLicense-Expression: Apache-2.0\n" in archive.read(folder).decode()
    text = archive.read(folder.replace("METADATA", "licenses/LICENSE")).decode()
    assert text == (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not on this machine")
def test_the_extension_exports_its_two_modules(wheel: Path, tmp_path: Path) -> None:
    """PyInit__mm and PyInit__native: nothing of ours can clash with another library."""
    zipfile.ZipFile(wheel).extract("meshmsg/_mm.abi3.so", tmp_path)
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", tmp_path / "meshmsg/_mm.abi3.so"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == [
        "PyInit__mm",
        "PyInit__native",
    ]


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not on this machine")
def test_the_extension_is_stripped_and_knows_no_path_of_the_builder(unpacked: Path) -> None:
    """A Python of pyenv, say, puts the path of its own library into what it links."""
    command = ["readelf", "--wide", "--dynamic", "--section-headers", "meshmsg/_mm.abi3.so"]
    told = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in told
    assert not re.search(r"RUNPATH|RPATH|\.debug_|\.symtab", told)
    assert not re.search(r"NEEDED.*(libpython|libffi|libstdc)", told)


@pytest.mark.parametrize(("command", "lines_max"), [("wheel", 3), ("editable", 25)])
def test_without_a_compiler_one_line_says_what_to_install(
    source: Path, command: str, lines_max: int
) -> None:
    """Before a file is copied: pip shows all that was printed before the end."""
    code = f"import setuptools.build_meta as b; b.build_{command}('.')"
    own = {"PATH": "", "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, env=own
    )
    lines = (done.stdout + done.stderr).splitlines()
    assert done.returncode != 0
    assert re.fullmatch(
        r"meshmsg needs a C compiler \([\w-]+ is not there\): "
        r"apt-get install gcc python3-dev; or use a wheel",
        done.stderr.splitlines()[-1],
    )
    assert len(lines) <= lines_max


@pytest.mark.parametrize("command", ["wheel", "editable"])
def test_a_free_threaded_python_is_told_so_in_one_line(source: Path, command: str) -> None:
    """Its headers refuse the limited API; and what is ready has no lock but the GIL."""
    code = (
        "import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1; "
        f"import setuptools.build_meta as b; b.build_{command}('.')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == (
        "meshmsg needs a Python with the GIL, and this one is a free-threaded build (as "
        "python3.13t): use python3.13, say"
    )
    assert not re.search(r"\b(?:gcc|cc)\b", done.stdout + done.stderr)  # nothing was compiled


def python(version: str) -> str:
    """A Python of that version, or skip."""
    places = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python3"))
    found = shutil.which(f"python{version}", path=os.environ.get("PATH", "") + ":/usr/bin")
    for candidate in [*map(str, places), *([found] if found else [])]:
        told = subprocess.run([candidate, "-V"], capture_output=True, text=True)
        if told.stdout.startswith(f"Python {version}."):
            return candidate
    pytest.skip(f"Python {version} is not on this machine")


@pytest.mark.parametrize("version", PYTHONS)
def test_the_one_wheel_works_on_each_python_it_is_for(
    unpacked: Path, version: str, tmp_path: Path
) -> None:
    """The same file: sockets of each transport, sync and asyncio, and a simulated world."""
    interpreter = python(version)
    wanted = ["--only-binary=:all:", "--python-version", version, "--target", str(tmp_path)]
    install = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    fetched = subprocess.run([*install, *wanted, "cffi>=2.0"], capture_output=True, text=True)
    if fetched.returncode:
        pytest.skip(f"cffi for Python {version} cannot be had: {fetched.stderr.strip()[-200:]}")
    own = {**os.environ, "PYTHONPATH": f"{unpacked}{os.pathsep}{tmp_path}"}
    done = subprocess.run(
        [interpreter, str(ROOT / "tests" / "smoke.py")],
        capture_output=True,
        text=True,
        env=own,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{version}.")
    assert str(unpacked) in done.stdout
