"""A daemon of Spark's that has meshmsg loaded, and sockets open, as its workers are forked.

Spark starts it (`spark.python.daemon.module`), as preloaded.py says. Not here: what tasks do.
"""

from __future__ import annotations

from pyspark import daemon

import meshmsg as mm

PULL = mm.Pull(bind="tcp://127.0.0.1:0")
PUSH = mm.Push(connect=PULL.endpoint)
"""Of the daemon: workers have it, and cannot use it."""


def main() -> None:
    """Have the threads of the engine run, and then be the daemon."""
    PUSH.send(b"warm")
    PULL.recv(timeout=60.0)
    daemon.manager()


if __name__ == "__main__":
    main()
