"""Who may come in to a server: anybody, a list, a file, or whom a function lets in.

Not here: lists and files themselves, who calls the function (_socket/door.py). Law: only `Allow`
lets anybody in: what else a function comes to, an error included, is `Later`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from meshmsg._binding.errors import UsageError
from meshmsg._binding.metadata import metadata_octets, metadata_of
from meshmsg._binding.record import Record
from meshmsg._security.allow_files import AllowFile, is_list
from meshmsg._security.allow_list import AllowList, check_user_id
from meshmsg._security.keys import KeyPair
from meshmsg._security.public_keys import PublicKey, is_key


class Anybody:
    """Anybody who knows the server's key may come in: `meshmsg.ANYBODY`."""

    def __repr__(self) -> str:
        return "meshmsg.ANYBODY"

    def __reduce__(self) -> str:
        return "ANYBODY"


ANYBODY: Final = Anybody()


@dataclass(frozen=True, eq=False, repr=False)
class Applicant(Record):
    """Who wants to come in, and has proved to have its key, or has said a password.

    Attributes:
        mechanism: How it did: "CURVE", "TLS", "PLAIN", or "TLS+PLAIN".
        key: Its public key, 40 characters of Z85; over TLS the pin of its certificate; "" if it
            has none.
        address: Its address, as seen from here.
        endpoint: Ours, as bound or connected.
        properties: What it says of itself (Socket-Type, Identity, ...); nobody has checked that.
            With PLAIN it has said none yet.
        user: With PLAIN: as whom it wants to come in; nobody has checked that.
        password: With PLAIN: what it has said; not in `repr`. Compare it by
            `hmac.compare_digest`.
        uid: Over ipc: the number of the user at the other side, as the system knows it; else None.
        certificate: Over TLS what it showed as its own, and has the key of: X.509 in DER; b"" if
            none. `ca=`, if there is one, has checked it.
    """

    mechanism: str
    key: str
    address: str
    endpoint: str
    properties: Mapping[str, bytes]
    user: str = ""
    password: str = field(default="", repr=False)
    uid: int | None = None
    certificate: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Allow(Record):
    """It may come in.

    Attributes:
        user_id: What it is known by, at most 255 octets; "" is its key, or its user.
        metadata: More of it, such as {"role": "writer"}, for `message.peer.metadata`: str or bytes
            by name. A name has 1 to 255 octets; all together has at most 4096, with 4 more for
            each name.

    Raises:
        UsageError: It is too long, or not printable.
    """

    user_id: str = ""
    metadata: Mapping[str, str | bytes] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_user_id(self.user_id)
        if self.metadata:
            raw = metadata_octets(self.metadata)  # what is wrong is said where it is made
            object.__setattr__(self, "metadata", MappingProxyType(metadata_of(raw)))


@dataclass(frozen=True, eq=False, repr=False)
class Deny(Record):
    """It may not come in. It is told so, without the reason; libzmq then never tries again.

    Attributes:
        why: In words, for the event at this side.
    """

    why: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Later(Record):
    """It may not come in now. The connection is closed without a word, and the peer tries again.

    Attributes:
        why: In words, for the event at this side.
    """

    why: str = ""


Answer = Allow | Deny | Later
Asked = Callable[[Applicant], Answer | Awaitable[Answer]]
Allowed = (
    Anybody
    | AllowList
    | str
    | os.PathLike[str]
    | KeyPair
    | Iterable[PublicKey]
    | Mapping[PublicKey, str]
    | Asked
)


class Rule:
    """What `allow=` came to: nobody is asked, a list, or a function. It is not changed.

    waits: The function is a user's, which may wait: of an asyncio socket it is called on the loop.
    held: By who calls it, until the answer was given, so that what is revoked is not answered late.
    """

    def __init__(
        self,
        list: AllowList | None = None,
        file: AllowFile | None = None,
        function: Any = None,
        waits: bool = True,
        held: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.list = list
        self.file = file
        self.function = function
        self.waits = waits
        self.held = nullcontext() if held is None else held

    @property
    def asks(self) -> bool:
        """Whether anybody may be refused."""
        return self.list is not None or self.function is not None


def rule_of(allow: Allowed, check: Callable[[object], None]) -> Rule:
    """Return what `allow=` means.

    Args:
        allow: As it was given.
        check: Refuses a key that is given here, and can be nobody's.

    Raises:
        UsageError: It is nothing of that kind, or a file or key is wrong.
        OSError: A file cannot be read.
    """
    if isinstance(allow, Anybody):
        return Rule()
    if isinstance(allow, AllowList):
        return Rule(list=allow)
    if isinstance(allow, KeyPair) or is_key(allow):
        check(allow)
        return Rule(list=AllowList([allow]))  # type: ignore[list-item]
    if isinstance(allow, (str, os.PathLike)):
        file = AllowFile(allow)
        return Rule(list=file.list, file=file)
    if callable(allow):
        return Rule(function=allow)
    if isinstance(allow, Iterable):
        keys = allow if isinstance(allow, Mapping) else list(allow)
        for key in keys:
            _check_lone(key)
            check(key)
        return Rule(list=AllowList(keys))
    raise UsageError(
        f"allow is {type(allow).__name__}; it is mm.ANYBODY, a file, a folder, keys, an "
        "mm.AllowList or a function"
    )


def _check_lone(key: object) -> None:
    """Refuse a folder or a list of keys where a key belongs."""
    if isinstance(key, (str, os.PathLike)) and not is_key(key) and is_list(os.fspath(key)):
        raise UsageError(
            f"allow has {os.fspath(key)}, which is a list of keys itself: say allow={str(key)!r}"
        )
