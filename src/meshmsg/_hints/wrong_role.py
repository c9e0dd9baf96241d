"""What a role cannot do, and arguments that `send` does not take: the error says what is meant.

Not here: names of other libraries (absent_names.py). Law: as there: what a role has not is absent
to `hasattr` and to type checkers; only the words of the error differ, and a call that is right pays
nothing for them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from types import ModuleType
from typing import Any, TypeVar, cast

from meshmsg._hints.absent_names import Absence, KindT

MethodT = TypeVar("MethodT", bound=Callable[..., Any])

OF_SOME = (
    *("send", "send_many", "send_frames", "send_batch"),
    *("recv", "recv_many", "recv_frames", "recv_batch", "stop_receiving"),
    *("subscribe", "unsubscribe", "wait_for_subscribed", "subscribers", "wait_for_subscribers"),
    *("request", "survey", "drain", "finish", "wait_for_finished"),
)
"""Methods that some roles have."""

_ARGUMENTS: dict[str, str] = {
    "flags": "zmq.NOBLOCK is timeout=0, zmq.SNDMORE is send_frames(frames)",
    "block": "block=False is timeout=0",
    "copy": "what is sent is copied, and may be changed afterwards",
    "track": "drain() tells what has arrived",
    "topic": 'a topic is of Pub and XPub: send(data, topic="...")',
    "confirm": 'receipts are of Push: Push(delivery="at_least_once").send(data, confirm=True)',
    "delay": "what is sent later is of Push: send(data, delay=seconds)",
    "at": "what is sent later is of Push: send(data, at=seconds since 1970)",
    "priority": "priorities are of Push: Push(priorities=3).send(data, priority=2)",
    "header": 'headers go by name: headers={"name": "value"}',
    "to": "an identity is of Router: send(data, to=...)",
}
"""Arguments of `send` that other libraries, or other roles, have."""

SEND_OPTIONS = ("topic", "confirm")
"""Arguments that the `send` of some roles has."""

PUSH_OPTIONS = ("delay", "at", "priority")
"""Those among the options of a Push's `send` (`PushOptions`)."""

MESSAGE_OPTIONS = ("key", "headers", "ttl", "timestamp")
"""Arguments of each `send` that say what goes with the message (`MessageOptions`)."""


def roles_of(package: ModuleType) -> dict[str, Any]:
    """Return the classes of roles that a package has, by name, in the order of their numbers.

    What a role does, in words, is said by its form (`_does`).
    """
    kinds = {name: getattr(package, name) for name in package.__all__}
    roles = {name: kind for name, kind in kinds.items() if getattr(kind, "_does", "")}
    return dict(sorted(roles.items(), key=lambda role: int(role[1]._role)))


def role_of(owner: type) -> str:
    """Return the name of the role that a class is, or is made of."""
    made = (base for base in owner.__mro__ if any(vars(f).get("_does") for f in base.__bases__))
    return next((base.__name__ for base in made), "")


def _does_of(owner: type) -> str:
    return str(getattr(owner, "_does", ""))


def has(owner: type, name: str) -> bool:
    """Whether a class has a method of its own; `hasattr` would ask for the error to be made."""
    found = next((vars(base)[name] for base in owner.__mro__ if name in vars(base)), None)
    return found is not None and not isinstance(found, Absence)


def cannot(owner: type, name: str) -> str:
    """Say that a role has no such method, what it does have, and who has it."""
    roles = roles_of(importlib.import_module("meshmsg"))
    others = ", ".join(role for role, kind in roles.items() if has(kind, name))
    said = _does_of(owner)
    does = f": {said}" if said else ""
    return f"{owner.__name__} has no {name!r}{does}; who has {name!r}: {others}"


def no_iteration(owner: type) -> TypeError:
    """Make the error of a loop over a socket that receives nothing."""
    said = _does_of(owner)
    does = f"; {said}" if said else ""
    return TypeError(f"{owner.__name__} receives nothing that a loop could go over{does}")


def wrong_send(own: Collection[str], given: int, named: Mapping[str, object]) -> TypeError:
    """Make the error of a `send` with more than it takes.

    Args:
        own: Which of `SEND_OPTIONS` and `PUSH_OPTIONS` it takes.
        given: How many values it was given by their position.
        named: Those it was given by name.
    """
    topics = "topic" in own
    form = 'send(data, topic="...", timeout=seconds)' if topics else "send(data, timeout=seconds)"
    known = ("data", "timeout", *MESSAGE_OPTIONS, *own)
    if given > 1:
        hint = 'the topic goes by name, topic="..."; ' if topics else ""
        hint += _ARGUMENTS["flags"]
        return TypeError(f"send takes one value by position, not {given}: {form}; {hint}")
    name = next((name for name in named if name not in known), "")
    if not name:
        return TypeError(f"send got its data twice: {form}")
    hint = f"; {_ARGUMENTS[name]}" if name in _ARGUMENTS else ""
    return TypeError(f"send has no argument {name!r}: {form}{hint}")


def wrong_send_of(own: Collection[str]) -> Callable[..., None]:
    """Return what is called instead of a `send`, with arguments that it does not take."""

    def refuse(*given: object, **named: object) -> None:
        raise wrong_send(own, len(given) - 1, named)

    return refuse


def wrong_note(named: Iterable[str]) -> TypeError | None:
    """Make the error of what does not go with a message; None: all of that does."""
    name = next((name for name in named if name not in MESSAGE_OPTIONS), "")
    if not name:
        return None
    hint = _ARGUMENTS.get(name, "")
    return TypeError(
        f"there is no argument {name!r}; what goes with a message is {', '.join(MESSAGE_OPTIONS)}"
        + (f"; {hint}" if hint else "")
    )


def _refuse_own(call: str, named: Iterable[str]) -> None:
    if "topic" in named:
        raise TypeError(f"{call} takes no topic=: its messages are bodies; use send for each")
    if "confirm" in named:
        raise TypeError(f"{call} takes no confirm=: {_ARGUMENTS['confirm']}")


def bodies_only(method: MethodT) -> MethodT:
    """Have a method that sends many bodies say what only a `send` takes (`SEND_OPTIONS`)."""
    call = method.__name__

    @wraps(method)
    def sends(*given: Any, **named: Any) -> Any:
        _refuse_own(call, named)
        return method(*given, **named)

    @wraps(method)
    async def sends_awaited(*given: Any, **named: Any) -> Any:
        _refuse_own(call, named)
        return await method(*given, **named)

    made: Any = sends_awaited if iscoroutinefunction(method) else sends
    return cast("MethodT", made)


class _OfOthers(Absence):
    """A method that is not this role's, and knows whose it is."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> None:
        raise AttributeError(
            cannot(owner, self._name), name=self._name, obj=owner if instance is None else instance
        )


def of_other_roles(kind: KindT) -> KindT:
    """Have a class of sockets say, of methods that some roles have, whose they are."""
    for name in OF_SOME:
        setattr(kind, name, _OfOthers(name))
    return kind


class _NoEnter(Absence):
    """As if it were absent: `hasattr` tells sync sockets from those of asyncio by it."""

    def __get__(self, instance: object, owner: type) -> None:
        raise AttributeError(
            f"a {owner.__name__} for threads is closed by `with`; `async with` is for "
            f"meshmsg.aio.{role_of(owner)}",
            name="__aenter__",
            obj=owner if instance is None else instance,
        )


def _no_async_for(self: object) -> None:
    owner = type(self)
    raise TypeError(
        f"a {owner.__name__} for threads is iterated over by `for`; `async for` is for "
        f"meshmsg.aio.{role_of(owner)}"
    )


def _no_for(self: object) -> None:
    raise no_iteration(type(self))


def not_awaited(kind: KindT) -> KindT:
    """Have sockets for threads say so in `async with` and `async for`, and in a loop although they
    receive nothing."""
    refusals = {
        "__aenter__": _NoEnter(),
        "__aexit__": _NoEnter(),
        "__aiter__": _no_async_for,
        "__iter__": _no_for,
    }
    for name, refusal in refusals.items():
        setattr(kind, name, refusal)
    return kind
