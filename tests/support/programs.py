"""Programs that a test starts: gone when it ends, however it ends.

Not here: which programs there are.
"""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

from tests.support.pairs import WAIT_S

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def running(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start one; at the end it is killed, if it has not ended, and waited for."""
    options.setdefault("cwd", ROOT)
    process = subprocess.Popen([*map(str, command)], **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait(WAIT_S)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):  # of what it did not read
                    pipe.close()


class Says(Protocol):
    """A program whose standard output is read."""

    args: Any
    stdout: IO[bytes] | None


def lines_of(process: Says) -> Iterator[bytes]:
    """What it says, line by line, until it ends; the last one may be cut. Nobody reads so twice."""
    assert process.stdout
    left = b""
    while True:
        said, _, _ = select.select([process.stdout], [], [], WAIT_S)
        assert said, f"the program {process.args!r} says nothing"
        more = os.read(process.stdout.fileno(), 65_536)
        if not more:
            yield from [left] if left else []
            return
        *whole, left = (left + more).split(b"\n")
        yield from (line + b"\n" for line in whole)
