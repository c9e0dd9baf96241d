"""What somebody meets who comes from another library, or asks help(): words that say what to do.

Not here: errors of calls that are right (test_errors).
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pydoc
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio, testing
from meshmsg._hints.words import ASYNCIO_HINTS
from meshmsg._socket.options import OPTION_TEXTS, SocketOptions

ROLES = [name for name in aio.__all__ if hasattr(getattr(aio, name), "bind")]
CLASSES = [getattr(module, name) for module in (mm, aio) for name in ROLES]


def named(thing: Any) -> str:
    """Return a test's id."""
    return f"{thing.__module__}-{thing.__name__}"


@pytest.mark.parametrize("module", [mm, aio, testing], ids=lambda module: module.__name__)
def test_a_class_names_the_module_it_is_imported_from(module: Any) -> None:
    """In a trace, in help() and in a pickle: none of them knows in which file it is written."""
    for name in module.__all__:
        thing = getattr(module, name)
        if not callable(thing):
            continue  # ANYBODY, NONE
        assert (thing.__module__, thing.__qualname__) == (module.__name__, name)
    assert type(mm.Message(b"")).__module__ == "meshmsg"


def test_every_option_has_its_words() -> None:
    """In the order of SocketOptions, none left out."""
    assert list(OPTION_TEXTS) == list(SocketOptions.__annotations__)


@pytest.mark.parametrize("role", CLASSES, ids=named)
def test_the_signature_of_a_class_shows_every_option_and_its_help_those_of_the_role(
    role: Any,
) -> None:
    """With the defaults that the core gives this role, and none as **options."""
    shown = inspect.signature(role).parameters
    assert {"bind", "connect", "engine", *SocketOptions.__annotations__} <= set(shown)
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in shown.values())
    text = pydoc.render_doc(role)
    others = re.findall(r"what other roles do: (.*)\.", text)
    for name in SocketOptions.__annotations__:
        said = f"{name}: {OPTION_TEXTS[name]} Default: {shown[name].default!r}." in text
        assert said != (name in str(others)), name
    assert shown["linger"].default == 1.0
    assert shown["spin"].default == "auto"


@pytest.mark.parametrize("names", [mm, aio], ids=["sync", "aio"])
def test_help_names_no_option_that_only_other_roles_need(names: Any) -> None:
    """A Pull sends nothing, a Push receives nothing, and neither has topics; a Dealer does both."""
    of_queues = {"send": "send_queue_messages: ", "recv": "recv_queue_messages: "}
    for role, does in [(names.Pull, "recv"), (names.Push, "send"), (names.Dealer, "send recv")]:
        for way, option in of_queues.items():
            assert (option in role.__doc__) == (way in does)
        assert "subscriptions_max: " not in role.__doc__
    assert "overflow: " not in names.Pull.__doc__ + names.Sub.__doc__
    assert "no_peer: " not in names.Pull.__doc__ + names.Pub.__doc__ + names.Router.__doc__
    assert "subscriptions_max: " in names.Pub.__doc__


def test_defaults_differ_by_role_as_the_core_has_them() -> None:
    """A Push blocks, a Pub drops, a Router says so."""
    defaults = {
        role: inspect.signature(getattr(mm, role)).parameters["overflow"].default for role in ROLES
    }
    assert defaults["Push"] == "block"
    assert defaults["Pub"] == "drop_newest"
    assert defaults["Router"] == "error"


def test_the_defaults_shown_can_be_given() -> None:
    """Each is a value its option takes, and changes nothing."""
    shown = inspect.signature(mm.Push).parameters
    given: Any = {name: shown[name].default for name in SocketOptions.__annotations__}
    with mm.Push(**given) as push, mm.Push() as plain:
        assert {n: getattr(push._opts, n) for n in dir(push._opts) if n != "identity"} == {
            n: getattr(plain._opts, n) for n in dir(plain._opts) if n != "identity"
        }


@pytest.mark.parametrize("role", CLASSES, ids=named)
def test_a_positional_address_is_told_bind_or_connect(role: Any) -> None:
    """The commonest first line of all."""
    with pytest.raises(TypeError, match=r"bind='tcp://x:1'.*connect='tcp://x:1'"):
        role("tcp://x:1")


def test_with_and_for_of_an_asyncio_socket_say_async() -> None:
    """Before Python 3.14 the interpreter does not."""

    async def main() -> None:
        async with aio.Pull() as pull:
            with pytest.raises(TypeError, match="async with"), pull:
                pass
            with pytest.raises(TypeError, match="async for"):
                iter(pull)

    asyncio.run(main())


LONGER_THAN_A_SLICE_S = 0.25
"""A wait looks at signals every 0.1 s on the main thread, and then at the loop."""


@pytest.mark.parametrize(
    ("role", "call"),
    [
        (mm.Pull, lambda pull: pull.recv(timeout=LONGER_THAN_A_SLICE_S)),
        (mm.Push, lambda push: push.send(b"", timeout=LONGER_THAN_A_SLICE_S)),
        (mm.Req, lambda req: req.request(b"", timeout=LONGER_THAN_A_SLICE_S)),
        (mm.Pub, lambda pub: pub.wait_for_peers(timeout=LONGER_THAN_A_SLICE_S)),
    ],
    ids=["recv", "send", "request", "wait"],
)
def test_a_blocking_wait_in_an_event_loop_is_warned_of_once(role: Any, call: Any) -> None:
    """The loop stands still meanwhile. Elsewhere there is nothing to say."""

    async def main() -> None:
        with role() as socket:
            for _ in range(2):
                with pytest.raises(mm.TimedOutError):
                    call(socket)

    with pytest.warns(RuntimeWarning, match=r"await one of meshmsg\.aio\.") as caught:
        asyncio.run(main())
    assert len(caught) == 1
    with role() as socket, warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(mm.TimedOutError):
            call(socket)


@pytest.mark.parametrize("name", ASYNCIO_HINTS)
def test_what_asyncio_has_elsewhere_or_not_at_all_is_told(name: str) -> None:
    """A Poller is not needed, the work queue is in a package of its own; others get no hint."""
    with pytest.raises(AttributeError, match="; use: "):
        getattr(aio, name)
    named = re.search(r"meshmsg\.[\w.]+", ASYNCIO_HINTS[name])
    if named is not None:
        module, _, attribute = named.group().rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'$"):
        _ = aio.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("role", "options", "kind", "words"),
    [
        ("Push", {"bind": 5555}, TypeError, "an endpoint is a str like"),
        ("Push", {"bind": b"tcp://x:1"}, TypeError, "a str like .*, not bytes"),
        ("Push", {"connect": Path("/x")}, TypeError, "an endpoint is a str like"),
        ("Sub", {"topics": None}, TypeError, "topics is None; .* is everything"),
        ("Sub", {"topics": 5}, TypeError, "topics is 5; "),
        ("Push", {"hwm": 5}, TypeError, "unknown option 'hwm'; use send_queue_messages"),
        ("Push", {"dial": "x"}, TypeError, "unknown option 'dial'; use connect; "),
        (
            "Sub",
            {"name": "x"},
            TypeError,
            "options of a Sub are ack, bind, .*group.*replay.*topics",
        ),
    ],
)
def test_the_next_mistakes_say_what_is_meant(
    role: str, options: dict[str, Any], kind: Any, words: str
) -> None:
    """What somebody who comes from elsewhere tries next."""
    with pytest.raises(kind, match=words):
        getattr(mm, role)(**options)


@pytest.mark.parametrize("role", ["Push", "Pub", "Dealer", "Pair"])
def test_no_frame_at_all_is_no_matter_of_room(role: str) -> None:
    """One is needed, and it may be empty."""
    with getattr(mm, role)() as one:
        with pytest.raises(mm.UsageError, match="^send_frames takes at least one frame"):
            one.send_frames([])
