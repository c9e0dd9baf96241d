"""The stored line: figures as multiples of a calibration loop, so that machines of different speed
can be compared roughly, and a change of this code from one commit to the next.

Not here: targets, which are ratios within one run and need no stored line. Law: absolute times are
never stored; the loop runs before, between and after what is measured, and its median counts.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.need import BenchError
from ..measure.rounds import Row
from ..report.output import check_writable, written

STORED = Path(__file__).resolve().parent / "baseline.json"
OWN = ("meshmsg", "meshmsg-batch", "meshmsg-asyncio", "meshmsg-spin")
"""Whose figures are stored."""
RATES = ("receiver_per_s", "deliveries_per_s", "connects_per_s")
TIMES = ("p50_us", "p99_us", "cpu_us")
NOISE = 0.25
"""A change by less says nothing."""
LOOPS = 5
STEPS = 200_000
CHUNK = 64 * 1024
CHUNKS = 2000


def add_baseline(parser: argparse.ArgumentParser) -> None:
    """Which line to compare with, and whether to store one."""
    parser.add_argument(
        "--baseline", metavar="FILE", default=str(STORED), help="the line to compare with"
    )
    parser.add_argument("--save-baseline", action="store_true", help="store this run's line there")


def calibration_loop() -> float:
    """Seconds of some Python and some moving of bytes between two threads over a socket."""
    near, far = socket.socketpair()
    with near, far:

        def take() -> None:
            buffer = bytearray(CHUNK)
            left = CHUNK * CHUNKS
            while left:
                left -= far.recv_into(buffer)

        thread = threading.Thread(target=take)
        start = time.perf_counter()
        thread.start()
        chunk = b"x" * CHUNK
        for _ in range(CHUNKS):
            near.sendall(chunk)
        thread.join()
        found: dict[int, bytes] = {}
        for i in range(STEPS):
            found[i & 1023] = chunk[i & 1023 : (i & 1023) + 64]
        return time.perf_counter() - start


def line_of(rows: Sequence[Row], loop_s: float) -> dict[str, float]:
    """What a run comes to: messages a loop, or loops a message, by name."""
    found: dict[str, float] = {}
    for row in rows:
        if row["missing"] is not None or row["peer"] not in OWN:
            continue
        load = row.get("load") or f"{row['size']:,} B"
        for name, figure in row["figures"].items():
            key = f"{row['kind']} {row['transport']} {load} {row['peer']} {name}"
            if row["kind"] == "rate" and name == "cpu_us":
                continue  # most of it is the sender's, which watches the clock
            if name in RATES:
                found[key] = figure["median"] * loop_s
            elif name in TIMES:
                found[key] = figure["median"] / 1e6 / loop_s
    return found


def changes(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """What changed by more than noise; larger than 1 is better."""
    lines = []
    for key, value in now.items():
        old = before.get(key)
        if not old or not value:
            continue
        better = value / old if key.rsplit(" ", 1)[1] in RATES else old / value
        if not 1 - NOISE < better < 1 / (1 - NOISE):
            lines.append(f"{'faster' if better > 1 else 'SLOWER'}: {better:.2f} x  {key}")
    return lines


class StoredLine:
    """The line of a file, and how fast this machine is while a run is compared with it."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        """Look at the file now: a run is long."""
        self._path, self._saves = str(chosen.baseline), bool(chosen.save_baseline)
        if self._saves:
            check_writable(self._path)
        self._before = stored(self._path)
        self._loops: list[float] = []

    def calibrate(self) -> None:
        """Run the loop some times more."""
        self._loops += [calibration_loop() for _ in range(LOOPS)]

    def compare(self, rows: Sequence[Row]) -> list[str]:
        """Compare a run with the line, or store its own; figures it has not stay as they were."""
        self.calibrate()
        now = line_of(rows, statistics.median(self._loops))
        before = self._before or {}
        if self._saves:
            rounded = {key: float(f"{value:.4g}") for key, value in now.items()}
            line = dict(sorted({**before, **rounded}.items()))
            written(self._path, json.dumps({"line": line}, indent=1) + "\n")
            return [f"stored {len(now)} figures in {self._path}"]
        if self._before is None:
            return [f"there is no stored line {self._path}; --save-baseline makes one"]
        shared = len(now.keys() & before.keys())
        found = changes(now, before)
        return [f"{shared} figures beside the stored line, {len(found)} beyond noise", *found]


def stored(path: str) -> dict[str, float] | None:
    """What a file holds; None if there is none."""
    try:
        told: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        return {str(key): float(value) for key, value in told["line"].items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchError(f"{path} holds no stored line: {error}") from None
