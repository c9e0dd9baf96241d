"""What a Sub wants that was published before it came: `replay=`.

Not here: the words (_spool/starts.py), what a publisher makes of it (csrc/api/replay_behind.c).
Law: checked here, before the socket has an endpoint.
"""

from __future__ import annotations

from meshmsg._binding.core import lib
from meshmsg._socket.base import SocketBase
from meshmsg._spool.starts import Kind, begin_of

_KINDS: dict[Kind, int] = {
    "earliest": lib.MM_REPLAY_EARLIEST,
    "latest": lib.MM_REPLAY_LAST,  # the last none
    "seq": lib.MM_REPLAY_SEQ,
    "last": lib.MM_REPLAY_LAST,
    "since": lib.MM_REPLAY_SINCE,
}


def replay_of(replay: object) -> tuple[int, int] | None:
    """Return the kind and the value of what is asked for; None: of nothing.

    Raises:
        TypeError: It is no str.
        UsageError: It says nothing that there is.
    """
    if replay is None:
        return None
    begin = begin_of("replay", replay, numbers=False)
    return _KINDS[begin.kind], begin.value


def ask_replay(socket: SocketBase, wanted: tuple[int, int]) -> None:
    """Have a Sub without an endpoint ask its publishers for that."""
    socket._check(lib.mm_sub_replay(socket._handle, *wanted), "asking for a replay")
