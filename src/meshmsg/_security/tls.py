"""TLS as a policy: certificates or pinned keys, and a shared secret in place of both.

Not here: the files (tls_files.py, files/), when a socket takes a policy
(_socket/protection.py). Law: a private key or a secret is in its file and in the core, and nowhere
else for longer than it takes to hand it over.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._security.allow import Allowed, Rule, rule_of
from meshmsg._security.files.places import place_of
from meshmsg._security.policy import Followed, Policy, need
from meshmsg._security.public_keys import of_curve

if TYPE_CHECKING:
    from meshmsg._security.certificates.expiry import Expiry
    from meshmsg._security.tls_files import PemSource, TlsFiles

SCHEMES = ("tls+tcp://", "sp+tls+tcp://")
"""Of endpoints that TLS is for."""
_CLIENTS = {
    "required": lib.MM_CLIENTS_REQUIRED,
    "optional": lib.MM_CLIENTS_OPTIONAL,
    "none": lib.MM_CLIENTS_NONE,
}
_VERSIONS = {"1.3": lib.MM_TLS_1_3, "1.2": lib.MM_TLS_1_2}


class OverTls(Policy):
    """What both have."""

    __slots__ = ("_files",)

    _files: TlsFiles

    def _refusal(self, url: str, *, binds: bool, insecure: bool) -> str:
        if url.startswith(SCHEMES):
            return self._lacks(binds=binds)
        words = (
            f"{type(self).__name__} is for endpoints {' and '.join(f'{one}...' for one in SCHEMES)}"
        )
        return f"{words}: say tls+{url}" if url.startswith("tcp://") else words

    def _lacks(self, *, binds: bool) -> str:
        """Return what this side needs and the policy does not have, and what to do; "" if it has
        all."""
        if binds and not self._files.shows:
            return (
                "who binds shows a certificate, and this Tls has none: say cert= and key= "
                "(`meshmsg keygen NAME --tls` makes both)"
            )
        if not binds and not self._files.believes:
            return (
                "who connects has to know the server, and this Tls does not say by what: say ca= "
                "(who signed its certificate) or allow=[...] (its certificate, or pin)"
            )
        return ""

    def _protect(self, handle: int, opts: Any) -> None:
        self._files.serve(handle)

    def _dates(self) -> Sequence[Expiry]:
        return self._files.dates()

    def _followed(self) -> Sequence[Followed]:
        return (*super()._followed(), *((self._files,) if self._files.paths else ()))


class Tls(OverTls):
    """TLS 1.3: peers prove by certificates who they are, and nobody reads or changes what is sent.

    For `security=` of a socket or an engine, and endpoints `tls+tcp://` and `sp+tls+tcp://`. Peers
    are sockets of this library and, over `sp+tls+tcp://`, of NNG.

    Who is believed: whose certificate `ca` signed, or whose public key is in `allow` (a pin: then
    who signed it, its names and its dates do not matter). Who connects also checks that the
    certificate is for the host of the endpoint, or for one of `names`. There is no default.

    The files are looked at once a second. What is new is for new connections; a connection that it
    would not let in any more is ended (`Reason.REVOKED`). What is wrong changes nothing, and the
    log says so. A certificate or a CA that ends within 14 days is told by an event
    (`EventKind.CERT_EXPIRES`).

    Thread-safe: yes; it is not changed. It is not pickled: hand on the paths of the files.

    Args:
        cert: Our certificate, and those between it and the CA: the path of a PEM file, or PEM as
            bytes. Who binds has one.
        key: Its private key, likewise. A file that others can read is refused.
        ca: Whose signature is believed: the path of a PEM file, PEM as bytes, or "system".
        allow: Who may come in, and by which user id, as of `Curve`; without it, all that `ca`
            signed. Keys are pins: hashes of the keys of certificates. A folder, whose keys are
            those of CURVE, it is not. Without `ca` who connects believes a server by them, too.
        clients: Whether who connects to us has to have a certificate: "required", "optional" or
            "none".
        names: What the certificate of a server may be for, in place of the host of the endpoint:
            DNS names, or URIs such as "spiffe://etl/*".
        crl: Lists of certificates that were revoked: the path of a PEM file, or PEM as bytes. Each
            certificate of a peer's chain needs one of its signer's, but for who is in `ca`.
        min_version: "1.3", or "1.2" for peers that have no newer one.

    Raises:
        UsageError: What is missing or does not fit; a key file that others can read; a file of
            `allow`, `ca` or `crl` that others can change.
        ResourceError: There is no OpenSSL; it says what to install.
        OSError: A file cannot be read.
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        cert: PemSource | None = None,
        key: PemSource | None = None,
        ca: PemSource | None = None,
        allow: Allowed | None = None,
        clients: Literal["required", "optional", "none"] = "required",
        names: Sequence[str] = (),
        crl: PemSource | None = None,
        min_version: Literal["1.2", "1.3"] = "1.3",
    ) -> None:
        need("tls")
        if (cert is None) != (key is None):
            raise UsageError("cert= and key= go together: a certificate, and its private key")
        if ca is None and allow is None:
            raise UsageError(
                "who is believed? Say ca= (who signs the peers' certificates: a PEM file, or "
                '"system"), or allow= (pins of their keys)'
            )
        if ca is None and (names or crl is not None):
            raise UsageError(
                f"{'names' if names else 'crl'}= is of certificates that ca= signed, and there is "
                "no ca=: a key in allow= is believed whatever its certificate says"
            )
        if isinstance(allow, (str, os.PathLike)) and os.path.isdir(allow):
            raise UsageError(
                f"allow is {os.fspath(allow)}, a folder, which has .key files of CURVE; TLS has "
                "pins: paths of certificates, or a file with sha256//... and a user id on each line"
            )
        rule = Rule() if allow is None else rule_of(allow, _check_allowed)
        if ca is None and cert is not None and not rule.asks and clients != "none":
            raise UsageError(
                f"allow=mm.ANYBODY with clients={clients!r}: without ca= no client's certificate "
                'is believed; say clients="none", or ca=, or allow=[...] (certificates, or pins)'
            )
        files = {"certificate": cert, "key": key, "ca": None if ca == "system" else ca, "crl": crl}
        plain = {
            "names": b"".join(name.encode() + b"\0" for name in _names(names)),
            "system_ca": ca == "system",
            "clients": _one_of("clients", clients, _CLIENTS),
            "min_version": _one_of("min_version", min_version, _VERSIONS),
            "asks": rule.asks,
        }
        from meshmsg._security.certificates.content import ARGUMENTS
        from meshmsg._security.tls_files import Pem, TlsFiles  # for who uses it

        for part, given in files.items():  # a secret is not to be at hand where another is wrong
            if isinstance(given, (str, os.PathLike)):
                place_of(given, ARGUMENTS[part])
        pems = {part: Pem(part, given) for part, given in files.items() if given is not None}
        object.__setattr__(self, "_files", TlsFiles(pems, plain, rule.list if ca is None else None))
        said = {"cert": cert, "key": key, "ca": ca, "crl": crl}
        shown = {part: _place(given) for part, given in said.items()}
        self._put(rule, **shown, allow=allow, names=list(names) or None)


class Secret(OverTls):
    """TLS 1.3 with a shared secret: whoever has it is let in, and nobody else reads or changes what
    is sent.

    The shortest way to a protected cluster: one file, the same for all, made by
    `meshmsg keygen NAME --secret`. For `security=` of a socket or an engine, and endpoints
    `tls+tcp://` and `sp+tls+tcp://`. Who of them a peer is cannot be told, but by `security` of a
    `Mesh`, which is one.

    The file has a line for each secret, up to 3: the first is used to connect, all are believed. It
    is looked at once a second, so that it can be changed while connections stay.

    Thread-safe: yes; it is not changed. It is not pickled: hand on the path of the file.

    Args:
        path: The file.

    Raises:
        UsageError: It is no file of secrets, or others can read it.
        ResourceError: There is no OpenSSL; it says what to install.
        OSError: It cannot be read.
    """

    __slots__ = ()

    def __init__(self, path: str | os.PathLike[str]) -> None:
        need("tls")
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path is {type(path).__name__}; it is the path of a file of secrets")
        from meshmsg._security.tls_files import Secrets, TlsFiles  # for who uses it

        place = place_of(path, "path")
        object.__setattr__(self, "_files", TlsFiles({"secrets": Secrets(place)}, {}, None))
        self._put(Rule(), path=place)


class NodeSecret(Secret):
    """The secret of a cluster, of one of its nodes: `security` of a `Mesh`.

    Who listens by it takes whoever has the secret, and knows a node of the mesh that connected by
    it: `user_id` is then its name, "#" and its key, as `Record.user_id` is.

    Thread-safe: yes; it is not changed. It is not pickled: each process makes a node of its own.
    """

    __slots__ = ()

    def __init__(self, secret: Secret, private_key: bytes, name: str) -> None:
        """Take the file of that secret, and this key.

        Args:
            secret: Of the cluster; its file is looked at anew.
            private_key: 32 octets, of X25519.
            name: Of the node, up to 128 octets.

        Raises:
            UsageError, OSError: As of `Secret`.
        """
        from meshmsg._security.tls_files import Secrets, TlsFiles  # for who uses it

        place = secret._files.paths[0]
        own = {"node_key": private_key, "node_name": name.encode("utf-8", "replace")}
        object.__setattr__(self, "_files", TlsFiles({"secrets": Secrets(place)}, own, None))
        self._put(Rule(), path=place)


def _check_allowed(given: object) -> None:
    """Refuse a key of a list that no certificate can have."""
    if what := of_curve(given):
        raise UsageError(
            f"allow has {what} of CURVE, which is for mm.Curve(allow=...); TLS has pins: paths of "
            "certificates, or sha256// and base64"
        )


def _one_of(what: str, value: str, known: dict[str, int]) -> int:
    if value not in known:
        raise UsageError(f"{what} is {value!r}; it is one of {', '.join(known)}")
    return known[value]


def _names(names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError("names is a list of str")
    for name in names:
        if not name.isascii() or not name.isprintable() or name == "":
            raise UsageError(f"names has {name!r}: a DNS name or a URI, in ASCII")
    return names


def _place(given: PemSource | None) -> str | None:
    """What repr shows: no content."""
    if given is None or isinstance(given, str):
        return given
    return "<PEM>" if isinstance(given, bytes) else os.fspath(given)
