"""Every example runs, ends by itself, and says what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sparked import needs_spark

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SAYS = {
    "pub_sub.py": ["heard ['fx.eur.usd 1.0842', 'fx.eur.jpy 169.80']", "fx.usd.jpy 157.31"],
    "work_queue.py": ["put 1000, acknowledged 1000", "right: True"],
    "request_reply.py": ["first server: HELLO", "with no server", "second server: HELLO AGAIN"],
    "router_dealer.py": ["lamp was told: switch on, lamp", "unknown name is an error"],
    "survey_least_loaded.py": ["3 of 4 answered, 1 did not", "{'b': ['one more job']}"],
    "bus_table.py": ["ann and bob agree: True", "has everything: True", "all three agree: True"],
    "asyncio_pipeline.py": ["10000 jobs through 3 workers", "right: True"],
    "stop_at_sigterm.py": ["3 workers got SIGTERM", "2000 jobs, each done once: True"],
    "idle_queue.py": ["answers: FIRST, SECOND, THIRD", "nobody can do that", "worker: 1"],
    "effectively_once.py": ["booked came again: True", "200 orders, each booked once: True"],
    "worker_pool.py": [
        "299 of 300 jobs done, each once: True",
        "not done: [('13', 'attempts')]",
        "dead letter: 13 after 3 attempts, attempts",
    ],
    "deadlines.py": [
        "with ten seconds: HELLO",
        "with 0.4 seconds: refused, True",
        "one trace through both: True",
    ],
    "ordered_by_key.py": [
        "2000 orders of 20 customers, all done: True",
        "each customer's in order: True",
        "only customers of the lost worker have a new one: True",
        "one worker at a time, in order: True",
    ],
    "tracing.py": [
        "order: send orders > process orders > request stock > process stock > reply stock",
        "tried again: send orders > process orders, an error > process orders",
        "the customer came along as baggage: True",
    ],
    "durable_producer.py": [
        "3 producers were killed; closed in order: False",
        "all that was said to be kept has come: True",
        "in order, without a hole: True",
    ],
    "both_are_killed.py": [
        "3 producers and 3 workers were killed",
        "all that was said to be kept: True",
        "what workers had booked as they died came again: True",
        "each order is booked once: True",
    ],
    "read_a_range.py": [
        "readings that can be read: 20000",
        "two parts have 20000, each time the same: True",
        "from the middle: ['reading 10000', 'reading 10001', 'reading 10002']",
        "not durable yet: 20001",
        "trimmed while it was leased: 0 files",
        "trimmed afterwards: True",
    ],
    "mesh_workers.py": ["10 of 10 found by one seed", "2000 jobs, each done once: True"],
    "mesh_rolling_restart.py": [
        "now: new-0, new-1, new-2",
        "all answered: True, asked again: 0",
    ],
    "spark_features.py": [
        "200 texts from 8 clients, each with its own features: True",
        "a worker was killed: True",
        "texts that were tried again: True",
    ],
    "spark_join.py": [
        "rows of this run: 2000",
        "2000 orders, and the sums are right: True",
        "4000 orders, and the sums are right: True",
    ],
    "talk_to_pyzmq.py": ["pyzmq"],
    "curve_keys.py": ["alice says hello", "does not let us in", "no longer taken; peers left: 0"],
}
SPARK = sorted(name for name in SAYS if name.startswith("spark_"))
NAMES = [pytest.param(name, marks=needs_spark) if name in SPARK else name for name in sorted(SAYS)]
SPARK_SAYS = re.compile(
    r"WARN|Using Spark's default log4j|Setting default log level|To adjust logging level"
    r"|pandas >= 3|require_minimum_pandas_version"
    r"|^Traceback \(most recent call last\):$|^BrokenPipeError: "
    r'|^  File "[^"]*/pyspark/daemon\.py", '
)
"""What Spark itself writes to stderr as it begins; and what its Python processes do, one amid the
other, as the JVM has closed their sockets. A traceback of anything else has lines of other files.
"""
PROVOKED = {
    "spark_features.py": "PEER_DOWN",  # it kills a worker
    "worker_pool.py": "DEAD_LETTER",  # a job that nobody can do
    "request_reply.py": "CONNECT_FAILED",  # it takes the server away
    "mesh_workers.py": "CONNECT_FAILED",  # workers end
    "mesh_rolling_restart.py": "CONNECT_FAILED",  # so do servers
    "both_are_killed.py": "CONNECT_FAILED PEER_DOWN",  # it kills both
    "effectively_once.py": "PEER_DOWN",  # it kills a worker
    "curve_keys.py": "tcp://",  # it turns peers away
}


def test_every_example_is_in_this_test() -> None:
    """A new file in examples/ must say here what it prints."""
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_and_says_what_it_shows(name: str) -> None:
    """It ends with status 0, prints its result, and nothing on stderr but the log it provokes."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    provoked = PROVOKED.get(name, "").split()
    said = [line for line in done.stderr.splitlines() if not any(one in line for one in provoked)]
    assert [line for line in said if not (name in SPARK and SPARK_SAYS.search(line))] == []
    for text in SAYS[name]:
        assert text in done.stdout


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_says_how_to_run_it(name: str) -> None:
    """The docstring has the command."""
    assert f"Run it: python examples/{name}" in (EXAMPLES / name).read_text()


@pytest.mark.parametrize(
    ("example", "module", "words"),
    [
        ("talk_to_pyzmq.py", "zmq", "pyzmq is not installed"),
        ("tracing.py", "opentelemetry", "opentelemetry-sdk is not installed"),
        ("spark_features.py", "pyspark", "pyspark is not installed"),
        ("spark_join.py", "pyspark", "pyspark is not installed"),
    ],
)
def test_an_example_without_the_package_it_shows_is_no_failure(
    tmp_path: Path, example: str, module: str, words: str
) -> None:
    """It says what is missing and ends with status 0."""
    (tmp_path / f"{module}.py").write_text("raise ImportError('hidden by the test')\n")
    code = (
        "import runpy, sys; "
        f"sys.path.insert(0, {str(tmp_path)!r}); "
        f"runpy.run_path({str(EXAMPLES / example)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
