"""Programs that a test starts again and again: forks of one process that has imported them, as an
interpreter each time would take most of the time of the test.

As a program it is what forks: python -m tests.support.forks DESCRIPTOR MODULE... It has neither
threads nor sockets, so a fork of it begins as a program does. Not here: which programs there are.
Law: a program is gone when its test ends, however that ends; it ends without what runs at exit.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import IO, Any, NoReturn

from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT

ASKED_MAX = 65_536
"""Bytes of what is asked for at once."""


class Forked:
    """A program, as `subprocess.Popen` has one."""

    def __init__(self, args: list[str], stdout: IO[bytes] | None, told: int) -> None:
        self.args, self.stdout, self._told = args, stdout, told
        self.returncode: int | None = None
        self.pid = int(self._said(WAIT_S) or 0)
        assert self.pid, f"{args} was not started"

    def _said(self, timeout: float) -> bytes | None:
        """What is told of it next, a line; None: nothing, in time."""
        if not select.select([self._told], [], [], timeout)[0]:
            return None
        line = b""
        while not line.endswith(b"\n"):
            octet = os.read(self._told, 1)
            assert octet, f"nobody knows what became of {self.args}"
            line += octet
        return line

    def poll(self) -> int | None:
        """How it ended; None: it has not."""
        if self.returncode is None and (said := self._said(0)) is not None:
            self._ended(said)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """How it ended, once it has."""
        if self.returncode is None:
            said = self._said(timeout)
            assert said is not None, f"{self.args} does not end"
            self._ended(said)
        assert self.returncode is not None
        return self.returncode

    def _ended(self, said: bytes) -> None:
        """Take how it ended. Nothing is told of it any more: a thousand of them have no descriptor
        too many."""
        self.returncode = int(said)
        os.close(self._told)

    def send_signal(self, number: int) -> None:
        """Send it one, if it has not ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _end(self) -> None:
        self.send_signal(signal.SIGKILL)
        self.wait(WAIT_S)
        if self.stdout is not None:
            self.stdout.close()


class Forks:
    """A process that forks programs of these modules; what each does is its `main`."""

    def __init__(self, *modules: str, env: Mapping[str, str] | None = None) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            number = str(theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.forks", number, *modules],
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """Have none any more."""
        self._channel.close()
        self._process.wait(WAIT_S)

    @contextmanager
    def running(
        self, module: str, *arguments: object, env: Mapping[str, str] | None = None, said: bool
    ) -> Iterator[Forked]:
        """Start one; at the end it is killed, if it has not ended.

        said: its standard output is read, else that is of nobody.
        """
        asked = {"module": module, "arguments": [*map(str, arguments)], "env": {**(env or {})}}
        read, out = os.pipe() if said else (-1, os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
        told, tells = os.pipe()
        try:
            socket.send_fds(self._channel, [json.dumps(asked).encode()], [out, tells])
        finally:
            os.close(out)
            os.close(tells)
        stdout = os.fdopen(read, "rb", buffering=0) if said else None
        process = Forked([module, *map(str, arguments)], stdout, told)
        try:
            yield process
        finally:
            process._end()


def be_program(module: ModuleType, asked: dict[str, Any], out: int) -> NoReturn:
    """Be the program that was asked for."""
    code = 1
    try:
        os.dup2(out, 1)
        os.close(out)
        os.environ.update(asked["env"])
        sys.argv = [asked["module"], *asked["arguments"]]
        module.main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def begin(module: ModuleType, asked: dict[str, Any], out: int, tells: int) -> NoReturn:
    """Have one, tell who it is, and how it ended."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pid = os.fork()
        if pid == 0:
            os.close(tells)
            be_program(module, asked, out)
        os.close(out)
        os.write(tells, b"%d\n" % pid)
        os.write(tells, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    finally:
        os._exit(0)


def main() -> None:
    """Fork what is asked for, until nobody is there to ask."""
    number, *names = sys.argv[1:]
    modules = {name: import_module(name) for name in names}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for who waits for a program
    gc.freeze()
    with socket.socket(fileno=int(number)) as channel:
        while True:
            said, fds, _, _ = socket.recv_fds(channel, ASKED_MAX, 2)
            if not said:
                return
            asked = json.loads(said)
            if os.fork() == 0:
                channel.close()
                begin(modules[asked["module"]], asked, *fds)
            for fd in fds:
                os.close(fd)


if __name__ == "__main__":
    main()
