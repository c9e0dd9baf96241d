"""What a figure depends on besides the code: machine, system, versions, congestion control."""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import meshmsg

from .disk import file_system
from .tools import compiler, first_words


def first_line(path: str) -> str:
    """Of a file of the system; nothing if there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()[0].strip()
    except (OSError, IndexError):
        return ""


def processor() -> str:
    """Its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def memory_gib() -> float:
    """Of the machine."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def commit() -> str:
    """Of the tree this runs from, and whether it was changed since; nothing outside of one."""
    here = Path(__file__).resolve()
    git = ("git", "-C", str(here.parent))
    if not first_words(*git, "ls-files", "--error-unmatch", str(here)):
        return ""  # installed in a place that only happens to be inside of somebody's tree
    return first_words(*git, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def facts() -> dict[str, Any]:
    """For every record."""
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": memory_gib(),
        "load_1_min": round(os.getloadavg()[0], 2),
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "meshmsg": meshmsg.__version__,
        "commit": commit(),
        "c_compiler": first_words(compiler() or "cc", "--version"),
        "file_system": file_system(),
        "tcp_congestion_control": first_line("/proc/sys/net/ipv4/tcp_congestion_control"),
        "tcp_wmem": first_line("/proc/sys/net/ipv4/tcp_wmem"),
        "tcp_rmem": first_line("/proc/sys/net/ipv4/tcp_rmem"),
    }


def in_words(known: dict[str, Any]) -> str:
    """One line above every table."""
    return (
        f"{known['processor']}, {known['cores']} cores, Linux {known['kernel']}, "
        f"Python {known['python']}, TCP {known['tcp_congestion_control'] or 'unknown'}, "
        f"load {known['load_1_min']}"
    )
