"""A program that puts numbers into a spool, and shows it to readers, until it is killed.
Usage: python -m tests.spark.showing FOLDER ENDPOINT COUNT DIES.

Lines on standard output: `put N` (all up to N is there, each life once), `read N` as it is asked
for message N. At read DIES it kills itself instead of an answer, after `dies N`; 0: at none.
Message N has the body N, padded. Law: a life goes on where the one before ended.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from typing import Any

import meshmsg as mm
from meshmsg._ranges.form import Op, request_of

RUN = 50
"""Messages of a call."""
BODY = 1024
"""Bytes of a message."""


def body(number: int) -> bytes:
    """Return the body of a message."""
    return (b"%d" % number).ljust(BODY)


def main() -> None:
    """Put and show as the command line says."""
    folder, endpoint, count, dies = sys.argv[1:]
    reads = itertools.count(1)
    with (
        mm.Spool(folder, segment_bytes=2**20) as spool,
        mm.SpoolServer(spool, bind=endpoint, trim=True) as server,
    ):
        answer = server._answers.answer

        def answering(data: bytes, load: Any) -> bytes:
            request = request_of(data)
            if request.op == Op.READ:
                os.write(1, b"read %d\n" % request.a)
                if next(reads) == int(dies):  # of several threads, this one gets no answer
                    os.write(1, b"dies %d\n" % request.a)
                    os.kill(os.getpid(), signal.SIGKILL)
            return answer(data, load)

        server._answers.answer = answering  # type: ignore[method-assign]
        while (last := spool.info().last_seq) < int(count):
            more = range(last + 1, min(last + RUN, int(count)) + 1)
            spool.append_many(body(number) for number in more)
        os.write(1, b"put %d\n" % last)
        signal.pause()


if __name__ == "__main__":
    main()
