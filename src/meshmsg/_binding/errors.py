"""The errors, sorted by what the caller can do about them.

Not here: when they are raised (`_core.raise_for`). Law: every code of the C core has exactly one
class.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any


class MeshError(Exception):
    """Any error of meshmsg.

    Attributes:
        code: The core's error code, 0 when the error was found in Python.
        address: The endpoint it is about, or "".
    """

    def __init__(self, message: str = "", *, code: int = 0, address: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.address = address

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UsageError(MeshError):
    """The call was wrong: wrong state, wrong role, a bad option. Fix the code."""


class InsecureBindError(UsageError):
    """Binding outside loopback was refused, as nothing protects the connections."""


class _Caused(MeshError):
    """Of those that are also an OSError: what the system said, where it said something."""

    # Of the class, so that an instance's own are in its __dict__ and pickled with it, which those
    # of OSError are not.
    errno: int | None = None
    strerror: str | None = None
    filename: Any = None


class AddressError(_Caused, OSError):
    """The address cannot be used: malformed, unknown, in use, not permitted. Fix the address.

    Attributes:
        errno: What the system calls the cause: EADDRINUSE, EADDRNOTAVAIL, EACCES, ENOENT, ENOTDIR,
            ENAMETOOLONG, EROFS, ENXIO (a name that cannot be resolved), EINVAL (malformed).
        strerror: The cause in words.
        filename: The path, of an ipc endpoint; else None.
    """


class WouldBlockError(_Caused, BlockingIOError):
    """It cannot be done now (timeout=0 or overflow="error"). Try later."""

    errno: int | None = errno.EAGAIN


class TimedOutError(_Caused, TimeoutError):
    """Time is up; nothing was sent, nothing was taken.

    Attributes:
        sent: Of a `send_many`: how many messages were sent before.
        unsent: Of a `send_many`: the messages taken from the iterable and not sent, in order.
    """

    errno: int | None = errno.ETIMEDOUT

    def __init__(self, message: str = "", *, code: int = 0, address: str = "") -> None:
        super().__init__(message, code=code, address=address)
        self.sent: int = 0
        self.unsent: list[bytes] = []


class ClosedError(MeshError):
    """The socket or its engine was closed here."""


class EndOfStreamError(MeshError, EOFError):
    """All that there is was received: everybody who sends has said that it sends nothing more."""


class ForkedError(MeshError):
    """The socket was opened before a fork, and this is the child. Open a new one."""


class PeerError(_Caused, ConnectionError):
    """The other side went away, cannot be reached, or broke the protocol.

    Attributes:
        peer: Its identity, b"" when it has none or is not known.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", peer: bytes = b""
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.peer = peer


class RefusedError(PeerError):
    """The peer refused the request: it is there, and will not answer. Asking again is no help.

    Attributes:
        reason: Why, in the peer's words; "" when it gave none.
    """

    def __init__(
        self,
        message: str = "",
        *,
        code: int = 0,
        address: str = "",
        peer: bytes = b"",
        reason: str = "",
    ) -> None:
        super().__init__(message, code=code, address=address, peer=peer)
        self.reason = reason


class UndeliveredError(MeshError):
    """A message was accepted, and will not be acknowledged (`Receipt`, `Receipts`).

    Attributes:
        reason: "expired" (`ttl=`), "attempts" (`max_attempts=`), "dropped" (by the socket, with an
            event), or "unknown": it was written to a peer that cannot acknowledge. Of several
            messages that of the first.
        undelivered: Of `Receipts`: the reason of each message that will not be acknowledged, by
            its index among them, in their order. Of one `Receipt` it is empty.
    """

    def __init__(
        self,
        message: str = "",
        *,
        code: int = 0,
        address: str = "",
        reason: str = "",
        undelivered: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.reason = reason
        self.undelivered: Mapping[int, str] = {} if undelivered is None else undelivered


class TooLargeError(MeshError, ValueError):
    """A message is over a limit.

    Attributes:
        size: What it was, in bytes; 0 when that is not known.
        limit: What it may be, in bytes.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", size: int = 0, limit: int = 0
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.size = size
        self.limit = limit


class OutsideWindowError(MeshError):
    """A message is older than what a dedupe window remembers, so whether it was done is not known.

    Attributes:
        seq: Its number on the connection of its sender.
        floor: Of that connection, nothing up to this number is known any more.
        limit: How many messages the window remembers.
    """

    def __init__(
        self,
        message: str = "",
        *,
        code: int = 0,
        address: str = "",
        seq: int = 0,
        floor: int = 0,
        limit: int = 0,
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.seq = seq
        self.floor = floor
        self.limit = limit


class SpoolError(MeshError):
    """A spool cannot be used, or not so.

    Attributes:
        sent: Of an `append_many`: how many messages were put before.
    """

    def __init__(self, message: str = "", *, code: int = 0, address: str = "") -> None:
        super().__init__(message, code=code, address=address)
        self.sent: int = 0


class SpoolLockedError(SpoolError):
    """Another process, or this one, has the spool open.

    Attributes:
        owner: Which process, on which host, as it wrote down; "" when it did not.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", owner: str = ""
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.owner = owner


class SpoolFullError(SpoolError):
    """A spool has no room: it has as much as it may, or the disk is full. Nothing was harmed."""


class SpoolFailedError(SpoolError):
    """A write or a sync of a spool failed: whether what was not durable is kept nobody knows until
    it is opened again. Nothing more is put until then."""


class SpoolCorruptError(SpoolError):
    """Messages of a spool that were durable are harmed on the disk.

    Attributes:
        first: The first number that is harmed.
        last: The last one; below `first` when that is not known.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", first: int = 0, last: int = 0
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.first = first
        self.last = last


class SpoolTrimmedError(SpoolError):
    """What is to be read was removed from a spool, by retention.

    Attributes:
        seq: The number that was to be read.
        first: The first number that is still there.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", seq: int = 0, first: int = 0
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.seq = seq
        self.first = first


class SpoolAheadError(SpoolError):
    """What is to be read is not durable yet, or does not exist yet.

    Attributes:
        seq: The last number that was asked for.
        stable_seq: The number behind the last that is durable.
    """

    def __init__(
        self,
        message: str = "",
        *,
        code: int = 0,
        address: str = "",
        seq: int = 0,
        stable_seq: int = 0,
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.seq = seq
        self.stable_seq = stable_seq


class SpoolChangedError(SpoolError):
    """A spool is another one than was asked for, or an earlier life of it: its numbers mean other
    messages.

    Attributes:
        uuid: Which one it is.
        epoch: In which life it is.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", uuid: str = "", epoch: int = 0
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.uuid = uuid
        self.epoch = epoch


class ResourceError(_Caused, OSError):
    """The system has no more memory, threads, descriptors, or space on a device.

    Attributes:
        errno: ENOMEM, EMFILE, ENOSPC or EIO.
        strerror: The cause in words.
        filename: The path, where there is one.
    """


CLASSES: dict[str, type[MeshError]] = {
    "MM_EAGAIN": WouldBlockError,
    "MM_ETIMEDOUT": TimedOutError,
    "MM_EINTR": MeshError,
    "MM_ECLOSED": ClosedError,
    "MM_EFORKED": ForkedError,
    "MM_ESTATE": UsageError,
    "MM_ENOTSUP": UsageError,
    "MM_EINVAL": UsageError,
    "MM_EADDRINUSE": AddressError,
    "MM_EADDRINVAL": AddressError,
    "MM_EPERM": AddressError,
    "MM_EINSECURE": InsecureBindError,
    "MM_ECONNREFUSED": PeerError,
    "MM_ECONNRESET": PeerError,
    "MM_EPROTO": PeerError,
    "MM_EHOSTUNREACH": PeerError,
    "MM_EMSGSIZE": TooLargeError,
    "MM_ENOMEM": ResourceError,
    "MM_EMFILE": ResourceError,
    "MM_EIO": ResourceError,
    "MM_EREFUSED": RefusedError,
    "MM_EADDRNOTAVAIL": AddressError,
    "MM_ENOHOST": AddressError,
    "MM_ENOENT": AddressError,
    "MM_ENOTDIR": AddressError,
    "MM_ELOOP": AddressError,
    "MM_ENAMETOOLONG": AddressError,
    "MM_EEXIST": AddressError,
    "MM_EROFS": AddressError,
    "MM_ENOSPC": ResourceError,
    "MM_EFINISHED": EndOfStreamError,
    "MM_ENOROUTE": PeerError,
}

ERRNOS: dict[str, int] = {
    "MM_EADDRINUSE": errno.EADDRINUSE,
    "MM_EADDRINVAL": errno.EINVAL,
    "MM_EPERM": errno.EACCES,
    "MM_EADDRNOTAVAIL": errno.EADDRNOTAVAIL,
    "MM_ENOHOST": errno.ENXIO,
    "MM_ENOENT": errno.ENOENT,
    "MM_ENOTDIR": errno.ENOTDIR,
    "MM_ELOOP": errno.ELOOP,
    "MM_ENAMETOOLONG": errno.ENAMETOOLONG,
    "MM_EEXIST": errno.EADDRINUSE,
    "MM_EROFS": errno.EROFS,
    "MM_ECONNREFUSED": errno.ECONNREFUSED,
    "MM_ECONNRESET": errno.ECONNRESET,
    "MM_EPROTO": errno.EPROTO,
    "MM_EHOSTUNREACH": errno.EHOSTUNREACH,
    "MM_ENOROUTE": errno.EHOSTUNREACH,
    "MM_ENOMEM": errno.ENOMEM,
    "MM_EMFILE": errno.EMFILE,
    "MM_ENOSPC": errno.ENOSPC,
    "MM_EIO": errno.EIO,
    "MM_EREFUSED": errno.ECONNREFUSED,
}
"""What the system calls it, of each code that becomes an AddressError, a PeerError or a
ResourceError.

A file in the way is "in use", as bind(2) says."""
