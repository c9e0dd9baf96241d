"""A process that fills a spool, and kills itself while it puts more: path, octets, messages.

Law: it ends by SIGKILL or with an error; it never closes the spool.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import repeat

import meshmsg

MORE = 1000
"""Messages on their way as it ends: some of them are written, and none is proved to be durable."""


def main() -> None:
    """Put them, and begin with more."""
    path, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    spool = meshmsg.Spool(path)
    body = os.urandom(size)
    spool.append_many(repeat(body, count))
    spool.append_many(repeat(body, MORE), wait=False)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
