"""A secret that is given where the path of its file belongs: refused, and quoted nowhere.

Not here: files that are wrong (test_secret_files.py, test_keys.py).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._cli.program import main
from meshmsg._security.environment.ini import read_profile
from meshmsg._security.files.places import place_of
from tests.support.pairs import of_its_own

pytestmark = pytest.mark.skipif(
    not (mm.has("curve") and mm.has("tls")), reason="no libsodium or no OpenSSL here"
)


class AsPath:
    """A path as it was given, of which pathlib makes another one if it has // or ./ in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __fspath__(self) -> str:
        return self.text


SERVER = mm.keygen() if mm.has("curve") else None
KEY = str(SERVER.secret) if SERVER is not None else ""
LIKE = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
"""A key that has as many signs as most."""
SHARED = base64.b64encode(bytes(range(200, 232))).decode()
PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHVuc2FmZQ==\n-----END PRIVATE KEY-----\n"
PUBLIC: list[Callable[[str], object]] = [
    lambda text: mm.Curve(server=text),
    lambda text: mm.Curve(key=mm.keygen(), allow=text),
    lambda text: mm.Curve(key=mm.keygen(), allow=[text]),
    lambda text: mm.Curve(key=mm.keygen(), allow={text: "alice"}),
    lambda text: mm.AllowList([text]),
    lambda text: mm.AllowList().add(text),
    lambda text: mm.AllowList().remove(text),
    lambda text: mm.AllowList().replace([text]),
    lambda text: text in mm.AllowList(),
    lambda text: mm.Tls(ca=text),
    lambda text: mm.Tls(ca="system", crl=text),
]
"""Where a public key belongs, or what else others may see."""
GIVEN: list[tuple[Callable[[str], object], str]] = [
    (lambda text: mm.Curve(key=text, allow=mm.ANYBODY), KEY + "\n"),
    (lambda text: mm.Curve(key=text, allow=mm.ANYBODY), f'curve\n    secret-key = "{KEY}"\n'),
    (lambda text: mm.Curve(key=[text], allow=mm.ANYBODY), f" {KEY}"),
    (lambda text: mm.Curve(key=text, allow=mm.ANYBODY), KEY),
    (lambda text: mm.Tls(cert="c.crt", key=text, ca="ca.crt"), PEM),
    (lambda text: mm.Tls(cert=text, key="c.pem", ca="ca.crt"), PEM),
    (mm.Secret, SHARED),
    (mm.Secret, SHARED + "\n"),
    *((make, f'curve\n    secret-key = "{KEY}"\n') for make in PUBLIC),
    *((make, KEY + "\n") for make in PUBLIC),
    (lambda text: mm.Curve(server=AsPath(text)), KEY),
    (lambda text: mm.Curve(key=mm.keygen(), allow=AsPath(text)), KEY),
    (lambda text: mm.Plain(allow=text), "alice=correct horse"),
    (lambda text: mm.Plain(allow=text), "alice=correct horse\nbob=battery staple\n"),
]
INI = [
    ("curve", "key", KEY + "\nallow = anybody"),
    ("secret", "path", SHARED),
    ("plain", "password", "hunter2\nuser = alice"),
]


def said_by(error: BaseException | None) -> str:
    """Return the texts of an error, and of those it came from."""
    return "" if error is None else f"{error}\n{said_by(error.__cause__ or error.__context__)}"


@pytest.mark.parametrize(("make", "text"), GIVEN, ids=[f"given{n}" for n in range(len(GIVEN))])
def test_what_is_in_a_file_is_no_path_and_is_not_quoted(
    make: Callable[[str], object], text: str
) -> None:
    """Neither in the error nor in one it came from."""
    with pytest.raises(mm.UsageError) as raised:
        make(text)
    told = said_by(raised.value)
    for word in text.split():
        assert word not in str(raised.value) or len(word) < 4
    assert "path of" in str(raised.value)
    for secret in (KEY, SHARED, "correct horse", "dW5zYWZl"):
        assert secret not in told


@pytest.mark.parametrize(("mechanism", "name", "value"), INI, ids=[row[0] for row in INI])
def test_nor_is_it_in_what_is_said_of_a_file_of_policies(
    mechanism: str, name: str, value: str, tmp_path: Path
) -> None:
    """Which values of it are paths is easily forgotten."""
    file = tmp_path / "security.ini"
    file.write_text(f"[bind]\nmechanism = {mechanism}\n{name} = {value}\n")
    with pytest.raises(mm.UsageError, match="path of the file") as raised:
        read_profile(str(file))
    told = said_by(raised.value)
    assert value.partition("\n")[0] not in told
    assert f"{file}, [bind]: " in str(raised.value)


def test_nor_does_the_doctor_print_it(capsys: pytest.CaptureFixture[str]) -> None:
    """What is on a command line others can see already."""
    assert SERVER is not None
    arguments = ["doctor", of_its_own(), "--server", SERVER.public, "--key", KEY + " "]
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert KEY not in said.err + said.out


@pytest.mark.parametrize("command", [["show"], ["allow", "list"], ["remove", "list"]])
@pytest.mark.parametrize(
    "content", [LIKE + "\n", f'curve\n    secret-key = "{LIKE}"'], ids=["key", "file"]
)
def test_nor_do_the_commands_of_keys(
    command: list[str],
    content: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As by `keys show "$(cat me.key_secret)"`; of a list, too."""
    monkeypatch.chdir(tmp_path)
    Path("list").touch()
    places = [["keys", *command, content]]
    if len(command) > 1:
        assert SERVER is not None
        places.append(["keys", command[0], content, SERVER.public])
    for arguments in places:
        assert main(arguments) == 2
        said = capsys.readouterr()
        assert LIKE not in said.err + said.out
        assert "is no path, but what a file has in it" in said.err


@pytest.mark.parametrize("text", [LIKE[:-1], LIKE + "x", "~" + LIKE[1:], LIKE[:34]])
def test_nor_is_a_key_that_was_mistyped(text: str) -> None:
    """It may be the secret one; what is wrong with it is told."""
    makes: list[Callable[[], object]] = [
        lambda: mm.Curve(server=text),
        lambda: mm.Curve(key=text, allow=mm.ANYBODY),
        lambda: mm.Curve(key=mm.keygen(), allow=text),
        lambda: mm.AllowList([text]),
        lambda: mm.Secret(text),
    ]
    for make in makes:
        with pytest.raises(mm.UsageError) as raised:
            make()
        assert text[5:20] not in said_by(raised.value)
    with pytest.raises(mm.UsageError, match="^server is text, which is no file, and no key in Z85"):
        mm.Curve(server=text)
    with pytest.raises(mm.UsageError, match="^server is '/etc/meshmsg/keys/production/server'"):
        mm.Curve(server="/etc/meshmsg/keys/production/server")


@pytest.mark.parametrize("password", ["hunter2\ud800", "\udfffhunter2", "hunter2" * 40])
def test_a_password_that_is_no_text_is_not_quoted(password: str) -> None:
    """Python's own error would have it."""
    makes: list[Callable[[], object]] = [
        lambda: mm.Plain(user="bob", password=password),
        lambda: mm.Plain(allow={"bob": password}),
    ]
    for make in makes:
        with pytest.raises(mm.UsageError, match="password") as raised:
            make()
        error: BaseException | None = raised.value
        while error is not None:
            assert "hunter2" not in f"{error!r} {vars(error)}"
            error = error.__cause__ or error.__context__


def test_a_key_or_user_that_is_no_text_is_a_usage_error() -> None:
    """Half of a surrogate pair, as JSON may give it."""
    for make in (
        lambda: mm.Curve(server="\ud800"),
        lambda: mm.AllowList({mm.keygen().public: "\ud800"}),
        lambda: mm.Plain(user="\ud800", password="x"),
        lambda: mm.Plain(allow={"\ud800": "x"}),
    ):
        with pytest.raises(mm.UsageError):
            make()


def test_a_file_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is a path."""
    monkeypatch.chdir(tmp_path)
    for name in (KEY.replace("/", "."), SHARED.replace("/", "+"), "two\nlines"):
        Path(name).write_text("")
        assert place_of(name, "it") == name
    with pytest.raises(FileNotFoundError, match=r"keys/server\.key_secret"):
        mm.Curve(key="keys/server.key_secret", allow=mm.ANYBODY)


def test_a_public_key_that_is_the_name_of_a_file_is_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 characters of a path may be a key: who means the file says so."""
    monkeypatch.chdir(tmp_path)
    name = "production-server-public-identity-01.key"
    mm.Curve(server=name)
    public = mm.keygen("ours").public
    Path("ours.key").rename(name)
    with pytest.raises(mm.UsageError, match=r"^server is a key and the name of a file: give pathl"):
        mm.Curve(server=name)
    assert mm.Curve(server=Path(name))._server == public


def test_two_keys_that_are_no_pair_are_refused() -> None:
    """No peer that knows the public one would ever be met."""
    one, other = mm.keygen(), mm.keygen()
    mixed = mm.KeyPair(one.public, other.secret)
    with pytest.raises(mm.UsageError, match="is no pair") as raised:
        mm.Curve(key=mixed, allow=mm.ANYBODY)
    assert str(other.secret) not in str(raised.value)
