"""`ask`: who is there, for who is no member; sync and asyncio."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from meshmsg.mesh import Mesh, MeshInfo, Service, State, aio, ask
from meshmsg.mesh._outside.info import member_info, mesh_dict, mesh_info
from tests.support.asked import ask_patiently
from tests.support.meshes import WAIT_S, node
from tests.support.pairs import of_its_own

Ask = Callable[..., MeshInfo]


def awaited(*arguments: Any, **more: Any) -> MeshInfo:
    """The one of asyncio."""
    return asyncio.run(aio.ask(*arguments, **more))


BOTH = pytest.mark.parametrize("asks", [ask, awaited], ids=["threads", "asyncio"])


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """A node, and a second one that offers something."""
    with node("a") as a, node("b", a.endpoint, zone="z1") as b:
        with mm.Pull(bind="tcp://127.0.0.1:0") as pull:
            b.announce("orders", pull, meta={"v": "2"}, weight=3)
            a.wait_for("orders", timeout=WAIT_S)
            yield a


@BOTH
def test_who_asks_is_told_of_all_and_is_no_member(mesh: Mesh, asks: Ask) -> None:
    """Itself first; what is told is what the node itself tells."""
    told = asks(mesh.endpoint)
    assert (told.cluster, told.node_id) == ("test", mesh.node_id)
    known = [member_info(one, 0.0) for one in mesh.members()]
    times = {"since": 0.0, "heard": None, "rtt": None}
    assert [replace(one, **times) for one in told.members] == [
        replace(one, **times) for one in known
    ]
    a, b = told.members
    assert (a.name, b.name, b.state, b.zone) == ("a", "b", State.ALIVE, "z1")
    (service,) = b.services
    assert isinstance(service, Service)
    assert (service.name, service.role, service.wire) == ("orders", "pull", "zmtp")
    assert (service.meta, service.weight) == ((("v", "2"),), 3)
    assert b.since >= 0
    assert [one.record.name for one in mesh.members()] == ["a", "b"]


@BOTH
def test_a_mesh_with_a_secret_is_asked_with_its_file(
    tmp_path: Path, asks: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or with the secret; without it the error says what to give."""
    ask_patiently(monkeypatch)
    path = str(write_secret(tmp_path / "m.secret"))
    with node("a", secret=path, bind="tcp://127.0.0.1:0") as mesh:
        for secret in (path, mm.Secret(path)):
            assert [one.name for one in asks(mesh.endpoint, secret=secret).members] == ["a"]
        with pytest.raises(mm.TimedOutError, match="this mesh has a secret"):
            asks(mesh.endpoint, timeout=0.5)
    with pytest.raises(FileNotFoundError):
        asks("127.0.0.1:1", secret=str(tmp_path / "none.secret"))


@BOTH
def test_where_nobody_answers_it_is_told_why(asks: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there; or who is there is no mesh port."""
    ask_patiently(monkeypatch)
    with mm.Router(bind=of_its_own()) as other:
        with pytest.raises(mm.TimedOutError, match="within 0.2 s: it may be no mesh port"):
            asks(other.endpoint, timeout=0.2)
    with pytest.raises(mm.TimedOutError, match="refused"):
        asks(other.endpoint, timeout=0.2)


@BOTH
@pytest.mark.parametrize(
    "answer", [b"{", b"[]", b"{}", b'{"members": [5], "cluster": "", "me": ""}']
)
def test_what_is_no_answer_is_told(asks: Ask, answer: bytes) -> None:
    """Whoever is there says anything."""
    with mm.Router(bind="tcp://127.0.0.1:0") as other:

        def wrong() -> None:
            peer, _, token, _ = other.recv_frames(timeout=WAIT_S)
            other.send_frames([peer, b"another token", b"{}"], timeout=WAIT_S)
            other.send_frames([peer, token, answer], timeout=WAIT_S)

        thread = threading.Thread(target=wrong)
        thread.start()
        with pytest.raises(mm.PeerError, match="gave no answer that can be read"):
            asks(other.endpoint, timeout=WAIT_S)
        thread.join()


@BOTH
@pytest.mark.parametrize(
    ("address", "timeout", "error"),
    [
        ("junk", 1, mm.UsageError),
        ("h:1", 0, mm.UsageError),
        ("h:1", -1, ValueError),
        ("h:1", "x", TypeError),
        (5, 1, TypeError),
    ],
)
def test_wrong_arguments_are_refused(asks: Ask, address: Any, timeout: Any, error: Any) -> None:
    """Before anything is connected."""
    with pytest.raises(error):
        asks(address, timeout=timeout)


def test_one_that_is_cancelled_leaves_nothing_open() -> None:
    """Its connection is closed, as the other side sees."""

    async def cancelled() -> None:
        with mm.Router(bind="tcp://127.0.0.1:0") as other:
            task = asyncio.create_task(aio.ask(other.endpoint, timeout=None))
            await asyncio.to_thread(other.recv_frames, timeout=WAIT_S)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            kinds = []
            while mm.EventKind.PEER_DOWN not in kinds:
                await asyncio.sleep(0)
                kinds = [one.kind for one in other.events()]

    asyncio.run(asyncio.wait_for(cancelled(), WAIT_S))


def test_what_is_told_is_the_same_after_its_way(mesh: Mesh) -> None:
    """As JSON."""
    told = ask(mesh.endpoint)
    assert mesh_info(json.loads(json.dumps(mesh_dict(told))), "") == told
