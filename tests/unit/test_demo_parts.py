"""The parts of the demo that need no Spark: records, sums, child processes, the picture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="numpy is not installed (extra: demo)")
pytest.importorskip("vega_datasets", reason="vega_datasets is not installed (extra: demo)")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from examples.demo import records  # noqa: E402
from examples.demo.children import ORPHANED, Child  # noqa: E402
from examples.demo.collector import Telemetry  # noqa: E402
from examples.demo.table import Tally, direct  # noqa: E402
from tests.support.programs import lines_of, running  # noqa: E402


def result(sequence: int, file: int = 0, month: int = 1, first: float = 1.0) -> bytes:
    """One result, as a task sends it."""
    return records.RESULT.pack(sequence, 0, file, month, first, 0.0)


def test_the_records_are_those_of_the_package() -> None:
    """Two years of hours and four years of days; every line can be parsed."""
    once = list(records.stream(1))
    assert len(once) == 8759 + 8759 + 1461
    assert once[0] == b"sf-temps\t1\t47.8,2010/01/01 00:00:00"
    assert len({records.parse(record)[:2] for record in once}) == 3 * 12


def test_passes_differ_in_their_number_only() -> None:
    """The third pass is marked 3 and has the same lines."""
    every = list(records.stream(3))
    third = every[-len(every) // 3 :]
    assert [record.split(b"\t")[1] for record in third] == [b"3"] * len(third)
    assert [record.split(b"\t")[2] for record in third] == [line for _, line in records.all_lines()]


def test_a_record_is_parsed_into_metric_units() -> None:
    """Fahrenheit becomes Celsius; rain and wind are metric already."""
    assert records.parse(b"sf-temps\t9\t50.0,2010/03/01 00:00:00") == (0, 3, 10.0, 0.0)
    assert records.parse(b"seattle-temps\t9\t2010/12/31 23:00,32") == (1, 12, 0.0, 0.0)
    rain = records.parse(b"seattle-weather\t1\t2012/01/02,10.9,10.6,2.8,4.5,rain")
    assert rain == (2, 1, 10.9, 4.5)


@pytest.mark.parametrize("bad", [b"", b"x", b"atlantis\t1\t1,2", b"sf-temps\t1\t1,2,3"])
def test_what_is_no_record_is_refused(bad: bytes) -> None:
    """A task fails with ValueError rather than counting nonsense."""
    with pytest.raises(ValueError):
        records.parse(bad)


def test_a_result_is_counted_once_however_often_it_comes() -> None:
    """Within one batch and over several; only the first is added up."""
    tally = Tally()
    tally.add([result(0, first=5.0), result(1), result(0, first=5.0)])
    tally.add([result(1), result(2)])
    assert (tally.received, tally.unique, tally.duplicates) == (5, 3, 2)
    assert tally.means(0)[0] == pytest.approx((5.0 + 1.0 + 1.0) / 3)


def test_what_is_missing_is_counted_and_so_is_what_was_never_sent() -> None:
    """Sequence numbers are looked at one by one, not only their count."""
    tally = Tally()
    tally.add([result(0), result(2), result(5_000_000)])
    assert (tally.missing(3), tally.beyond(3)) == (1, 1)
    assert (tally.missing(5_000_001), tally.beyond(5_000_001)) == (4_999_998, 0)


def test_a_table_of_passes_agrees_with_one_pass_and_a_gap_shows() -> None:
    """The check at the end of the demo can fail."""
    once = [records.RESULT.pack(0, 0, *records.parse(record)) for record in records.stream(1)]
    good, bad = Tally(), Tally()
    numbered = [n.to_bytes(8, "big") + row[8:] for n, row in enumerate(once * 2)]
    good.add(numbered)
    bad.add(numbered[:-1])
    assert good.agrees(direct(), 2)
    assert not bad.agrees(direct(), 2)
    assert "Dec" in good.text(2)


def test_telemetry_is_sorted_by_what_it_is() -> None:
    """Samples by socket and side, the last words by who said them."""
    telemetry = Telemetry()
    depth = {"task 0 PUSH, out": {"out": 7, "in": 0}}
    for fact in (
        {"what": "ready", "t": 1.0, "endpoint": "tcp://127.0.0.1:1"},
        {"what": "sample", "t": 2.0, "depth": depth, "numbers": {"sent": 3}},
        {"what": "done", "t": 3.0, "who": "producer", "put": 3},
    ):
        telemetry.take(json.dumps(fact).encode())
    assert telemetry.endpoint == "tcp://127.0.0.1:1"
    assert telemetry.depth == {"task 0 PUSH, out": [(2.0, 7)]}
    assert telemetry.numbers == {"sent": [(2.0, 3)]}
    assert telemetry.done["producer"]["put"] == 3


def test_the_picture_is_drawn_even_from_nothing(tmp_path: Path) -> None:
    """A run that was too short for a sample still ends with a picture."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: demo)")
    code = (
        "from examples.demo.picture import *; "
        f"draw(Path({str(tmp_path / 'empty.png')!r}), Telemetry(), Tally(), 'nothing')"
    )  # in a process of its own, because matplotlib keeps its fonts open
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=True, timeout=600)
    assert (tmp_path / "empty.png").read_bytes().startswith(b"\x89PNG")


def test_a_rate_is_what_came_since_half_a_second_before() -> None:
    """Counts a second, between samples; a single sample has no rate."""
    from examples.demo.picture import rates

    times, values = rates([(10.0, 0), (11.0, 100), (12.0, 300)], 10.0)
    assert times == [1.0, 2.0]
    assert values == [100.0, 200.0]
    assert rates([(1.0, 5)], 0.0) == ([], [])


def test_a_child_leaves_when_its_parent_is_killed(tmp_path: Path) -> None:
    """The pipe to it is closed by the kernel, however the parent ended."""
    code = (
        "import sys; from examples.demo.children import leave_with_parent; import threading; "
        "leave_with_parent(); print('here', flush=True); threading.Event().wait()"
    )
    command = [sys.executable, "-c", code]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert next(lines_of(child)) == b"here\n"
        child.stdin.close()
        assert child.wait(60) == ORPHANED


def test_stopping_a_child_ends_it_and_what_it_started(tmp_path: Path) -> None:
    """Its whole group gets the signal; a grandchild does not stay behind."""
    (tmp_path / "sleeper.py").write_text(
        "import subprocess, sys\n"
        "other = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "print(other.pid, flush=True)\n"
        "other.wait()\n"
    )
    log = tmp_path / "log"
    child = Child("sleeper", [], root=tmp_path, log=log)
    while not log.read_text().endswith("\n"):
        assert child.wait(0.01) is None
    child.stop()
    assert child.status is not None
    grandchild = int(log.read_text())
    for _ in range(6000):
        try:
            os.kill(grandchild, 0)
        except ProcessLookupError:
            break
        if Path(f"/proc/{grandchild}/stat").read_text().split()[2] == "Z":
            break  # ended; nobody has waited for it, for its parent is gone
        child.wait(0.01)
    else:
        raise AssertionError("the grandchild still runs")
