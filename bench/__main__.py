"""The command line of the bench: chooses, repeats interleaved, prints medians with their range."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from ._libraries import LATENCY, THROUGHPUT, installed
from ._run import BenchError, Point, measure

TRANSPORTS = ("tcp", "ipc", "inproc")


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m meshmsg.bench", description=__doc__)
    parser.add_argument("kind", choices=("thr", "lat"), help="throughput of PUSH, latency of REQ")
    parser.add_argument("--transport", nargs="+", choices=TRANSPORTS, default=list(TRANSPORTS))
    parser.add_argument("--size", nargs="+", type=int, default=[64, 1024], help="bytes a message")
    parser.add_argument("--count", type=int, help="messages, or round trips, a measurement")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each")
    parser.add_argument("--library", nargs="+", help="default: all that are installed")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    chosen = parser.parse_args(arguments)
    chosen.count = chosen.count or (300_000 if chosen.kind == "thr" else 5_000)
    names = installed(THROUGHPUT if chosen.kind == "thr" else LATENCY)
    chosen.library = chosen.library or names
    unknown = sorted(set(chosen.library) - set(names))
    if unknown:
        parser.error(f"not here: {', '.join(unknown)}; there are {', '.join(names)}")
    if chosen.count < 2 or chosen.repeat < 1 or min(chosen.size) < 0:
        parser.error("count must be at least 2, repeat at least 1, size at least 0")
    return chosen


def figures(kind: str, point: Point) -> dict[str, float]:
    """The numbers of one measurement."""
    if kind == "lat":
        return {name: point.connected[name] for name in ("p50_us", "p99_us")}
    return {
        "sender_per_s": point.connected["count"] / point.connected["seconds"],
        "receiver_per_s": point.bound["count"] / point.bound["seconds"],
    }


def summary(values: list[float]) -> dict[str, float]:
    """Median, least and most."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def show(row: dict[str, Any], *, as_json: bool) -> None:
    """Print one line."""
    if as_json:
        print(json.dumps(row), flush=True)
        return
    parts = [f"{row['transport']:7}{row['size']:>7} B  {row['library']:13}"]
    for name, value in row.items():
        if isinstance(value, dict):
            parts.append(
                f"{name} {value['median']:>12,.1f} ({value['min']:,.1f} .. {value['max']:,.1f})"
            )
    print("  ".join(parts), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    chosen = options(arguments)
    for transport in chosen.transport:
        for size in chosen.size:
            rows: dict[str, list[dict[str, float]]] = {name: [] for name in chosen.library}
            try:
                for _ in range(chosen.repeat):
                    for name, measured in rows.items():
                        point = measure(chosen.kind, name, transport, size, chosen.count)
                        measured.append(figures(chosen.kind, point))
            except BenchError as error:
                print(f"{transport}, {size} bytes: {error}", file=sys.stderr)
                return 1
            for name, measured in rows.items():
                row: dict[str, Any] = {
                    "kind": chosen.kind,
                    "library": name,
                    "transport": transport,
                    "size": size,
                    "count": chosen.count,
                    "repeat": chosen.repeat,
                }
                for figure in measured[0]:
                    row[figure] = summary([one[figure] for one in measured])
                show(row, as_json=chosen.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
