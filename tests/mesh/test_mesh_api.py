"""A mesh as its users have it: nodes of one process, over real connections."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg import aio as mm_aio
from meshmsg.mesh import Callback, EventKind, Mesh, SharedDir, State
from meshmsg.mesh import aio as mesh_aio
from meshmsg.mesh._driver import LEAVE_S
from tests.support.meshes import WAIT_S, eventually, node, until
from tests.support.pairs import free_endpoints


@pytest.fixture
def first() -> Iterator[Mesh]:
    """A node that others have for a seed."""
    with node("first") as made:
        yield made


def test_nodes_find_each_other_by_any_one(first: Mesh) -> None:
    """Each of the others' names is known to all."""
    with node("b", first.endpoint) as b, node("c", b.endpoint) as c:
        for mesh in (first, b, c):
            names = {one.record.name for one in mesh.wait_for(count=3, timeout=WAIT_S)}
            assert names == {"first", "b", "c"}


def test_a_node_alone_knows_itself(first: Mesh) -> None:
    """And says where it is."""
    [me] = first.members()
    assert (me.record.name, me.state) == ("first", State.ALIVE)
    assert me.record.node_id == first.node_id
    assert me.record.addresses == (first.endpoint,)
    assert "'first' at tcp://127.0.0.1:" in repr(first)


def test_a_push_follows_what_is_announced(first: Mesh) -> None:
    """With what is said of it; as it is withdrawn, the Push is disconnected."""
    with node("b", first.endpoint) as b, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        ended = threading.Event()

        def note(event: mm.Event) -> None:
            if event.kind == mm.EventKind.PEER_DOWN:
                ended.set()

        with first.connect("orders", mm.Push, on_event=note) as push:
            b.announce("orders", pull, meta={"v": "2"}, weight=3)
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x"
            [member] = first.services()["orders"]
            [service] = member.record.services
            assert (service.role, service.weight, dict(service.meta)) == ("pull", 3, {"v": "2"})
            b.withdraw("orders")
            assert ended.wait(WAIT_S)
            assert push.peers() == []


def test_a_node_offers_to_its_own_sockets(first: Mesh) -> None:
    """Also what it announces later."""
    with first.connect("own", mm.Push) as push, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        first.announce("own", pull)
        push.send(b"x", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"x"


def test_a_closed_socket_is_withdrawn(first: Mesh) -> None:
    """Without a word."""
    with node("b", first.endpoint) as b, first.watch("s") as watch:
        pull = mm.Pull(bind="tcp://127.0.0.1:0")
        b.announce("s", pull)
        first.wait_for("s", timeout=WAIT_S)
        pull.close()
        while watch.next(WAIT_S).member.record.services:
            pass
        assert first.services() == {}


def test_a_node_that_begins_to_offer_comes_to_who_watches_that(first: Mesh) -> None:
    """Though it was in the mesh before; and leaves as it withdraws it, though it stays there."""
    with (
        node("b", first.endpoint) as b,
        first.watch("s") as watch,
        mm.Pull(bind="tcp://127.0.0.1:0") as pull,
    ):
        first.wait_for(count=2, timeout=WAIT_S)
        for _ in range(2):
            b.announce("s", pull)
            event = watch.next(WAIT_S)
            assert (event.kind, event.member.record.name) == (EventKind.UP, "b")
            b.withdraw("s")
            event = watch.next(WAIT_S)
            assert (event.kind, event.member.state) == (EventKind.LEFT, State.ALIVE)
        with pytest.raises(mm.WouldBlockError):
            watch.next(0)


def test_who_watches_is_told_who_is_there_and_who_leaves(first: Mesh) -> None:
    """It begins with those that are there; it ends with the mesh."""
    with node("b", first.endpoint) as b:
        first.wait_for(count=2, timeout=WAIT_S)
        watch = first.watch()
        until(watch, EventKind.UP, "b")
        b.leave()
        assert until(watch, EventKind.LEFT, "b").member.state == State.LEFT
    with pytest.raises(mm.WouldBlockError):
        while True:
            watch.next(0)
    first.close()
    assert list(watch) == []
    with pytest.raises(mm.ClosedError):
        watch.next()


def test_a_watcher_that_waits_ends_with_the_mesh(first: Mesh) -> None:
    """In its thread."""
    watch = first.watch()
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(sum(1 for _ in watch)))
    thread.start()
    first.close()
    thread.join(WAIT_S)
    assert seen == [1], "itself"


def test_too_few_nodes_are_told_with_what_seeds_say() -> None:
    """A seed that failed is named, with why."""

    def wrong() -> list[str]:
        raise OSError("no list today")

    asked = threading.Event()

    def noted() -> list[str]:
        asked.set()
        return wrong()

    with node("a", Callback(noted)) as mesh:
        assert asked.wait(WAIT_S)
        with pytest.raises(mm.TimedOutError, match=r"0 nodes with 's' within 0.01 s, not 2"):
            mesh.wait_for("s", 2, timeout=0.01)
        with pytest.raises(mm.WouldBlockError):
            mesh.wait_for("s", timeout=0)
        eventually(lambda: mesh.explain("x").seeds[0].error)
        with pytest.raises(mm.TimedOutError, match="OSError: no list today"):
            mesh.wait_for("s", timeout=0.01)


def test_it_is_explained_why_a_node_is_seen_or_not(first: Mesh) -> None:
    """By its name, its id or its address; and which seed cannot be reached."""
    (free,) = free_endpoints(1)
    with node("b", first.endpoint, free) as b:
        b.wait_for(count=2, timeout=WAIT_S)
        for word in ("first", first.node_id.hex()[:8], first.endpoint):
            assert "ALIVE" in str(b.explain(word))
        unknown = b.explain("nobody")
        assert unknown.found == ()
        assert "nobody has told of it" in str(unknown)
        eventually(lambda: dict(b.explain("x").seeds[0].tried)[free])
        assert "refused" in str(b.explain("x"))


def test_a_node_whose_others_are_all_gone_says_that_it_may_be_cut_off(first: Mesh) -> None:
    """Not while one of them is there, nor when they left."""
    with node("b", first.endpoint) as b, b.watch() as watch:
        until(watch, EventKind.UP, "first")
        assert "cut off" not in str(b.explain("first"))
        first.close()
        until(watch, EventKind.UNREACHABLE, "first")
        assert "1 other node, and none can be reached" in str(b.explain("x"))
        assert b.explain("first").lines()[0].endswith(" s, as this node found")
    with node("c") as c, node("d", c.endpoint) as d, d.watch() as watch:
        until(watch, EventKind.UP, "c")
        c.leave()
        until(watch, EventKind.LEFT, "c")
        assert "cut off" not in str(d.explain("c"))


def test_nodes_meet_in_a_folder(tmp_path: Path) -> None:
    """Without an address in their configuration."""
    with node("a", SharedDir(tmp_path)) as a:
        eventually(lambda: list(tmp_path.iterdir()))
        with node("b", SharedDir(tmp_path)) as b:
            b.wait_for(count=2, timeout=WAIT_S)
            a.wait_for(count=2, timeout=WAIT_S)
    assert list(tmp_path.iterdir()) == []


def test_two_of_one_name_are_both_there_and_told(first: Mesh) -> None:
    """By an event."""
    with node("twin", first.endpoint), node("twin", first.endpoint), first.watch() as watch:
        first.wait_for(count=3, timeout=WAIT_S)
        until(watch, EventKind.CONFLICT, "twin")


def local(endpoint: str) -> str:
    """The same port, on loopback."""
    return f"tcp://127.0.0.1:{endpoint.rpartition(':')[2]}"


def test_a_node_on_all_addresses_is_told_as_others_see_it(first: Mesh) -> None:
    """And so is its socket, which is bound to all of them, too."""
    with node("b", first.endpoint, bind="tcp://*:0", insecure=True) as b:
        with mm.Pull(bind="tcp://*:0", insecure=True) as pull:
            b.announce("s", pull)
            [member] = first.wait_for("s", timeout=WAIT_S)
            assert member.record.addresses == (local(b.endpoint),)
            [service] = member.record.services
            assert service.endpoints == (local(pull.endpoint),)


def test_the_endpoint_of_a_node_on_all_addresses_is_a_seed_for_others() -> None:
    """Before anybody has seen it, and afterwards as it was dialed there."""
    with node("a", bind="tcp://*:0", insecure=True) as a:
        asked = a.endpoint
        with node("b", asked) as b:
            b.wait_for(count=2, timeout=WAIT_S)
            eventually(lambda: a.members()[0].record.addresses == (asked,))
            assert a.endpoint == asked


def test_outside_loopback_a_secret_is_needed() -> None:
    """Or a word that it is not."""
    with pytest.raises(mm.InsecureBindError):
        node("a", bind="tcp://*:0")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cluster": ""}, "cluster is ''"),
        ({"cluster": "x" * 65}, "up to 64"),
        ({"name": "x" * 129}, "up to 128"),
        ({"name": "a\nb"}, "name is"),
        ({"name": "../a"}, "cannot be told of"),
        ({"zone": "\0"}, "zone is"),
        ({"bind": "ipc:///x"}, "a mesh port is tcp"),
        ({"seeds": ["junk"]}, "a seed is 'junk'"),
        ({"advertise": "junk"}, "advertise is 'junk'"),
        ({"advertise": []}, "advertise has 0"),
    ],
)
def test_wrong_arguments_are_refused_by_name(options: dict[str, object], words: str) -> None:
    """And nothing stays open (the leak check)."""
    with pytest.raises(mm.UsageError, match=words):
        node(**{"name": "a", **options})  # type: ignore[arg-type]


def test_what_is_announced_is_checked(first: Mesh) -> None:
    """What was offered before stays."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, mm.Pull() as unbound:
        first.announce("s", pull, meta={"v": "1"})
        for wrong in ("", "x" * 65, "a\nb", "a..b"):
            with pytest.raises(mm.UsageError, match="service is"):
                first.announce(wrong, pull)
        with pytest.raises(mm.UsageError, match="meta has 257 octets"):
            first.announce("s", pull, meta={"v": "x" * 256})
        with pytest.raises(mm.UsageError, match="weight is 65536"):
            first.announce("s", pull, weight=65536)
        with pytest.raises(mm.UsageError, match="bound to no"):
            first.announce("s", unbound)
        with pytest.raises(TypeError, match="socket is 5"):
            first.announce("s", 5)  # type: ignore[arg-type]
        with pytest.raises(mm.UsageError, match="announcing 'n"):
            for number in range(100):
                first.announce(f"n{number}", pull, meta={"v": "x" * 200})
        assert first.services()["s"][0].record.services[0].meta == (("v", "1"),)
        with pytest.raises(mm.UsageError, match="not offered"):
            first.withdraw("nobody")


def test_what_is_connected_is_checked(first: Mesh) -> None:
    """By name."""
    with mm.Push() as push:
        with pytest.raises(mm.UsageError, match="select is"):
            first.connect("s", push, select="best")
        with pytest.raises(mm.UsageError, match="options are for a class"):
            first.connect("s", push, linger=1)
        with pytest.raises(TypeError, match="or the class of one"):
            first.connect("s", int)  # type: ignore[type-var]
        with pytest.raises(TypeError, match="or the class of one"):
            first.connect("s", 5)  # type: ignore[type-var]


def test_a_closed_mesh_says_so_and_can_be_closed_again() -> None:
    """Each call; sockets that followed stay open."""
    mesh = node("a")
    push = mesh.connect("s", mm.Push)
    mesh.close()
    mesh.close()
    mesh.leave()
    assert mesh.closed
    assert "closed" in repr(mesh)
    for call in (mesh.members, mesh.services, mesh.watch, mesh.wait_for):
        with pytest.raises(mm.ClosedError):
            call()  # type: ignore[operator]
    assert not push.closed
    push.close()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(mesh)


def test_who_waits_is_told_that_the_mesh_was_closed(first: Mesh) -> None:
    """In another thread."""
    told: list[str] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        try:
            first.wait_for("nobody")
        except mm.ClosedError as error:
            told.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(WAIT_S)
    first.close()
    thread.join(WAIT_S)
    assert told == ["this Mesh was closed; make a new one"]


def test_a_forked_child_has_no_mesh(first: Mesh) -> None:
    """And does not harm that of its parent."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            first.members()
        except mm.ForkedError:
            first.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    with node("b", first.endpoint) as b:
        b.wait_for(count=2, timeout=WAIT_S)


def test_asyncio_has_the_same(first: Mesh) -> None:
    """Awaited."""

    async def run() -> None:
        async with mesh_aio.Mesh(cluster="test", name="b", seeds=first.endpoint) as mesh:
            names = {m.record.name for m in await mesh.wait_for(count=2, timeout=WAIT_S)}
            assert names == {"first", "b"}
            async with mesh.connect("s", mm.aio.Push) as push:
                async with mm.aio.Pull(bind="tcp://127.0.0.1:0") as pull:
                    mesh.announce("s", pull)
                    assert len(await mesh.wait_for("s", timeout=WAIT_S)) == 1
                    await push.send(b"x", timeout=WAIT_S)
                    assert await pull.recv(timeout=WAIT_S) == b"x"
            with pytest.raises(mm.TimedOutError, match="0 nodes with 'nobody'"):
                await mesh.wait_for("nobody", timeout=0.01)
            with pytest.raises(mm.WouldBlockError):
                await mesh.wait_for("nobody", timeout=0)
            watch = mesh.watch()
            kinds = [(await watch.next(WAIT_S)).kind for _ in range(2)]
            assert kinds == [EventKind.UP, EventKind.UP]
            task = asyncio.create_task(watch.next())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            mesh.close()
            assert [event async for event in watch] == []

    asyncio.run(run())


def test_an_idle_mesh_is_not_in_import_meshmsg() -> None:
    """Who does not use it does not load it."""
    code = "import sys, meshmsg; print([m for m in sys.modules if 'mesh.' in m or 'crypto' in m])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_spool_server_is_announced_and_withdrawn_as_it_is_closed(
    first: Mesh, tmp_path: Path
) -> None:
    """Its role is told, so that who reads spools can tell it from a socket of that name."""
    with (
        node("b", first.endpoint) as b,
        mm.Spool(str(tmp_path / "s")) as spool,
        first.watch("orders") as watch,
    ):
        with mm.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server:
            b.announce("orders", server, meta={"v": "2"})
            until(watch, EventKind.UP, "b")
            [member] = first.wait_for("orders", timeout=WAIT_S)
            [service] = member.record.services
            assert (service.name, service.role) == ("orders", "spool")
            assert (service.endpoints, dict(service.meta)) == ((server.endpoint,), {"v": "2"})
        eventually(lambda: "orders" not in first.services())


async def _announced(first: Mesh, folder: str) -> list[str]:
    async with mm_aio.Spool(folder) as spool:
        async with mm_aio.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server:
            first.announce("orders", server)
            [member] = first.services()["orders"]
            return [one.role for one in member.record.services]


def test_a_spool_server_of_asyncio_is_announced_likewise(first: Mesh, tmp_path: Path) -> None:
    """The same word, as readers do not care."""
    assert asyncio.run(_announced(first, str(tmp_path / "s"))) == ["spool"]


def test_where_a_service_is_can_be_asked(first: Mesh) -> None:
    """Of all that offer it, this node too; who has left is not among them."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as one, mm.Pull(bind="tcp://127.0.0.1:0") as two:
        first.announce("s", one)
        with node("b", first.endpoint) as b:
            b.announce("s", two)
            first.wait_for("s", 2, timeout=WAIT_S)
            names = {url: m.record.name for url, m in first.endpoints("s").items()}
            assert names == {one.endpoint: "first", two.endpoint: "b"}
        eventually(lambda: first.endpoints("s").keys() == {one.endpoint})
        assert first.endpoints("t") == {}


def test_who_has_just_come_is_explained_as_it_is(first: Mesh) -> None:
    """It told of itself; and a node does not wonder about itself."""
    with node("b", first.endpoint) as b:
        for one, other in ((first, "b"), (b, "first")):
            one.wait_for(count=2, timeout=WAIT_S)
            told = str(one.explain(other))
            assert "it told of itself, and has not answered a probe" in told or "last heard" in told
        assert "it is this node itself" in str(b.explain("b"))
        with pytest.raises(mm.TimedOutError, match="nobody offers 's', of 2 members"):
            b.wait_for("s", timeout=0.01)
        assert "probe" not in str(b.explain("b"))
        eventually(lambda: "last heard of itself" in str(b.explain("first")))


def test_a_bind_says_what_a_mesh_wants() -> None:
    """In the words of a Mesh: it has no `security=`."""
    with pytest.raises(mm.InsecureBindError, match="pass secret="):
        Mesh(cluster="c", bind="tcp://*:0")
    with pytest.raises(mm.UsageError, match="nothing protects it: pass secret="):
        Mesh(cluster="c", bind="tls+tcp://127.0.0.1:0")
    with pytest.raises(FileNotFoundError, match="secret= names a file that is not there"):
        Mesh(cluster="c", secret="no.secret")


def test_who_is_alone_has_nobody_to_take_leave_of() -> None:
    """So it ends at once, by the clock of its own."""
    mesh = Mesh(cluster="c")
    mesh.leave(timeout=WAIT_S)
    left = mesh._driver._left_at
    assert left is not None
    assert mesh._driver.clock() - left < LEAVE_S


def test_a_socket_that_cannot_talk_to_what_is_offered_is_refused_at_once(first: Mesh) -> None:
    """In the words of the handshake that would fail; and nothing is opened."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        first.announce("orders", pull)
        words = r"a Sub cannot follow the service 'orders': SUB cannot talk to PULL, which first \("
        for sub in (mm.Sub, mm.Sub(topics="")):
            with pytest.raises(mm.UsageError, match=words):
                first.connect("orders", sub)
        assert isinstance(sub, mm.Sub)
        assert sub._follows == ()
        sub.close()
        first.connect("orders", mm.Push).close()


@pytest.mark.parametrize("role", [mm.Push, mm.Pull, mm.Req])
def test_a_wait_for_a_service_that_nobody_offers_says_so(first: Mesh, role: type) -> None:
    """With how many members there are; not that it is connected to nothing."""
    with first.connect("orders", role) as socket, pytest.raises(mm.TimedOutError) as raised:
        if role is mm.Pull:
            socket.recv(timeout=0.01)
        elif role is mm.Push:
            socket.send(b"x", timeout=0.01)
        else:
            socket.request(b"x", timeout=0.01)
    assert (
        f"({role.__name__} follows the service 'orders', 0 peers; nobody offers 'orders', "
        "of 1 member; see mesh.explain)"
    ) in str(raised.value)
