"""What every socket holds, as a type: for the functions of this room that work on a socket.

Not here: the socket itself (base.py), which is made of those. Law: what is set once it is opened,
and no method that any of them is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from meshmsg._security.policy import NONE, Policy, Security

if TYPE_CHECKING:
    from meshmsg._events.outlet import Outlet
    from meshmsg._socket.engine import Engine


class Guard:
    """The policy of one socket, and which it has taken."""

    def __init__(self, own: Security | None, engines: Security | None) -> None:
        self.given: Security = own or engines or NONE
        self.own = own is not None
        self.said = self.own or engines is not None
        """Whether anybody said what protects it, or that nothing does."""
        self.taken: Policy | None = None
        """What its endpoints so far have; None: it has none yet."""


class Followed(NamedTuple):
    """A service that a mesh keeps a socket connected to."""

    service: str
    why: Callable[[], str]
    """Tells why it may have no peer of it; "": the mesh knows of no reason."""


class State(Protocol):
    """A socket, as its endpoints, its errors and what is inspected of it see it."""

    _role: ClassVar[int]
    _handle: int
    _opts: Any
    _bound: list[tuple[str, str]]
    """What was asked for, and what was bound."""
    _connected: list[str]
    _opened_pid: int
    _slice_ms: int
    """0 of a simulated world."""
    _outlet: Outlet
    _engine: Engine
    _guard: Guard
    _guard_lock: Any
    _stops: bool
    """Whether it was to stop receiving."""
    _finished: bool
    """Whether it sends nothing more."""
    _spooled: Any
    """The spool that its messages are in, if they are in one."""
    _follows: tuple[Followed, ...]
    """Services that a mesh keeps it connected to."""
    _left: object
    """Another one each time that it has left an endpoint."""

    def _loop_of_events(self, option: str) -> Any:
        """The event loop that a function given as this option is called on; None: a thread."""
