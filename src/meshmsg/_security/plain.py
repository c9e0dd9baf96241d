"""PLAIN as a policy: which user a client is, or whom a server lets in by a password.

Not here: users and passwords (passwords.py), when a socket takes it (_socket/protection.py). Law: a
policy is not changed; no text made of it has a password; it is for where nobody else can read what
is sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from meshmsg._binding.addresses import leaves_machine
from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.errors import UsageError
from meshmsg._security.allow import Anybody, Asked, Rule
from meshmsg._security.passwords import NAME_MAX, Passwords, wrong_name
from meshmsg._security.policy import Followed, Policy
from meshmsg._security.tls import OverTls

if TYPE_CHECKING:
    from meshmsg._security.certificates.expiry import Expiry

Users = Anybody | Mapping[str, str] | str | os.PathLike[str] | Asked


class Plain(Policy):
    """PLAIN, of ZeroMQ: a user and a password; nothing of what is sent is hidden.

    For `security=` of a socket or an engine. A server says by `allow=` who may come in; a client is
    a `user=` with a `password=`. Which of them binds does not matter. Sockets of libzmq can be
    either. The client does not know who the server is, and whoever is on the way can read the
    password: so it is for ipc and loopback, elsewhere only with `insecure=True`.

    The file of `allow=` is read here, and looked at once a second.

    Thread-safe: yes; it is not changed. It is not pickled.

    Args:
        user: Of a client: 1 to 255 octets of UTF-8.
        password: Of a client: at most 255 octets of UTF-8.
        allow: Of a server, which has to say it: who may come in. A mapping of users to their
            passwords; the path of a file with a line `user=password` for each, which nobody else
            can read; `meshmsg.ANYBODY`, whatever it says; or a function that is called with an
            `Applicant` and returns `Allow`, `Deny` or `Later`, within 5 s. It is called on a
            thread of its own; of asyncio sockets on the loop, and may be a coroutine function.
        inside: What hides it: a `Tls` or `Secret`, for endpoints tls+tcp://. Both have to be right
            then. Who may come in is said here, so a `Tls` of a server has `ca=` without `allow=`,
            or `clients="none", allow=ANYBODY`.

    Raises:
        UsageError: What is missing, too much or too long; a file that others can read.
        OSError: A file cannot be read.
    """

    __slots__ = ("_inside", "_password", "_user")

    _user: str | None
    _password: str
    _inside: OverTls | None

    def __init__(
        self,
        *,
        user: str | None = None,
        password: str | None = None,
        allow: Users | None = None,
        inside: OverTls | None = None,
    ) -> None:
        put = object.__setattr__
        _check(user, password, allow)
        _check_inside(inside, serves=user is None)
        put(self, "_inside", inside)
        put(self, "_user", user)
        put(self, "_password", password or "")
        rule = Rule() if allow is None else _rule_of(allow)
        shown = rule.function if isinstance(rule.function, Passwords) else allow
        self._put(rule, user=user, allow=shown, inside=inside)

    def _refusal(self, url: str, *, binds: bool, insecure: bool) -> str:
        if url.startswith("sp+"):
            return "SP has no PLAIN; connect without sp+ to a peer that speaks ZMTP"
        if self._inside is not None:
            return self._inside._refusal(url, binds=binds, insecure=insecure)
        if url.startswith("tls+"):
            return "PLAIN is inside TLS there: say inside=mm.Tls(...), or mm.Secret(...)"
        if insecure or not leaves_machine(url):
            return ""
        return (
            "PLAIN hides nothing, so the password can be read on the way there: use mm.Curve, stay "
            "on loopback or ipc, or say insecure=True"
        )

    def _protect(self, handle: int, opts: Any) -> None:
        if self._inside is not None:
            self._inside._protect(handle, opts)
        own = ffi.new("mm_plain_opts *")
        user, password = ffi.new("uint8_t[]", NAME_MAX), ffi.new("uint8_t[]", NAME_MAX)
        own.serves, own.asks = self._user is None, self._rule.asks
        own.user, own.password = user, password
        try:
            own.user_size = _fill(user, self._user or "")
            own.password_size = _fill(password, self._password)
            rc = int(lib.mm_socket_plain(handle, own))
        finally:
            ffi.buffer(password)[:] = bytes(NAME_MAX)
        raise_for(rc, "giving a socket its user or users")
        if isinstance(self._rule.function, Passwords):
            self._rule.function.serve(handle)

    def _followed(self) -> tuple[Followed, ...]:
        function = self._rule.function
        own = (function,) if isinstance(function, Passwords) and function.path else ()
        return own if self._inside is None else (*own, *self._inside._followed())

    def _dates(self) -> Sequence[Expiry]:
        return () if self._inside is None else self._inside._dates()


def _fill(into: Any, text: str) -> int:
    octets = text.encode("utf-8", "surrogateescape")
    ffi.buffer(into)[: len(octets)] = octets
    return len(octets)


def _check_inside(inside: object, *, serves: bool) -> None:
    """Refuse what hides nothing, or asks on its own who may come in."""
    if inside is None:
        return
    if not isinstance(inside, OverTls):
        raise TypeError(f"inside is {type(inside).__name__}; it is a Tls or a Secret")
    if serves and inside._rule.asks:
        raise UsageError(
            "who may come in is said by allow= of Plain: a server's Tls around it has ca=, or "
            'clients="none", allow=ANYBODY'
        )


def _check(user: object, password: object, allow: object) -> None:
    """Refuse what is neither a server nor a client."""
    for name, given in (("user", user), ("password", password)):
        if given is not None and not isinstance(given, str):
            raise TypeError(f"{name} is {type(given).__name__}; it is a str")
        if isinstance(given, str) and (wrong := wrong_name(given)):
            raise UsageError(f"{name} {wrong}")
    if user is None and password is None:
        if allow is None:
            raise UsageError(
                "who is it? A client has user= and password=; a server says who may come in by "
                "allow=: a mapping of users to passwords, a file of them, a function, or mm.ANYBODY"
            )
        return
    if allow is not None:
        raise UsageError("user= and password= make it a client, and allow= is of servers")
    if not user or password is None:
        raise UsageError("a client has user= and password=, and the user is not empty")


def _rule_of(allow: object) -> Rule:
    if isinstance(allow, Anybody):
        return Rule()
    if isinstance(allow, (Mapping, str, os.PathLike)):
        users = Passwords(allow)
        return Rule(function=users, waits=False, held=users)
    if callable(allow):
        return Rule(function=allow)
    raise UsageError(
        f"allow is {type(allow).__name__}; it is a mapping of users to passwords, the path of a "
        "file of them, a function, or mm.ANYBODY"
    )
