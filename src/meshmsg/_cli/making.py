"""Makes keys: for CURVE, a shared secret, or a certificate of one's own for TLS.

Not here: how their files look (_security). Law: what is secret is in a file of mode 0600, there
whole or not at all, and is not printed; nothing that is there is replaced.
"""

from __future__ import annotations

from pathlib import Path

from meshmsg._binding.errors import UsageError
from meshmsg._cli.certificates import make_certificate
from meshmsg._security.certificates.pins import pin_of
from meshmsg._security.files.key_files import keygen
from meshmsg._security.files.safe import PUBLIC_MODE, SECRET_MODE, write_new
from meshmsg._security.files.secret_files import write_secret
from meshmsg._security.public_keys import pin_text

ENDINGS = (".key", ".key_secret", ".secret", ".crt", ".pem")
"""Of the files that are made."""


def _check_name(name: str) -> None:
    """Refuse a name that would make files whose names begin with a dot, or end twice."""
    for ending in ENDINGS:
        if name.endswith(ending):
            bare = name.removesuffix(ending)
            raise UsageError(f"NAME is {name!r}: say {bare!r}, as the endings are put behind it")
    if not Path(name).name or name.endswith("/"):
        raise UsageError(f"NAME is {name!r}: it is the path of the files, without .key or .secret")
    if not name.isprintable():
        raise UsageError(f"NAME is {name!r}: the names of the files are printable text")


def make_curve(name: str) -> list[str]:
    """Write NAME.key and NAME.key_secret; return what to print."""
    _check_name(name)
    pair = keygen(name)
    return [
        f"{pair.public_file}: the public key, for others: {pair.public}",
        f"{pair.secret_file}: the secret key: nobody else may have it, nor read it",
    ]


def make_secret(name: str) -> list[str]:
    """Write NAME.secret; return what to print."""
    _check_name(name)
    file = write_secret(f"{name}.secret")
    return [f"{file}: a shared secret: whoever has it is let in; copy it by a way that you trust"]


def make_tls(name: str, hosts: list[str], days: int) -> list[str]:
    """Write NAME.crt and NAME.pem, a self-signed certificate and its private key; return what to
    print.

    Raises:
        ResourceError: `cryptography` is not installed.
        UsageError: A host is neither a name nor an IP.
        FileExistsError: One of the files is there.
        OSError: They could not be written.
    """
    _check_name(name)
    certificate, private = Path(f"{name}.crt"), Path(f"{name}.pem")
    for path in (certificate, private):
        if path.exists() or path.is_symlink():
            raise FileExistsError(f"{path} is there already: remove it, or take another name")
    public_text, private_text = make_certificate(Path(name).name, hosts, days)
    write_new(private, lambda: private_text, SECRET_MODE)
    try:
        write_new(certificate, lambda: public_text, PUBLIC_MODE)
    except BaseException:
        private.unlink(missing_ok=True)
        raise
    pin = pin_of(public_text.encode())
    return [
        f"{certificate}: the certificate, for others, of {', '.join(hosts)}; good for {days} days",
        f"    its pin: {pin_text(pin)}",
        f"{private}: the private key: nobody else may have it, nor read it",
    ]
