"""What frozen data classes share: comparing, hashing and showing them, written once.

`dataclass` would compile these methods anew for each class, which is most of what it costs at an
import. Not here: fields, and the constructor, which are as `dataclass` makes them.
Law: they do what those of `dataclass(frozen=True)` do, field by field.
"""

from __future__ import annotations

from dataclasses import Field
from typing import Any, ClassVar


class Record:
    """A base of classes that say `@dataclass(frozen=True, eq=False, repr=False)`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        fields = self.__dataclass_fields__.values()
        return all(
            getattr(self, field.name) == getattr(other, field.name)
            for field in fields
            if field.compare
        )

    def __hash__(self) -> int:
        fields = self.__dataclass_fields__.values()
        return hash(
            tuple(
                getattr(self, field.name)
                for field in fields
                if (field.compare if field.hash is None else field.hash)
            )
        )

    def __repr__(self) -> str:
        fields = self.__dataclass_fields__.values()
        parts = [f"{field.name}={getattr(self, field.name)!r}" for field in fields if field.repr]
        return f"{type(self).__qualname__}({', '.join(parts)})"
