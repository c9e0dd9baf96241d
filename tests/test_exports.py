"""Public names: the same at run time, in __all__ and in docs/api.md; the same sync and asyncio."""

from __future__ import annotations

import asyncio
import enum
import inspect
import re
import sys
import types
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import meshmsg as mm
import meshmsg.patterns.aio
import meshmsg.spark.aio
import meshmsg.testing
import meshmsg.tracing
from meshmsg import aio

ROOT = Path(__file__).resolve().parents[1]
SOCKETS = [name for name in aio.__all__ if hasattr(getattr(aio, name), "bind")]
WAITING = {
    *("send", "send_many", "send_frames", "recv", "recv_many", "recv_frames", "request", "drain"),
    *("wait_for_peers", "wait_for_subscribers", "send_batch", "recv_batch", "request_frames"),
    "wait_for_finished",
    "wait_for_subscribed",
    "retained",
    *("groups", "seek_group", "forget_group"),
}
"""What is awaited in aio; everything else is the same call."""

SPOOLS = {
    "Spool": {
        *("append", "append_many", "append_batch", "flush", "read", "trim", "close"),
        *("cursor", "cursors", "delete_cursor", "find", "lease", "compact"),
    },
    "SpoolCursor": {"seek", "save", "close"},
    "SpoolLease": {"renew"},
    "SpoolReader": {"read", "read_batch"},
}
"""What is awaited of those: whatever may wait for the disk."""


def is_awaited(call: Any) -> bool:
    """Whether a coroutine comes of calling it, as `inspect` says; before Python 3.12 asyncio."""
    if sys.version_info >= (3, 12):
        return inspect.iscoroutinefunction(call)
    return asyncio.iscoroutinefunction(call)


def public(thing: Any) -> dict[str, Any]:
    """Return the public attributes of a class or module, submodules left out."""
    return {
        name: getattr(thing, name)
        for name in dir(thing)
        if not name.startswith("_")
        and hasattr(thing, name)  # names of other libraries are listed, and raise
        and not isinstance(getattr(thing, name), types.ModuleType)
    }


@pytest.mark.parametrize(
    "module",
    [
        *(mm, aio, meshmsg.testing, meshmsg.patterns, meshmsg.patterns.aio),
        *(meshmsg.spark, meshmsg.spark.aio, meshmsg.tracing),
    ],
    ids=lambda m: m.__name__,
)
def test_all_is_what_there_is(module: types.ModuleType) -> None:
    """Sorted, and nothing beside it: tab completion offers no more."""
    assert sorted(public(module)) == list(module.__all__)


def table(title: str) -> list[str]:
    """Return the rows of the tables below a title of docs/api.md."""
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    return re.findall(
        r"^\| (`.*) \|$", page.partition(title)[2].partition("\n## ")[0], re.MULTILINE
    )


def test_every_name_is_documented_and_no_other() -> None:
    """The tables of docs/api.md."""
    rows = [
        row
        for title in (
            "## Sockets",
            "## What comes out",
            "## Spool",
            "## Keys",
            "## Security",
            "## Errors",
        )
        for row in table(title)
    ]
    documented = [n for row in rows for n in re.findall(r"`(\w+)`", row.partition(" | ")[0])]
    assert sorted(documented) == sorted(mm.__all__)


@pytest.mark.parametrize("module", [mm, aio], ids=lambda m: m.__name__)
@pytest.mark.parametrize("role", SOCKETS)
def test_a_socket_can_do_what_its_rows_say_and_no_more(module: types.ModuleType, role: str) -> None:
    """The table of methods in docs/api.md, as of an instance: all public attributes."""
    said: set[str] = set()
    for methods, _, roles in (row.partition(" | ") for row in table("## What a socket can do")):
        if roles == "every socket" or role in roles.split(", "):
            said |= {word for part in re.findall(r"`([^`]+)`", methods) for word in part.split()}
    assert ("for" in said) == ("recv" in said)
    assert said - {"with", "for"} == set(public(getattr(module, role)))


def test_asyncio_has_every_role() -> None:
    """A socket class here is a socket class there."""
    roles = [name for name in mm.__all__ if hasattr(getattr(mm, name), "unbind")]
    assert roles == SOCKETS


def parameters(call: Any) -> list[tuple[str, Any, Any]]:
    """Return names, kinds and defaults."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(call).parameters.values()]


@pytest.mark.parametrize("name", [*SOCKETS, *SPOOLS])
def test_sync_and_asyncio_take_the_same_options_and_arguments(name: str) -> None:
    """Same methods, same parameters, same defaults; and exactly what waits is awaited."""
    waiting = SPOOLS.get(name, WAITING)
    sync, awaited = getattr(mm, name), getattr(aio, name)
    assert parameters(sync) == parameters(awaited)
    assert set(public(sync)) == set(public(awaited))
    for method, call in public(sync).items():
        other = public(awaited)[method]
        if not callable(call):
            assert isinstance(call, property) == isinstance(other, property)
            continue
        assert parameters(call) == parameters(other), method
        assert is_awaited(other) == (method in waiting), method


@pytest.mark.parametrize("name", SOCKETS)
@pytest.mark.parametrize("module", [mm, aio], ids=["sync", "asyncio"])
def test_options_are_keyword_only_and_typed(module: Any, name: str) -> None:
    """After the first argument, as in Push.send(data, *, timeout)."""
    kind = getattr(module, name)
    for parameter in inspect.signature(kind).parameters.values():
        assert parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
    for method in public(kind).values():
        if callable(method):
            hints = method.__annotations__
            for parameter in list(inspect.signature(method).parameters.values())[1:]:
                assert parameter.name in hints
                if parameter.name in ("timeout", "to", "retries", "deadline", "expect"):
                    assert parameter.kind is parameter.KEYWORD_ONLY
            assert "return" in hints


NAMES = [*(getattr(mm, name) for name in mm.__all__), *(getattr(aio, n) for n in aio.__all__)]
CLASSES = [thing for thing in NAMES if isinstance(thing, type)]
FUNCTIONS = [thing for thing in NAMES if inspect.isfunction(thing)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: f"{c.__module__}.{c.__name__}")
def test_docstrings_say_what_people_look_for(kind: Any) -> None:
    """Each class has one of its own; each method says whether threads and cancels are safe."""
    assert kind.__doc__
    if issubclass(kind, (enum.Enum, BaseException, dict)):
        return
    for name, value in public(kind).items():
        if callable(value) and name not in (*dir(bytes), *dir(int)):
            check_docstring(value, f"{kind.__name__}.{name}", own=1)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_docstrings_of_functions_say_it_too(function: Any) -> None:
    """As those of methods."""
    check_docstring(function, function.__name__, own=0)


def check_docstring(value: Any, name: str, *, own: int) -> None:
    """Look for what everybody asks; `own` is how many parameters are not the caller's to give."""
    assert value.__doc__, name
    assert "Thread-safe:" in value.__doc__, name
    if is_awaited(value):
        assert "Cancel-safe:" in value.__doc__, name
    if len(inspect.signature(value).parameters) > own:
        assert "Args:" in value.__doc__, name
    if inspect.signature(value).return_annotation not in ("None", None):
        assert "Returns:" in value.__doc__, name


def test_every_parameter_is_described() -> None:
    """By name, in its Args section."""
    for kind in CLASSES:
        for name, value in public(kind).items():
            if (
                callable(value)
                and value.__doc__
                and "Args:" in value.__doc__
                and name not in dir(bytes)
            ):
                described = value.__doc__.partition("Args:")[2]
                for parameter in list(inspect.signature(value).parameters)[1:]:
                    assert re.search(rf"^\s+{parameter}:", described, re.MULTILINE), (
                        f"{name}({parameter})"
                    )


def test_the_options_are_described() -> None:
    """All of SocketOptions, in its docstring."""
    assert mm.SocketOptions.__doc__ is not None
    for name in get_type_hints(mm.SocketOptions):
        assert re.search(rf"\b{name}\b", mm.SocketOptions.__doc__), name
