"""Whatever stands in a file of keys, passwords, secrets, certificates or policies: it is read, or
refused in one line that names the file.

Not here: what a right file says (test_keys.py, test_allow_lists.py, test_users.py,
test_secret_files.py, test_environment.py), who else can read one (test_believed_files.py).
Law: no other exception comes, and none quotes what is secret.
"""

from __future__ import annotations

import base64
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg._binding.errors import AddressError, UsageError
from meshmsg._cli.showing import show
from meshmsg._security.certificates.expiry import validities_of
from meshmsg._security.certificates.pins import pin_of
from meshmsg._security.environment.ini import read_profile
from meshmsg._security.files.key_files import read_keys
from meshmsg._security.files.secret_files import read_secrets, write_secret
from meshmsg._security.passwords import Passwords
from meshmsg._security.public_keys import public_key

MARK = "".join(["5ecret", "Word"])
"""What is secret in the files that are made here; no literal, as those are tried everywhere."""
PUBLIC = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
PRIVATE = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"
"""A pair of keys that manuals have, of which the second is secret."""
SHARED = base64.b64encode(bytes(range(32))).decode()
DER = base64.encodebytes(bytes.fromhex("3082010030820080a003020102"))
PEM = b"-----BEGIN CERTIFICATE-----\n", b"-----END CERTIFICATE-----\n"

KEYS = [
    f'curve\n    public-key = "{PUBLIC}"\n    secret-key = "{PRIVATE}"',
    *["", "#", "metadata", "curve", "    secret-key", "    name = x", "\ufeffcurve"],
    *[f'    public-key = "{PUBLIC}"', f"    public-key = {PRIVATE[:-1]}\u00e9"],
    *[f"    secret-key = {PRIVATE}", f"    secret-key = '{MARK}'", f"    public-key = {MARK}"],
]
ALLOWED = [
    *["", "# no key", f"{PUBLIC} alice", f"{PUBLIC}", f"{PUBLIC} \x07", f"{PUBLIC} {'x' * 256}"],
    *[f"sha256//{SHARED} pinned", "sha256//\u00e9", PRIVATE[:-1], f"{PUBLIC[:-1]}\ufffd bob"],
]
USERS = [
    *["", "#", f"alice={MARK}", f" bob = {MARK}", f"carol={MARK}{'x' * 300}", "=", f"={MARK}"],
    *["dave=", f"\x07={MARK}", f"{MARK}", f"\u2028={MARK}", f"{'e' * 256}={MARK}"],
]
SECRETS = [
    *["", "#", SHARED, base64.b64encode(bytes(32)).decode()] * 3,
    *[SHARED[:-2], f"{MARK}=", SHARED.replace("A", "\u00e9"), f" {SHARED} x"],
]
POLICIES = [
    "[connect]\nmechanism = none",
    *[
        "",
        "[bind]",
        "[connect]",
        "[bind",
        "[]",
        "[other]",
        "[o\rther]",
        "    more",
        "\tmore",
        "=",
        ": x",
    ],
    *["mechanism", "mechanism = x", "[bind]\r[bind]", "%(x)s = 1", "x = %(x)s", "\ufeff[bind]"],
    *[f"mechanism = {name}" for name in ("curve", "plain", "secret", "tls", "local", "none") * 3],
]
ARGUMENTS = {
    "curve": ["key", "server", "allow"],
    "plain": ["user", "password", "allow", "b\rad"],
    "secret": ["path"],
    "tls": ["cert", "key", "ca", "allow", "clients", "names", "crl", "min_version"],
    "local": ["uids", "gids"],
    "none": [],
}
VALUES = [
    *[
        "list",
        "missing",
        "anybody",
        "system",
        "none",
        "1.2",
        "0",
        "root",
        PUBLIC,
        f"sha256//{SHARED}",
    ],
    *["\x00", "a\x00b", "\u0661", "9" * 5000, "x\n    y", "\ufffd", "\udcff" + PUBLIC, "user"],
    *["/", "..", "sha256//x", "-1", "4294967295"],
]


def mixed(known: list[str]) -> st.SearchStrategy[bytes]:
    """Lines that are known there, cut, and octets behind them."""
    line = st.sampled_from(known) | st.text("=#[] \r\x00\x0b\u2028\u00e9ab1", max_size=6)
    text = st.lists(line, max_size=6).map("\n".join).map(encoded)
    return st.one_of(text, st.builds(bytes.__add__, text, st.binary(max_size=4)))


def encoded(text: str) -> bytes:
    """Surrogates are single octets, which are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


@st.composite
def policies(draw: st.DrawFn) -> bytes:
    """Sections with a mechanism, and arguments that it has."""
    parts = []
    for name in draw(st.sampled_from([["bind"], ["connect"], ["bind", "connect"]])):
        mechanism = draw(st.sampled_from(sorted(ARGUMENTS)))
        parts += [f"[{name}]", f"mechanism = {mechanism}"]
        known = ARGUMENTS[mechanism] or ["x"]
        for key in draw(st.lists(st.sampled_from(known), max_size=3, unique=True)):
            parts.append(f"{key} = {draw(st.sampled_from(VALUES))}")
    return encoded("\n".join(parts))


pem = st.one_of(
    st.binary(max_size=60).map(base64.encodebytes), st.binary(max_size=60), st.just(DER[:90])
).map(lambda inner: PEM[0] + inner + PEM[1])
ANY = st.binary(max_size=100)


def given_to_openssl(path: str) -> None:
    """A CA is read by OpenSSL, once a socket that connects has it."""
    mm.Pull(security=mm.Tls(ca=path), connect="tls+tcp://127.0.0.1:1").close()


READERS: dict[str, tuple[Callable[[str], object], st.SearchStrategy[bytes]]] = {
    "keys": (read_keys, mixed(KEYS)),
    "public": (lambda path: public_key(path, "server"), mixed(KEYS) | pem),
    "curve": (lambda path: mm.Curve(key=path, allow=mm.ANYBODY), mixed(KEYS)),
    "allow": (lambda path: mm.Curve(key=mm.keygen(), allow=path), mixed(ALLOWED)),
    "passwords": (Passwords, mixed(USERS)),
    "secrets": (mm.Secret, mixed(SECRETS)),
    "ca": (given_to_openssl, pem),
    "policies": (read_profile, mixed(POLICIES)),
    "arguments": (read_profile, policies()),
    "show": (show, mixed(KEYS) | mixed(ALLOWED) | mixed(SECRETS) | pem),
}
LIBRARIES = {"curve": "curve", "allow": "curve", "secrets": "tls", "ca": "tls"}
"""What some of them need."""
SECRET = {
    "passwords": [MARK],
    "secrets": [MARK, SHARED, SHARED[:-2]],
    "ca": [MARK],
    "policies": [MARK],
    "arguments": [MARK],
}
"""What is not quoted; of all others it is a secret key, or what stands in its place."""


def check_refusal(error: Exception, path: str, secrets: list[str]) -> None:
    """It is one line, names the file, and nothing that is shown of it has what is secret."""
    words = str(error)
    assert path in words
    assert words.isprintable(), ascii(words)
    shown = "".join(traceback.format_exception(error))
    assert [secret for secret in secrets if secret in shown] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that a policy may name, the last of which is secret."""
    (tmp_path / "list").write_text(f"{PUBLIC} alice\n")
    (tmp_path / "secret").touch(0o600)
    (tmp_path / "secret").write_text(f"{MARK}\n")
    (tmp_path / "file").touch(0o600)
    return tmp_path


@pytest.mark.parametrize("name", sorted(READERS))
def test_any_octets_are_read_or_refused_in_one_line(name: str, folder: Path) -> None:
    """Whatever stands in the file."""
    if name in LIBRARIES and not mm.has(LIBRARIES[name]):
        pytest.skip("a library is missing")
    reader, content = READERS[name]
    path = folder / "file"
    outcomes: set[bool] = set()

    @settings(max_examples=150, derandomize=True, database=None)
    @given(ANY | content | content)
    def reads(octets: bytes) -> None:
        path.write_bytes(octets)
        try:
            reader(str(path))
            outcomes.add(True)
        except (UsageError, AddressError) as error:
            check_refusal(error, str(path), SECRET.get(name, [MARK, PRIVATE, PRIVATE[:-1]]))
            outcomes.add(False)

    reads()
    assert outcomes == ({False} if name == "ca" else {True, False})


@settings(max_examples=100, derandomize=True, database=None)
@given(ANY | pem)
def test_what_is_no_certificate_has_no_dates_and_no_pin(octets: bytes) -> None:
    """Whatever it claims to be."""
    assert validities_of(octets) == []
    with pytest.raises(UsageError):
        pin_of(octets)


said = st.text(st.characters(exclude_characters='"'), max_size=9).filter(
    lambda text: text.isprintable() and text == text.strip()
)


@pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
@settings(max_examples=50, derandomize=True, database=None)
@given(st.dictionaries(st.from_regex(r"[A-Za-z0-9._-]{1,9}", fullmatch=True), said, max_size=3))
def test_what_keygen_wrote_is_read_as_it_was(metadata: dict[str, str]) -> None:
    """The pair, and all that was said of it."""
    with TemporaryDirectory() as place:
        name = Path(place, "pair")
        pair = mm.keygen(name, metadata=metadata)
        assert pair.public_file is not None
        assert pair.secret_file is not None
        found, public = read_keys(pair.secret_file), read_keys(pair.public_file)
        assert (found.public, found.secret, found.metadata) == (pair.public, pair.secret, metadata)
        assert (public.public, public.secret) == (pair.public, None)
        assert public.metadata == metadata


def test_secrets_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Of several files, put into one."""
    files = [write_secret(tmp_path / name) for name in ("one", "two", "three")]
    found = [read_secrets(file) for file in files]
    files[0].write_bytes(b"".join(file.read_bytes() for file in files))
    assert read_secrets(files[0]) == sum(found, ())
