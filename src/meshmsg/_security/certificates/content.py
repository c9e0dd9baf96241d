"""What is in a PEM text, and whether that is what belongs there.

Not here: whether a key is that of its certificate, which the core sees. Law: nothing of the text
is quoted but the kinds of what is in it.
"""

from __future__ import annotations

import re

from meshmsg._security.certificates.der import PUBLIC_KEY, certificates_in, field_of

ARGUMENTS = {"certificate": "cert", "key": "key", "ca": "ca", "crl": "crl"}
"""By part of a policy: the argument that it comes from."""
CERTIFICATE, PRIVATE = "certificate", "private key"
_KINDS = {
    "certificate": CERTIFICATE,
    "key": PRIVATE,
    "ca": CERTIFICATE,
    "crl": "list of revoked certificates",
}
"""By part: what has to be in it."""
_PLACES = {CERTIFICATE: "cert= or ca=", PRIVATE: "key=", _KINDS["crl"]: "crl="}
_LABEL = rb"-----BEGIN ([A-Z0-9 ]{1,40})-----"
_DER = 0x30
"""The first octet of what is no PEM, but what PEM is made of."""
_ENCRYPTED = (b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED")


def wrong_content(part: str, pem: bytes, path: str) -> str:
    """Say what is wrong with what is given for a part of a policy, "" if nothing shows.

    path: Of the file, "" if it is in none.
    """
    where = f"{ARGUMENTS[part]}={path}" if path else f"{ARGUMENTS[part]}=, PEM as bytes,"
    wanted = _KINDS[part]
    kinds = dict.fromkeys(_kind_of(label.decode()) for label in re.findall(_LABEL, pem))
    if wanted not in kinds:
        return f"{where} has {_instead(wanted, list(kinds), pem, path)}"
    if wanted is PRIVATE and any(mark in pem for mark in _ENCRYPTED):
        return (
            f"{where} has a private key that is encrypted, and nobody is asked for a password: "
            f"`(umask 077; openssl pkey -in {path or 'KEY'} -out NEW)` writes it without one"
        )
    if wanted is CERTIFICATE and not _are_certificates(pem):
        return f"{where} has a certificate that is damaged"
    return ""


def _kind_of(label: str) -> str:
    if label.endswith("PRIVATE KEY"):
        return PRIVATE
    if label.endswith("CERTIFICATE"):
        return CERTIFICATE
    if label.endswith("CERTIFICATE REQUEST"):
        return "request for a certificate"
    return _KINDS["crl"] if label == "X509 CRL" else label.lower()


def _instead(wanted: str, kinds: list[str], pem: bytes, path: str) -> str:
    if kinds:
        places = [f"a {one} is for {_PLACES[one]}" for one in kinds if one in _PLACES]
        more = f": {', '.join(places)}" if places else ""
        return f"{' and '.join(f'a {one}' for one in kinds)}, and no {wanted}{more}"
    if b"public-key" in pem:
        return f"a key of CURVE, and no {wanted} in PEM: that is for mm.Curve"
    if pem[:1] == bytes([_DER]):
        kind = {CERTIFICATE: "x509", PRIVATE: "pkey"}.get(wanted, "crl")
        command = f"openssl {kind} -inform der -in {path or 'FILE'} -out NEW"
        return f"no {wanted} in PEM, but perhaps one in DER: `{command}` writes it in PEM"
    return f"no {wanted} in PEM"


def _are_certificates(pem: bytes) -> bool:
    try:
        return all(field_of(der, PUBLIC_KEY) for der in certificates_in(pem))
    except (ValueError, IndexError):
        return False
