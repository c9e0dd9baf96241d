"""What the calls of a mesh say of arguments of the wrong kind, of closed sockets, once they are
closed and after a fork: no error of the inside, and nothing waits."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio as mm_aio
from meshmsg.mesh import (
    Beacon,
    Callback,
    Dns,
    DnsSrv,
    Mesh,
    SharedDir,
    SparkSeeds,
    Static,
    ask,
    parse_seed,
)
from meshmsg.mesh import aio as mesh_aio
from meshmsg.mesh._finding.asking import _Asked
from tests.support.feeding import World
from tests.support.inloop import LoopThread
from tests.support.meshes import CALLS, eventually, node, node_of

UP = "tcp://127.0.0.1:0"
LONE = "\ud800"
"""Half of a character, which no UTF-8 has."""
NO_NAMES = ["a/b", "/a", "a\\b", ".", "..", "a..b", "", "a\nb", "x" * 65, LONE]
WRONG = [None, 5, b"s", ["s"], {"s": 1}]
"""Of no kind that is a text."""


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Calls from threads, or on an event loop."""
    loop = LoopThread() if request.param == "asyncio" else None
    yield World(loop)
    if loop is not None:
        loop.close()


@pytest.fixture
def mesh(world: World) -> Iterator[Any]:
    """A node of either kind."""
    with node_of(world, "a") as made:
        yield made


NAMED: dict[str, Callable[[Any, Any], Any]] = {
    "announce": lambda mesh, name: mesh.announce(name, mm.Pull),
    "withdraw": lambda mesh, name: mesh.withdraw(name),
    "connect": lambda mesh, name: mesh.connect(name, mm.Push),
    "endpoints": lambda mesh, name: mesh.endpoints(name),
}
"""Calls that take the name of a service."""
PERHAPS: dict[str, Callable[[Any, Any], Any]] = {
    "watch": lambda mesh, name: mesh.watch(name),
    "wait_for": lambda mesh, name: mesh.wait_for(name),
}
"""Those to which None is no service."""


@pytest.mark.parametrize("call", [*NAMED, *PERHAPS])
@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_cannot_be_is_refused_at_once(mesh: Any, call: str, name: str) -> None:
    """By each call in the same words: nothing waits for what nobody can offer."""
    words = []
    for one in (call, "announce"):
        with pytest.raises(mm.UsageError) as caught:
            {**NAMED, **PERHAPS}[one](mesh, name)
        words.append(str(caught.value))
    assert words[0] == words[1]
    assert words[0].startswith(f"service is {name!r}; it is printable, up to 64 octets")


@pytest.mark.parametrize("call", [*NAMED, *PERHAPS])
@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_text_is_no_name(mesh: Any, call: str, name: Any) -> None:
    """Also what cannot be a key of a dict."""
    if name is None and call in PERHAPS:
        return  # of all nodes
    with pytest.raises(TypeError, match=r"service is .*; it is a name, as a str"):
        {**NAMED, **PERHAPS}[call](mesh, name)


Tried = tuple[type[Exception], str, Callable[[Any, Any], Any]]
"""What is raised, how its words begin, and the call of a mesh and a Pull."""


def announced(**options: Any) -> Callable[[Any, Any], Any]:
    """Offer the Pull."""
    return lambda mesh, pull: mesh.announce("s", pull, **options)


def followed(socket: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """Have a socket follow."""
    return lambda mesh, _: mesh.connect("s", socket, **options)


def waited(**options: Any) -> Callable[[Any, Any], Any]:
    """Wait for a service."""
    return lambda mesh, _: mesh.wait_for("s", **options)


def watched(timeout: Any) -> Callable[[Any, Any], Any]:
    """Wait for an event."""

    def call(mesh: Any, _: Any) -> Any:
        found = mesh.watch("s").next(timeout)
        return mesh._thread.call(lambda: found) if inspect.isawaitable(found) else found

    return call


def of_each(
    error: type[Exception], words: str, call: Callable[..., Any], name: str, *given: Any
) -> list[Tried]:
    """The same of several values of an argument."""
    return [(error, words, call(**{name: one})) for one in given]


TRIED: list[Tried] = [
    *of_each(TypeError, "meta is ", announced, "meta", [], [("v", "2")], "v=2", "", b"", 5, 0),
    *of_each(TypeError, "meta has ", announced, "meta", {"v": 2}, {2: "v"}, {"v": None}),
    *of_each(mm.UsageError, "meta has ", announced, "meta", {"v": LONE}, {LONE: "v"}),
    *of_each(mm.UsageError, "weight is ", announced, "weight", None, "1", 1.5, True, -1, 65536),
    *of_each(TypeError, "socket is ", followed, "socket", None, 5, "Push", int, mm.Push.send),
    *[(mm.UsageError, "select is ", followed(mm.Push, select=one)) for one in (None, 5, [], "n=")],
    (TypeError, "unknown option 'nothing'", followed(mm.Push, nothing=1)),
    *of_each(mm.UsageError, "count is ", waited, "count", None, "1", 1.5, True, -1),
    *of_each(TypeError, "timeout is ", waited, "timeout", "1", [], 1j),
    *of_each(ValueError, "timeout is ", waited, "timeout", -1, float("nan")),
    *of_each(TypeError, "timeout is ", watched, "timeout", "1", [], 1j),
    *of_each(ValueError, "timeout is ", watched, "timeout", -1, float("nan")),
    *[(TypeError, "socket is ", lambda m, _, s=s: m.announce("s", s)) for s in (None, 5, mm.Pull)],
    *[(TypeError, "node is ", lambda m, _, n=n: m.explain(n)) for n in (None, 5, b"a", ["a"])],
    *[(TypeError, "timeout is ", lambda m, _, t=t: m.leave(timeout=t)) for t in ("1", [])],
]


@pytest.mark.parametrize("number", range(len(TRIED)))
def test_what_an_argument_cannot_be_is_refused_by_its_name(mesh: Any, number: int) -> None:
    """And the node goes on as it was."""
    error, words, call = TRIED[number]
    with mm.Pull(bind=UP) as pull:
        with pytest.raises(error) as caught:
            call(mesh, pull)
        assert str(caught.value).startswith(words)
        assert caught.type is error
        assert mesh.services() == {}
        assert not mesh.closed


WHOLE: list[tuple[type[Exception], str, dict[str, Any]]] = [
    *[(TypeError, "cluster is ", {"cluster": one}) for one in WRONG],
    *[(TypeError, "name is ", {"name": one}) for one in WRONG],
    *[(TypeError, "zone is ", {"zone": one}) for one in WRONG],
    *[(mm.UsageError, f"{one} is ", {one: LONE}) for one in ("cluster", "name", "zone")],
    *[(TypeError, "bind is ", {"bind": one}) for one in WRONG[1:]],
    *[(TypeError, "advertise is ", {"advertise": one}) for one in (None, 5, b"h:1", [None], [5])],
    *[(mm.UsageError, "advertise ", {"advertise": one}) for one in ("", [], ["h:1"] * 99, LONE)],
    *[(TypeError, "seeds is ", {"seeds": one}) for one in (5, 0, False, b"h:1", b"", Beacon)],
    *[(TypeError, "a seed is ", {"seeds": [one]}) for one in (5, None, b"h:1", Beacon)],
    (mm.UsageError, "a seed is ", {"seeds": ""}),
    (mm.UsageError, 'secret is ""', {"secret": ""}),
    *[(mm.UsageError, "secret is no path", {"secret": one}) for one in ("a\0", LONE)],
    *[(TypeError, "secret is ", {"secret": one}) for one in (5, b"s", ["s"], {"s": 1}, mm.NONE)],
    *[(TypeError, "insecure is ", {"insecure": one}) for one in (None, "no", 1)],
    *[(mm.UsageError, "transport is ", {"transport": one}) for one in (None, 5, "quic", ["tcp"])],
]


@pytest.mark.parametrize("number", range(len(WHOLE)))
@pytest.mark.parametrize("kind", [Mesh, mesh_aio.Mesh])
def test_what_a_mesh_cannot_be_made_with_is_refused_by_its_name(kind: Any, number: int) -> None:
    """And nothing stays open (the leak check)."""
    error, words, options = WHOLE[number]
    with pytest.raises(error) as caught:
        kind(**{"cluster": "test", **options})
    assert str(caught.value).startswith(words)


OUTSIDE: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    *[(TypeError, "the address is ", lambda a=a: ask(a)) for a in WRONG],
    *[(TypeError, "secret is ", lambda s=s: ask("h:1", secret=s)) for s in WRONG[1:]],
    *[(TypeError, "timeout is ", lambda t=t: ask("h:1", timeout=t)) for t in ("1", [])],
    *[(TypeError, "a seed is ", lambda s=s: parse_seed(s)) for s in WRONG],
    (mm.UsageError, "a seed is ", lambda: parse_seed("")),
    *[(TypeError, "addresses is ", lambda a=a: Static(a)) for a in (None, 5, "h:1", b"h:1")],
    *[(TypeError, "a seed is ", lambda a=a: Static([a])) for a in (None, 5, b"h:1")],
    *[(TypeError, "function is ", lambda f=f: Callback(f)) for f in (None, 5, "f")],
    *[(mm.UsageError, "every is ", lambda e=e: Callback(list, every=e)) for e in (None, "1", -1)],
    *[(TypeError, "path is ", lambda p=p: SharedDir(p)) for p in WRONG],
    *[(mm.UsageError, "name is ", lambda n=n: Dns(n, 1)) for n in WRONG],
    *[(mm.UsageError, "port is ", lambda p=p: Dns("n", p)) for p in (None, "1", 1.0, True, 0)],
    *[(TypeError, "resolver is ", lambda r=r: Dns("n", 1, resolver=r)) for r in (5, "r")],
    *[(mm.UsageError, "name is ", lambda n=n: DnsSrv(n)) for n in WRONG],
    *[(TypeError, "group is ", lambda g=g: Beacon(group=g)) for g in WRONG],
    *[(mm.UsageError, "port is ", lambda p=p: Beacon(port=p)) for p in (None, "1", 1.0)],
    (TypeError, "session is 5", lambda: SparkSeeds.tell(5, "h:1")),  # type: ignore[arg-type]
    *[(TypeError, "interface is ", lambda i=i: Beacon(interface=i)) for i in WRONG],
]


@pytest.mark.parametrize("number", range(len(OUTSIDE)))
def test_what_a_seed_or_a_question_cannot_be_is_refused_by_its_name(number: int) -> None:
    """Before there is a mesh."""
    error, words, call = OUTSIDE[number]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("address", WRONG)
def test_a_question_by_asyncio_refuses_the_same(address: Any) -> None:
    """As it is awaited."""
    with pytest.raises(TypeError, match="the address is "):
        asyncio.run(mesh_aio.ask(address))
    with pytest.raises(TypeError, match="secret is "):
        asyncio.run(mesh_aio.ask("h:1", secret=5))  # type: ignore[arg-type]


@pytest.mark.parametrize("call", CALLS)
def test_each_call_of_a_closed_mesh_says_so(mesh: Any, call: str) -> None:
    """And what tells what it was still tells it."""
    mesh.close()
    with mm.Pull(bind=UP) as pull, pytest.raises(mm.ClosedError, match="this Mesh was closed"):
        CALLS[call](mesh, pull)
    mesh.leave()
    assert (mesh.name, mesh.closed) == ("a", True)
    assert mesh.endpoint.startswith("tcp://127.0.0.1:")
    assert len(mesh.node_id) == 16


def real(one: Any) -> Any:
    """The object that it stands in for, if it does."""
    return getattr(one, "_real", one)


def test_a_closed_socket_is_not_announced(world: World, mesh: Any) -> None:
    """What had the name before keeps it."""
    with world.socket("Pull", bind=UP) as pull:
        mesh.announce("s", real(pull), meta={"v": "1"})
        closed = world.socket("Pull", bind=UP)
        closed.close()
        words = "announcing 's': this Pull was closed; open a new one"
        with pytest.raises(mm.ClosedError, match=words):
            mesh.announce("s", real(closed))
        [member] = mesh.services()["s"]
        assert dict(member.record.services[0].meta) == {"v": "1"}


def test_a_closed_socket_follows_nothing(world: World, mesh: Any) -> None:
    """Whatever is offered."""
    push = world.socket("Push")
    push.close()
    with pytest.raises(mm.ClosedError, match="connecting it to 's': this Push was closed"):
        mesh.connect("s", real(push))
    assert real(push)._follows == ()


def test_a_closed_spool_server_is_not_announced(world: World, mesh: Any, tmp_path: Path) -> None:
    """As a socket is not."""
    kind: Any = mm.SpoolServer if world._thread is None else mm_aio.SpoolServer
    with world.spool(tmp_path / "s") as spool:
        if world._thread is None:
            server = kind(spool, bind=UP)
        else:
            server = world._thread.make(kind, real(spool), bind=UP)
        server.close()
        with pytest.raises(mm.ClosedError, match="this SpoolServer was closed"):
            mesh.announce("s", real(server))
    assert mesh.services() == {}


def test_a_socket_of_a_class_is_closed_if_the_mesh_is_meanwhile(
    mesh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else has it."""
    made: list[mm.Push] = []

    class Last(mm.Push):
        """Its mesh is closed as it is opened."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)
            real(mesh).close()

    with pytest.raises(mm.ClosedError, match="this Mesh was closed"):
        mesh.connect("s", Last)
    assert made[0].closed


def test_asyncio_watches_where_a_loop_runs(world: World) -> None:
    """Elsewhere it says what is missing."""
    made = mesh_aio.Mesh(cluster="test", name="a")
    with pytest.raises(mm.UsageError, match="made while its event loop runs"):
        made.watch()
    made.close()


def test_a_wait_without_end_ends_as_there_is_something(world: World, mesh: Any) -> None:
    """Also one of infinite seconds."""
    assert len(mesh.wait_for(timeout=float("inf"))) == 1
    watch = mesh.watch()
    event = world._thread.call(lambda: watch.next(float("inf"))) if world._thread else watch.next()
    assert event.member.record.name == "a"


def test_a_seed_that_is_never_asked_again_is_asked_once() -> None:
    """Its thread waits, for as long as the system can."""
    asked: list[str] = []

    def once() -> list[str]:
        asked.append("")
        return []

    with node("a", Callback(once, every=float("inf"))) as mesh:
        eventually(lambda: mesh.explain("x").seeds[0].asked)
        [thread] = mesh._driver.seeding._threads
        assert thread.is_alive()
    assert asked == [""]


def test_what_a_function_returns_is_one_address_or_several() -> None:
    """As `seeds=` has it; what is none of them is told of."""
    one = _Asked(Callback(lambda: "tcp://h:1"))
    one.ask("", False, 0.0)
    assert (one.addresses, one.error) == (["tcp://h:1"], "")
    for wrong, words in ((None, "None"), (5, "5"), (b"h:1", "b'h:1'")):
        other = _Asked(Callback(lambda wrong=wrong: wrong))  # type: ignore[misc]
        other.ask("", False, 0.0)
        assert other.error == f"TypeError: it returned {words}; it returns addresses"
