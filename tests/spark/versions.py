"""Runs tests of Spark with several versions of it, one at a time, each in its own environment.
Usage: python -m tests.spark.versions FOLDER VERSION...

A version is `4.0`: its newest patch is taken. A wheel of what git has of this checkout is installed
with its extra `spark`, and what tests need. The last lines are a table for docs/spark.md: only of
what ran to its end. What pytest said of each is in FOLDER.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = (
    *("source", "sink", "sink_kill", "kill", "campaign", "replay", "counts", "mesh_source"),
    *("fanout_spark", "map_rows", "task_mesh", "spark_seeds", "daemon"),
)
"""Of tests/spark: what reads, what writes, and what is killed meanwhile."""
UNIT = ("spark", "spark_readers", "spark_reading", "spark_sink", "spark_progress")
"""Of tests/unit: what is called as Spark calls it."""
NEEDS = ("pytest>=8", "hypothesis>=6.100", "cryptography>=42", "dnspython>=2.6", "packaging")


def run(*command: object, **more: object) -> None:
    """Run a program; it has to succeed."""
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT, **more)  # type: ignore[call-overload]


def environment(folder: Path, version: str) -> Path:
    """Make the environment of a version, and return its Python."""
    venv = folder / version
    python = venv / "bin" / "python"
    (wheel,) = folder.glob("meshmsg-*.whl")
    if not python.exists():
        run(sys.executable, "-m", "venv", venv)
    pip = (python, "-m", "pip", "--disable-pip-version-check", "-q", "install")
    run(*pip, f"{wheel}[spark]", f"pyspark[sql]=={version}.*", *NEEDS)
    run(*pip, "--force-reinstall", "--no-deps", wheel)
    return python


def said(python: Path, word: str) -> str:
    """Return what a program says."""
    done = subprocess.run([python, "-c", word], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def row(folder: Path, version: str) -> str:
    """Run the tests with a version; return a line of the table."""
    python = environment(folder, version)
    found = said(python, "import pyspark; print(pyspark.__version__)")
    report = folder / f"{version}.xml"
    report.unlink(missing_ok=True)
    tests = [f"tests/spark/test_{name}.py" for name in CHOSEN]
    tests += [f"tests/unit/test_{name}.py" for name in UNIT]
    with open(folder / f"{version}.txt", "w", encoding="utf-8") as log:
        subprocess.run(
            [python, "-m", "pytest", "-q", "-rs", f"--junitxml={report}", *tests],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    counts = [0, 0, 0]
    for suite in ElementTree.parse(report).iter("testsuite"):
        total, *bad = (int(suite.get(name, "0")) for name in ("tests", "failures", "errors"))
        skipped = int(suite.get("skipped", "0"))
        counts = [counts[0] + total - sum(bad) - skipped, counts[1] + sum(bad), counts[2] + skipped]
    return f"| {found} | {counts[0]} | {counts[1]} | {counts[2]} |"


def main() -> None:
    """Do it as the command line says."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    run("git", "checkout-index", "-a", "-f", f"--prefix={folder}/source/")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, folder / "source")
    rows = []
    for version in sys.argv[2:]:
        rows.append(row(folder, version))
        print(rows[-1], flush=True)
    print("", "| Spark | passed | failed | skipped |", "|---|---|---|---|", *rows, sep="\n")
    sys.exit(any(line.split("|")[3].strip() != "0" for line in rows))


if __name__ == "__main__":
    main()
