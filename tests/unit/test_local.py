"""Users of this machine: who may be at the other side of ipc, by the system's word.

Not here: every case of who may (tests/c/test_user.c), groups as the system tells them
(tests/c/test_unix_name.c). A program of another user needs root: without it those are skipped.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.forked import Child
from tests.support.pairs import WAIT_S, wait_until

STRANGER, GROUP = 54321, 54322
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture
def url(short_path: Path) -> str:
    """An endpoint in a folder that others may look into, and write to."""
    short_path.chmod(0o777)
    return f"ipc://{short_path}/socket"


@pytest.fixture
def opened(url: str) -> Callable[[], None]:
    """What opens the socket's file to all, as a user may do."""
    return lambda: os.chmod(url.removeprefix("ipc://"), 0o666)


@contextmanager
def of_another(act: Callable[[], object]) -> Iterator[Callable[[], str]]:
    """A process of another user that does this; what it gives tells what came of it, at its end."""

    def work() -> str:
        os.setgroups([GROUP])
        os.setresgid(STRANGER, STRANGER, STRANGER)
        os.setresuid(STRANGER, STRANGER, STRANGER)
        try:
            return str(act())
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    child = Child(work)
    try:
        yield child.told
    finally:
        child.told()


def pushing(url: str, **options: Any) -> Callable[[], str]:
    """What sends one message and sees it delivered."""

    def act() -> str:
        with mm.Push(connect=url, **options) as push:
            push.send(b"hi", timeout=WAIT_S)
            return str(push.drain(timeout=WAIT_S).delivered)

    return act


def turned_away(url: str) -> Callable[[], str]:
    """What never gets in, and says what it hears."""

    def act() -> str:
        with mm.Push(connect=url, reconnect_max=0.1) as push:
            wait_until(lambda: push.stats().handshakes_failed or push.stats().closed)
            return str(push.events()[-1].detail)

    return act


def is_told(socket: Any, words: str) -> bool:
    """Whether an event says so."""
    return any(e.reason is mm.Reason.USER and words in e.detail for e in socket.events())


@NEEDS_ROOT
def test_another_user_does_not_come_in_though_the_file_lets_him(
    url: str, opened: Callable[[], None]
) -> None:
    """It is counted and told, with what to do; others come in meanwhile, and nothing is left."""
    with mm.Pull(bind=url) as pull:
        opened()
        before = len(os.listdir("/proc/self/fd"))
        with of_another(turned_away(url)) as told:
            assert told()
        words = f"it is of the user {STRANGER}: only our own (0) and root may, unless "
        wait_until(lambda: is_told(pull, f"{words}mm.Local(uids=[{STRANGER}])"))
        assert not pull.peers()
        assert pull.stats().closed[mm.Reason.USER] >= 1
        with mm.Push(connect=url) as push:
            push.send(b"ours", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"ours"
        wait_until(lambda: not pull.peers())
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)


@NEEDS_ROOT
def test_a_hundred_of_another_user_leave_nothing(url: str, opened: Callable[[], None]) -> None:
    """No descriptor, no half-open place; each is counted."""

    def knock() -> str:
        for _ in range(100):
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(url.removeprefix("ipc://"))
                assert one.recv(1) == b""
        return "done"

    with mm.Pull(bind=url) as pull:
        opened()
        before = len(os.listdir("/proc/self/fd"))
        with of_another(knock) as told:
            assert told() == "done"
        assert pull.stats().closed[mm.Reason.USER] == 100
        assert pull.stats().half_open == 0
        assert len(os.listdir("/proc/self/fd")) == before


@NEEDS_ROOT
@pytest.mark.parametrize(
    "local", [{"uids": [STRANGER]}, {"gids": [STRANGER]}, {"gids": [1, GROUP]}], ids=str
)
@pytest.mark.parametrize("wire", ["", "sp+"])
def test_who_is_named_comes_in(url: str, local: dict[str, Any], wire: str) -> None:
    """By his number, his first group or another; the file is open then, and he is told of."""
    with mm.Pull(bind=url, security=mm.Local(**local)) as pull:
        assert stat.S_IMODE(os.stat(url.removeprefix("ipc://")).st_mode) == 0o666
        with of_another(pushing(wire + url)) as told:
            message = pull.recv(timeout=WAIT_S)
            uids = {peer.uid for peer in pull.peers()}
        assert message == b"hi"
        assert told() == ("1" if wire == "" else told())
        assert uids <= {STRANGER}


@NEEDS_ROOT
def test_who_listens_is_looked_at_too(url: str) -> None:
    """Also by root, which goes to those only whom a Local names."""

    def serve() -> str:
        with mm.Pull(bind=url) as pull:
            return pull.recv(timeout=WAIT_S).decode()

    with of_another(serve) as told:
        for kind in (None, mm.NONE, mm.Plain(user="bob", password="battery")):
            with mm.Push(connect=url, reconnect_max=0.1, security=kind) as push:
                words = f"there listens the user {STRANGER}: only our own (0) and root may"
                wait_until(lambda push=push, words=words: is_told(push, words))
                assert not push.peers()
        with mm.Push(connect=url, reconnect_max=0.1, security=mm.Local()) as strict:
            wait_until(lambda: is_told(strict, f"there listens the user {STRANGER}"))
            assert not strict.peers()
        with mm.Push(connect=url, reconnect_max=0.1, security=mm.Local(uids=[STRANGER])) as push:
            push.send(b"hi", timeout=WAIT_S)
            push.drain(timeout=WAIT_S)
        assert told() == "hi"


@NEEDS_ROOT
def test_who_has_a_password_need_not_be_of_our_user(url: str, opened: Callable[[], None]) -> None:
    """The policy says who may come in, then; who dials with it still looks."""
    with mm.Pull(bind=url, security=mm.Plain(allow={"bob": "battery"})) as pull:
        opened()
        bob = mm.Plain(user="bob", password="battery")
        with of_another(pushing(url, security=bob)) as told:
            message = pull.recv(timeout=WAIT_S)
            assert (message, message.peer.user_id) == (b"hi", "bob")
        assert told() == "1"


def test_our_own_user_comes_in_by_any_policy(url: str) -> None:
    """And without one; with nobody named the file stays ours alone."""
    for policy, mode in ((None, 0o600), (mm.Local(), 0o600), (mm.Local(uids=[1]), 0o666)):
        with mm.Pull(bind=url, security=policy) as pull:
            assert stat.S_IMODE(os.stat(url.removeprefix("ipc://")).st_mode) == mode
            with mm.Push(connect=url, security=policy) as push:
                push.send(b"hi", timeout=WAIT_S)
                assert pull.recv(timeout=WAIT_S) == b"hi"
                [peer] = pull.peers()
                assert (peer.uid, peer.mechanism, peer.user_id) == (os.geteuid(), "NULL", "")


def test_in_a_loop_and_over_names(url: str) -> None:
    """As of threads; an engine's policy and a profile have it, too."""

    async def run() -> None:
        names = [url, f"ipc://@meshmsg-local-{os.getpid()}", "ipc://*"]
        with mm.Engine(security=mm.Profile(bind=mm.Local(uids=[1]), connect=mm.Local())) as engine:
            for name in names:
                async with (
                    aio.Pull(bind=name, engine=engine) as pull,
                    aio.Push(connect=pull.endpoint, engine=engine) as push,
                ):
                    await push.send(b"hi")
                    assert await pull.recv(timeout=WAIT_S) == b"hi"

    asyncio.run(run())


@pytest.mark.parametrize(
    "endpoint", ["tcp://127.0.0.1:0", "sp+tcp://127.0.0.1:1", "tls+tcp://127.0.0.1:0"]
)
def test_it_is_for_ipc_alone(endpoint: str) -> None:
    """Elsewhere it says so, and the socket has no endpoint."""
    with mm.Push(security=mm.Local()) as push:
        with pytest.raises(mm.UsageError, match="it is for ipc://"):
            push.connect(endpoint)
        assert push.stats().dialers == 0


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"uids": "root"}, TypeError, "list of numbers or names"),
    ({"uids": 5}, TypeError, "list of numbers or names"),
    ({"uids": [None]}, TypeError, "has None"),
    ({"uids": [True]}, TypeError, "has True"),
    ({"gids": [1.0]}, TypeError, "has 1.0"),
    ({"uids": [-1]}, mm.UsageError, "0 to 4294967294"),
    ({"gids": [2**32 - 1]}, mm.UsageError, "0 to 4294967294"),
    ({"uids": ["no such user here"]}, mm.UsageError, "no such user"),
    ({"gids": ["no such group here"]}, mm.UsageError, "no such group"),
    ({"uids": ["a\0b"]}, mm.UsageError, "no such user"),
    ({"uids": range(65)}, mm.UsageError, "has 65; a policy has at most 64"),
]


@pytest.mark.parametrize(("given", "error", "words"), WRONG, ids=lambda v: str(v)[:24])
def test_what_is_no_user_is_refused(
    given: dict[str, Any], error: type[Exception], words: str
) -> None:
    """With what it is, and what it may be."""
    with pytest.raises(error, match=words):
        mm.Local(**given)


def test_a_policy_shows_whom_it_names_and_stays_here() -> None:
    """Names are numbers by then, each once."""
    policy = mm.Local(uids=["root", 0, 7], gids=iter([3]))
    assert repr(policy) == "Local(uids=[0, 7], gids=[3])"
    assert repr(mm.Local()) == "Local()"
    with pytest.raises(mm.UsageError, match="of one machine"):
        pickle.dumps(policy)
    with pytest.raises(AttributeError, match="is not changed"):
        policy.uids = [1]  # type: ignore[attr-defined]


def test_a_file_of_policies_names_users(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line each, by number or name."""
    file = tmp_path / "security.ini"
    file.write_text(
        "[bind]\nmechanism = local\nuids =\n  root\n  7\n[connect]\nmechanism = local\n"
    )
    file.chmod(0o600)
    monkeypatch.setenv("MESHMSG_SECURITY", str(file))
    with mm.Engine() as engine, mm.Pull(bind=url, engine=engine) as pull:
        assert stat.S_IMODE(os.stat(url.removeprefix("ipc://")).st_mode) == 0o666
        with mm.Push(connect=url, engine=engine) as push:
            push.send(b"hi", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"hi"
