"""The demos, small, from end to end, with real Spark: the work queue, and the story."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import meshmsg as mm

ROOT = Path(__file__).resolve().parents[1]
MISSING = [
    name for name in ("pyspark", "vega_datasets", "matplotlib", "numpy") if find_spec(name) is None
] + [name for name in ("java",) if shutil.which(name) is None]
needs_spark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
STORY_LAST = re.compile(r"Kept ([\d,]+), counted ([\d,]+), lost ([\d,]+)\.")
LAST = re.compile(r"Sent ([\d,]+), received ([\d,]+), duplicates ([\d,]+), lost ([\d,]+)\.")


def demo(
    out: Path, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it with few records."""
    command = [sys.executable, "-m", "examples.demo", "--records", "30000", "--batch", "100"]
    return subprocess.run(
        [*command, "--out", str(out), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
        env=environment,
    )


def numbers(output: str) -> tuple[int, ...]:
    """Sent, received, duplicates, lost, of the final line."""
    found = LAST.search(output.splitlines()[-1])
    assert found is not None, output
    return tuple(int(number.replace(",", "")) for number in found.groups())


@needs_spark
def test_the_demo_loses_nothing_and_draws_a_picture(tmp_path: Path) -> None:
    """Real records through real Spark: all of them come back, and the table is right."""
    done = demo(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert numbers(done.stdout) == (37958, 37958, 0, 0)
    assert "The table agrees with the one added up directly from the files." in done.stdout
    assert "37,958 were acknowledged" in done.stdout
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@needs_spark
@pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
def test_a_protected_demo_loses_nothing_and_says_who_was_let_in(tmp_path: Path) -> None:
    """Keys of the processes and of Spark's tasks, which get a path only."""
    done = demo(tmp_path, "--secure")
    assert done.returncode == 0, done.stdout + done.stderr
    assert numbers(done.stdout) == (37958, 37958, 0, 0)
    found = re.search(r"All (\d+) connections .* authenticated by CURVE: (.*)\.", done.stdout)
    assert found is not None, done.stdout
    # of each of the two tasks its results and its samples
    assert found.groups() == ("6", "1 of driver, 1 of producer, 4 of worker")
    assert "results a second" in done.stdout
    folder = re.search(r"were made in (\S+)\.", done.stdout)
    assert folder is not None
    assert not Path(folder[1]).exists()


@needs_spark
def test_a_killed_spark_worker_loses_nothing_and_its_repetition_is_seen(tmp_path: Path) -> None:
    """SIGKILL between the results and their acknowledgement: duplicates, counted, and no loss."""
    done = demo(tmp_path, "--kill", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    sent, received, duplicates, lost = numbers(done.stdout)
    assert (sent, received, lost) == (37958, 37958, 0)
    assert duplicates == 100  # the batch whose results were there and whose acknowledgement was not
    assert "A worker was lost with" in done.stdout
    assert "attempt 1" in done.stdout


@needs_spark
def test_a_job_that_fails_is_a_failure_at_once(tmp_path: Path) -> None:
    """A process that dies is noticed, named and shown; the status is not 0."""
    done = demo(tmp_path, environment={**os.environ, "JAVA_HOME": "/nowhere"})
    assert done.returncode == 1
    assert "FAILED: job ended with 1" in done.stdout
    assert "JAVA_GATEWAY_EXITED" in done.stdout


@needs_spark
@pytest.mark.skipif(not (mm.has("curve") and mm.has("tls")), reason="no libsodium or OpenSSL here")
def test_the_story_counts_each_record_once_though_a_worker_is_killed(tmp_path: Path) -> None:
    """Spools that the mesh finds, a stream, sums that come back; over protected connections."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.story", "--records", "30000", "--batch", "10000"]
        + ["--out", str(tmp_path), "--secure"],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = STORY_LAST.search(done.stdout.splitlines()[-1])
    assert found is not None, done.stdout
    assert found.groups() == ("37,958", "37,958", "0")
    assert "The table agrees with the one added up directly from the files." in done.stdout
    killed = re.search(r"killed in the middle: True; tasks tried again: (\d+)", done.stdout)
    assert killed is not None, done.stdout
    assert int(killed[1]) > 0
    assert "looks for the spools in the mesh" in done.stdout
    assert "were encrypted and authenticated by CURVE" in done.stdout
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
