"""When a socket takes its policy: with its first endpoint that leaves the process.

A socket has one policy, as the core has one mechanism a socket: its own, its engine's, or none. Not
here: what is in one (_security/policy.py), who answers for `allow=` (door.py). Law: nothing falls
back: a socket that has a policy and cannot have it for an endpoint raises; the first that has none
where others can reach it is told of in the log.
"""

from __future__ import annotations

import logging
from inspect import iscoroutinefunction
from typing import Any

from meshmsg._binding.addresses import leaves_machine
from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._events.log_records import record_of, records
from meshmsg._security import secret_memory
from meshmsg._security.plain import Plain
from meshmsg._security.policy import NONE, Nothing, Policy, Profile
from meshmsg._socket import door
from meshmsg._socket.state import Guard, State

_MEANT = "security= would protect it, security=meshmsg.NONE says that it is meant; told once"
_BOUND = "lets in anybody who can reach this machine, and hides nothing that is sent"
_CONNECTED = "is not protected: who is on the way can read and change what is sent, or be the peer"
_told: set[bool] = set()
"""Of which it was told: of an endpoint that was bound (true), connected to (false)."""


def guard(self: State, url: object, *, binds: bool) -> None:
    """Protect a socket before it gets this endpoint.

    Raises:
        UsageError: The policy and the endpoint, or those it has, do not agree.
        ResourceError: There is no libsodium, or no thread or memory.
    """
    held = self._guard
    if isinstance(held.given, Nothing) or not isinstance(url, str):
        return
    with self._guard_lock:
        policy = _policy_for(held, url, binds)
        if held.taken is not None and held.taken is not policy:
            raise UsageError(
                f"{url} would have {policy!r}, and the socket's other endpoints have "
                f"{held.taken!r}: a socket has one policy, so open another one",
                address=url,
            )
        why = policy._refusal(
            url, binds=binds, insecure=bool(self._opts.flags & lib.MM_OPT_INSECURE)
        )
        if why:
            raise UsageError(f"{url}: {why}", address=url)
        if held.taken is None:
            _take(self, policy)
        held.taken = policy


def _policy_for(held: Guard, url: str, binds: bool) -> Policy:
    if not url.startswith("inproc:"):
        given = held.given
        if isinstance(given, Profile):
            given = given.bind if binds else given.connect
        return given
    if held.own:
        raise UsageError(
            f"{url} stays within this process and takes no security=: open another socket for it",
            address=url,
        )
    return NONE


def policy_for(self: State, url: str, *, binds: bool) -> Policy:
    """Return what protects, or would, an endpoint of that socket."""
    held = self._guard
    return held.taken if held.taken is not None else _policy_for(held, url, binds)


def _take(self: State, policy: Policy) -> None:
    rule = policy._rule
    loop: Any = None
    if rule.function is not None and rule.waits:
        loop = self._loop_of_events("allow=")
    if loop is None and iscoroutinefunction(rule.function):
        raise UsageError(
            "allow= is a coroutine function; a socket for threads calls a plain one: use "
            "meshmsg.aio"
        )
    simulated = self._slice_ms == 0
    if simulated and rule.function is not None:
        raise UsageError(
            "a function of security= needs a thread, and a simulated world has none: give keys, "
            "a file or an AllowList"
        )
    # In a world nobody looks at files again: a look by the machine's clock is no world's.
    needs_thread = rule.function is not None or (not simulated and len(policy._followed()) > 0)
    policy._protect(self._handle, self._opts)
    secret_memory.tell(self._handle)
    if rule.list is not None:
        rule.list._serve(self._handle)
    if needs_thread:
        door.join(self._engine._handle, self._handle, policy, loop)


def tell_exposed(self: State, url: str, *, binds: bool) -> None:
    """Warn of an endpoint that was bound or connected to, unless that is protected."""
    held = self._guard
    plain = isinstance(held.taken, Plain) and held.taken._inside is None
    if binds in _told or (held.said and not plain) or not leaves_machine(url):
        return
    if self._slice_ms == 0:
        return
    _told.add(binds)
    words = f"{type(self).__name__} {url} {_BOUND if binds else _CONNECTED} ({_MEANT})"
    records.put(record_of(logging.WARNING, words))
