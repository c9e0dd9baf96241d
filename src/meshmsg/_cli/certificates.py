"""Certificates that sign themselves.

Not here: what TLS does with them, pins and dates (_security/certificates). Law: making one needs
`cryptography` (the extra [tls]), which is imported when one is made.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from typing import Any

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ResourceError, UsageError

DAYS = 365
"""Days that a certificate is good for, if nothing else is said."""
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
"""A name that a certificate can be for."""
_EARLIER = datetime.timedelta(hours=1)
"""How much before now it begins: clocks differ."""


def make_certificate(name: str, hosts: list[str], days: int) -> tuple[str, str]:
    """Return a certificate that signs itself and its private key (P-256), as PEM.

    Raises:
        ResourceError: `cryptography` is not installed.
        UsageError: A host is neither a name nor an IP, or the days are none.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
    except ImportError as error:
        raise ResourceError(
            "no certificates can be made: cryptography is not installed: pip install meshmsg[tls]; "
            "those of openssl are as good",
            code=lib.MM_ENOTSUP,
        ) from error
    if not 1 <= days <= 36_500:
        raise UsageError(f"a certificate is good for 1 to 36500 days, not {days}")
    for host in hosts:
        _check_host(host)
    try:
        alternatives = [_general_name(x509, host) for host in hosts]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    except ValueError as error:
        raise UsageError(f"no certificate can be for {', '.join(hosts)}: {error}") from None
    private = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.timezone.utc)
    usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(private.public_key()), critical=False
        )
        .sign(private, hashes.SHA256())
    )
    unencrypted = serialization.NoEncryption()
    text = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unencrypted
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), text.decode()


def _check_host(host: str) -> None:
    """Refuse what no endpoint can have as its host."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if not _HOST.fullmatch(host):
            raise UsageError(
                f"--host is {host!r}: it is a name (of A-Z a-z 0-9 . - _), or an IP"
            ) from None


def _general_name(x509: Any, host: str) -> Any:
    """Of a host: its IP, or its name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
