"""How a Poller waits for plain descriptors beside sockets.

Not here: the sockets (sockets.py). Law: a descriptor is told of as long as it is ready;
whoever waits is woken by what is added, changed or closed meanwhile, as epoll is. A forked child
shares the epoll with its parent, and changes nothing of it.
"""

from __future__ import annotations

import errno
import os
import select
from typing import Any, Protocol

from meshmsg._binding.core import error_for, lib, text_of
from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._sync.polling.ready import READABLE, WRITABLE

_EPOLL_OF = {READABLE: select.EPOLLIN, WRITABLE: select.EPOLLOUT}
_EITHER = select.EPOLLERR | select.EPOLLHUP


class HasFileno(Protocol):
    """A file, a pipe, a socket of the standard library: whatever has a descriptor."""

    def fileno(self) -> int:
        """The descriptor."""
        ...


def descriptor_of(member: Any) -> int | None:
    """The descriptor of something that is no socket of ours; None: it has none."""
    kind = type(member)
    if any(base.__module__.partition(".")[0] == "zmq" for base in kind.__mro__):
        raise UsageError(
            f"a {kind.__module__}.{kind.__name__} cannot be waited for here: the descriptor of "
            "libzmq tells only that something changed, so messages would be left lying; receive "
            "from it in a thread of its own, or wait for both in a zmq.Poller, which takes the "
            "fileno() of a meshmsg socket"
        )
    if isinstance(member, int) and not isinstance(member, bool):
        return int(member)
    fileno = getattr(member, "fileno", None)
    if not callable(fileno):
        return None
    found = fileno()
    return found if isinstance(found, int) else None


def _none_left(error: OSError) -> MeshError:
    """What to raise when the system gives no more descriptors, or no memory for them."""
    code = lib.MM_ENOMEM if error.errno == errno.ENOMEM else lib.MM_EMFILE
    return error_for(code, f"waiting for descriptors: {text_of(code)}")


class Descriptors:
    """Plain descriptors that a Poller waits for, and what wakes it meanwhile."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        try:
            self._epoll = select.epoll()
        except OSError as error:
            raise _none_left(error) from None
        try:
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        except OSError as error:
            self._epoll.close()
            raise _none_left(error) from None
        self._epoll.register(self._wake, select.EPOLLIN)
        self._sockets = -1  # the core's: something is to be asked there
        self.members: dict[int, tuple[Any, int]] = {}

    def add(self, member: Any, fd: int, events: int) -> None:
        """Wait for it, in place of what was asked of it before."""
        mask = sum(flag for event, flag in _EPOLL_OF.items() if events & event)
        try:
            if fd in self.members:
                self._epoll.modify(fd, mask)
            else:
                self._epoll.register(fd, mask)
        except (OSError, ValueError, OverflowError) as error:
            file = isinstance(error, PermissionError)  # what epoll says of those that never wait
            why = "it is a regular file or a directory, which is always ready" if file else error
            raise UsageError(f"descriptor {fd} cannot be waited for: {why}") from None
        self.members[fd] = member, events

    def remove(self, member: Any) -> bool:
        """Wait for it no longer; whether it was there."""
        for fd, (one, _) in self.members.items():
            if one is member or (isinstance(member, int) and fd == member):
                break
        else:
            return False
        del self.members[fd]
        try:
            self._epoll.unregister(fd)
        except OSError:
            return True  # it was closed, and epoll has forgotten it
        return True

    def listen_to(self, fd: int) -> None:
        """Be woken by the core's descriptor as well: a copy of it is kept."""
        self.forget_sockets()
        try:
            self._sockets = os.dup(fd)
        except OSError as error:
            raise _none_left(error) from None
        self._epoll.register(self._sockets, select.EPOLLIN)

    def forget_sockets(self) -> None:
        """The core's descriptor is no longer there."""
        if self._sockets >= 0:
            if os.getpid() == self._pid:
                self._epoll.unregister(self._sockets)
            os.close(self._sockets)
            self._sockets = -1

    def ready(self) -> list[tuple[Any, int]]:
        """What is ready now, and what for."""
        found = []
        for fd, mask in self._epoll.poll(0):
            member, asked = self.members.get(fd, (None, 0))
            events = sum(event for event, flag in _EPOLL_OF.items() if mask & (flag | _EITHER))
            if events & asked:
                found.append((member, events & asked))
        return found

    def wait(self, seconds: float) -> None:
        """Wait until something may be ready; signals run their functions meanwhile."""
        self._epoll.poll(seconds)

    def wake(self) -> None:
        """Who waits is to look; for good."""
        if os.getpid() == self._pid:
            os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Nobody waits any more."""
        self.members.clear()
        self.forget_sockets()
        self._epoll.close()
        os.close(self._wake)
