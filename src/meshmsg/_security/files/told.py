"""What is wrong with a file that is followed: told when it is found, and again while it stays so.

Not here: who looks, and who is told (_socket/door.py). Law: what was read before counts meanwhile,
so silence would be taken for what the file says.
"""

from __future__ import annotations

AGAIN_LOOKS = 60
"""Looks, of one a second, after which what is wrong is told again."""


class Told:
    """What was told of one file, or of some that belong together."""

    def __init__(self, stays: str, gone: str = "") -> None:
        """For the words: what holds meanwhile, and what more is said of a file that is gone."""
        self._stays, self._gone = stays, gone
        self._words = ""
        self._looks = 0

    def __bool__(self) -> bool:
        return self._words != ""

    def right(self) -> str:
        """Nothing is wrong any more; return that there is nothing to tell."""
        self._words = ""
        return ""

    def wrong(self, why: object) -> str:
        """Return what is to be told of it now; "" if it was told, not long ago."""
        words = f"{why}: {self._stays}"
        if isinstance(why, FileNotFoundError) and why.filename is not None:
            words = f"{why.filename} is gone: {self._stays}{self._gone}"
        self._looks += 1
        if words == self._words and self._looks < AGAIN_LOOKS:
            return ""
        self._words, self._looks = words, 0
        return words
