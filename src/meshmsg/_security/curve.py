"""CURVE as a policy: which keys a socket has, whose it knows, and who may come in.

Not here: when a socket takes it (_socket/protection.py). Law: a policy is not changed; no text made
of it has a secret; the secret keys stay in it, in the core, and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.data import buffer_of
from meshmsg._binding.errors import UsageError
from meshmsg._security.allow import Allowed, Rule, rule_of
from meshmsg._security.files.key_files import read_keys
from meshmsg._security.files.places import file_of
from meshmsg._security.keys import KeyPair, SecretKey, key_octets, public_of
from meshmsg._security.policy import Policy, need
from meshmsg._security.public_keys import PublicKey, is_key, of_certificates, public_key

KEYS_MAX = 3
"""Pairs of a server that is rotating them."""
IDENTITY_MAX = 220
"""Octets of an identity beside CURVE: other libraries have no room for more."""
KEYS_MADE = "`meshmsg keygen NAME` makes NAME.key_secret, and NAME.key for others"
SecretSource = str | os.PathLike[str] | KeyPair


class Curve(Policy):
    """CURVE, of ZeroMQ: who the peer is, and that nobody reads or changes what is sent.

    For `security=` of a socket or an engine. A server has `key=` and says by `allow=` who may come
    in; a client knows the server by `server=`. Which of them binds does not matter. Sockets of
    libzmq can be either.

    The files are read here, once; but for that of `allow=`, which is looked at once a second.

    Thread-safe: yes; it is not changed. It is not pickled: hand on the paths of the files.

    Args:
        key: Our own secret key: the path of a `.key_secret` file, or a `KeyPair`. Of a server also
            up to 3 of them, tried in turn, while a new one takes the place of an old. A client
            without one gets a new one for each connection, so no server knows it by a list.
        server: Of a client: the server's public key: the path of its `.key` file, 40 characters of
            Z85, or a `KeyPair`.
        allow: Of a server, which has to say it: who may come in. `meshmsg.ANYBODY` who knows our
            public key; the path of a file (lines of a key in Z85 and a user id) or of a folder
            of `.key` files; keys; an `AllowList`; or a function that is called with an
            `Applicant` and returns `Allow`, `Deny` or `Later`, within 5 s. It is called on a
            thread of its own; of asyncio sockets on the loop, and may be a coroutine function.

    Raises:
        UsageError: What is missing, too much or no key; a secret file that others can read; a file
            of `allow` or `server` that others can change.
        OSError: A file cannot be read.
    """

    __slots__ = ("_pairs", "_server")

    _pairs: tuple[KeyPair, ...]
    _server: str

    def __init__(
        self,
        *,
        key: SecretSource | Sequence[SecretSource] | None = None,
        server: PublicKey | None = None,
        allow: Allowed | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "_pairs", _pairs_of(key))
        put(self, "_server", "" if server is None else _server_key(server))
        _check(self._pairs, self._server, allow)
        rule = Rule() if allow is None else rule_of(allow, _check_allowed)
        self._put(rule, server=server, key=key, allow=allow)

    def _refusal(self, url: str, *, binds: bool, insecure: bool) -> str:
        if "tls+" in url.partition("://")[0]:
            return "TLS is not CURVE: say security=mm.Tls(...) or mm.Secret(...), or tcp://"
        if url.startswith("sp+"):
            return "SP has no CURVE; connect without sp+ to a peer that speaks ZMTP"
        return ""

    def _protect(self, handle: int, opts: Any) -> None:
        need("curve")
        if opts.identity_size > IDENTITY_MAX:
            raise UsageError(
                f"the identity has {opts.identity_size} octets; beside CURVE it has at most "
                f"{IDENTITY_MAX}"
            )
        rc = self._hand_over(handle)
        if rc == lib.MM_EINVAL:
            raise UsageError(f"{self!r}: the server's key is none that anybody can have", code=rc)
        raise_for(rc, "protecting a socket by CURVE")

    def _hand_over(self, handle: int) -> int:
        own = ffi.new("mm_curve_opts *")
        try:
            own.serves, own.asks = not self._server, self._rule.asks
            own.secret_count = len(self._pairs)
            for i, pair in enumerate(
                self._pairs
            ):  # by no bytes of Python's, which it does not wipe
                text = buffer_of(pair.secret.encode())
                lib.mm_key_parse(*text, own.secrets + 32 * i, ffi.new("size_t *"))
            if self._server:
                ffi.buffer(own.server)[:] = key_octets(self._server)
            return int(lib.mm_socket_curve(handle, own))
        finally:
            for i in range(KEYS_MAX):
                lib.mm_key_wipe(own.secrets + 32 * i)


def _pairs_of(key: SecretSource | Sequence[SecretSource] | None) -> tuple[KeyPair, ...]:
    if key is None:
        return ()
    if isinstance(key, (str, os.PathLike, KeyPair)):
        return (_pair_of(key),)
    if not isinstance(key, Sequence) or isinstance(key, (bytes, bytearray)):
        raise TypeError(
            f"key is {type(key).__name__}; it is the path of a .key_secret file, a KeyPair, or a "
            "list of those"
        )
    return tuple(map(_pair_of, key))


def _pair_of(key: SecretSource) -> KeyPair:
    if isinstance(key, KeyPair):
        if public_of(key.secret) not in ("", key.public):
            raise UsageError(f"key: {key!r} is no pair: its secret key is another public one's")
        return key
    if isinstance(key, SecretKey) or is_key(key):
        raise UsageError(
            "key is a key itself: give the path of its .key_secret file, or a KeyPair of both keys"
        ) from None
    found = read_keys(file_of(key, "key", KEYS_MADE))
    if found.secret is None:
        raise UsageError(
            f"key: {os.fspath(key)} has a public key only; the secret one is in a .key_secret file"
        )
    return KeyPair(found.public, found.secret)


def _server_key(server: PublicKey) -> str:
    """Return the server's key, which is none of a certificate."""
    key = public_key(server, "server")
    if what := of_certificates(server):
        raise UsageError(
            f"server is {what}, which is for mm.Tls(allow=...); CURVE has keys: the path of the "
            "server's .key file, or 40 characters of Z85"
        )
    return key


def _check_allowed(given: object) -> None:
    """Refuse a key of a list that no client of CURVE can have."""
    if what := of_certificates(given):
        raise UsageError(
            f"allow has {what}, which is for mm.Tls(allow=...); CURVE has keys: paths of .key "
            "files, or 40 characters of Z85"
        )


def _check(pairs: tuple[KeyPair, ...], server: str, allow: object) -> None:
    """Refuse what is neither a server nor a client."""
    if server:
        if allow is not None:
            raise UsageError(
                "server= makes it a client, and allow= is of servers: a client knows its server by "
                "key"
            )
        if len(pairs) > 1:
            raise UsageError(f"key has {len(pairs)}; a client has one")
        return
    if not pairs:
        raise UsageError(
            "who is it? A server has key= (its .key_secret file), a client server= (the server's "
            "public key)"
        )
    if len(pairs) > KEYS_MAX:
        raise UsageError(f"key has {len(pairs)}; a server has at most {KEYS_MAX}")
    if allow is None:
        raise UsageError(
            "who may come in? Say allow=: a file of keys, a folder of .key files, keys, an "
            "mm.AllowList, a function, or mm.ANYBODY (who knows this key). A client says server= "
            "beside key=: the server's public key"
        )
