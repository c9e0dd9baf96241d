"""What a TLS policy has in files, for all sockets that have the policy: read again when it changes.

Not here: who looks each second (_socket/door.py). Law: the octets of a private key or a secret are
read, handed to the core and forgotten; a file that is wrong changes nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.data import buffer_of
from meshmsg._binding.errors import UsageError
from meshmsg._security.allow_list import AllowList
from meshmsg._security.certificates.content import ARGUMENTS, wrong_content
from meshmsg._security.certificates.expiry import Expiry
from meshmsg._security.files.believed import not_believed
from meshmsg._security.files.places import file_of
from meshmsg._security.files.safe import read_file, unsafe
from meshmsg._security.files.secret_files import read_secrets
from meshmsg._security.files.told import Told
from meshmsg._security.keys import key_octets

PemSource = str | os.PathLike[str] | bytes
WHY_SIZE = 512
"""Octets of why the core does not take it."""
NOBODYS = bytes(lib.MM_KEY_SIZE)
"""The pin in place of an empty list: no key has this hash."""
DATED = {"certificate": "our certificate", "ca": "the CA"}
"""Parts that end by themselves, and what they are called."""
BELIEVED = {"ca": "who is believed", "crl": "who is believed no more"}
"""Parts that nobody else may be able to change, and what they say."""
_MADE = "`meshmsg keygen NAME --tls` makes NAME.crt and NAME.pem, for cert= and key="
_MAKES = {
    "certificate": _MADE,
    "key": _MADE,
    "ca": 'it is the certificate of who signs, in PEM, or "system"',
    "crl": "it is a list of revoked certificates, in PEM, of who signs",
}
"""What to do if there is no file of a part."""
_SECRET_MADE = "`meshmsg keygen NAME --secret` makes NAME.secret"
Stamp = tuple[int, ...]


class Part(Protocol):
    """One of what the core is given."""

    path: str
    """"": it is in no file."""

    def octets(self) -> bytes:
        """Read it."""
        ...


class Pem:
    """Certificates, a private key or a list of revoked ones, in PEM."""

    def __init__(self, part: str, given: PemSource) -> None:
        if not isinstance(given, (str, os.PathLike, bytes)):
            what = ARGUMENTS[part]
            raise TypeError(f"{what} is {type(given).__name__}; it is a path, or PEM as bytes")
        if given == b"":
            raise UsageError(f"{ARGUMENTS[part]} is empty; it is a path, or PEM as bytes")
        self._part, self._says = part, BELIEVED.get(part, "")
        self.path = (
            "" if isinstance(given, bytes) else file_of(given, ARGUMENTS[part], _MAKES[part])
        )
        self._given = given if isinstance(given, bytes) else b""

    def octets(self) -> bytes:
        """Read it; of a private key only if nobody else can."""
        if not self.path:
            wrong = wrong_content(self._part, self._given, "")
            if wrong:
                raise UsageError(wrong)
            return self._given
        found = read_file(self.path)
        if isinstance(found, str):
            raise UsageError(f"{self.path}{found}")
        if self._says and (why := not_believed(self.path, found[1])):
            raise UsageError(f"{self.path} says {self._says}, and {why}")
        wrong = wrong_content(self._part, found[0], self.path)
        if not wrong and self._part == "key":
            why = unsafe(self.path, found[1], "a private key")
            wrong = f"{self.path}{why}" if why else ""
        if wrong:
            del found
            raise UsageError(wrong)
        return found[0]


class Secrets:
    """Shared secrets."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = file_of(path, "path", _SECRET_MADE)

    def octets(self) -> bytes:
        """Read them, one behind the other."""
        return b"".join(read_secrets(self.path))


class TlsFiles:
    """What the core is given, and the sockets that have it."""

    def __init__(
        self, parts: Mapping[str, Part], plain: Mapping[str, Any], pins: AllowList | None
    ) -> None:
        self._parts, self._plain, self._pins = parts, plain, pins
        self.paths = [part.path for part in parts.values() if part.path]
        self._lock = threading.Lock()
        self._sockets: set[int] = set()
        self._stamps = self._look_at()
        self._told = Told("what was read before stays")
        self._expiries = {
            name: Expiry(what, parts[name].path) for name, what in DATED.items() if name in parts
        }
        for name, part in parts.items():
            octets = part.octets()  # so that what is wrong is said where the policy is made
            if name in DATED:
                self._expiries[name].read(octets)
        if pins is not None:
            pins._follow(self)

    def _look_at(self) -> dict[str, Stamp]:
        states = {path: os.stat(path) for path in self.paths}
        return {
            path: (state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size)
            for path, state in states.items()
        }

    @property
    def shows(self) -> bool:
        """Whether there is what who binds shows of itself."""
        return "certificate" in self._parts or "secrets" in self._parts

    @property
    def believes(self) -> bool:
        """Whether there is what who connects knows a server by."""
        signers = "ca" in self._parts or bool(self._plain.get("system_ca"))
        return signers or "secrets" in self._parts or self._pins is not None

    def serve(self, handle: int) -> None:
        """Protect this socket, from now on.

        Raises:
            UsageError: The core does not take it; why.
        """
        with self._lock:
            self._give(handle)
            self._sockets.add(handle)
            now = lib.mm_wall_ms(handle) / 1000  # of a simulated world, its own
            for expiry in self._expiries.values():
                _tell_expiry(handle, expiry.words(now))
                expiry.note(now)

    def again(self) -> None:
        """The pins have changed, whatever is with the files: what was read of them stays."""
        with self._lock:
            pins, size = buffer_of(self._pin_octets())
            for handle in list(self._sockets):
                rc = lib.mm_socket_tls_pins(handle, pins, size // lib.MM_KEY_SIZE)
                if rc in (lib.MM_ECLOSED, lib.MM_EFORKED):
                    self._sockets.discard(handle)
                else:
                    raise_for(rc, "changing whom a socket believes")

    def look(self, now: float | None = None) -> str:
        """Read the files again if they changed; what is wrong, seldom: "" is nothing.

        now: Seconds since the epoch. Sockets are told of certificates that end soon by then.
        """
        with self._lock:
            wrong = self._read_again()
            for expiry in self._expiries.values():
                words = expiry.due(time.time() if now is None else now)
                for handle in list(self._sockets) if words else ():
                    _tell_expiry(handle, words)
            return wrong

    def dates(self) -> list[Expiry]:
        """What is known of the dates of the certificates."""
        return list(self._expiries.values())

    def _read_again(self) -> str:
        try:
            stamps = self._look_at()
            if stamps == self._stamps and not self._told:
                return ""
            for handle in list(self._sockets):
                self._give(handle)
            for name, expiry in self._expiries.items():
                expiry.read(self._parts[name].octets())
            self._stamps = stamps  # of before they were read
        except (UsageError, OSError) as error:
            return self._told.wrong(error)
        return self._told.right()

    def _give(self, handle: int) -> None:
        opts, why = ffi.new("mm_tls_opts *"), ffi.new("char[]", WHY_SIZE)
        keep = []
        for name, value in self._plain.items():
            if isinstance(value, bytes):
                keep.append(_set(getattr(opts, name), value))
            else:
                setattr(opts, name, value)
        if self._pins is not None:
            keep.append(_set(opts.pins, self._pin_octets()))
        keep += [_set(getattr(opts, name), part.octets()) for name, part in self._parts.items()]
        rc = lib.mm_socket_tls(handle, opts, why, WHY_SIZE)
        for buffer in keep:
            ffi.memmove(buffer, bytes(len(buffer)), len(buffer))
        if rc in (lib.MM_ECLOSED, lib.MM_EFORKED):
            self._sockets.discard(handle)
        elif rc == lib.MM_EINVAL:
            raise UsageError(self._said(ffi.string(why).decode("utf-8", "replace")), code=rc)
        else:
            raise_for(rc, "protecting a socket by TLS")

    def _said(self, words: str) -> str:
        """Put the file in front of what the core says of a part of a policy."""
        part, _, wrong = words.partition(": ")
        if part not in self._parts or part not in ARGUMENTS:
            return f"{', '.join(self.paths) or 'security='}: {words}"
        if part == "key" and self._parts["certificate"].path:
            wrong = f"{wrong} (cert={self._parts['certificate'].path})"
        return f"{ARGUMENTS[part]}={self._parts[part].path}: {wrong}"

    def _pin_octets(self) -> bytes:
        users = self._pins._users if self._pins is not None else ()
        return b"".join(map(key_octets, users)) or NOBODYS


def _tell_expiry(handle: int, words: str) -> None:
    if words:
        lib.mm_certificate_expires(handle, words.encode("utf-8", "surrogateescape"))


def _set(body: Any, octets: bytes) -> Any:
    buffer = ffi.new("uint8_t[]", octets)
    body.data, body.size = buffer, len(octets)
    return buffer
