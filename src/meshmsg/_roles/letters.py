"""Dead letters that a Push or a Pub keeps until somebody takes them.

Not here: which messages these are, and where else they go (_delivery/dead_letters.py). Law: nothing
here waits.
"""

from __future__ import annotations

from collections import deque

from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._delivery.dead_letters import (
    DeadLetter,
    check_most,
    count_dead_letters,
    take_dead_letters,
)
from meshmsg._hints.plural import counted, plural
from meshmsg._socket.base import SocketBase
from meshmsg._socket.peers import peer_count
from meshmsg._socket.signature import verb


def untaken(self: SocketBase) -> str:
    """Tell of those that nobody took, of a socket that is about to be closed."""
    count = count_dead_letters(self._handle) if self._keeps_dead else 0
    count += len(self._letters)
    if not count:
        return ""
    name, were = type(self).__name__, plural(count, "was", "were")
    return f"{name} closed: {counted(count, 'dead letter')} {were} not taken"


@verb
def dead_letters(self: SocketBase, most: int | None = None) -> list[DeadLetter]:
    """Take the dead letters that wait (`dead_letter="keep"`), the oldest first.

    Of a Pub those of one of its groups after those of another.

    Never blocks. Thread-safe: yes; each is given to one caller.

    Args:
        most: How many at most, from 1 on; None: all.

    Returns:
        What there is, maybe nothing. The event DEAD_LETTER says that there is something.

    Raises:
        UsageError: Dead letters are not kept, but go to a function or socket, or are dropped.
        ClosedError: The socket was closed; what nobody took was dropped, and the log says so.
    """
    check_most(most)
    if not self._keeps_dead:
        self._check(peer_count(self._handle), "taking dead letters")
        role = type(self).__name__
        raise UsageError(f'dead_letters() is for a {role} with dead_letter="keep"')
    try:
        with self._event_lock:
            if not self._letters:
                self._letters = deque()
            found, self._letters = take_dead_letters(self._handle, most, self._letters)
            return found
    except MeshError as error:
        raise self._error(error.code, "taking dead letters") from None
