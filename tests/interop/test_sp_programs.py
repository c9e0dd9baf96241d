"""The programs of Debian, nngcat and nanocat, against our sockets: over tcp and ipc, either side
binding.

Law: skipped, with its reason, only where the program is not.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.interop.spside import free_endpoint
from tests.support.pairs import WAIT_S
from tests.support.programs import running

pytestmark = [
    pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"]),
    pytest.mark.parametrize("transport", ["tcp", "ipc"]),
    pytest.mark.parametrize("program", ["nngcat", "nanocat"]),
]


@dataclass(frozen=True)
class Meeting:
    """Where a program and a socket of ours meet."""

    program: str
    url: str
    we_bind: bool

    @contextmanager
    def ours(self, role: type[Any], **options: Any) -> Iterator[Any]:
        """A socket of ours there."""
        where = {"bind": self.url} if self.we_bind else {"connect": f"sp+{self.url}"}
        with role(reconnect_max=0.1, **where, **options) as ours:
            yield ours

    @contextmanager
    def theirs(self, role: str, *more: str) -> Iterator[Any]:
        """The program as a socket of a role; it is ended afterwards."""
        path = shutil.which(self.program)
        if path is None:
            pytest.skip(f"{self.program} is not installed")
        where = "--connect" if self.we_bind else "--bind"
        args = [path, f"--{role}", where, self.url, *more]
        with running(args, stdout=subprocess.PIPE) as process:
            yield process


@pytest.fixture
def meeting(program: str, transport: str, we_bind: bool, short_path: Path) -> Meeting:
    """A place that nobody uses."""
    return Meeting(program, free_endpoint(transport, short_path), we_bind)


def test_it_pushes_to_us(meeting: Meeting) -> None:
    """One message from the command line."""
    with meeting.ours(mm.Pull) as pull, meeting.theirs("push", "--data", "hello"):
        assert pull.recv(timeout=WAIT_S) == b"hello"


def test_it_prints_what_we_push(meeting: Meeting) -> None:
    """Byte for byte."""
    with meeting.ours(mm.Push) as push, meeting.theirs("pull", "--raw") as process:
        push.send(b"one\n", timeout=WAIT_S)
        push.send(b"two\n", timeout=WAIT_S)
        assert process.stdout.readline() == b"one\n"
        assert process.stdout.readline() == b"two\n"


def test_it_asks_us(meeting: Meeting) -> None:
    """And prints our answer."""
    with meeting.ours(mm.Rep) as rep, meeting.theirs("req", "--data", "q", "--raw") as process:
        request = rep.recv(timeout=WAIT_S)
        assert request == b"q"
        assert request.reply(b"answer\n")
        assert process.stdout.readline() == b"answer\n"


def test_it_answers_us(meeting: Meeting) -> None:
    """Each of our requests."""
    with meeting.ours(mm.Req) as req, meeting.theirs("rep", "--data", "answer"):
        for _ in range(3):
            assert req.request(b"q", timeout=WAIT_S) == b"answer"


def test_it_subscribes_to_us(meeting: Meeting) -> None:
    """Topic and body are one, and it filters."""
    with (
        meeting.ours(mm.Pub) as pub,
        meeting.theirs("sub", "--subscribe", "a.", "--raw") as process,
    ):
        pub.wait_for_subscribers("a.", timeout=WAIT_S)
        pub.send(b"no\n", topic="b.")
        pub.send(b"yes\n", topic="a.")
        assert process.stdout.readline() == b"a.yes\n"


def test_it_publishes_to_us(meeting: Meeting) -> None:
    """Once a second, until we have heard it."""
    more = ("--data", "a news", "--interval", "1")
    with meeting.ours(mm.Sub, topics="a") as sub, meeting.theirs("pub", *more):
        assert sub.recv(timeout=WAIT_S) == b"a news"


def test_it_is_our_pair(meeting: Meeting) -> None:
    """PAIR v0 of nanomsg, either version of NNG, on one socket of ours."""
    roles = ["pair"] if meeting.program == "nanocat" else ["pair0", "pair1"]
    with meeting.ours(mm.Pair) as pair:
        for role in roles:
            with meeting.theirs(role, "--data", role, "--raw") as process:
                assert pair.recv(timeout=WAIT_S) == role.encode()
                pair.send(b"back\n", timeout=WAIT_S)
                assert process.stdout.readline() == b"back\n"
            while pair.peers():
                process.wait(WAIT_S)
