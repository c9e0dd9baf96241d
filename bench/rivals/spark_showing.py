"""A program that shows a spool to the tasks of Spark, until its standard input ends.
Usage: python -m bench.rivals.spark_showing FOLDER.

The first line of standard output is the endpoint.
"""

from __future__ import annotations

import sys

import meshmsg


def main() -> None:
    """Show it."""
    with (
        meshmsg.Spool(sys.argv[1]) as spool,
        meshmsg.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server,
    ):
        print(server.endpoint, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
