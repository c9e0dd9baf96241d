"""A spool, and a Push with one, whose disk fails (failing.c). Usage: python -m tests.fault.failing
WHAT FOLDER DURABILITY; WHAT is `spool` or `push`.

Lines on standard output: `k N`, all up to number N is kept; `c N`, all up to N is done, and that
is saved; `d N`, a worker was given number N; `e NAME WORDS`, a call raised that; `o`, other sockets
of the process went on; `end`. Law: a line is written when what it says is so.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.support.spooled import SEGMENT, body

COUNT = 24
"""Messages of a run: of some files."""
SAVES = 8
"""Messages after which a cursor is saved."""
UP = "tcp://127.0.0.1:0"


def say(what: str, *more: object) -> None:
    """Write a line at once, whole."""
    os.write(1, " ".join([what, *(" ".join(str(one).split()) for one in more)]).encode() + b"\n")


def tried(call: Callable[[], object]) -> bool:
    """Whether it went well; what it raised is said."""
    try:
        call()
    except mm.MeshError as error:
        say("e", type(error).__name__, error)
        return False
    return True


def one_more(spool: mm.Spool) -> None:
    """Put one, if only a cursor failed."""
    say("k", spool.append(body(spool.info().last_seq + 1), timeout=WAIT_S))


def keep(spool: mm.Spool, cursor: mm.SpoolCursor) -> None:
    """Put messages, and save now and then that they are done."""
    while (last := spool.info().last_seq) < COUNT:
        say("k", spool.append(body(last + 1)))
        if last % SAVES == SAVES - 1:
            cursor.done_up_to(last)
            cursor.save()
            say("c", last)
    spool.flush()


def with_spool(folder: str, level: Any) -> None:
    """By hand; once it failed it refuses, and is not waited for."""
    with mm.Spool(folder, segment_bytes=SEGMENT, durability=level) as spool:
        with spool.cursor("c") as cursor:
            if not tried(lambda: keep(spool, cursor)):
                tried(lambda: one_more(spool))
                tried(lambda: spool.flush(timeout=WAIT_S))


def work(pull: mm.Pull) -> None:
    """Do what comes, until it is closed."""
    with suppress(mm.ClosedError):
        for message in pull:
            assert message.seq is not None
            say("d", message.seq[1])
            message.ack()


def send(push: mm.Push) -> None:
    """Send messages, each once the one before it is done."""
    for number in range(1, COUNT + 1):
        receipt = push.send(body(number), confirm=True, timeout=WAIT_S)
        say("k", number)
        receipt.wait(timeout=WAIT_S)


def with_push(folder: str, level: Any) -> None:
    """A Push with it, and a worker of it here; once it failed nothing waits for it."""
    with mm.Spool(folder, segment_bytes=SEGMENT, durability=level) as spool:
        with mm.Push(bind=UP, spool=spool) as push:
            with mm.Pull(connect=push.endpoint, ack="manual") as pull:
                worker = threading.Thread(target=work, args=[pull])
                worker.start()
                if not tried(lambda: send(push)):
                    tried(lambda: push.send(body(spool.info().last_seq + 1), timeout=WAIT_S))
                    tried(lambda: push.drain(timeout=WAIT_S))
            worker.join()


def main() -> None:
    """Do as the command line says; then others still have what they had."""
    what, folder, level = sys.argv[1:]
    run = {"spool": with_spool, "push": with_push}[what]
    with mm.Pull(bind=UP) as pull, mm.Push(connect=pull.endpoint) as push:
        push.send(b"before", timeout=WAIT_S)
        tried(lambda: run(folder, level))
        push.send(b"behind", timeout=WAIT_S)
        assert [pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"before", b"behind"]
        say("o")
    say("end")


if __name__ == "__main__":
    main()
