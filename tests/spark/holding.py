"""A producer that does as it is told: python -m tests.spark.holding FOLDER ENDPOINT.

Lines on standard input: `upto N` puts messages until the last is N; `hold K` has the Kth read from
then on wait for its answer; `go` gives it. Lines on standard output: `is UUID`, `there N` as a life
begins and as N are put, `read N` as message N is asked for, `held N ADDRESS` for the read that
waits, and where who asked is connected from. Message N has the body N, padded.
Law: a life goes on where the one before ended.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import meshmsg as mm
from meshmsg._ranges.form import Op, request_of
from tests.spark.showing import RUN, body


def say(*words: object) -> None:
    """Print a line, whole."""
    os.write(1, " ".join(map(str, words)).encode() + b"\n")


class Holds:
    """Answers reads of a server, all but the one that is to wait."""

    def __init__(self, server: mm.SpoolServer) -> None:
        self._server, self._lock = server, threading.Lock()
        self._left = 0
        self._go = threading.Event()
        self._answer = server._answers.answer
        server._answers.answer = self._answering  # type: ignore[method-assign]

    def hold(self, count: int) -> None:
        """Have that read wait."""
        with self._lock:
            self._go.clear()
            self._left = count

    def go(self) -> None:
        """Have none wait."""
        with self._lock:
            self._left = 0
            self._go.set()

    def _answering(self, data: Any, load: Any) -> Any:
        request = request_of(data)
        if request.op == Op.READ:
            with self._lock:
                say("read", request.a)
                self._left -= 1
                held = self._left == 0
            if held:
                say("held", request.a, *self._address_of(data.peer))
                self._go.wait()
        return self._answer(data, load)

    def _address_of(self, peer: int) -> list[str]:
        return [one.address for one in self._server.peers() if one.id == peer]


def main() -> None:
    """Do what each line says, until there are no more."""
    folder, endpoint = sys.argv[1:]
    with (
        mm.Spool(folder, segment_bytes=2**20) as spool,
        mm.SpoolServer(spool, bind=endpoint, trim=True) as server,
    ):
        holds = Holds(server)
        say("is", spool.info().uuid)
        say("there", spool.info().last_seq)
        for line in sys.stdin:
            word, *rest = line.split()
            if word == "go":
                holds.go()
                continue
            number = int(rest[0])
            if word == "hold":
                holds.hold(number)
                continue
            while (last := spool.info().last_seq) < number:
                spool.append_many(body(one) for one in range(last + 1, min(last + RUN, number) + 1))
            say("there", last)
        holds.go()


if __name__ == "__main__":
    main()
