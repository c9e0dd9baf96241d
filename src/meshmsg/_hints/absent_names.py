"""Names that other messaging libraries have and this one has not: the error says what to use.

Law: they are absent (`hasattr` is false, `dir()` and type checkers know none of them), and setting
one does not pass in silence; only the words of the error differ. A `__getattr__` would cost every
`send` 70 ns, and a `__setattr__` likewise, so each name is a descriptor that raises.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from meshmsg._hints.words import HINTS, MODULE_HINTS, OPTIONS, POLLER_HINTS

KindT = TypeVar("KindT", bound=type)
_SUBSCRIBING = "; topics are topics=[...] of the constructor, or subscribe(topic)"


class Absence:
    """Something in place of a name that is not there."""


class _Absent(Absence):
    """A name that is not there, and knows what is."""

    def __init__(self, name: str, hint: str) -> None:
        self._name = name
        self._hint = hint

    def _error(self, owner: type, where: object) -> AttributeError:
        hint = self._hint.format(role=owner.__name__)
        if self._hint is OPTIONS and hasattr(owner, "subscribe"):
            hint += _SUBSCRIBING
        words = f"{owner.__name__} has no {self._name!r}; use: {hint}"
        return AttributeError(words, name=self._name, obj=where)

    def __get__(self, instance: object, owner: type) -> None:
        raise self._error(owner, owner if instance is None else instance)

    def __set__(self, instance: object, value: object) -> None:
        raise self._error(type(instance), instance)

    def __repr__(self) -> str:
        return f"<not here; use: {self._hint}>"


def there(kind: type, names: Iterable[str]) -> list[str]:
    """Leave out the names whose descriptors say that they are absent."""
    seen: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        seen.update(vars(base))
    return [name for name in names if not isinstance(seen.get(name), Absence)]


class Listed(ABCMeta):
    """Has `dir()` of a class, and with it completion and mocks, tell what is there.

    An ABCMeta, so that a class may be made of a socket and an abstract class.
    """

    def __dir__(cls) -> list[str]:
        return there(cls, super().__dir__())


def of_other_libraries(kind: KindT) -> KindT:
    """Have a class of sockets say, of each name of other libraries, what is here instead."""
    for name, hint in HINTS.items():
        setattr(kind, name, _Absent(name, hint))
    return kind


class ElsewherePoller(metaclass=Listed):
    """Names of other pollers: not here, and the error says what is."""

    __slots__ = ()
    if not TYPE_CHECKING:
        for _name, _hint in POLLER_HINTS.items():
            locals()[_name] = _Absent(_name, _hint)
        del _name, _hint

    def __dir__(self) -> list[str]:
        return there(type(self), super().__dir__())


def module_hint(module: str, name: str, hints: dict[str, str] | None = None) -> AttributeError:
    """Make the error of a module that has no such name."""
    hints = MODULE_HINTS if hints is None else hints
    public = vars(sys.modules[module]).get("__all__", ())  # none yet, while it is imported
    own = next((own for own in public if own.upper() == name), "")
    if own:  # PUSH, as pyzmq writes it
        hints = {name: f"{module}.{own}"}
    hint = f"; use: {hints[name]}" if name in hints else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)
