"""Which lines of the C core each block of a traced library stands for.

A block is a stretch of code that runs as a whole; trace.c notes the place where it starts. Not
here: running anything. Law: a line that a test ran belongs to a block that is noted; a line may
belong to more than one block, and a block to lines of more than one file.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

TRACE_SIZE = 1 << 23
"""Octets of the file of notes; trace.c has the same number."""

_FUNCTION = re.compile(r"^[0-9a-f]+ <[^>]+>:$")
_LINE = re.compile(r"^(/.*|\S+\.[ch]):(\d+)(?: \(discriminator \d+\))?$")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")
_TRACED = re.compile(r"\bcall\b.*<__sanitizer_cov_trace_pc(?:@plt)?>")

Places = dict[tuple[str, int], set[int]]
"""Where the blocks start that a line (of a file) belongs to."""


def read_listing(lines: Iterable[str], folder: Path) -> Places:
    """Read what objdump says: each instruction belongs to the block that started last."""
    places: Places = {}
    line = ("", 0)
    block = -1
    waiting: list[tuple[str, int]] = []  # lines before the first block of a function has started
    starts = False
    for text in lines:
        if said := _LINE.match(text):
            name = os.path.relpath(os.path.normpath(folder / said[1]), folder)
            line = (name, int(said[2]))
        elif _FUNCTION.match(text):
            block, waiting, starts = -1, [], False
        elif instruction := _INSTRUCTION.match(text):
            if starts:
                block, starts = int(instruction[1], 16), False
                for earlier in waiting:
                    places.setdefault(earlier, set()).add(block)
                waiting = []
            if _TRACED.search(instruction[2]):
                starts = True
                waiting = [*waiting, line]
            elif block < 0:
                waiting.append(line)
            elif not starts:
                places.setdefault(line, set()).add(block)
    return places


class Blocks:
    """The blocks of one library, numbered."""

    def __init__(self, places: Places) -> None:
        """Number them by where they start."""
        self.starts = sorted(set().union(*places.values())) if places else []
        number = {start: index for index, start in enumerate(self.starts)}
        self._masks = {
            line: sum(1 << number[start] for start in starts) for line, starts in places.items()
        }
        self._lines: dict[str, list[int]] = {}
        for path, line in sorted(places):
            self._lines.setdefault(path, []).append(line)

    @classmethod
    def of(cls, library: Path, folder: Path) -> Blocks:
        """Read a library that was built in this folder."""
        args = ["objdump", "-d", "-l", "--no-show-raw-insn", str(library)]
        done = subprocess.run(args, capture_output=True, text=True, check=True)
        return cls(read_listing(done.stdout.splitlines(), folder))

    def of_line(self, path: str, line: int) -> int:
        """Return the blocks of a line as a set of bits.

        A line without code of its own (an operator at the start of a long condition's second line)
        counts with the line above it that has some.
        """
        above = [known for known in self._lines.get(path, []) if known <= line]
        return self._masks[(path, above[-1])] if above else 0


def noted(starts: Sequence[int], notes: Sequence[int]) -> int:
    """Return which of the blocks that start there are noted, the first as the lowest bit."""
    run = bytes(notes[start] for start in starts)
    return int(run[::-1].translate(_DIGITS) or b"0", 2)


_DIGITS = b"0" + b"1" * 255
