"""What a role cannot do, and arguments it does not take: the error says what is meant.

Not here: names of other libraries (test_first_contact).
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._hints.wrong_role import OF_SOME, roles_of
from tests.unit.test_first_contact import CLASSES, ROLES, named


def callable_of(role: Any) -> set[str]:
    """The methods of some roles that this one has."""
    return {name for name in OF_SOME if hasattr(role, name)}


@pytest.mark.parametrize("role", CLASSES, ids=named)
def test_a_method_of_other_roles_says_what_this_one_does_and_who_has_it(role: Any) -> None:
    """An AttributeError, as always; what is listed is there, and dir() shows what is there."""
    socket = role()
    assert callable_of(role) == set(OF_SOME) & set(dir(socket))
    socket.close()
    assert set(roles_of(mm)) == set(roles_of(aio)) == set(ROLES)
    for method in re.findall(r"(\w+)\(|\b(\w+)(?=, |$)", role._does.partition(": ")[2]):
        name = "".join(method)
        assert name not in OF_SOME or hasattr(role, name)
    for name in set(OF_SOME) - callable_of(role):
        with pytest.raises(AttributeError) as caught:
            getattr(role, name)
        words, _, others = str(caught.value).partition(f"; who has {name!r}: ")
        assert words == f"{role.__name__} has no {name!r}: {role._does}"
        assert others.split(", ") == [r for r, kind in roles_of(mm).items() if hasattr(kind, name)]
        assert (caught.value.name, hasattr(role, name)) == (name, False)


@pytest.mark.parametrize("role", CLASSES, ids=named)
def test_a_loop_over_who_receives_nothing_says_what_it_does(role: Any) -> None:
    """`for` and `async for`, sync and asyncio."""

    async def main() -> None:
        socket = role()
        with pytest.raises(TypeError) as caught:
            iter(socket)
        assert role._does in str(caught.value)
        if role.__module__.startswith("meshmsg.aio"):
            with pytest.raises(TypeError) as caught:
                socket.__aiter__()
            assert role._does in str(caught.value)
        socket.close()

    if not hasattr(role, "recv"):
        asyncio.run(main())


@pytest.mark.parametrize("role", [mm.Push, mm.Pull, mm.Rep, mm.Req], ids=named)
def test_async_with_and_async_for_of_a_sync_socket_name_the_asyncio_one(role: Any) -> None:
    """And `hasattr` tells the two apart as before."""
    there = f"meshmsg.aio.{role.__name__}"

    async def main() -> None:
        with role() as socket:
            with pytest.raises(AttributeError, match=f"closed by `with`.*{there}"):
                async with socket:
                    pass
            with pytest.raises(TypeError, match=f"iterated over by `for`.*{there}"):
                async for _ in socket:
                    pass
            assert not hasattr(socket, "__aenter__")
            assert not hasattr(socket, "__aexit__")

    asyncio.run(main())


@pytest.mark.parametrize("module", [mm, aio])
@pytest.mark.parametrize(
    ("role", "given", "named_", "words"),
    [
        (
            "Push",
            (b"x", 1),
            {},
            r"one value by position, not 2: send\(data, timeout=.*NOBLOCK is ti",
        ),
        ("Push", (b"x",), {"copy": False}, r"no argument 'copy': send\(data, timeout=.*is copied"),
        ("Push", (b"x",), {"flags": 1}, r"no argument 'flags': .*zmq.NOBLOCK is timeout=0"),
        ("Push", (b"x",), {"confirm": True, "header": {}}, "no argument 'header': .*headers={"),
        ("Dealer", (b"x",), {"confirm": True}, "no argument 'confirm': .*receipts are of Push"),
        ("Push", (b"x",), {"topic": "t"}, r"no argument 'topic': .*a topic is of Pub and XPub"),
        ("Push", (b"x",), {"odd": 1, "timeout": 0}, r"no argument 'odd': send\(data, timeout=sec"),
        ("Push", (b"x",), {"data": b"y"}, r"data twice: send\(data, timeout=seconds"),
        ("Pub", (b"t", b"x"), {}, r'not 2: send\(data, topic="...", timeout=.*goes by name'),
    ],
)
def test_arguments_that_send_does_not_take_say_what_it_takes(
    module: Any, role: str, given: tuple[Any, ...], named_: dict[str, Any], words: str
) -> None:
    """What pyzmq's send takes, or another role's; at once, also where it is to be awaited."""

    async def main() -> None:
        socket = getattr(module, role)()
        with pytest.raises(TypeError, match=words):
            socket.send(*given, **named_)
        socket.close()

    asyncio.run(main())


LISTS: list[tuple[str, str, Any, dict[str, Any], str]] = [
    ("Dealer", "send_frames", [b"a"], {"confirm": True}, "no argument 'confirm'.* are of Push"),
    ("Push", "send_frames", [b"a"], {"odd": None}, "no argument 'odd'; what goes with a message"),
    ("Push", "send_many", [b"a"], {"topic": "t"}, "no argument 'topic'; .*of Pub and XPub"),
    ("Push", "send_many", [], {"odd": 1}, "no argument 'odd'; what goes with a message is key"),
    ("Push", "send_batch", [], {"topic": "t"}, "no argument 'topic'; .*of Pub and XPub"),
    ("Pub", "send_many", [b"a"], {"topic": "t"}, "send_many takes no topic=: .*use send"),
    ("Pair", "send_many", [b"a"], {"confirm": True}, "takes no confirm=: receipts are of Push"),
    ("Pub", "send_batch", None, {"confirm": True}, "takes no confirm=: receipts are of Push"),
    ("Bus", "send_batch", None, {"odd": 1}, "no argument 'odd'; what goes with a message is key"),
]


@pytest.mark.parametrize("module", [mm, aio])
@pytest.mark.parametrize(
    ("role", "call", "given", "more", "words"), LISTS, ids=lambda v: str(v)[:20]
)
def test_what_goes_with_no_list_is_told(
    module: Any, role: str, call: str, given: Any, more: dict[str, Any], words: str
) -> None:
    """And what takes it."""

    async def main() -> None:
        socket = getattr(module, role)()
        with pytest.raises(TypeError, match=words):
            found = getattr(socket, call)(given, timeout=0, **more)
            if module is aio:
                await found
        socket.close()

    asyncio.run(main())
