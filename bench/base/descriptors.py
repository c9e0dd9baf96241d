"""How many descriptors this process may have open."""

from __future__ import annotations

import resource

from .need import BenchError

SPARE_FILES = 200


def allow_files(count: int) -> None:
    """Let this process have so many descriptors open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + SPARE_FILES
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise BenchError(f"{wanted} descriptors are needed; the limit is {hard} (ulimit -Hn)")
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # some take several a connection
