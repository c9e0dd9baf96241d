"""Seeds as text, for programs that are told them by an option or a command line.

Not here: addresses of mesh ports, which are text as they are (`Static`), when seeds are asked
(asking.py).
"""

from __future__ import annotations

from collections.abc import Callable

from meshmsg._binding.errors import UsageError
from meshmsg.mesh._addresses import PLAIN, PROTECTED
from meshmsg.mesh._finding.beacon import Beacon
from meshmsg.mesh._finding.dns import Dns, DnsSrv
from meshmsg.mesh._finding.seeds import Seed, SharedDir, Static

EXAMPLES = {
    "dns": "dns://nodes.example.com:7450",
    "srv": "srv://_meshmsg._tcp.example.com",
    "dir": "dir:///mnt/shared/nodes",
    "beacon": "beacon://",
}
"""Each kind, as it is written; besides an address, such as tcp://10.0.0.5:7450."""


def parse_seed(text: str) -> Seed:
    """Return the seed that a text names, as `Mesh(seeds=...)` takes it; a text may be an address.

    For programs that look at what they are told before there is a mesh. Thread-safe: yes.

    Args:
        text: "host:port", "tcp://host:port", "dns://name:port", "srv://name", "dir:///path",
            "beacon://" or "beacon://group:port".

    Returns:
        The seed; of an address a `Static`.

    Raises:
        UsageError: It is none of these, or not as it is written.
        TypeError: It is no text.
        ResourceError: It needs a package that is not there (`pip install meshmsg[mesh]`).
    """
    return seed_of(text) or Static([text])


def seed_of(given: str) -> Seed | None:
    """Return the seed that a text names; None: it is an address, or nothing that is known.

    Raises:
        UsageError: It names one, and not as it is written.
        ResourceError: It needs a package that is not there.
    """
    if not isinstance(given, str):
        raise TypeError(f"a seed is {given!r}; it is a text such as {PLAIN}10.0.0.5:7450")
    kind, mark, rest = given.partition("://")
    if not mark or given.startswith((PLAIN, PROTECTED)):
        return None
    made = _KINDS.get(kind)
    if made is None:
        known = ", ".join(EXAMPLES.values())
        raise UsageError(
            f"a seed is {given!r}; it is an address such as {PLAIN}10.0.0.5:7450, or {known}"
        )
    try:
        return made(rest)
    except UsageError as error:
        raise UsageError(
            f"a seed is {given!r}, and such a one is as {EXAMPLES[kind]}: {error}"
        ) from None


def _dns(rest: str) -> Seed:
    name, port = _with_port(rest)
    return Dns(name, port)


def _srv(rest: str) -> Seed:
    return DnsSrv(rest)


def _dir(rest: str) -> Seed:
    if not rest.startswith("/"):
        raise UsageError(f"{rest!r} is no path from / on")
    return SharedDir(rest)


def _beacon(rest: str) -> Seed:
    if not rest:
        return Beacon()
    group, port = _with_port(rest)
    return Beacon(group=group, port=port)


def _with_port(rest: str) -> tuple[str, int]:
    name, _, port = rest.rpartition(":")
    if not name or not (port.isascii() and port.isdigit()):
        raise UsageError(f"{rest!r} has no port behind a colon")
    return name, int(port)


_KINDS: dict[str, Callable[[str], Seed]] = {
    "dns": _dns,
    "srv": _srv,
    "dir": _dir,
    "beacon": _beacon,
}
