"""Programs of others that a test fetches from the package registries, once, into .build/peers.

A machine without a registry is no failure: ``Unavailable`` says why, and the test is skipped.
Law: nothing is installed, nothing fetched runs before its content was checked against what this
file or the registry says of it, and what is there already is never fetched again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".build" / "peers"
FETCH_S = 90

OLD_PYZMQ = {
    "4.1.6": ("16.0.4", "3.5", "fa7f09cbca8a7a2c0c19ff14e203016d82e6f8cc54df6d0fc8c011cf7ec755ff"),
    "4.2.5": ("17.1.2", "3.7", "76ea493bfab18dcb090d825f3662b5612e2def73dffc196d51a5194b0294a81d"),
    "4.3.2": ("19.0.2", "3.7", "5d9fc809aa8d636e757e4ced2302569d6e60e9b9c26114a83f0d9d6519c40493"),
}
"""libzmq to the release of pyzmq whose wheel has it inside, for which Python, and its SHA-256."""

JEROMQ = "org.zeromq:jeromq:0.6.0"
MAVEN_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:2.8"


class Unavailable(Exception):
    """What the tests need cannot be had on this machine."""


def run(command: Sequence[str]) -> str:
    """Run a tool, and return what it said. Missing, failing, too slow: all is Unavailable."""
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FETCH_S,
            env=env,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(str(error)) from None
    if done.returncode != 0:
        said = [*done.stderr.splitlines(), *done.stdout.splitlines(), f"ended {done.returncode}"]
        why = next((line for line in said if "error" in line.lower()), said[0])
        raise Unavailable(f"{Path(command[0]).name}: {why}")
    return done.stdout


@contextmanager
def made_once(name: str) -> Iterator[Path | None]:
    """Give out an empty folder to fill, which becomes FOLDER/name; None if that is there already.

    Of several test processes one fills it, and the others wait.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (FOLDER / name).exists():
            yield None
            return
        making = Path(tempfile.mkdtemp(prefix="making-", dir=FOLDER))
        try:
            yield making
            making.rename(FOLDER / name)
        finally:
            shutil.rmtree(making, ignore_errors=True)


@cache
def old_libzmq(version: str) -> list[Path] | Unavailable:
    """Return the libzmq of an old pyzmq wheel, and the libraries it needs."""
    release, python, digest = OLD_PYZMQ[version]
    try:
        with made_once(f"libzmq-{version}") as folder:
            if folder is not None:
                wheel = folder / "wheel"
                wheel.mkdir()
                wanted = wheel / "wanted.txt"
                wanted.write_text(f"pyzmq=={release} --hash=sha256:{digest}\n", encoding="ascii")
                run(
                    [
                        *[sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"],
                        *["--disable-pip-version-check", "--retries=0", "--timeout=20"],
                        *["--only-binary=:all:", f"--python-version={python}"],
                        *["--require-hashes", "-r", str(wanted), "--dest", str(wheel)],
                    ]
                )
                (packed,) = wheel.glob("*.whl")
                with zipfile.ZipFile(packed) as archive:
                    for member in archive.namelist():
                        if ".libs/" in member and ".so" in member:
                            (folder / Path(member).name).write_bytes(archive.read(member))
                shutil.rmtree(wheel)
    except Unavailable as why:
        return Unavailable(f"pip cannot fetch pyzmq {release} for this machine: {why}")
    libraries = sorted((FOLDER / f"libzmq-{version}").iterdir())
    return sorted(libraries, key=lambda path: not path.name.startswith("libzmq"))


@cache
def jeromq() -> list[Path] | Unavailable:
    """Return the jar of JeroMQ, and those it needs."""
    command = [
        *["mvn", "--batch-mode", "--quiet", "--strict-checksums", "-Dstyle.color=never"],
        f"{MAVEN_PLUGIN}:get",
        *[f"-Dartifact={JEROMQ}", f"-Dmaven.repo.local={FOLDER / 'maven'}"],
    ]
    try:
        with made_once("jeromq") as folder:
            if folder is not None:
                run(command)
                for jar in (FOLDER / "maven").rglob("*.jar"):
                    if jar.name.startswith(("jeromq-", "jnacl-")):
                        shutil.copy(jar, folder)
    except Unavailable as why:
        return Unavailable(f"maven cannot fetch {JEROMQ}: {why}")
    return sorted((FOLDER / "jeromq").iterdir())
