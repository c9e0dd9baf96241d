"""Members of ten thousand nodes that know each other, in the memory of one machine.

Not here: what is done with them (world.py). Law: a row is shared until a node looks at it; from
then on that node has one of its own, so that no node sees what another thinks.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any

from meshmsg._mesh.table import Row


class SharedNames(dict[str, bytes]):
    """Who has which name, for one node's table: over names that all have, but its own."""

    def __init__(self, base: dict[str, bytes], own: str) -> None:
        super().__init__()
        self._base, self._own = base, own

    def __missing__(self, name: str) -> bytes:
        if name == self._own:
            raise KeyError(name)
        return self._base[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return who has it."""
        try:
            return self[name]
        except KeyError:
            return default

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return who has it; from now on that one, if nobody has."""
        found = self.get(name)
        return super().setdefault(name, default) if found is None else found


class SharedRows(dict[bytes, Row]):
    """The rows of one node's table, over rows that all have."""

    def __init__(self, base: dict[bytes, Row], own: bytes) -> None:
        super().__init__()
        self._base, self._own = base, own

    def get(self, handle: bytes, default: Any = None) -> Any:
        """Return this node's row of a member."""
        row = super().get(handle)
        if row is None and handle != self._own:
            shared = self._base.get(handle)
            if shared is not None:
                row = Row(shared.signed, shared.state, shared.since, shared.told_by)
                self[handle] = row
        return default if row is None else row

    def __missing__(self, handle: bytes) -> Row:
        row: Row | None = self.get(handle)
        if row is None:
            raise KeyError(handle)
        return row

    def __contains__(self, handle: object) -> bool:
        return super().__contains__(handle) or (handle in self._base and handle != self._own)

    def __len__(self) -> int:
        return len(set(self._base) | set(super().keys())) - (self._own in self._base)

    def _merged(self) -> dict[bytes, Row]:
        merged = {**self._base, **dict(super().items())}
        merged.pop(self._own, None)
        return merged

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._merged())

    def items(self) -> ItemsView[bytes, Row]:  # type: ignore[override]
        """Of all members."""
        return self._merged().items()

    def values(self) -> ValuesView[Row]:  # type: ignore[override]
        """Of all members."""
        return self._merged().values()
