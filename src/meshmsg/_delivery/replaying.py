"""What a Sub wants that was published before it came: `replay=`.

Not here: what a publisher makes of it (csrc/api/replay_behind.c). Law: checked here, before the
socket has an endpoint.
"""

from __future__ import annotations

import re

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._socket.base import SocketBase
from meshmsg._socket.options import U64_MAX

_SPAN_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_KNOWN = "it is 'earliest', 'seq:N', 'last:N', or 'since:' and a time: '90s', '5m', '2h', '7d'"
_DIGITS_MAX = 19
"""Of a number: one of 64 bits has no more."""


def replay_of(replay: object) -> tuple[int, int] | None:
    """Return the kind and the value of what is asked for; None: of nothing.

    Raises:
        TypeError: It is no str.
        UsageError: It says nothing that there is.
    """
    if replay is None:
        return None
    if not isinstance(replay, str):
        raise TypeError(f"replay is {replay!r}; {_KNOWN}")
    if replay == "earliest":
        return int(lib.MM_REPLAY_EARLIEST), 0
    found = re.fullmatch(r"(seq|last):([0-9]+)|(since):([0-9]+)([smhd])", replay, re.ASCII)
    if found is None or len(found[2] or found[4]) > _DIGITS_MAX:
        raise UsageError(f"replay is {replay!r}; {_KNOWN}")
    if found[3]:
        kind, value = int(lib.MM_REPLAY_SINCE), int(found[4]) * _SPAN_MS[found[5]]
    else:
        kind = int(lib.MM_REPLAY_SEQ if found[1] == "seq" else lib.MM_REPLAY_LAST)
        value = int(found[2])
    if not 1 <= value <= U64_MAX:
        raise UsageError(f"replay is {replay!r}; the number is from 1 to {U64_MAX}")
    return kind, value


def since_of(start: object) -> int | None:
    """Return the milliseconds of "since:5m" and such; None: it is none of those.

    Raises:
        UsageError: It is one of those, and too long a time.
    """
    found = (
        re.fullmatch(r"since:([0-9]+)([smhd])", start, re.ASCII) if isinstance(start, str) else None
    )
    if found is None:
        return None
    unit_ms = _SPAN_MS[found[2]]
    if len(found[1]) > _DIGITS_MAX or int(found[1]) * unit_ms > U64_MAX:
        most = U64_MAX // unit_ms
        raise UsageError(
            f"start is {start!r}, which is too large: at most 'since:{most}{found[2]}'"
        )
    return int(found[1]) * unit_ms or None


def ask_replay(socket: SocketBase, wanted: tuple[int, int]) -> None:
    """Have a Sub without an endpoint ask its publishers for that."""
    socket._check(lib.mm_sub_replay(socket._handle, *wanted), "asking for a replay")
