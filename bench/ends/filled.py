"""A process that fills a spool and closes it: path, octets, messages, seed.

So whoever reads it has put nothing, and its memory is that of reading. Law: all is on the disk when
it ends; a spool that is there already is an error.
"""

from __future__ import annotations

import sys
from itertools import repeat

import meshmsg

from ..base.task import Task


def main() -> None:
    """Put them."""
    path, size, count, seed = sys.argv[1], *map(int, sys.argv[2:5])
    body = Task("replay", "", False, "", size, seed=seed).body()
    with meshmsg.Spool(path, durability="os") as spool:
        if not spool.recovery.made:
            raise SystemExit("a spool is there already")
        spool.append_many(repeat(body, count))
        spool.flush()  # else it would be written while it is read


if __name__ == "__main__":
    main()
