"""Which changes of one operator a C file admits, and the file with one of them.

Not here: building and running anything. Law: the same text gives the same changes in the same
order; comments, strings, preprocessor lines and assertions are left alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

SWAPS: dict[str, tuple[str, ...]] = {
    "==": ("!=",),
    "!=": ("==",),
    "<=": ("<",),
    ">=": (">",),
    "<": ("<=",),
    ">": (">=",),
    "&&": ("||",),
    "||": ("&&",),
    "++": ("--",),
    "--": ("++",),
    "+=": ("-=",),
    "-=": ("+=",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "%": ("*",),
    "!": ("",),
    "|=": ("&=",),
    "&=": ("|=",),
    "true": ("false",),
    "false": ("true",),
}
"""An operator, and what may stand in its place."""

_HIDDEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_ASSERTION = re.compile(r"\b(?:MMI_ASSERT\w*|_Static_assert|static_assert)\s*\([^;]*;", re.DOTALL)
_TOKEN = re.compile(r"->|<<=?|>>=?|\+\+|--|[-+*/%|&<>=!]=|&&|\|\||[-+*/%<>!]|\b(?:true|false)\b")
_BODY = re.compile(r"^\{\n.*?^\}", re.DOTALL | re.MULTILINE)
_BINARY = {"+", "-", "*", "/", "%", "<", ">"}


@dataclass(frozen=True)
class Mutant:
    """One change: in this file, at this offset, this operator becomes that."""

    path: str
    offset: int
    old: str
    new: str
    line: int

    def apply(self, text: str) -> str:
        """Return the changed text."""
        if text[self.offset : self.offset + len(self.old)] != self.old:
            raise ValueError(f"{self.path}:{self.line}: {self.old!r} does not stand there any more")
        return text[: self.offset] + self.new + text[self.offset + len(self.old) :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old!r} -> {self.new!r}"


def _blank(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def _bodies(text: str) -> Iterable[tuple[int, int]]:
    """Where the bodies of functions are; a brace in the first column opens and closes one."""
    return (m.span() for m in _BODY.finditer(text))


def _is_operation(seen: str, token: str, at: int) -> bool:
    """Whether it is an operation, not a sign, a pointer or a part of a type: the formatter puts a
    space on both sides of it."""
    return token not in _BINARY or seen[at - 1] + seen[at + len(token)] == "  "


def mutants_of(path: str, text: str) -> list[Mutant]:
    """List every change this file admits."""
    seen = _blank(_blank(text, _HIDDEN), _ASSERTION)
    found = []
    for start, end in _bodies(seen):
        for match in _TOKEN.finditer(seen, start, end):
            token, at = match.group(), match.start()
            if token not in SWAPS or not _is_operation(seen, token, at):
                continue
            line = text.count("\n", 0, at) + 1
            found += [Mutant(path, at, token, new, line) for new in SWAPS[token]]
    return found


def sample(files: dict[str, str], seed: int, count: int) -> list[Mutant]:
    """Draw changes by chance, each operator of the whole with the same chance."""
    everything = [m for path in sorted(files) for m in mutants_of(path, files[path])]
    return random.Random(seed).sample(everything, min(count, len(everything)))
