"""Certificates for tests, made when they are needed, so that none is kept and none expires.

A folder gets NAME.pem, NAME.key and NAME.pin (the SHA-256 of its public key in hexadecimal) for
each, and `crl.pem`. Not here: tests.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

P_256 = ec.SECP256R1()
DAY = datetime.timedelta(days=1)
SERVER_NAMES = ("peer.example", "127.0.0.1", "::1", "spiffe://etl/server", "*.wild.example")
CLIENT_NAMES = ("spiffe://etl/client",)
SERVES = ExtendedKeyUsageOID.SERVER_AUTH
DIALS = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass
class Entity:
    """A certificate and its key."""

    name: str
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

    def pem(self) -> bytes:
        """Return the certificate alone."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        """Return the key, which is not encrypted."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def pin(self) -> str:
        """Return the SHA-256 of its SubjectPublicKeyInfo."""
        spki = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return hashlib.sha256(spki).hexdigest()


def _san(name: str) -> x509.GeneralName:
    if "://" in name:
        return x509.UniformResourceIdentifier(name)
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def make(
    name: str,
    *,
    by: Entity | None = None,
    names: tuple[str, ...] = (),
    signs: bool = False,
    usage: x509.ObjectIdentifier | None = None,
    days: tuple[float, float] = (-1, 30),
    even: bool = False,
) -> Entity:
    """Make a key and its certificate.

    Args:
        name: Its common name.
        by: Who signs it; itself unless given.
        names: Its subjectAltName: hosts, addresses and URIs.
        signs: Whether it may sign others.
        usage: Its extended key usage; any unless given.
        days: From when to when it is valid, in days from now.
        even: Its key and who signs it are of Ed25519, whose signatures all have one size.
    """
    key: Any = ed25519.Ed25519PrivateKey.generate() if even else ec.generate_private_key(P_256)
    hashed = None if even else hashes.SHA256()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days[0] * DAY)
        .not_valid_after(now + days[1] * DAY)
        .add_extension(x509.BasicConstraints(ca=signs, path_length=None), critical=True)
    )
    if names:
        san = x509.SubjectAlternativeName([_san(each) for each in names])
        builder = builder.add_extension(san, critical=False)
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return Entity(name, builder.sign(key if by is None else by.key, hashed), key)


def revoked(by: Entity, *gone: Entity, days: tuple[float, float] = (-1, 30)) -> bytes:
    """Return the list, in PEM, by which `by` takes back what it signed; days: as of `make`."""
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(by.certificate.subject)
        .last_update(now + days[0] * DAY)
        .next_update(now + days[1] * DAY)
    )
    for each in gone:
        entry = x509.RevokedCertificateBuilder()
        entry = entry.serial_number(each.certificate.serial_number).revocation_date(
            now + days[0] * DAY
        )
        builder = builder.add_revoked_certificate(entry.build())
    hashed = None if isinstance(by.key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(by.key, hashed).public_bytes(serialization.Encoding.PEM)


def write(folder: Path) -> None:
    """Write those that tests of TLS need."""
    ca = make("ca", signs=True)
    between = make("between", by=ca, signs=True)
    gone = make("gone", by=ca, names=CLIENT_NAMES)
    entities = [
        ca,
        make("other_ca", signs=True),
        make("server", by=ca, names=SERVER_NAMES, usage=SERVES),
        make("client", by=ca, names=CLIENT_NAMES, usage=DIALS),
        make("peer.example", by=ca),
        gone,
        make("self", names=("self.example",)),
        make("another"),
    ]
    for each in entities:
        (folder / f"{each.name}.pem").write_bytes(each.pem())
        (folder / f"{each.name}.key").write_bytes(each.key_pem())
        (folder / f"{each.name}.pin").write_text(each.pin(), encoding="ascii")
    far = make("far", by=between, names=SERVER_NAMES)
    (folder / "far.pem").write_bytes(far.pem() + between.pem())
    (folder / "far.key").write_bytes(far.key_pem())
    (folder / "crl.pem").write_bytes(revoked(ca, gone))
