"""Pages of docs/guide whose programs are run: what stands on them.

Not here: what they are to print.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.pairs import WAIT_S

GUIDES = Path(__file__).resolve().parents[2] / "docs/guide"
_FENCED = re.compile(r"^```python *(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(((?:\.\./)?[\w.-]+)(#[\w-]+)?\)")


class Guide:
    """A page, by its name."""

    def __init__(self, name: str) -> None:
        self._page = GUIDES / name
        self._text = self._page.read_text(encoding="utf-8")

    def programs(self, title: str | None = None) -> list[tuple[str, str]]:
        """The programs of a section, or of all, and their names if they have one."""
        if title is None:
            return _FENCED.findall(self._text)
        return _FENCED.findall(self._text.partition(f"\n## {title}\n")[2].partition("\n## ")[0])

    def check_links(self) -> None:
        """They lead to files that are there, and to titles in them."""
        links = _LINK.findall(self._text)
        assert links
        for path, title in links:
            page = (GUIDES / path).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in titles}
            assert not title or title[1:] in slugs, (path, title)


def printed_by(program: str, folder: Path) -> list[str]:
    """The lines that a program prints in an empty folder; it ends by itself, without a warning."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=2 * WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
