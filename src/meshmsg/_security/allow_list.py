"""Lists of who may come in: keys, and what each is known by.

Not here: files of them (allow_files.py), functions (allow.py). Law: the core has each list as a
table of its own, which is swapped whole; a socket is known by its handle only.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from typing import NoReturn, Protocol
from weakref import WeakSet

from meshmsg._binding.core import lib, raise_for
from meshmsg._binding.errors import UsageError
from meshmsg._security.keys import key_octets
from meshmsg._security.public_keys import PublicKey, public_key

_lock = threading.RLock()
"""Of all lists: they change seldom, and a forked child makes it anew."""


def is_user_id(text: str) -> bool:
    """Whether a peer can be known by it."""
    return text.isprintable() and len(text.encode()) <= lib.MM_USER_ID_MAX


def check_user_id(user_id: str) -> str:
    """Refuse what nobody can be known by."""
    if not isinstance(user_id, str):
        raise TypeError(f"user_id is {type(user_id).__name__}; it is a str")
    if not is_user_id(user_id):
        size = len(user_id.encode("utf-8", "surrogatepass"))
        raise UsageError(
            f"a user id of {size} octets: it is printable text of at most {lib.MM_USER_ID_MAX}"
        )
    return user_id


class Follower(Protocol):
    """What has the keys of a list elsewhere."""

    def again(self) -> None:
        """They have changed."""
        ...


class AllowList:
    """Who may come in to a server, by public key; it can be changed while sockets use it.

    A key that is added may come in at once. Who has a key that is removed is disconnected at once
    (`Reason.REVOKED`). One list may serve many sockets, of any engine of this process.

    Thread-safe: yes.

    Args:
        keys: Public keys: in Z85, as `KeyPair`, or paths of `.key` files. A mapping gives what
            each is known by; without it that is the key itself.

    Raises:
        UsageError: A key is none, or a user id is over 255 octets or not printable.
        OSError: A file cannot be read.
    """

    __slots__ = ("__weakref__", "_followers", "_sockets", "_users")

    def __init__(self, keys: Mapping[PublicKey, str] | Iterable[PublicKey] = ()) -> None:
        self._users = _users_of(keys)
        self._sockets: set[int] = set()
        self._followers: WeakSet[Follower] = WeakSet()

    def add(self, key: PublicKey, user_id: str = "") -> None:
        """Let in who has a key.

        Thread-safe: yes.

        Args:
            key: In Z85, as `KeyPair`, or the path of a `.key` file.
            user_id: What it is known by from its next connection on; "" is the key itself.

        Raises:
            UsageError: The key is none, or the user id cannot be one.
            OSError: The file cannot be read.
            ResourceError: No memory; nothing has changed.
        """
        text = public_key(key, "key")
        with _lock:
            self._become({**self._users, text: check_user_id(user_id) or text})

    def remove(self, key: PublicKey) -> None:
        """Let in who has this key no more, and disconnect it.

        Thread-safe: yes.

        Args:
            key: As it was given to `add`.

        Raises:
            UsageError: The key is none, or not in the list.
            OSError: The file cannot be read.
            ResourceError: No memory; nothing has changed.
        """
        text = public_key(key, "key")
        with _lock:
            if text not in self._users:
                raise UsageError(f"the key {text} is not in the list")
            self._become({known: user for known, user in self._users.items() if known != text})

    def replace(self, keys: Mapping[PublicKey, str] | Iterable[PublicKey]) -> None:
        """Have these keys in place of those there are, all at once.

        Thread-safe: yes.

        Args:
            keys: As for a new list.

        Raises:
            UsageError: A key is none, or a user id cannot be one.
            OSError: A file cannot be read.
            ResourceError: No memory; nothing has changed.
        """
        self._become(_users_of(keys))

    def _become(self, users: dict[str, str]) -> None:
        with _lock:
            before, self._users = self._users, users
            try:
                for handle in list(self._sockets):
                    self._put(handle)
                for follower in list(self._followers):
                    follower.again()
            except BaseException:
                self._users = before
                raise

    def __contains__(self, key: PublicKey) -> bool:
        return public_key(key, "key") in self._users

    def __len__(self) -> int:
        return len(self._users)

    def __repr__(self) -> str:
        users: dict[str, str] | None = getattr(self, "_users", None)  # its keys may have been wrong
        return f"<meshmsg.AllowList of {'no keys yet' if users is None else len(users)}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError(
            "an AllowList is not pickled: it belongs to sockets of this process; hand on the path "
            "of a file of keys, and say allow=path there"
        )

    def _follow(self, follower: Follower) -> None:
        """Tell it of changes, for as long as it is there."""
        with _lock:
            self._followers.add(follower)

    def _serve(self, handle: int) -> None:
        """Be the list of this socket, from now on."""
        with _lock:
            self._put(handle)
            self._sockets.add(handle)

    def _put(self, handle: int) -> None:
        users = self._users
        keys = b"".join(map(key_octets, users))
        names = [user.encode("utf-8", "surrogateescape") + b"\0" for user in users.values()]
        ids = b"".join(names)
        rc = lib.mm_socket_allow(handle, keys, ids, len(ids), len(users))
        if rc in (lib.MM_ECLOSED, lib.MM_EFORKED):
            self._sockets.discard(handle)  # it was closed
        else:
            raise_for(rc, "changing who may come in")


def _users_of(keys: Mapping[PublicKey, str] | Iterable[PublicKey]) -> dict[str, str]:
    named = keys.items() if isinstance(keys, Mapping) else ((key, "") for key in keys)
    users: dict[str, str] = {}
    for key, user_id in named:
        text = public_key(key, "a key of allow=")
        users[text] = check_user_id(user_id) or text
    return users


def _after_fork_in_child() -> None:
    """The lock may have been held by a thread that is not here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)
