"""A program that takes the rows that Spark writes, and does nothing with them.
Usage: python -m bench.rivals.spark_taking meshmsg | pyzmq.

The first line of standard output is the endpoint. Each line of standard input is how many rows it
takes; it says so by a line once it has them. It ends with standard input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

AT_ONCE = 1000
"""Messages of meshmsg that are taken in one call."""


def take_all(take: Callable[[int], int], counts: Iterable[str], say: Callable[[str], None]) -> None:
    """Take as many as each line says, and say when."""
    for line in counts:
        left = int(line)
        while left > 0:
            left -= take(left)
        say(line.strip())


def _say(line: str) -> None:
    print(line, flush=True)


def meshmsg() -> None:
    """Receivers that acknowledge, as the sink asks for."""
    import meshmsg

    with meshmsg.Pull(bind="tcp://127.0.0.1:0", ack="auto") as pull:
        _say(pull.endpoint)

        def some(left: int) -> int:
            taken = len(pull.recv_many(min(left, AT_ONCE)))
            if taken == left:  # the last: what was taken is done once more is asked for
                with suppress(meshmsg.WouldBlockError):
                    pull.recv_many(1, timeout=0)
            return taken

        take_all(some, sys.stdin, _say)


def pyzmq() -> None:
    """One by one."""
    import zmq

    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.bind("tcp://127.0.0.1:*")
        _say(pull.getsockopt_string(zmq.LAST_ENDPOINT))

        def one(_left: int) -> int:
            pull.recv()
            return 1

        take_all(one, sys.stdin, _say)


if __name__ == "__main__":
    {"meshmsg": meshmsg, "pyzmq": pyzmq}[sys.argv[1]]()
