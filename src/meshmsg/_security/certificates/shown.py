"""What a certificate says of itself, for who reads it: whose it is, who signed it, for which names.

Not here: whether that is believed, which TLS sees to. Law: what is no certificate is a ValueError
or an IndexError, as in der.py; text of others is shown printable.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from meshmsg._security.certificates.der import SEQUENCE, extent, field_of, inside

_ISSUER, _SUBJECT = 2, 4
"""Fields of a certificate by number."""
_EXTENSIONS = 0xA3
_OID, _SET, _OCTETS, _TRUE = 0x06, 0x31, 0x04, b"\x01\x01\xff"
_SAN, _CONSTRAINTS = b"\x55\x1d\x11", b"\x55\x1d\x13"
_EMAIL, _DNS, _URI, _IP = 0x81, 0x82, 0x86, 0x87
_TEXT = (_EMAIL, _DNS, _URI)
_NAMES = {3: "CN", 6: "C", 7: "L", 8: "ST", 10: "O", 11: "OU"}
"""By the last octet of an OID 2.5.4.x: how a part of a name is called."""
_NAME_OID = b"\x55\x04"


def subject_of(der: bytes) -> str:
    """Write whose certificate it is."""
    return _name(field_of(der, _SUBJECT))


def issuer_of(der: bytes) -> str:
    """Write who signed it, as it says; that is itself where both are the same."""
    name = field_of(der, _ISSUER)
    return f"{_name(name)}, itself" if name == field_of(der, _SUBJECT) else _name(name)


def hosts_of(der: bytes) -> list[str]:
    """Return the names of its SAN."""
    found = []
    for one in _values(inside(_extension(der, _SAN) or b"\x30\x00", SEQUENCE)):
        content = one[extent(one)[0] :]
        if one[0] in _TEXT:
            found.append(_printable(content))
        elif one[0] == _IP:
            found.append(str(ipaddress.ip_address(content)))
    return found


def is_ca(der: bytes) -> bool:
    """Whether it may sign others."""
    constraints = _extension(der, _CONSTRAINTS)
    return bool(constraints) and inside(constraints, SEQUENCE).startswith(_TRUE)


def _values(content: bytes) -> Iterator[bytes]:
    """Give each value that stands in one, with its head."""
    while content:
        size = sum(extent(content))
        if size > len(content):
            raise ValueError("the size of a value")
        yield content[:size]
        content = content[size:]


def _extension(der: bytes, oid: bytes) -> bytes:
    """Return the content of an extension, b"" if it is not there."""
    fields = _values(inside(inside(der, SEQUENCE), SEQUENCE))
    field = next((one for one in fields if one[0] == _EXTENSIONS), b"\xa3\x02\x30\x00")
    for one in _values(inside(inside(field, _EXTENSIONS), SEQUENCE)):
        parts = list(_values(inside(one, SEQUENCE)))
        if inside(parts[0], _OID) == oid:
            return inside(parts[-1], _OCTETS)
    return b""


def _name(der: bytes) -> str:
    found = []
    for group in _values(inside(der, SEQUENCE)):
        for one in _values(inside(group, _SET)):
            kind, text = list(_values(inside(one, SEQUENCE)))[:2]
            oid = inside(kind, _OID)
            known = _NAMES.get(oid[-1]) if oid[:-1] == _NAME_OID else None
            if known:
                found.append(f"{known}={_printable(text[extent(text)[0] :])}")
    return ", ".join(found) or "nobody"


def _printable(octets: bytes) -> str:
    return "".join(c if c.isprintable() else "?" for c in octets.decode("utf-8", "replace"))
