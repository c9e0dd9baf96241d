"""How Spark is connected to its workers in Python, which a source cannot choose but tell of.

Over TCP the JVM writes what a task is to do in two pieces, and leaves Nagle's algorithm on. So the
second waits for the acknowledgement of the first, which the kernel delays (docs/adr/0137-*.md).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

LOG = logging.getLogger("meshmsg")
SETTING = "spark.python.unix.domain.socket.enabled"
"""Of Spark 4.1 and later, as a session is made: by sockets of the file system in place of TCP."""


def tell_of_tcp(environment: Mapping[str, str]) -> None:
    """Log it if workers are connected by TCP, as the environment of one says."""
    if "PYTHON_WORKER_FACTORY_PORT" in environment:
        LOG.warning(
            "Spark is connected to its Python workers by TCP, where each task waits some 40 ms: "
            "%s=true, as the session is made, does without",
            SETTING,
        )
