"""The stored line: figures as multiples of a calibration loop, so that machines of different speed
can be compared roughly, and a change of this code from one commit to the next.

Not here: targets, which are ratios within one run and need no stored line. Law: absolute times are
never stored.
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

from ._need import BenchError
from ._rounds import Row

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


def calibration() -> float:
    """The median of several."""
    return statistics.median(calibration_loop() for _ in range(LOOPS))


def line_of(rows: Sequence[Row], loop_s: float) -> dict[str, float]:
    """What a run comes to: messages a loop, or loops a message, by name."""
    found: dict[str, float] = {}
    for row in rows:
        if row["missing"] is not None or row["peer"] not in OWN:
            continue
        load = row.get("load") or f"{row['size']:,} B"
        for name, figure in row["figures"].items():
            key = f"{row['kind']} {row['transport']} {load} {row['peer']} {name}"
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


def compare(rows: Sequence[Row], chosen: argparse.Namespace) -> list[str]:
    """Compare a run with the stored line, or store it."""
    now = line_of(rows, calibration())
    path = Path(chosen.baseline)
    if chosen.save_baseline:
        rounded = {key: float(f"{value:.4g}") for key, value in sorted(now.items())}
        path.write_text(json.dumps({"line": rounded}, indent=1) + "\n", encoding="utf-8")
        return [f"stored {len(now)} figures in {path}"]
    try:
        stored: Any = json.loads(path.read_text(encoding="utf-8"))
        before: dict[str, float] = stored["line"]
    except FileNotFoundError:
        return [f"there is no stored line {path}; --save-baseline makes one"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{path}: {error}") from None
    shared = len(now.keys() & before.keys())
    found = changes(now, before)
    return [f"{shared} figures beside the stored line, {len(found)} beyond noise", *found]
