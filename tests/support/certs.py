"""Certificates in files, as policies take them: who signs is a `Ca`.

Not here: how one is made (certificates.py), what is done with them.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.certificates import Entity, make, revoked


@dataclass(frozen=True)
class Cert:
    """A certificate, and where it and its key are, in PEM."""

    entity: Entity
    cert: Path
    key: Path

    @property
    def pin(self) -> str:
        """The hash of its public key, as other programs write it."""
        return f"sha256//{base64.b64encode(bytes.fromhex(self.entity.pin())).decode()}"

    @property
    def files(self) -> dict[str, Path]:
        """As arguments of a policy."""
        return {"cert": self.cert, "key": self.key}


def written(folder: Path, entity: Entity) -> Cert:
    """Write it to files named as it is; those of before are replaced, as a renewal does it."""
    cert, key = folder / f"{entity.name}.pem", folder / f"{entity.name}.key.pem"
    for path, content in ((key, entity.key_pem()), (cert, entity.pem())):
        beside = path.with_suffix(".new")
        beside.touch(0o600)
        beside.write_bytes(content)
        beside.replace(path)
    return Cert(entity, cert, key)


class Ca:
    """Who signs."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._entity = make(name, signs=True)
        self.file = written(folder, self._entity).cert

    def sign(self, name: str, *names: str, **more: Any) -> Cert:
        """Make a certificate for these names; more: as of `make`."""
        return written(self._folder, make(name, by=self._entity, names=names, **more))

    def revoke(self, *certs: Cert) -> Path:
        """Write the list of those that are believed no more."""
        path = self.file.with_suffix(".crl")
        path.write_bytes(revoked(self._entity, *(one.entity for one in certs)))
        return path


def alone(folder: Path, name: str, *names: str) -> Cert:
    """A certificate that its own key signed."""
    return written(folder, make(name, names=names))
