"""The errors, sorted by what the caller can do about them.

Not here: when they are raised (`_core.raise_for`). Law: every code of the C core has exactly one
class.
"""

from __future__ import annotations


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


class AddressError(MeshError, OSError):
    """The address cannot be used: malformed, unknown, in use, not permitted. Fix the address."""


class WouldBlockError(MeshError, BlockingIOError):
    """It cannot be done now (timeout=0 or overflow="error"). Try later."""


class TimedOutError(MeshError, TimeoutError):
    """Time is up; nothing was sent, nothing was taken.

    Attributes:
        sent: Of a `send_many`: how many messages were sent before.
        unsent: Of a `send_many`: the messages taken from the iterable and not sent, in order.
    """

    def __init__(self, message: str = "", *, code: int = 0, address: str = "") -> None:
        super().__init__(message, code=code, address=address)
        self.sent: int = 0
        self.unsent: list[bytes] = []


class ClosedError(MeshError):
    """The socket or its engine was closed here."""


class ForkedError(MeshError):
    """The socket was opened before a fork, and this is the child. Open a new one."""


class PeerError(MeshError, ConnectionError):
    """The other side went away, cannot be reached, or broke the protocol.

    Attributes:
        peer: Its identity, b"" when it has none or is not known.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", peer: bytes = b""
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.peer = peer


class TooLargeError(MeshError, ValueError):
    """A message is over a limit.

    Attributes:
        size: What it was, in bytes.
        limit: What it may be, in bytes.
    """

    def __init__(
        self, message: str = "", *, code: int = 0, address: str = "", size: int = 0, limit: int = 0
    ) -> None:
        super().__init__(message, code=code, address=address)
        self.size = size
        self.limit = limit


class ResourceError(MeshError, OSError):
    """The system has no more memory, threads or descriptors."""


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
}
