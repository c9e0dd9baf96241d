"""Where nodes may be: lists, folders and functions that give addresses of mesh ports.

Not here: names (dns.py), when they are asked (asking.py). Law: what a seed says is a hint only,
and never more than `ADDRESSES_MAX` of it; a seed that fails raises, and is asked again.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from meshmsg._binding.errors import UsageError
from meshmsg.mesh._addresses import address_of, denied, parts_of

ADDRESSES_MAX = 256
"""Addresses that one seed gives."""
LOOKED_AT_MAX = 16 * ADDRESSES_MAX
"""Addresses of a function that are looked at: some may be such as nobody is to connect to."""
ASK_FIRST_S, ASK_MAX_S = 5.0, 60.0
"""Seconds until a seed is asked again: at first, and doubling up to."""
DIR_EVERY_S = 10.0
"""Seconds between two writings of the file of a node, and two looks at the others."""
DIR_AGE_S = 30.0
"""Seconds after which the file of a node that did not write it again does not count."""
DIR_SWEEP_S = 3_600.0
"""Seconds after which such a file is removed by whoever sees it."""
DIR_FILES_MAX = 10_000
"""Files of a folder that are looked at."""
ENDING = ".node"
"""Of the name of a node's file."""
UNFINISHED = re.compile(r"[0-9a-f]{16}\.node\.[0-9a-f]{16}\.new")
"""The name of a file that is not yet renamed to that of a node: of a writer that was killed."""
LINE_MAX = 512
"""Octets that are read of one."""


class Found(NamedTuple):
    """What a seed says."""

    addresses: list[str]
    again: float | None
    """Seconds until it is worth asking again; None: as for any seed."""
    words: str = ""
    """What is to be told of it (`explain`)."""
    trouble: str = ""
    """Why it is of less use than it should be, although it goes on."""


class Node(NamedTuple):
    """The node that asks, as far as its seeds may know it."""

    cluster: str
    secret: str
    """The path of the file of its secret; "": there is none."""
    endpoint: Callable[[], str]
    """Tells its address, or what it may be until somebody has seen it (`Place.endpoint`)."""


class Seed:
    """Where nodes may be. Use `Static`, `Dns`, `DnsSrv`, `SharedDir`, `Beacon` or `Callback`."""

    def _joins(self, node: Node) -> None:
        """This is the node that will ask, before it does.

        Raises:
            UsageError: This seed is not for it.
        """

    def _find(self, own: str) -> Found:
        """Return addresses as they are now; may take its time. own: of this node, "" if unknown.

        Raises:
            Exception: Whatever is wrong; what was found before stays.
        """
        raise TypeError(f"{type(self).__name__} does not say where nodes may be")

    def _gone(self) -> None:
        """This node is not there any more."""


class Static(Seed):
    """A list of addresses.

    Thread-safe: yes; it is not changed.

    Args:
        addresses: Of mesh ports, as "tcp://host:port" or "host:port", up to 256.

    Raises:
        UsageError: One is no address, or there are too many.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        if isinstance(addresses, (str, bytes)) or not isinstance(addresses, Iterable):
            raise TypeError(f"addresses is {addresses!r}; it is a list of str")
        self._addresses = [address_of(one, "a seed") for one in addresses]
        if len(self._addresses) > ADDRESSES_MAX:
            raise UsageError(f"{len(self._addresses)} addresses; a seed has up to {ADDRESSES_MAX}")

    def _find(self, own: str) -> Found:
        return Found(self._addresses, ASK_MAX_S)

    def __repr__(self) -> str:
        return f"Static({self._addresses!r})"


class Callback(Seed):
    """A function that returns addresses.

    Thread-safe: the function is called on a thread of the mesh's, by one at a time.

    Args:
        function: Without arguments; returns addresses as `Static` has them, or one, as a str. What
            it raises is in `explain()`, and what it returned before stays.
        every: Seconds between two calls, above 0.

    Raises:
        UsageError: `every` is no such number.
        TypeError: The function is none.
    """

    def __init__(
        self, function: Callable[[], Iterable[str] | str], *, every: float = ASK_FIRST_S
    ) -> None:
        if not callable(function):
            raise TypeError(f"function is {function!r}; it is called, without arguments")
        if isinstance(every, bool) or not isinstance(every, (int, float)) or not every > 0:
            raise UsageError(f"every is {every!r}; it is seconds, above 0")
        self._function, self._every = function, float(every)

    def _find(self, own: str) -> Found:
        found = self._function()
        if isinstance(found, bytes) or not isinstance(found, Iterable):
            raise TypeError(f"it returned {found!r}; it returns addresses")
        several = [found] if isinstance(found, str) else islice(found, LOOKED_AT_MAX)
        return Found([address_of(one, "an address") for one in several], self._every)

    def __repr__(self) -> str:
        return f"Callback({getattr(self._function, '__qualname__', self._function)!s})"


class SharedDir(Seed):
    """A folder that all nodes see: each keeps a file there, with its address.

    For NFS, EFS or a volume that several machines have. The clocks of the machines may differ: the
    age of a file is taken by the folder's own clock, that of the file this node writes.

    Thread-safe: yes.

    Args:
        path: The folder; it is made if it is not there. Who can write there can say where nodes may
            be, and no more than that.

    Raises:
        TypeError: It is no path.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        found: object = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
        if not isinstance(found, str):
            raise TypeError(f"path is {path!r}; it is a str or a Path")
        self._path = found
        self._name = f"{os.urandom(8).hex()}{ENDING}"
        self._wrote = False
        self._node: Node | None = None

    def _joins(self, node: Node) -> None:
        self._node = node

    def _find(self, own: str) -> Found:
        if not own and self._node is not None:
            own = self._node.endpoint()
        os.makedirs(self._path, exist_ok=True)
        now = self._write(own) if own else time.time()
        found: list[str] = []
        with os.scandir(self._path) as entries:
            for count, entry in enumerate(entries):
                if count >= DIR_FILES_MAX or len(found) >= ADDRESSES_MAX:
                    break
                if entry.name.endswith(ENDING) and entry.name != self._name:
                    if entry.is_file(follow_symlinks=False):  # who waits at a pipe waits on
                        found += self._read(entry, now)
                elif own and UNFINISHED.fullmatch(entry.name):
                    self._sweep(entry, now)
        return Found(found, DIR_EVERY_S)

    def _write(self, own: str) -> float:
        """Write the file of this node; return when that was, by the folder's clock."""
        path = os.path.join(self._path, self._name)
        fresh = f"{path}.{os.urandom(8).hex()}.new"  # a name that nobody else has put there
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        try:
            os.write(file, f"{own}\n".encode("ascii"))
            os.replace(fresh, path)
        except BaseException:
            with suppress(FileNotFoundError):  # it has its name already
                os.unlink(fresh)
            raise
        finally:
            os.close(file)
        self._wrote = True
        return os.lstat(path).st_mtime

    def _read(self, entry: os.DirEntry[str], now: float) -> list[str]:
        try:
            file = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                facts = os.fstat(file)
                text = os.read(file, LINE_MAX) if stat.S_ISREG(facts.st_mode) else b""
            finally:
                os.close(file)
            address = address_of(text.decode("ascii").strip(), "an address")
            age = abs(now - facts.st_mtime)  # one of tomorrow is as wrong as one of yesterday
            if age > DIR_SWEEP_S:
                os.unlink(entry.path)  # it is one of ours: it has an address
        except (OSError, ValueError, UsageError):
            return []  # half a file, or of somebody else
        return [address] if age <= DIR_AGE_S else []

    def _sweep(self, entry: os.DirEntry[str], now: float) -> None:
        """Remove what a killed writer left. One that only slept makes another in its next turn."""
        with suppress(OSError):  # its writer renamed it, or another node was first
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(facts.st_mode) and now - facts.st_mtime > DIR_AGE_S:
                os.unlink(entry.path)

    def _gone(self) -> None:
        if self._wrote:
            try:
                os.unlink(os.path.join(self._path, self._name))
            except OSError:
                return  # it is too old soon

    def __repr__(self) -> str:
        return f"SharedDir({self._path!r})"


def believed(found: Iterable[str], *, local: bool) -> tuple[list[str], str]:
    """Return the addresses that may be tried, and why others may not.

    Args:
        found: What a seed gave that others can write to.
        local: Whether this node itself is on loopback, so that others there are meant.
    """
    taken: list[str] = []
    words = ""
    for address in found:
        why = denied(parts_of(address)[1], loopback=local)
        if why:
            words = f"{address} is left out: {why}"
        elif len(taken) < ADDRESSES_MAX:
            taken.append(address)
        else:
            words = f"more than {ADDRESSES_MAX} addresses: the others are left out"
    return taken, words
