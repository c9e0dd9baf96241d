"""The first process of a crowd (crowd.py): makes the network, and forks its members.

It has imported all that they need, and has neither threads nor sockets: a member begins at once. It
is the first of its namespace of processes, so that nobody outlives it; and it ends as nobody is
there to ask it. Not here: what a member does (crowd_member.py).
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
import traceback
from typing import Any, NoReturn

from tests.support import crowd_member
from tests.support.spaces import Network, enter


class Leader:
    """Does what it is asked for."""

    def __init__(self, network: Network, words: int) -> None:
        self._network, self._words = network, words
        self._pids: dict[str, int] = {}
        self._tells: dict[str, int] = {}

    def start(self, name: str, space: int, options: dict[str, Any]) -> None:
        """Fork a member, on a machine."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._be_member(name, space, options, read)
        os.close(read)
        self._pids[name], self._tells[name] = pid, write

    def _be_member(self, name: str, space: int, options: dict[str, Any], read: int) -> NoReturn:
        code = 1
        try:
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
            for fd in self._tells.values():
                os.close(fd)
            enter(self._network.spaces[space])
            crowd_member.run(name, options, read, self._words)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def tell(self, name: str, command: list[Any]) -> None:
        """Have a member do something."""
        os.write(self._tells[name], json.dumps(command).encode() + b"\n")

    def send(self, name: str, signal_name: str) -> None:
        """Send a member a signal; who gets SIGKILL is gone as this returns."""
        number = signal.Signals[signal_name]
        os.kill(self._pids[name], number)
        if number == signal.SIGKILL:
            os.waitpid(self._pids.pop(name), 0)
            os.close(self._tells.pop(name))

    def do(self, verb: str, rest: list[Any]) -> Any:
        """Do one of these, or have the network do it."""
        if verb in ("start", "tell", "send"):
            return getattr(self, verb)(*rest)
        assert verb in ("address", "cut", "mend", "move", "space")
        return getattr(self._network, verb)(*rest)


def main(words: str, count: str) -> None:
    """Make so many machines, and do what standard input says, a line of JSON each."""
    leader = Leader(Network(int(count)), int(words))
    gc.freeze()
    print(json.dumps(None), flush=True)
    for line in sys.stdin:
        verb, *rest = json.loads(line)
        before = time.monotonic()
        done = leader.do(verb, rest)
        print(json.dumps([before, done]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
