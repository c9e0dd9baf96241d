"""Where a socket listens and connects to, and what it is told when it cannot.

Not here: what a malformed endpoint is told (_binding/addresses.py). Law: what the socket says of
its endpoints is what the core was asked for and did.
"""

from __future__ import annotations

from collections.abc import Callable

from meshmsg._binding.addresses import address_error
from meshmsg._binding.core import error_for, ffi, lib
from meshmsg._binding.data import encode_url
from meshmsg._socket.failures import error_of
from meshmsg._socket.protection import guard, tell_exposed
from meshmsg._socket.signature import verb
from meshmsg._socket.state import State


@verb
def bind(self: State, url: str) -> str:
    """Listen on an endpoint.

    Thread-safe: yes. Looking up a name may take its time.

    Args:
        url: tcp://host:port (port 0 or *: any free one), ipc://path, ipc://@name (no file),
            ipc://* (a fresh path), inproc://name. Over tcp and ipc, a peer's first octet tells
            whether it speaks ZMTP or SP.

    Returns:
        The endpoint as bound, with the port or path that was chosen.

    Raises:
        AddressError: Malformed, unknown, in use or not permitted.
        InsecureBindError: Outside loopback, without `security` or insecure=True.
        UsageError: It does not agree with `security`, or other endpoints of the socket do not.
        ClosedError: The socket was closed.
    """
    out = ffi.new("char[]", lib.MM_ENDPOINT_MAX + 1)
    guard(self, url, binds=True)
    rc = lib.mm_bind(self._handle, encode_url(url), out, len(out))
    if rc == lib.MM_EINSECURE:
        raise error_for(
            rc,
            f"binding {url} would let anybody in who can reach this machine, as nothing "
            f"protects the connections; pass security= (shortest: mm.Secret, at tls+{url}), bind "
            "to 127.0.0.1, or say insecure=True if the network is trusted",
            address=url,
        )
    _check_url(self, rc, f"binding {type(self).__name__} to {url}", url, lib.MM_USE_BIND)
    bound = str(ffi.string(out).decode("utf-8", "surrogateescape"))
    self._bound.append((url, bound))
    tell_exposed(self, bound, binds=True)
    return bound


@verb
def connect(self: State, url: str) -> None:
    """Connect to an endpoint, and again whenever the connection ends.

    Returns at once: connecting goes on in the background (`wait_for_peers`, `events`).

    Thread-safe: yes.

    Args:
        url: tcp://host:port, ipc://path, ipc://@name, inproc://name; for a peer that speaks
            SP (NNG, nanomsg) sp+tcp://host:port, sp+ipc://path.

    Raises:
        AddressError: The endpoint is malformed.
        UsageError: sp+ of a role that SP has not; it does not agree with `security`, or other
            endpoints of the socket do not.
        ClosedError: The socket was closed.
    """
    guard(self, url, binds=False)
    where = encode_url(url)
    check_connected(self, url, noted(self, url, lambda: lib.mm_connect(self._handle, where)))


def connect_node(self: State, url: str, key: bytes, name: str) -> None:
    """Connect to an endpoint where only one node of a mesh may be. Thread-safe: yes.

    Args:
        url: As of `connect`, of a socket whose policy is a `NodeSecret`.
        key: The public key that is to be proved there, of X25519.
        name: Of the node, for `user_id`.

    Raises:
        AddressError, UsageError, ClosedError: As of `connect`.
    """
    guard(self, url, binds=False)
    named = name.encode("utf-8", "replace")
    where = encode_url(url)
    rc = noted(self, url, lambda: lib.mm_connect_node(self._handle, where, key, named))
    check_connected(self, url, rc)


def noted(self: State, url: str, connect: Callable[[], int]) -> int:
    """Note an endpoint and connect to it; return what that came to.

    It is noted first: a peer may be there, or another thread leave it, before the call is over.
    """
    self._connected.append(url)
    rc = connect()
    if rc < 0:
        self._connected.remove(url)
    return rc


def check_connected(self: State, url: str, rc: int) -> None:
    """Raise why an endpoint is not connected to, or tell who may need it that it is."""
    if rc == lib.MM_ENOTSUP:
        raise error_for(rc, f"{type(self).__name__} speaks no SP: {url}", address=url)
    if rc < 0:
        _check_url(self, rc, f"connecting {type(self).__name__} to {url}", url, lib.MM_USE_CONNECT)
    tell_exposed(self, url, binds=False)


@verb
def unbind(self: State, url: str) -> None:
    """Stop listening on an endpoint; who is connected stays.

    Thread-safe: yes.

    Args:
        url: The endpoint, as bound or as it was given to `bind`.

    Raises:
        AddressError: It is not bound.
        ClosedError: The socket was closed.
    """
    rc = lib.mm_unbind(self._handle, encode_url(url))
    places = ", ".join(bound for _, bound in self._bound)
    gone = f"it is not bound here; bound: {places or 'nothing'}"
    _check_url(self, rc, f"unbinding {url}", url, lib.MM_USE_BIND, gone)
    for pair in self._bound:
        if url in pair:
            self._bound.remove(pair)
            break


@verb
def disconnect(self: State, url: str) -> None:
    """Leave the peer at an endpoint: the connection is not made again, and ends within linger.

    What is queued and not begun goes to other peers or is kept for the next, by roles that
    share out; by others it still goes out. See docs/semantics.md, "Closing".

    Thread-safe: yes.

    Args:
        url: The endpoint, as it was given to `connect`.

    Raises:
        AddressError: It is not connected to.
        ClosedError: The socket was closed.
    """
    _leave(self, url, lib.mm_disconnect(self._handle, encode_url(url)))


def leave_node(self: State, url: str) -> None:
    """As `disconnect`, but of what `connect_node` connected, if that is there.

    Raises:
        AddressError, ClosedError: As of `disconnect`.
    """
    _leave(self, url, lib.mm_leave(self._handle, encode_url(url), lib.MM_LEAVE_NODE))


def retire(self: State, url: str) -> None:
    """As `leave_node`, but the connection ends only when nothing is under way there.

    It gets nothing more. What was sent there is read, acknowledged or answered first, as the role
    goes, however long that takes; a peer that is only received from is asked for its last message.

    Raises:
        AddressError, ClosedError: As of `disconnect`.
    """
    how = lib.MM_LEAVE_NODE | lib.MM_LEAVE_LATER
    _leave(self, url, lib.mm_leave(self._handle, encode_url(url), how))


def _leave(self: State, url: str, rc: int) -> None:
    """Note an endpoint that was left, or raise why it was not."""
    gone = f"it is not connected to; connected to: {', '.join(self._connected) or 'nothing'}"
    _check_url(self, rc, f"disconnecting {url}", url, lib.MM_USE_CONNECT, gone)
    if url in self._connected:
        self._connected.remove(url)
    self._left = object()  # behind that: who sees it looks, and must find the endpoint gone
    if self._follows:
        self._outlet.ring()


def _check_url(self: State, code: int, doing: str, url: str, use: int, gone: str = "") -> None:
    """Raise what a call about an endpoint came to; gone: what no such endpoint means."""
    stopped = code == lib.MM_ESTATE and self._stops
    if stopped or code in (lib.MM_ECLOSED, lib.MM_EFORKED):
        raise error_of(self, code, doing, address=url)
    if code < 0:
        raise address_error(code, doing, url, use, gone)
