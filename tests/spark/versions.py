"""The tests of this folder with several versions of Spark, each in an environment of its own.
Usage: python -m tests.spark.versions [--folder F] [--python PYTHON] [--tests WORDS] [VERSION ...].

A version of two numbers, such as 4.1, is the newest of it that there is. Each environment gets what
a stranger gets, `pip install "meshmsg[spark]" pyspark==VERSION`, of a wheel of this checkout; and
what the tests ask for. Last comes a table: what passed, what failed, what was left out and why. It
ends with 1 if a test failed, or if an environment could not be made.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("4.0.0", "4.1", "4.2", "4.3")
"""The oldest that is supported, and the newest of each that there is."""
TOOLS = (
    "pytest>=8", "hypothesis>=6.100", "pyzmq>=26", "cryptography>=42", "dnspython>=2.6",
    "pynacl>=1.5", "tqdm>=4.60", "uvloop>=0.20",
)  # fmt: skip
"""What tests of this folder import beside Spark."""
PIP = ("-m", "pip", "--disable-pip-version-check", "-q")
WHICH = (
    "import meshmsg, platform, pyspark;"
    "print(pyspark.__version__, platform.python_version(), meshmsg.__file__)"
)


END = 2_000
"""Characters that are shown of what a program says that fails."""


@dataclass
class Row:
    """What became of one version.

    Attributes:
        asked: The version, as it was asked for.
        spark: The version that there is.
        passed: How many tests.
        failed: Their names.
        skipped: How many, by why.
        seconds: How long the tests took.
        error: Why there is nothing of that.
    """

    asked: str
    spark: str = ""
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    error: str = ""

    def is_good(self) -> bool:
        """Whether tests were run, and all that were have passed."""
        return not self.error and not self.failed and self.passed > 0


def run(*command: object, cwd: Path = ROOT, shown: bool = False) -> str:
    """Run a program and return what it says.

    Raises:
        RuntimeError: It failed; with the end of what it said.
    """
    words, env = [str(word) for word in command], dict(os.environ)
    env.pop("PYTHONPATH", None)
    out = None if shown else subprocess.PIPE
    done = subprocess.run(words, cwd=cwd, env=env, stdout=out, stderr=out, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(words[:6])} ...: {done.returncode}, {done.stderr or ''}"[-2000:]
        )
    return done.stdout or ""


def wheel_of(folder: Path) -> Path:
    """Build the wheel of this checkout; modules of earlier builds are in none."""
    rmtree(folder, ignore_errors=True)
    for left in (ROOT / "build").glob("lib*"):
        rmtree(left)
    run(sys.executable, *PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path, python: str, version: str, wheel: Path) -> Path:
    """Make an environment, or bring one that is there up to date; return its Python."""
    own = folder / "bin" / "python"
    if not own.exists():
        run(python, "-m", "venv", folder)
    exact = version if version.count(".") > 1 else f"{version}.*"
    run(own, *PIP, "install", "-U", f"{wheel}[spark]", f"pyspark[connect]=={exact}", *TOOLS)
    run(own, *PIP, "install", "--force-reinstall", "--no-deps", wheel)
    return own


def counted(row: Row, report: Path) -> None:
    """Read what pytest has written of each test."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        kinds = {child.tag: child for child in case}
        if "failure" in kinds or "error" in kinds:
            row.failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif "skipped" in kinds:
            row.skipped[kinds["skipped"].get("message") or "no reason"] += 1
        else:
            row.passed += 1


def tried(row: Row, folder: Path, python: str, wheel: Path, words: list[str]) -> None:
    """Run the tests with one version."""
    home = folder / f"spark-{row.asked}"
    own = environment(home, python, row.asked, wheel)
    row.spark, version, place = run(own, "-c", WHICH).split()
    if not Path(place).is_relative_to(home):
        raise RuntimeError(f"its meshmsg is that of {place}")
    print(f"--- Spark {row.spark}, Python {version}", flush=True)
    report, begun = home / "report.xml", time.monotonic()
    report.unlink(missing_ok=True)
    command = [own, "-m", "pytest", "-q", "-rfE", f"--junitxml={report}", *words]
    try:
        run(*command, shown=True)
    except RuntimeError:
        if not report.exists():
            raise
    row.seconds = time.monotonic() - begun
    counted(row, report)


def table(rows: list[Row]) -> str:
    """Return what is shown in the end."""
    lines = [f"{'Spark':8} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>7}"]
    for row in rows:
        if row.error:
            lines.append(f"{row.spark or row.asked:8} not run: {row.error}")
            continue
        skipped = sum(row.skipped.values())
        counts = f"{row.passed:6} {len(row.failed):6} {skipped:7} {row.seconds:7.0f}"
        lines.append(f"{row.spark:8} {counts}")
    for row in rows:
        if row.failed or row.skipped:
            lines.append(f"\n{row.spark}:")
        lines += [f"  failed: {name}" for name in row.failed]
        lines += [f"  {count} skipped: {why}" for why, count in row.skipped.most_common()]
    return "\n".join(lines)


def main() -> int:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.versions")
    parser.add_argument("--folder", type=Path, default=ROOT / ".build", help="of environments")
    parser.add_argument("--python", default=sys.executable, help="that environments are of")
    parser.add_argument("--tests", default="tests/spark", help="words for pytest")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    given = parser.parse_args()
    folder, rows = given.folder.resolve(), []
    wheel = wheel_of(folder / "spark-wheel")
    for version in given.versions:
        rows.append(Row(version))
        try:
            tried(rows[-1], folder, given.python, wheel, given.tests.split())
        except RuntimeError as error:
            rows[-1].error = str(error)
        print(table(rows), flush=True)
    return 0 if all(row.is_good() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
