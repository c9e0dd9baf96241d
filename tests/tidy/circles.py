"""What files need of each other, and the circles in it: C files by the functions they call, modules
of Python by what they import, be it for types alone.

Includes tell what a C file may see, calls what it cannot do without: a file that is called by what
it calls is understood only together with it.

Not here: that there is none (tests/test_tidy.py).
"""

from __future__ import annotations

import ast
import re

Needs = dict[str, set[str]]
"""For each file, the files whose functions it names; for each module, those it imports."""

_DEFINED = re.compile(r"^(mmi?_\w+)\([^;{}]*\)\n\{", re.MULTILINE)
_NAMED = re.compile(r"\bmmi?_\w+")
_NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def needs(texts: dict[str, str]) -> Needs:
    """Return who needs whom; `texts` is the text of each C file by its path."""
    code = {path: _NOT_CODE.sub("", text) for path, text in texts.items()}
    home = {name: path for path, text in code.items() for name in _DEFINED.findall(text)}
    found: Needs = {}
    for path, text in code.items():
        homes = {home[name] for name in set(_NAMED.findall(text)) if name in home}
        found[path] = homes - {path}
    return found


def module_of(path: str) -> str:
    """Return the name that a module is imported by; `path` is below the package's parent."""
    return path.rpartition(".py")[0].removesuffix("/__init__").replace("/", ".")


def imports(texts: dict[str, str]) -> Needs:
    """Return who imports whom; `texts` is the text of each module by its path. A package is what it
    imports itself, not what is in it."""
    names = {module_of(path) for path in texts}
    found: Needs = {}
    for path, text in texts.items():
        named: set[str] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                modules = inner & names
                named |= modules if modules else {node.module}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
        found[module_of(path)] = (named & names) - {module_of(path)}
    return found


def circles(graph: Needs) -> list[list[str]]:
    """Return the groups of files of which each needs, in the end, each other; the largest first.

    Source: Tarjan, Depth-first search and linear graph algorithms, 1972.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(path: str) -> None:
        order[path] = low[path] = len(order)
        stack.append(path)
        for other in sorted(graph.get(path, ())):
            if other not in order:
                visit(other)
                low[path] = min(low[path], low[other])
            elif other in stack:
                low[path] = min(low[path], order[other])
        if low[path] == order[path]:
            at = stack.index(path)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for path in sorted(graph):
        if path not in order:
            visit(path)
    return sorted((group for group in found if len(group) > 1), key=len, reverse=True)


def upward(graph: Needs, floors: dict[str, int]) -> list[tuple[str, str]]:
    """Return the needs of a file from a floor above its own; `floors` is the height of each folder
    directly below csrc."""
    found = []
    for path, others in sorted(graph.items()):
        height = floors[path.split("/")[0]]
        found += [(path, to) for to in sorted(others) if floors[to.split("/")[0]] > height]
    return found
