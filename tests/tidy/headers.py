"""What the headers of csrc/include declare, and where it is used.

Not here: where the files are (tests/test_tidy.py).
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"^(MM_API )?[a-z][\w *]*?\b(mm_\w+)\(", re.MULTILINE)
_CONSTANT = re.compile(r"\b(MM_[A-Z0-9_]+)\b")
_PREPROCESSOR = re.compile(r"^#.*$", re.MULTILINE)
_DEFINITION = re.compile(r"^(mm_\w+)\([^;{}]*\)\n\{", re.MULTILINE)


def _code(text: str) -> str:
    return _PREPROCESSOR.sub("", _COMMENT.sub(" ", text))


def functions(header: str) -> dict[str, bool]:
    """Return the functions that a header declares, and whether each is marked as exported."""
    return {name: bool(api) for api, name in _FUNCTION.findall(_code(header))}


def constants(header: str) -> set[str]:
    """Return the constants that a header defines."""
    return set(_CONSTANT.findall(_code(header))) - {"MM_API"}


def unused(header: str, texts: list[str]) -> list[str]:
    """Return what a header declares and no text names, but to define it."""
    named: set[str] = set()
    for text in texts:
        code = _DEFINITION.sub("", _COMMENT.sub(" ", text))
        named |= set(re.findall(r"\b(?:mm|MM)_\w+", code))
    return sorted((set(functions(header)) | constants(header)) - named)
