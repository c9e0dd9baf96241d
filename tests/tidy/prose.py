"""The rules of the pages: lines that fit a screen, sentences that are read once, links that lead
somewhere.

Not here: which pages they are applied to (tests/test_tidy.py). What is code, a table, a heading or
an address is no prose: it is neither wrapped nor counted.
"""

from __future__ import annotations

import re
from pathlib import Path

COLUMNS_MAX = 120
WORDS_MAX = 30
"""Of one sentence."""

_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^\s*(?:[*+-]|\d+\.)\s+")
_NO_PROSE = re.compile(r"^\s*(?:\||#|-{3,}$|\[[^]]+\]:\s)")
"""A row of a table, a heading, a rule, where a link leads."""
_CODE_ALONE, _CODE_IN_A_LIST = " " * 4, " " * 6
"""What begins a line of code after an empty one."""
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^]]*)\](?:\([^)]*\)|\[[^]]*\])")
_TARGET = re.compile(r"\]\(([^)\s]+)\)")
_ADDRESS = re.compile(r"<?\b\w+://\S+")
_END = re.compile(r"""(?<=[.!?])["')*_]*\s+(?![a-z])""")
"""A stop, and then no small letter: so neither "..., and" nor "e.g. this" ends a sentence."""
_WORD = re.compile(r"\w")

DECISIONS = Path(__file__).parents[2] / "docs/adr"


def _lines(text: str, *, tables: bool = False) -> list[tuple[int, str]]:
    """Return the lines of prose, and of tables if asked; an empty one for each that is none."""
    found = []
    fenced = code = listed = False
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = bool(_FENCE.match(line))
        fenced ^= fence
        if line.strip() and not line.startswith("  "):
            listed = bool(_ITEM.match(line))
        indented = line.startswith(_CODE_IN_A_LIST if listed else _CODE_ALONE) and not fenced
        code = indented and (code or not before.strip())
        row = tables and line.startswith("|")
        prose = row or not (fence or fenced or code or _NO_PROSE.match(line))
        found.append((number, line if prose else ""))
        before = line if not code else ""
    return found


def sentences(text: str) -> list[tuple[int, str]]:
    """Return each sentence, and the line where its paragraph begins; a span of code is a word."""
    paragraphs: list[tuple[int, list[str]]] = []
    open_ = False
    for number, line in _lines(text):
        item = _ITEM.match(line)
        if not line.strip():
            open_ = False
        elif item or not open_:
            paragraphs.append((number, [line[item.end() :] if item else line]))
            open_ = True
        else:
            paragraphs[-1][1].append(line)
    found = []
    for number, lines in paragraphs:
        body = " ".join(line.strip() for line in lines)
        body = _LINK.sub(r"\1", _CODE.sub("Code", body))
        found += [(number, part) for part in _END.split(body) if part.strip()]
    return found


def long_sentences(path: str, text: str) -> list[str]:
    """A sentence is short enough to be read once."""
    found = []
    for number, sentence in sentences(text):
        count = sum(1 for word in sentence.split() if _WORD.search(word))
        if count > WORDS_MAX:
            found.append(f"{path}:{number}: {count} words: {sentence[:60]}...")
    return found


def named_decisions(path: str, text: str) -> list[str]:
    """A page of docs/adr is named by its number, and is there."""
    last = sum(page.name[0].isdigit() for page in DECISIONS.glob("*.md"))
    named = [int(number) for number in re.findall(r"\bADR (\d+)", text)]
    unnamed = [f"{path}: a page of docs/adr without its number"] if "docs/adr:" in text else []
    return unnamed + [f"{path}: there is no ADR {n}" for n in named if not 0 < n <= last]


def long_lines(path: str, text: str) -> list[str]:
    """Prose is wrapped; what has an address in it, or is one word, cannot be."""
    return [
        f"{path}:{number}: {len(line)} columns"
        for number, line in _lines(text)
        if len(line) > COLUMNS_MAX and not _ADDRESS.search(line)
    ]


def _anchors(text: str) -> set[str]:
    """Return the names under which the titles of a page are linked to."""
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(path: str, text: str) -> list[str]:
    """A link to a file or a title of ours leads somewhere; `path` is where the page is."""
    found = []
    for to in _TARGET.findall("\n".join(line for _, line in _lines(text, tables=True))):
        if "://" in to:
            continue
        file, _, title = to.partition("#")
        other = Path(path).parent / file if file else Path(path)
        if file and not other.exists():
            found.append(f"{path}: {to}: no such file")
        elif title and title not in _anchors(other.read_text(encoding="utf-8") if file else text):
            found.append(f"{path}: {to}: no such title")
    return found
