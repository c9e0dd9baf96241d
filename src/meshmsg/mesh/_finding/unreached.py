"""Which seeds a log is told of, as nobody can be reached by them.

Not here: who asks them (asking.py), who dials (_link.py). Law: one warning a seed; the next one
when it failed again after it was reached, or an hour later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from meshmsg._hints.plural import counted

TRIES = 3
"""Attempts in a row that fail before a seed is told of: nodes that start together miss a few."""
AGAIN_S = 3_600.0
"""Seconds until a seed that still cannot be reached is told of again."""


class Attempts(NamedTuple):
    """What became of dialing an address, or of asking a seed."""

    failed: int
    """Attempts in a row; 0: the last one went well."""
    why: str
    other: str = ""
    """What is wrong with who answers there, if somebody does who is of no use; or that a seed that
    was asked says nothing."""


class Tried(NamedTuple):
    """One seed; of a list of addresses each is one."""

    name: str
    asked: Attempts
    """What became of asking it where nodes may be."""
    addresses: tuple[str, ...]


class Unreached:
    """What was told of the seeds of one node."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    def look(
        self, now: float, seeds: Iterable[Tried], dialed: Callable[[str], Attempts | None]
    ) -> list[str]:
        """Return what is to be told now.

        Args:
            now: Seconds, of a clock that only goes on.
            seeds: As they are now.
            dialed: Tells what became of dialing an address; None: it was not dialed.
        """
        words = []
        for seed in seeds:
            wrong, well = self._wrong(seed, [dialed(one) for one in seed.addresses])
            told = self._told.get(seed.name)
            if wrong and (told is None or now - told >= AGAIN_S):
                self._told[seed.name] = now
                words.append(f"seed {seed.name} {wrong}; see mesh.explain")
            elif well:
                self._told.pop(seed.name, None)
        return words

    def _wrong(self, seed: Tried, dialed: list[Attempts | None]) -> tuple[str, bool]:
        """Return what is wrong, and whether nothing is."""
        if seed.asked.other:
            return seed.asked.other, False
        if seed.asked.failed:
            late = seed.asked.failed >= TRIES
            how = f"failed {counted(seed.asked.failed, 'time')} in a row: {seed.asked.why}"
            return how if late else "", False
        tried = [one for one in dialed if one is not None]
        well = not dialed or any(one.failed == 0 and not one.other for one in tried)
        if not well and (others := [one.other for one in tried if one.other]):
            return others[0], False
        if well or len(tried) < len(dialed) or min(one.failed for one in tried) < TRIES:
            return "", well and bool(tried)
        last = max(tried, key=lambda one: one.failed)
        attempts = f"{counted(last.failed, 'attempt')} in a row"
        also = f" (none of {len(dialed)} addresses)" if len(dialed) > 1 else ""
        return f"cannot be reached{also}: {last.why}, {attempts}", False
