"""ipc://@name has no file, and ipc://* has a fresh one: on both wires, by both kinds of sockets.

Not here: who is let in (tests/c/test_unix_name.c), libzmq and NNG at the other end
(tests/interop/test_ipc_names.py).
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.forked import Child
from tests.support.pairs import WAIT_S, joined, wait_until

_names = itertools.count()


@pytest.fixture
def name() -> str:
    """An abstract endpoint of its own."""
    return f"ipc://@meshmsg-{os.getpid()}-{next(_names)}"


@pytest.fixture(autouse=True)
def folder(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and one for fresh paths."""
    (short_path / "cwd").mkdir()
    (short_path / "tmp").mkdir()
    monkeypatch.chdir(short_path / "cwd")
    monkeypatch.setenv("TMPDIR", str(short_path / "tmp"))
    return short_path


def empty(folder: Path) -> bool:
    """Nothing was left, or made where it should not be."""
    return not [*(folder / "cwd").iterdir(), *(folder / "tmp").iterdir()]


@pytest.mark.parametrize("wire", ["", "sp+"])
def test_an_abstract_name_makes_no_file(name: str, wire: str, folder: Path) -> None:
    """Not in the current folder either; it is free when its socket is gone."""
    for _ in range(2):
        with mm.Rep(bind=name) as rep, mm.Req(connect=wire + name) as req:
            assert rep.endpoint == name
            rep.wait_for_peers(timeout=WAIT_S)
            [ours], [theirs] = rep.peers(), req.peers() or [None]
            assert ours.endpoint == ours.address == name
            assert theirs is None or theirs.address.removeprefix("sp+") == name
            assert empty(folder)


def test_requests_go_over_an_abstract_name(name: str) -> None:
    """And nothing is different from any other endpoint."""
    with joined(mm.Push, mm.Pull, name) as (push, pull):
        push.send_many([b"%d" % i for i in range(1000)])
        assert [pull.recv(timeout=WAIT_S) for _ in range(1000)] == [b"%d" % i for i in range(1000)]
        push.drain(timeout=WAIT_S).raise_for_loss()
        push.unbind(name)
        assert push.endpoint == ""


def test_a_fresh_path_is_told_private_and_gone_afterwards(folder: Path) -> None:
    """The folder is 0700, the file 0600; two are never the same."""
    with mm.Pull(bind=["ipc://*", "ipc://*"]) as pull, mm.Push(connect=pull.endpoint) as push:
        paths = [Path(url.removeprefix("ipc://")) for url in pull.endpoints]
        assert len(set(paths)) == 2
        for path in paths:
            assert path.parent.parent == folder / "tmp"
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        push.send(b"x")
        assert pull.recv(timeout=WAIT_S) == b"x"
        pull.unbind(pull.endpoints[0])
        assert not paths[0].parent.exists()
        assert paths[1].exists()
        pull.unbind("ipc://*")
        assert empty(folder)
        with pytest.raises(mm.AddressError, match="not bound here"):
            pull.unbind("ipc://*")
        pull.bind("ipc://*")
    wait_until(lambda: empty(folder))


def test_asyncio_has_both(name: str, folder: Path) -> None:
    """With the same endpoints."""

    async def run() -> None:
        async with aio.Pull(bind=[name, "ipc://*"]) as pull:
            for url in pull.endpoints:
                async with aio.Push(connect=url) as push:
                    await push.send(url.encode())
                    assert await pull.recv(timeout=WAIT_S) == url.encode()

    asyncio.run(run())
    wait_until(lambda: empty(folder))


def test_a_file_of_such_a_name_is_said_with_its_folder(folder: Path) -> None:
    """ipc://./@name and ipc://./* are files, as before."""
    for url in ("ipc://./@file", "ipc://./*"):
        with joined(mm.Push, mm.Pull, url) as (push, pull):
            assert [f"ipc://./{path.name}" for path in (folder / "cwd").iterdir()] == [url]
            push.send(b"x")
            assert pull.recv(timeout=WAIT_S) == b"x"
    assert empty(folder)


def test_a_folder_for_fresh_paths_that_is_too_long_or_not_there_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not in the endpoint, so the error names the variable."""
    for place, words, number in (
        (folder / ("x" * 100), "107 octets is the limit", errno.ENAMETOOLONG),
        (folder / "no", "does not exist; make it first", errno.ENOENT),
    ):
        monkeypatch.setenv("TMPDIR", str(place))
        with pytest.raises(mm.AddressError, match=words) as error:
            mm.Pull(bind="ipc://*")
        assert "($TMPDIR, else /tmp)" in str(error.value)
        assert error.value.errno == number


def nobody(visit: Callable[[], object]) -> Child:
    """A process of another user that does something."""

    def work() -> bool:
        os.setgid(65534)
        os.setuid(65534)
        visit()
        return True

    return Child(work)


def as_nobody(visit: Callable[[], object]) -> bool:
    """Do something in a process of another user; whether it did it."""
    return nobody(visit).true()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_and_told_of(name: str) -> None:
    """An event, a counter, and not one octet to who came; the next of ours is served."""

    def visit() -> None:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(WAIT_S)
            stranger.connect("\0" + name.removeprefix("ipc://@"))
            assert stranger.recv(1) == b""

    with mm.Pull(bind=name) as pull:
        assert as_nobody(visit)
        wait_until(lambda: pull.stats().closed.get(mm.Reason.USER) == 1)
        [event] = [e for e in pull.events() if e.kind is mm.EventKind.HANDSHAKE_FAILED]
        assert event.reason is mm.Reason.USER
        assert "it is of the user 65534" in event.detail
        with mm.Push(connect=name) as push:
            push.send(b"x")
            assert pull.recv(timeout=WAIT_S) == b"x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_neither_root_nor_another_user_connects_to_what_the_other_bound(name: str) -> None:
    """Over an abstract name, unless it is named; who is refused tries on, and sees its end."""
    ready = os.pipe()

    def bound() -> None:
        with mm.Pair(bind=name) as theirs:
            os.write(ready[1], b"x")
            theirs.send(theirs.recv(timeout=WAIT_S) + b" back", timeout=WAIT_S)
            theirs.drain(timeout=WAIT_S).raise_for_loss()

    def dialed() -> None:
        with mm.Pair(connect=name, reconnect_min=0.01, reconnect_max=0.01) as theirs:
            wait_until(lambda: theirs.stats().closed)
            assert not theirs.peers()

    child = nobody(bound)
    os.read(ready[0], 1)
    with mm.Pair(connect=name) as ours:
        wait_until(lambda: any(e.reason is mm.Reason.USER for e in ours.events()))
        assert not ours.peers()
    with mm.Pair(connect=name, security=mm.Local(uids=[65534])) as ours:
        ours.send(b"there and", timeout=WAIT_S)
        assert ours.recv(timeout=WAIT_S) == b"there and back"
        assert child.true()  # told that it was delivered, as long as we are there
    with mm.Pair(bind=name) as ours:
        assert as_nobody(dialed)
        assert ours.stats().closed[mm.Reason.USER] >= 1
        assert ours.stats().handshakes == 0
    for end in ready:
        os.close(end)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_of_others_is_not_permitted(folder: Path) -> None:
    """EACCES, and its words; the same for the folder of fresh paths."""

    def bound() -> None:
        for url in (f"ipc://{folder}/s", "ipc://*"):
            with pytest.raises(mm.AddressError, match="not permitted to make a file in") as error:
                mm.Pull(bind=url)
            assert error.value.errno == errno.EACCES

    assert as_nobody(bound)
