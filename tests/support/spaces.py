"""A network of this process alone: namespaces that stand for machines, on two switches with a link.

The process that makes it is in the namespace that has the switches, which are bridges. No namespace
has a name, so they are gone with the processes that are in them. Not here: who runs there
(crowd_leader.py).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

CLONE_NEWNET = 0x40000000
SPACES_MAX = 200
"""Machines that addresses are there for."""
_NET = "/proc/self/ns/net"
_libc = ctypes.CDLL(None, use_errno=True)


def _check(code: int, what: str) -> None:
    if code:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter(space: int) -> None:
    """Put this thread into the network namespace of a descriptor."""
    _check(_libc.setns(space, CLONE_NEWNET), "setns")


def _opened() -> int:
    return os.open(_NET, os.O_RDONLY | os.O_CLOEXEC)


def _ip(*words: str, fds: tuple[int, ...] = ()) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False, pass_fds=fds)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def side_of(number: int, count: int) -> int:
    """At which switch a machine is, of so many."""
    return int(number >= (count + 1) // 2)


class Network:
    """Machines, each with one address: the first half at one switch, the others at the other."""

    def __init__(self, count: int) -> None:
        """Make so many. For a process with one thread, in a network namespace of its own."""
        assert 0 < count <= SPACES_MAX
        self._own = _opened()
        self._addresses = [1] * count
        self.spaces: list[int] = []
        """Their descriptors."""
        _ip("link", "set", "lo", "up")
        _ip("link", "add", "trunk0", "type", "veth", "peer", "name", "trunk1")
        for side in range(2):
            _ip("link", "add", f"switch{side}", "type", "bridge")
            _ip("link", "set", f"switch{side}", "up")
            _ip("link", "set", f"trunk{side}", "master", f"switch{side}", "up")
        for number in range(count):
            self.spaces.append(self._made())
            there = f"/proc/self/fd/{self.spaces[-1]}"
            ends = ("type", "veth", "peer", "name", "cable", "netns", there)
            _ip("link", "add", f"port{number}", *ends, fds=(self.spaces[-1],))
            switch = f"switch{side_of(number, count)}"
            _ip("link", "set", f"port{number}", "master", switch, "up")
            with self._inside(number):
                _ip("link", "set", "lo", "up")
                _ip("address", "add", f"{self.address(number)}/16", "dev", "cable")
                _ip("link", "set", "cable", "up")

    def _made(self) -> int:
        _check(_libc.unshare(CLONE_NEWNET), "unshare")
        made = _opened()
        enter(self._own)
        return made

    @contextmanager
    def _inside(self, number: int) -> Iterator[None]:
        enter(self.spaces[number])
        try:
            yield
        finally:
            enter(self._own)

    def address(self, number: int) -> str:
        """Where a machine is."""
        return f"10.78.{number}.{self._addresses[number]}"

    def space(self, number: int) -> str:
        """What the system calls the namespace of a machine."""
        with self._inside(number):
            return os.readlink(_NET)

    def cut(self) -> None:
        """Take down the link between the switches."""
        _ip("link", "set", "trunk0", "down")

    def mend(self) -> None:
        """Take it up again."""
        _ip("link", "set", "trunk0", "up")

    def move(self, number: int) -> None:
        """Give a machine another address; the one before is gone."""
        before = self.address(number)
        self._addresses[number] += 1
        with self._inside(number):
            _ip("address", "delete", f"{before}/16", "dev", "cable")
            _ip("address", "add", f"{self.address(number)}/16", "dev", "cable")
