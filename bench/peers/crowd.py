"""Peers that begin a handshake and go no further; who is closed comes again.

A process of its own: its arguments are the port on loopback, how many, and what each says first, in
hexadecimal. It prints a line when all have said it, and ends when its standard input does.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys

from ..base.descriptors import allow_files
from ..base.hosts import LOOPBACK
from ..base.need import BenchError
from ..base.rooms import BENCH
from ..base.task import PATIENCE

QUIET_S = 0.5
"""Seconds without a word after which a peer has said all that it says first."""
READ = 65536


def first_words(listening: socket.socket, greeting: bytes) -> bytes:
    """What who comes there says before it waits for more than a greeting."""
    peer, _ = listening.accept()
    said = b""
    with peer:
        peer.sendall(greeting)
        peer.settimeout(QUIET_S)
        try:
            while part := peer.recv(READ):
                said += part
        except TimeoutError:
            pass
    return said


class Crowd:
    """The process, from the side of who starts it."""

    def __init__(self, port: int, number: int, words: bytes) -> None:
        """Returns when all are there."""
        module = f"{BENCH}.peers.crowd"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(port), str(number), words.hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if self._process.stdout is None or not self._process.stdout.readline():
            raise BenchError("the crowd of half handshakes did not come")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def come(port: int, words: bytes) -> socket.socket:
    """One of them."""
    one = socket.create_connection((LOOPBACK, port), PATIENCE)
    one.sendall(words)
    return one


def stay(port: int, number: int, words: bytes) -> None:
    """All of them, until nobody wants them any more."""
    ready = select.epoll()
    ready.register(sys.stdin, select.EPOLLIN | select.EPOLLHUP)
    there: dict[int, socket.socket] = {}
    for _ in range(number):
        one = come(port, words)
        there[one.fileno()] = one
        ready.register(one, select.EPOLLRDHUP)
    print("there", flush=True)
    while True:
        for fd, _ in ready.poll():
            if fd == sys.stdin.fileno():
                return
            there.pop(fd).close()
            one = come(port, words)
            there[one.fileno()] = one
            ready.register(one, select.EPOLLRDHUP)


if __name__ == "__main__":
    allow_files(int(sys.argv[2]))
    stay(int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3]))
