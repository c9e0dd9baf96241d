"""What `security=` takes: a policy, none, or a profile of two; and what a policy says of itself.

Not here: the policies that protect (curve.py), when a socket takes one (_socket/protection.py).
Law: a policy is made once, checked there, and not changed; no text made of it has a secret; it is
not pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ResourceError, UsageError
from meshmsg._security.allow import Rule
from meshmsg._security.libraries import Protection, missing

if TYPE_CHECKING:
    from meshmsg._security.certificates.expiry import Expiry


class Followed(Protocol):
    """Files that may change."""

    def look(self) -> str:
        """Read them again if they have; return what is wrong, seldom: "" is nothing."""
        ...


class Policy:
    """How connections of a socket are protected: `Curve`, `Tls`, `Secret`, or `meshmsg.NONE`."""

    __slots__ = ("__weakref__", "_rule", "_said")

    _rule: Rule
    """Who may come in."""
    _said: str
    """Its repr."""

    def _put(self, rule: Rule, **given: object) -> None:
        """Set what every policy has; given: its arguments, as repr shows them."""
        put = object.__setattr__
        put(self, "_rule", rule)
        said = [f"{name}={_shown(value)}" for name, value in given.items() if value is not None]
        put(self, "_said", f"{type(self).__name__}({', '.join(said)})")

    def _refusal(self, url: str, *, binds: bool, insecure: bool) -> str:
        """Return why an endpoint cannot be protected so, in words; "" if it can.

        It leaves the process: inproc was seen to. insecure: what the socket was opened with.
        """
        raise TypeError(f"{type(self).__name__} does not say which endpoints it is for")

    def _protect(self, handle: int, opts: Any) -> None:
        """Protect a socket that has no endpoint yet; opts: those of the core it was opened with.

        Raises:
            ResourceError: A library is missing; it says what to install.
            UsageError: The socket cannot be protected so.
        """
        raise TypeError(f"{type(self).__name__} does not say how it protects")

    def _followed(self) -> Sequence[Followed]:
        """Return what is looked at once a second, while a socket has this policy."""
        return (self._rule.file,) if self._rule.file is not None else ()

    def _dates(self) -> Sequence[Expiry]:
        """Return for how long its certificates are good."""
        return ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is not changed ({name}): make another one")

    def __repr__(self) -> str:
        return getattr(self, "_said", f"<a {type(self).__name__} that is not made yet>")

    def __reduce_ex__(self, protocol: object) -> Any:
        raise UsageError(
            f"a {type(self).__name__} is not pickled, as it has keys: hand on the paths of their "
            "files, and make it where it is used"
        )


class Nothing(Policy):
    """No protection, whatever the engine has: `meshmsg.NONE`."""

    __slots__ = ()

    def __init__(self) -> None:
        self._put(Rule())

    def _refusal(self, url: str, *, binds: bool, insecure: bool) -> str:
        return ""

    def _protect(self, handle: int, opts: Any) -> None:
        """Leave it as it is."""

    def __repr__(self) -> str:
        return "meshmsg.NONE"

    def __reduce_ex__(self, protocol: object) -> str:
        return "NONE"


NONE: Final = Nothing()


class Profile:
    """What protects a socket, by what it does first: `bind` or `connect`.

    For `security=` of an engine, whose servers and clients are then protected without a word of
    theirs.

    Thread-safe: yes; it is not changed.

    Args:
        bind: Of sockets that bind first: a policy (`Curve` ...) or `meshmsg.NONE`.
        connect: Of sockets that connect first.
    """

    __slots__ = ("bind", "connect")

    bind: Policy
    connect: Policy

    def __init__(self, *, bind: Policy, connect: Policy) -> None:
        for name, policy in (("bind", bind), ("connect", connect)):
            if not isinstance(policy, Policy):
                raise TypeError(
                    f"{name} is {type(policy).__name__}; it is a policy (mm.Curve ...) or mm.NONE"
                )
            object.__setattr__(self, name, policy)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Profile is not changed ({name}): make another one")

    def __repr__(self) -> str:
        return f"Profile(bind={self.bind!r}, connect={self.connect!r})"


Security = Policy | Profile


def check_security(given: object, what: str = "security") -> None:
    """Refuse what is no policy."""
    if given is not None and not isinstance(given, (Policy, Profile)):
        raise TypeError(
            f"{what} is {type(given).__name__}; it is a policy (mm.Curve ...), a mm.Profile or "
            "mm.NONE"
        )


def need(protection: Protection) -> None:
    """Refuse to go on without a library.

    Raises:
        ResourceError: It is not there; it says what to install.
    """
    why = missing(protection)
    if why:
        raise ResourceError(f"there is no {protection.upper()}: {why}", code=lib.MM_ENOTSUP)


def _shown(value: object) -> str:
    """Write an argument as it may be read by others."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
