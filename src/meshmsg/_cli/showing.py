"""Tells what is in a file or a folder of keys.

Not here: which files there are (_security). Law: of what is secret it is told only that it is
there.
"""

from __future__ import annotations

import os
import time

from meshmsg._binding.errors import UsageError
from meshmsg._hints.plural import counted
from meshmsg._security.allow_files import parse_list, read_allowed, read_list
from meshmsg._security.certificates.der import certificates_in
from meshmsg._security.certificates.expiry import valid_text, validities_of
from meshmsg._security.certificates.pins import PEM, pin_of
from meshmsg._security.certificates.shown import hosts_of, is_ca, issuer_of, subject_of
from meshmsg._security.files.key_files import read_keys
from meshmsg._security.files.places import place_of
from meshmsg._security.files.secret_files import read_secrets
from meshmsg._security.keys import key_text
from meshmsg._security.public_keys import pin_text

Told = dict[str, object]
SECRET_TEXT = 44
"""Characters of a shared secret: base64 of 32 octets."""


def show(place: str) -> Told:
    """Return what is there: `what` it is, and more by name; lists have `keys`.

    Raises:
        UsageError: It is nothing of that kind, or wrong.
        OSError: It cannot be read.
    """
    place_of(place, "FILE")
    if os.path.isdir(place):
        return _list(read_allowed(place), "a folder of keys that may come in")
    if not os.path.exists(place):
        raise UsageError(f"{place} is not there")
    content = read_list(place)
    if PEM in content:
        return _certificate(place, content)
    if b"PRIVATE KEY-----" in content:
        return {"what": "a private key of TLS, which is not shown"}
    if b"public-key" in content:
        return _keys(place)
    if _has_secret(content):
        count = len(read_secrets(place))
        return {"what": f"{counted(count, 'shared secret')}, not shown"}
    return _list(parse_list(place, content), "a list of keys that may come in")


def _has_secret(content: bytes) -> bool:
    """Whether its first line is no key of a list, and so long as a shared secret."""
    words = (line.strip() for line in content.splitlines())
    first = next((word for word in words if word and not word.startswith(b"#")), b"")
    return len(first) == SECRET_TEXT and first.endswith(b"=")


def _list(users: dict[str, str], what: str) -> Told:
    return {"what": f"{what}: {len(users)}", "keys": users}


def _certificate(place: str, content: bytes) -> Told:
    try:
        pin = pin_of(content)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    what = (
        "a certificate" if content.count(PEM) == 1 else "certificates; the first of them is shown"
    )
    told: Told = {"what": what, "pin": pin_text(pin), "pin in Z85": key_text(pin)}
    told |= _says(next(certificates_in(content)))
    valid = valid_text(validities_of(content), time.time())
    return {**told, "valid": valid} if valid else told


def _says(der: bytes) -> Told:
    """Return what it says of itself; nothing, if that cannot be read."""
    try:
        hosts = ", ".join(hosts_of(der)) or "no host: it has no SAN"
        signs = "others" if is_ca(der) else "nobody"
        told = {"subject": subject_of(der), "issuer": issuer_of(der), "for": hosts, "signs": signs}
    except (ValueError, IndexError):
        return {}
    return dict(told)


def _keys(place: str) -> Told:
    found = read_keys(place)
    what = "a public key for CURVE"
    if found.secret is not None:
        what = "a pair of keys for CURVE, the secret one of which is not shown"
    return {"what": what, "public-key": found.public, **found.metadata}


def lines_of(place: str, told: Told) -> list[str]:
    """Return it as it is printed."""
    lines = [f"{place}: {told['what']}"]
    for name, value in told.items():
        if isinstance(value, dict):
            lines += [
                f"    {key}  {'' if user == key else user}".rstrip() for key, user in value.items()
            ]
        elif name != "what":
            lines.append(f"    {name}: {value}")
    return [printable(line) for line in lines]


def printable(words: str) -> str:
    """Return what a terminal may be given: names and files are made by others, too."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
