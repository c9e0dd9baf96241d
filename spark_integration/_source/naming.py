"""What the group of a query is called, of which only the beginning may be said.

Not here: what a group holds (holding.py). Law: a name that was drawn stands in each offset, so a
query has it for as long as its checkpoint; who deletes that has another group.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from meshmsg import UsageError

from .options import MARK_SIZE, SourceOptions

_MARK = re.compile(rf"[0-9a-f]{{{2 * MARK_SIZE}}}")
MARK = "g"
"""Where it stands in an offset."""


class GroupName:
    """Of one query."""

    def __init__(self, options: SourceOptions) -> None:
        self._group, self._prefix = options.group, options.group_prefix
        self._mark = ""

    @property
    def name(self) -> str | None:
        """The name of the group; None: there is none, or it is not known yet."""
        if self._prefix is not None and self._mark:
            return f"{self._prefix}-{self._mark}"
        return self._group

    def read(self, offset: Mapping[str, Any]) -> None:
        """Take the name that an offset of the checkpoint has.

        Raises:
            UsageError: It is none.
        """
        mark = offset.get(MARK, "") if self._prefix is not None else ""
        if mark and not (isinstance(mark, str) and _MARK.fullmatch(mark)):
            raise UsageError(f"the checkpoint has {mark!r}, which is no name of a group")
        self._mark = mark or self._mark or self._drawn()

    def written(self, offset: dict[str, Any]) -> dict[str, Any]:
        """Return an offset with the name, drawn if there is none yet; in sorted order."""
        self._mark = self._mark or self._drawn()
        return {MARK: self._mark, **offset} if self._mark else offset

    def _drawn(self) -> str:
        return os.urandom(MARK_SIZE).hex() if self._prefix is not None else ""
