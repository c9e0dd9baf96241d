"""Messages that are acknowledged: what a Push and a Pull are asked for, and the messages that say
themselves when they are done; and what `routing=` of a Push may be.

Not here: what is kept until then (csrc/queue/unacked.h), who has a key (csrc/queue/route.h), the
forms of the roles (forms.py). Law: nothing here waits; what cannot be acknowledged any more says so
by False, and is no error.
"""

from __future__ import annotations

import weakref
from typing import Any, Literal

from meshmsg._binding.core import lib, native
from meshmsg._binding.errors import ClosedError, UsageError
from meshmsg._binding.message import FullMessage, message_class

Delivery = Literal["at_most_once", "at_least_once"]
Ack = Literal["auto", "manual"]
Routing = Literal["round_robin", "least_loaded", "hash"]

_ROUTING: dict[str, int] = {
    "round_robin": 0,
    "least_loaded": lib.MM_OPT_LEAST_LOADED,
    "hash": lib.MM_OPT_HASH,
}


class LeasedMessage(FullMessage):
    """A message of a Pull, or of a Sub in a group, with `ack="manual"`: it is its receiver's until
    that says it is done."""

    _pull: Any = None  # a weak reference to the socket; in the class of each

    def _settle(self, call: Any, *more: int) -> bool:
        pull = self._pull()
        if pull is None:
            raise ClosedError("the socket of this message is gone", code=lib.MM_ECLOSED)
        if self._lease is None:
            return False
        rc = int(call(pull._handle, self._lease[0], self._lease[1], *more))
        if rc < 0:
            pull._check(rc, "settling a message")
        return rc > 0


def leased_form(socket: object, first: str = "lease") -> Any:
    """What the messages of a receiver are made of that are acknowledged by hand.

    `first` is what the first of several frames is: of a Pull a frame as others, of a Sub the topic.
    """
    own = type("LeasedMessage", (LeasedMessage,), {"_pull": weakref.ref(socket)})
    own.__module__ = LeasedMessage.__module__
    return native.form(message_class, own, first)


def delivery_flags(delivery: str | None, *, spooled: bool) -> int:
    """Return the option bits of a Push; spooled: it has a spool."""
    if spooled and delivery == "at_most_once":
        raise UsageError(
            "delivery is 'at_most_once'; with spool= it is 'at_least_once': what is in the spool "
            "goes out until it is acknowledged"
        )
    if delivery is None:
        delivery = "at_least_once" if spooled else "at_most_once"
    if not isinstance(delivery, str) or delivery not in ("at_most_once", "at_least_once"):
        raise UsageError(f"delivery is {delivery!r}; it is 'at_most_once' or 'at_least_once'")
    return int(lib.MM_OPT_AT_LEAST_ONCE) if delivery == "at_least_once" else 0


def routing_flags(routing: str) -> int:
    """Return the option bits of a Push."""
    if not isinstance(routing, str) or routing not in _ROUTING:
        known = "'round_robin', 'least_loaded' or 'hash' (messages of one key= to one worker)"
        raise UsageError(f"routing is {routing!r}; it is {known}")
    return _ROUTING[routing]


def ack_flags(ack: str) -> int:
    """Return the option bits of a Pull."""
    if ack not in ("auto", "manual"):
        raise UsageError(f"ack is {ack!r}; it is 'auto' or 'manual'")
    return int(lib.MM_OPT_ACK_MANUAL) if ack == "manual" else 0


def check_prefetch(prefetch: int | None) -> int:
    """Refuse what is no number of messages; None is the core's default, 0."""
    if prefetch is None:
        return 0
    most = lib.MM_PREFETCH_MAX
    if isinstance(prefetch, bool) or not isinstance(prefetch, int) or not 1 <= prefetch <= most:
        raise UsageError(f"prefetch is {prefetch!r}; it is a whole number from 1 to {most:,}")
    return prefetch
