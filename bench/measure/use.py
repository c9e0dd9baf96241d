"""What processes used, as figures of a row."""

from __future__ import annotations

from .launch import Measured
from .rounds import Figures


def use_figures(measured: Measured, count: int) -> Figures:
    """CPU and memory of each process; microseconds a message are seconds a million."""
    figures: Figures = {}
    for end, use in (
        ("sender", measured.sender_use),
        ("receiver", measured.receiver_use),
        ("broker", measured.broker_use),
    ):
        if use:
            figures[f"{end}_cpu_us"] = use["cpu_s"] * 1e6 / count
            figures[f"{end}_rss_mb"] = use["rss_mb"]
    figures["cpu_us"] = sum(value for name, value in figures.items() if name.endswith("_cpu_us"))
    return figures
