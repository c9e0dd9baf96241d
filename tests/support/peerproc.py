"""A socket of another implementation, in a process of its own, with the calls of a pyzmq socket.

The peer program reads one request at a time from its standard input and answers each on its
standard output: a line of words, and where the line ends in sizes, that many octets after it.

    open KIND NAME WAIT_MS        ok          a new socket; the one before it is gone
    secure WORDS                  ok          "curve-server", its two keys; "curve-client", its two
                                              keys, the server's; "plain-client", user, password
    bind URL                      ok URL      the URL as bound, with its port
    connect URL                   ok
    subscribe SIZE + octets       ok          so does unsubscribe
    send SIZE... + octets         ok          one size per frame
    recv                          frames SIZE... + octets
    poll WAIT_MS                  ok 0 or 1   is there something to receive?
    events                        ok N        the ZMQ_EVENTS
    close                         ok

At its start it says "ready" and the version of its library; on failure "error" and why; it ends
when its input does. KIND is libzmq's number; NAME, for the kinds that have one, their identity.
Every wait here is bounded. Not here: what is tested with it (tests/interop/foreign.py).
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence
from types import TracebackType

import zmq

from tests.support.pairs import WAIT_S

ANSWER_S = WAIT_S + 10
"""The peer's own waits end before ours, so that it can say what it waited for."""
CHUNK = 1 << 20


class PeerError(AssertionError):
    """What a peer program complained of; also that it ended."""


class Peer:
    """A running peer program. ``with`` ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        # A sanitizer that is loaded into pytest is not for programs of others.
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=env
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._data = bytearray()
        self._deadline = 0.0
        self.type = -1
        try:
            self._deadline = time.monotonic() + ANSWER_S
            word, self.version = self._line().split(" ", 1)
            assert word == "ready"
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """End it as kill -9 does, and wait until the system has closed its connections."""
        self._process.kill()
        self._process.communicate()

    def leave(self) -> int:
        """End its input, and return the status it ends with."""
        self._process.communicate(timeout=ANSWER_S)
        return self._process.returncode

    def open(self, kind: int, name: bytes = b"") -> None:
        """Make the socket."""
        self._ask(f"open {int(kind)} {name.decode() or '-'} {int(WAIT_S * 1000)}")
        self.type = kind

    def secure(self, *words: str) -> None:
        """Protect the connections that its socket will have; keys are 40 characters of Z85."""
        self._ask(" ".join(["secure", *words]))

    def bind(self, url: str) -> str:
        """Bind, and return the endpoint with its port."""
        return self._ask(f"bind {url[:-1]}*" if url.endswith(":0") else f"bind {url}")

    def connect(self, url: str) -> None:
        """Connect."""
        self._ask(f"connect {url}")

    def shut(self) -> None:
        """Close the socket; the process stays."""
        self._ask("close")

    def setsockopt(self, option: int, value: bytes | int) -> None:
        """Subscribe or unsubscribe, as libzmq has it; a number only where the program says so."""
        if isinstance(value, int):
            self._ask(f"set {int(option)} {value}")
        else:
            verb = "subscribe" if option == zmq.SUBSCRIBE else "unsubscribe"
            self._ask(f"{verb} {len(value)}", value)

    def send(self, body: bytes) -> None:
        """Send one frame."""
        self.send_multipart([body])

    def send_multipart(self, frames: Sequence[bytes]) -> None:
        """Send frames."""
        self._ask(" ".join(["send", *(str(len(frame)) for frame in frames)]), *frames)

    def recv(self) -> bytes:
        """Receive a message of one frame."""
        (body,) = self.recv_multipart()
        return body

    def recv_multipart(self) -> list[bytes]:
        """Receive all frames of a message."""
        return [self._take(int(size)) for size in self._ask("recv").split()]

    def poll(self, wait_ms: int) -> int:
        """Wait until there is something to receive, or for so long."""
        return int(self._ask(f"poll {wait_ms}"))

    def writable(self) -> bool:
        """Has it somebody to send to?"""
        return bool(int(self._ask("events")) & zmq.POLLOUT)

    def _ask(self, line: str, *parts: bytes) -> str:
        self._deadline = time.monotonic() + ANSWER_S
        for part in (f"{line}\n".encode(), *parts):
            self._write(memoryview(part))
        word, _, rest = self._line().partition(" ")
        if word == "error":
            raise PeerError(f"{line}: {rest}")
        assert word in ("ok", "frames"), word
        return rest

    def _ready(self, fd: int, event: int) -> None:
        waiting = select.poll()
        waiting.register(fd, event)
        if not waiting.poll(max(0.0, self._deadline - time.monotonic()) * 1000):
            raise PeerError("the peer program does not answer")

    def _write(self, data: memoryview) -> None:
        while data:
            self._ready(self._in, select.POLLOUT)
            data = data[os.write(self._in, data[:CHUNK]) :]

    def _read(self) -> None:
        self._ready(self._out, select.POLLIN)
        more = os.read(self._out, CHUNK)
        if not more:
            raise PeerError(f"the peer program ended: {self._process.wait(ANSWER_S)}")
        self._data += more

    def _line(self) -> str:
        while (end := self._data.find(b"\n")) < 0:
            self._read()
        return self._take(end + 1).decode().rstrip("\n")

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._read()
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken
