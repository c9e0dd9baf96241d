"""`pip install "meshmsg[spark]"` and no more: it brings what Spark asks for where meshmsg calls it.

The long form makes an environment with that extra alone, and runs a fan-out and a batch in it:
MESHMSG_FRESH_VENV=1, as `make wheels` has it. Not here: what is in the wheel (test_packaging.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.sparked import needs_spark

ROOT = Path(__file__).resolve().parents[1]
OF_SPARK = {"pandas", "pyarrow", "numpy"}
"""What `mapInArrow` and a source of record batches ask for, as Spark's extra `sql` has it."""


def asked(package: str, extra: str) -> list[Requirement]:
    """Return what a package that is installed needs, alone or for an extra."""
    found = [Requirement(text) for text in requires(package) or ()]
    return [one for one in found if one.marker is None or one.marker.evaluate({"extra": extra})]


def brought(wanted: list[Requirement]) -> set[str]:
    """Return the packages that pip installs for these."""
    made: set[str] = set()
    seen: set[tuple[str, str]] = set()
    left = list(wanted)
    while left:
        one = left.pop()
        made.add(canonicalize_name(one.name))
        for extra in ("", *one.extras):
            if (one.name, extra) not in seen:
                seen.add((one.name, extra))
                left += asked(one.name, extra)
    return made


@needs_spark
def test_spark_still_asks_for_what_the_test_takes_it_to() -> None:
    """Else the tests behind this one say nothing."""
    sql = {canonicalize_name(one.name) for one in asked("pyspark", "sql")}
    assert OF_SPARK <= sql
    assert "pandas" not in brought([Requirement("pyspark")])


@needs_spark
@pytest.mark.parametrize("extra", ["spark", "demo"])
def test_an_extra_brings_what_spark_asks_for(extra: str) -> None:
    """In the versions that this Spark wants: FanOut and map_rows are `mapInArrow`."""
    tomllib: Any = pytest.importorskip("tomllib", reason="Python before 3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(text) for text in project["optional-dependencies"][extra]]
    found = brought(wanted)
    assert {canonicalize_name(one.name) for one in asked("pyspark", "sql")} <= found


PROGRAM = """
import os, sys
from pathlib import Path

os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
from pyspark.sql import SparkSession

import meshmsg as mm
from meshmsg.spark import FanOut, map_rows

def double(item):
    return item * 2

if __name__ == "__main__":
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    with FanOut(spark, double, workers=2) as fan:
        assert list(fan.map([b"a", b"b"])) == [b"aa", b"bb"]
    rows = spark.range(3).selectExpr("cast(cast(id as string) as binary) as value")
    assert sorted(map_rows(rows, double)) == [b"00", b"11", b"22"]
    with mm.Spool(sys.argv[1]) as spool, mm.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server:
        spool.append_many([b"x"] * 10)
        source = spark.read.format("meshmsg").option("endpoints", server.endpoint)
        assert source.load().count() == 10
    spark.stop()
    print("all of it")
"""


@needs_spark
@pytest.mark.skipif("MESHMSG_FRESH_VENV" not in os.environ, reason="long: set MESHMSG_FRESH_VENV=1")
def test_a_fresh_environment_needs_the_extra_and_no_more(tmp_path: Path) -> None:
    """A wheel of this checkout, with `[spark]`; nothing else is there that could bring pandas."""
    source, out, venv = tmp_path / "source", tmp_path / "out", tmp_path / "venv"

    def run(*command: object, **more: Any) -> str:
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    run("git", "checkout-index", "-a", f"--prefix={source}/", cwd=ROOT)
    pip = ("-m", "pip", "--disable-pip-version-check", "-q")
    run(sys.executable, *pip, "wheel", "--no-deps", "--no-build-isolation", "-w", out, source)
    run(sys.executable, "-m", "venv", venv)
    (wheel,) = out.glob("*.whl")
    run(venv / "bin/python", *pip, "install", f"{wheel}[spark]")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = run(
        venv / "bin/python", tmp_path / "program.py", tmp_path / "spool", cwd=tmp_path, env=own
    )
    assert told.strip().endswith("all of it")
