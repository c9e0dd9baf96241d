"""How much memory a process has, as the system tells it."""

from __future__ import annotations


def memory(what: str, pid: int | str = "self") -> float:
    """KiB of VmRSS, or of VmHWM: the most there was (getrusage would tell the parent's, too)."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith(what + ":"):
                    return float(line.split()[1])
    except OSError:
        pass  # the process has ended
    return 0.0
