"""The pin of a certificate: the hash of its public key, by which it is known without who signed it.

Not here: the forms in which pins are given (public_keys.py), what TLS does with certificates. Law:
nothing has to be installed for it; what is no certificate is refused, wherever it is cut.
"""

from __future__ import annotations

from meshmsg._binding.errors import UsageError
from meshmsg._security.certificates.der import PEM as PEM
from meshmsg._security.certificates.der import PUBLIC_KEY, certificates_in, field_of


def pin_of(pem: bytes) -> bytes:
    """Return the pin of the first certificate in PEM: the SHA-256 of its public key's octets.

    Raises:
        UsageError: There is no certificate in it.
    """
    from hashlib import sha256  # which loads OpenSSL: not for who has no certificate

    try:
        return sha256(field_of(next(certificates_in(pem)), PUBLIC_KEY)).digest()
    except (ValueError, IndexError, StopIteration):
        raise UsageError("no certificate is in it, as PEM") from None
