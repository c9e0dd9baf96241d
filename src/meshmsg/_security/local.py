"""Users of this machine as a policy: whose programs may be at the other side of ipc.

Not here: who asks the system (csrc/ends/user.c). Law: a policy is not changed; our own user and
root are never left out; a name is looked up once, here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.errors import UsageError
from meshmsg._security.allow import Rule
from meshmsg._security.policy import Policy

USERS_MAX: int = lib.MM_USERS_MAX
"""Users, and groups, of one policy."""
ID_MAX = 2**32 - 2
"""The largest number of a user or a group; the one above it stands for none."""


class Local(Policy):
    """Users of this machine, over ipc: what the system says whose program the other side is.

    For `security=` of a socket or an engine. Both sides look: at who connects, and at who listens.
    Our own user and root are always taken; without any policy nobody else is. Nothing is
    encrypted, as nothing leaves the machine. The socket's file is open to all users then (0666),
    and who is none of these is closed before an octet is read; its folder has to let them in, too.

    Thread-safe: yes; it is not changed. It is not pickled.

    Args:
        uids: Users besides our own and root: numbers, or names of this machine; at most 64.
        gids: Groups: whoever is of one of them is taken, also if it is not its first.

    Raises:
        UsageError: No such user or group, a number that is none, or too many.
    """

    __slots__ = ("_gids", "_uids")

    _uids: tuple[int, ...]
    _gids: tuple[int, ...]

    def __init__(self, *, uids: Iterable[int | str] = (), gids: Iterable[int | str] = ()) -> None:
        put = object.__setattr__
        put(self, "_uids", _numbers("uids", uids, _uid))
        put(self, "_gids", _numbers("gids", gids, _gid))
        self._put(Rule(), uids=list(self._uids) or None, gids=list(self._gids) or None)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError(
            "a Local is not pickled, as users have numbers of one machine: make it where it is used"
        )

    def _refusal(self, url: str, *, binds: bool, insecure: bool) -> str:
        if url.startswith(("ipc:", "sp+ipc:")):
            return ""
        return "mm.Local asks the system for users of this machine: it is for ipc://"

    def _protect(self, handle: int, opts: Any) -> None:
        uids = ffi.new("uint32_t[]", self._uids)
        gids = ffi.new("uint32_t[]", self._gids)
        rc = int(lib.mm_socket_local(handle, uids, len(uids), gids, len(gids)))
        raise_for(rc, "giving a socket its users")


def _numbers(
    what: str, given: Iterable[int | str], number_of: Callable[[str], int]
) -> tuple[int, ...]:
    """Return users or groups as numbers, each once."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{what} is {given!r}; it is a list of numbers or names")
    found: dict[int, None] = {}
    for one in given:
        if isinstance(one, bool) or not isinstance(one, (int, str)):
            raise TypeError(f"{what} has {one!r}; it has numbers and names")
        number = number_of(one) if isinstance(one, str) else one
        if not 0 <= number <= ID_MAX:
            raise UsageError(f"{what} has {number}; a number is 0 to {ID_MAX}")
        found[number] = None
    if len(found) > USERS_MAX:
        raise UsageError(f"{what} has {len(found)}; a policy has at most {USERS_MAX}")
    return tuple(found)


def _uid(name: str) -> int:
    import pwd

    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        raise UsageError(f"uids has {name!r}: this machine has no such user") from None


def _gid(name: str) -> int:
    import grp

    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        raise UsageError(f"gids has {name!r}: this machine has no such group") from None
