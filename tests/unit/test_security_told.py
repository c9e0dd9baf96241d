"""What a policy is told that cannot be right: which argument, why, and what to do.

Not here: what a peer is told (test_both_are_told.py), files that others can read or change
(test_believed_files.py).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.certs import Ca, Cert, alone

tls = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
curve = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
BIND, CALL = "tls+tcp://127.0.0.1:0", "tls+tcp://127.0.0.1:9"


@pytest.fixture
def own(tmp_path: Path) -> Cert:
    """A certificate that signs itself."""
    return alone(tmp_path, "own", "127.0.0.1")


def said_by(make: Any, kind: type[BaseException] = mm.UsageError) -> str:
    """Return the words of the error that comes of it."""
    with pytest.raises(kind) as caught:
        make()
    return str(caught.value)


@tls
def test_who_binds_without_a_certificate_is_told_of_cert(own: Cert, tmp_path: Path) -> None:
    """Also where the Tls is around passwords, or has pins only."""
    users = tmp_path / "users"
    users.touch(0o600)
    users.write_text("alice=correct horse\n")
    alone_with_ca = mm.Tls(ca=own.cert)
    for policy in (
        alone_with_ca,
        mm.Tls(allow=[own.cert]),
        mm.Plain(allow=users, inside=alone_with_ca),
    ):
        said = said_by(lambda policy=policy: mm.Pull(bind=BIND, security=policy))
        assert said.startswith(f"{BIND}: who binds shows a certificate")
        assert "say cert= and key= (`meshmsg keygen NAME --tls`" in said


@tls
def test_who_connects_and_knows_no_server_is_told_of_ca_and_allow(own: Cert) -> None:
    """As with a server's policy, or the word for anybody."""
    served = mm.Tls(**own.files, clients="none", allow=mm.ANYBODY)
    asks = mm.Tls(**own.files, allow=lambda _: mm.Allow())
    for policy in (
        served,
        asks,
        mm.Tls(allow=mm.ANYBODY),
        mm.Plain(user="alice", password="x", inside=served),
    ):
        said = said_by(lambda policy=policy: mm.Push(connect=CALL, security=policy))
        assert said.startswith(f"{CALL}: who connects has to know the server")
        assert "say ca= (who signed its certificate) or allow=[...]" in said


@tls
def test_what_cannot_be_said_together_is_told_as_the_policy_is_made(own: Cert) -> None:
    """By the names of the arguments."""
    for more in ({"names": ["a.example"]}, {"crl": own.cert}):
        [name] = more
        said = said_by(lambda more=more: mm.Tls(allow=[own.cert], **more))
        assert said.startswith(f"{name}= is of certificates that ca= signed")
    for clients in ("required", "optional"):
        said = said_by(
            lambda clients=clients: mm.Tls(**own.files, allow=mm.ANYBODY, clients=clients)
        )
        assert 'say clients="none", or ca=, or allow=[...]' in said


@tls
def test_files_that_stand_for_each_other_are_told_by_what_is_in_them(own: Cert) -> None:
    """And not by who may read them."""
    own.cert.chmod(0o644)
    swapped = said_by(lambda: mm.Tls(cert=own.key, key=own.cert, ca=own.cert))
    assert swapped == (
        f"cert={own.key} has a private key, and no certificate: a private key is for key="
    )
    twice = said_by(lambda: mm.Tls(cert=own.cert, key=own.cert, ca=own.cert))
    assert twice == (
        f"key={own.cert} has a certificate, and no private key: a certificate is for cert= or ca="
    )
    signer = said_by(lambda: mm.Tls(ca=own.key))
    assert signer.startswith(f"ca={own.key} has a private key, and no certificate")
    listed = said_by(lambda: mm.Tls(ca=own.cert, crl=own.cert))
    assert listed.startswith(f"crl={own.cert} has a certificate, and no list of revoked")
    given = said_by(lambda: mm.Tls(ca=own.key.read_bytes()))
    assert given.startswith("ca=, PEM as bytes, has a private key")
    assert "BEGIN" not in given


@tls
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has no certificate in PEM"),
        (b"hello", "has no certificate in PEM"),
        (b"\x30\x82\x01\x00", "openssl x509 -inform der"),
        (b'curve\n public-key = "x"\n', "a key of CURVE, and no certificate in PEM"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "has a certificate that is damaged",
        ),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n", "has a certificate that is damaged"),
        (
            b"-----BEGIN CERTIFICATE REQUEST-----\n",
            "has a request for a certificate, and no certificate",
        ),
    ],
)
def test_what_is_no_certificate_is_told_as_the_policy_is_made(
    tmp_path: Path, content: bytes, words: str
) -> None:
    """The file that is wrong alone is named."""
    path = tmp_path / "some.pem"
    path.write_bytes(content)
    said = said_by(lambda: mm.Tls(ca=path))
    assert said.startswith(f"ca={path} has ")
    assert words in said


@tls
@pytest.mark.parametrize(
    "head",
    [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n",
    ],
)
def test_an_encrypted_key_is_told_with_the_command(own: Cert, head: str) -> None:
    """That writes it without a password."""
    own.key.write_text(head)
    said = said_by(lambda: mm.Tls(**own.files, ca=own.cert))
    assert f"`(umask 077; openssl pkey -in {own.key} -out NEW)`" in said


@tls
def test_only_the_file_that_is_wrong_is_named(tmp_path: Path, own: Cert) -> None:
    """Of a key that is another's, the certificate as well."""
    other = alone(tmp_path, "other", "127.0.0.1")
    policy = mm.Tls(cert=own.cert, key=other.key, ca=Ca(tmp_path).file)
    said = said_by(lambda: mm.Pull(bind=BIND, security=policy))
    assert said == f"key={other.key}: it is not the key of the certificate (cert={own.cert})"


def test_a_path_where_nothing_is_is_told_by_its_argument(tmp_path: Path, own: Cert) -> None:
    """With what makes such a file; and so is one that is empty."""
    gone = str(tmp_path / "gone")
    cases: list[tuple[str, Any, str]] = [
        ("key", lambda path: mm.Curve(key=path, allow=mm.ANYBODY), "`meshmsg keygen NAME` makes"),
        ("allow", lambda path: mm.Curve(key=mm.keygen(), allow=path), "`meshmsg keys allow`"),
        ("allow", lambda path: mm.Plain(allow=path), "user=password"),
    ]
    if mm.has("tls"):
        cases += [
            ("cert", lambda path: mm.Tls(cert=path, key=own.key, ca="system"), "--tls` makes"),
            ("key", lambda path: mm.Tls(cert=own.cert, key=path, ca="system"), "--tls` makes"),
            ("ca", lambda path: mm.Tls(ca=path), "in PEM"),
            ("crl", lambda path: mm.Tls(ca="system", crl=path), "in PEM"),
            ("path", mm.Secret, "--secret` makes"),
        ]
    for name, make, words in cases:
        if name in ("key", "allow") and not mm.has("curve"):
            continue
        said = said_by(lambda make=make: make(gone), FileNotFoundError)
        assert f"{name}= names what is not there" in said
        assert words in said
        assert gone in said
        said = said_by(lambda make=make: make(""))
        assert said.startswith(f'{name} is "", and it is a path: ')


@curve
def test_one_key_where_a_list_belongs_is_told_how_it_is_said(
    tmp_path: Path, own: Cert, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a list where a key belongs."""
    monkeypatch.chdir(tmp_path)
    pair = mm.keygen("alice")
    server = mm.keygen()
    said = said_by(lambda: mm.Curve(key=server, allow="alice.key"))
    assert said.endswith("say allow=['alice.key']")
    if mm.has("tls"):
        said = said_by(lambda: mm.Tls(**own.files, allow=own.cert))
        assert said.endswith(f"say allow=[{str(own.cert)!r}]")
    os.mkdir("allowed")
    Path("allowed.txt").write_text(f"{pair.public} alice\n")
    for name in ("allowed", "allowed.txt"):
        said = said_by(lambda name=name: mm.Curve(key=server, allow=[name]))
        assert said == f"allow has {name}, which is a list of keys itself: say allow={name!r}"


@curve
def test_a_secret_file_where_a_public_one_belongs_is_refused(tmp_path: Path) -> None:
    """As its text is; the public one beside it is named."""
    pair = mm.keygen(tmp_path / "server")
    for make in (
        lambda: mm.Curve(server=pair.secret_file),
        lambda: mm.Curve(key=pair, allow=[pair.secret_file]),
        lambda: mm.AllowList([pair.secret_file]),
    ):
        said = said_by(make)
        assert said.endswith(f"a file with a secret key: give the public one ({pair.public_file})")
    pair.public_file.unlink()  # type: ignore[union-attr]
    assert said_by(lambda: mm.Curve(server=pair.secret_file)).endswith("give the public one")


@curve
def test_a_client_without_its_server_is_told_of_both() -> None:
    """What makes it a client, and what a server would say."""
    said = said_by(lambda: mm.Curve(key=mm.keygen()))
    assert "who may come in? Say allow=" in said
    assert said.endswith("A client says server= beside key=: the server's public key")


def test_an_endpoint_of_tls_is_told_which_policies_it_takes(tmp_path: Path) -> None:
    """Without one, and with CURVE."""
    for make in (lambda: mm.Pull(bind=BIND), lambda: mm.Push(connect=CALL)):
        said = said_by(make, mm.AddressError)
        assert said.endswith(
            "TLS needs security=mm.Tls(...) or mm.Secret(...), and this socket has neither"
        )
    if mm.has("curve"):
        policy = mm.Curve(server=mm.keygen())
        for url in (CALL, f"sp+{CALL}"):
            said = said_by(lambda url=url: mm.Push(connect=url, security=policy))
            assert said.startswith(
                f"{url}: TLS is not CURVE: say security=mm.Tls(...) or mm.Secret"
            )
    if mm.has("tls"):
        secret = mm.Secret(write_secret(tmp_path / "secret"))
        assert "Secret is for endpoints tls+tcp://" in said_by(
            lambda: mm.Push(connect="tcp://127.0.0.1:9", security=secret)
        )
