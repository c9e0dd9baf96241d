"""The programs of Debian, nngcat and nanocat, against our sockets: over tcp and ipc, either side
binding.

Law: skipped, with its reason, only where the program is not.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.interop.spside import free_endpoint
from tests.support.pairs import WAIT_S

PROGRAMS = pytest.mark.parametrize("program", ["nngcat", "nanocat"])
TRANSPORTS = pytest.mark.parametrize("transport", ["tcp", "ipc"])
WHO_BINDS = pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])


@contextmanager
def running(program: str, role: str, url: str, they_bind: bool, *more: str) -> Iterator[Any]:
    """The program as a socket of a role; it is ended afterwards."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    where = "--bind" if they_bind else "--connect"
    args = [path, f"--{role}", where, url, *more]
    with subprocess.Popen(args, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def opened(role: type[Any], url: str, we_bind: bool, **options: Any) -> Iterator[Any]:
    """A socket of ours there."""
    where = {"bind": url} if we_bind else {"connect": f"sp+{url}"}
    with role(reconnect_max=0.1, **where, **options) as ours:
        yield ours


@PROGRAMS
@TRANSPORTS
@WHO_BINDS
def test_it_pushes_to_us(program: str, transport: str, we_bind: bool, short_path: Path) -> None:
    """One message from the command line."""
    url = free_endpoint(transport, short_path)
    with opened(mm.Pull, url, we_bind) as pull:
        with running(program, "push", url, not we_bind, "--data", "hello"):
            assert pull.recv(timeout=WAIT_S) == b"hello"


@PROGRAMS
@TRANSPORTS
@WHO_BINDS
def test_it_prints_what_we_push(
    program: str, transport: str, we_bind: bool, short_path: Path
) -> None:
    """Byte for byte."""
    url = free_endpoint(transport, short_path)
    with opened(mm.Push, url, we_bind) as push:
        with running(program, "pull", url, not we_bind, "--raw") as process:
            push.send(b"one\n", timeout=WAIT_S)
            push.send(b"two\n", timeout=WAIT_S)
            assert process.stdout.readline() == b"one\n"
            assert process.stdout.readline() == b"two\n"


@PROGRAMS
@TRANSPORTS
@WHO_BINDS
def test_it_asks_us(program: str, transport: str, we_bind: bool, short_path: Path) -> None:
    """And prints our answer."""
    url = free_endpoint(transport, short_path)
    with opened(mm.Rep, url, we_bind) as rep:
        with running(program, "req", url, not we_bind, "--data", "q", "--raw") as process:
            request = rep.recv(timeout=WAIT_S)
            assert request == b"q"
            assert request.reply(b"answer\n")
            assert process.stdout.readline() == b"answer\n"


@PROGRAMS
@TRANSPORTS
@WHO_BINDS
def test_it_answers_us(program: str, transport: str, we_bind: bool, short_path: Path) -> None:
    """Each of our requests."""
    url = free_endpoint(transport, short_path)
    with opened(mm.Req, url, we_bind) as req:
        with running(program, "rep", url, not we_bind, "--data", "answer"):
            for _ in range(3):
                assert req.request(b"q", timeout=WAIT_S) == b"answer"


@PROGRAMS
@TRANSPORTS
@WHO_BINDS
def test_it_subscribes_to_us(program: str, transport: str, we_bind: bool, short_path: Path) -> None:
    """Topic and body are one, and it filters."""
    url = free_endpoint(transport, short_path)
    with opened(mm.Pub, url, we_bind) as pub:
        with running(program, "sub", url, not we_bind, "--subscribe", "a.", "--raw") as process:
            pub.wait_for_subscribers("a.", timeout=WAIT_S)
            pub.send(b"no\n", topic="b.")
            pub.send(b"yes\n", topic="a.")
            assert process.stdout.readline() == b"a.yes\n"


@PROGRAMS
@TRANSPORTS
@WHO_BINDS
def test_it_publishes_to_us(program: str, transport: str, we_bind: bool, short_path: Path) -> None:
    """Once a second, until we have heard it."""
    url = free_endpoint(transport, short_path)
    with opened(mm.Sub, url, we_bind, topics="a") as sub:
        more = ("--data", "a news", "--interval", "1")
        with running(program, "pub", url, not we_bind, *more):
            assert sub.recv(timeout=WAIT_S) == b"a news"


@PROGRAMS
@TRANSPORTS
@WHO_BINDS
def test_it_is_our_pair(program: str, transport: str, we_bind: bool, short_path: Path) -> None:
    """PAIR v0 of nanomsg, either version of NNG, on one socket of ours."""
    url = free_endpoint(transport, short_path)
    roles = ["pair"] if program == "nanocat" else ["pair0", "pair1"]
    with opened(mm.Pair, url, we_bind) as pair:
        for role in roles:
            with running(program, role, url, not we_bind, "--data", role, "--raw") as process:
                assert pair.recv(timeout=WAIT_S) == role.encode()
                pair.send(b"back\n", timeout=WAIT_S)
                assert process.stdout.readline() == b"back\n"
            while pair.peers():
                process.wait(WAIT_S)
