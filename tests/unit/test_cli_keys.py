"""`meshmsg keygen` and `meshmsg keys`: as functions, and as a process.

Not here: `meshmsg doctor` (test_cli_doctor.py), the files themselves (test_keys.py).
"""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._cli import lists
from meshmsg._cli.codes import Code
from meshmsg._cli.program import main
from meshmsg._security.allow_files import read_allowed
from meshmsg._security.certificates.pins import pin_of
from meshmsg._security.certificates.shown import hosts_of, is_ca, issuer_of, subject_of
from meshmsg._security.files.secret_files import read_secrets
from tests.support.certs import Ca, alone
from tests.support.pairs import WAIT_S, of_its_own, wait_until

curve = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
Told = pytest.CaptureFixture[str]
DASHED = "-" + "0" * 39
"""A key that begins as an option does."""


def mode_of(path: Path) -> int:
    """What group, others and the owner may do."""
    return stat.S_IMODE(path.stat().st_mode)


@curve
def test_keygen_writes_a_pair_and_prints_only_what_others_may_know(
    tmp_path: Path, capsys: Told
) -> None:
    """The second time it refuses."""
    assert main(["keygen", str(tmp_path / "alice")]) == Code.OK
    told = capsys.readouterr().out
    public = mm.Curve(server=tmp_path / "alice.key")._server
    assert public in told
    secret = (tmp_path / "alice.key_secret").read_text().partition('secret-key = "')[2][:40]
    assert secret not in told
    pair = tmp_path / "alice.key_secret"
    for place in (pair, tmp_path / "alice.key"):
        assert main(["keys", "show", str(place), "--json"]) == Code.OK
        told = capsys.readouterr().out
        assert secret not in told
        assert json.loads(told)[str(place)]["public-key"] == public
    pair.chmod(0o640)
    assert main(["keys", "show", str(pair)]) == Code.USAGE
    told = capsys.readouterr().err
    assert "chmod 600" in told
    assert secret not in told
    pair.chmod(0o600)
    assert mode_of(tmp_path / "alice.key_secret") == 0o600
    assert main(["keygen", "--curve", str(tmp_path / "alice")]) == Code.FAILED
    assert "is there already" in capsys.readouterr().err


def test_keygen_writes_a_shared_secret(tmp_path: Path, capsys: Told) -> None:
    """For one's own eyes only."""
    assert main(["keygen", str(tmp_path / "cluster"), "--secret"]) == Code.OK
    path = tmp_path / "cluster.secret"
    [secret] = read_secrets(path)
    assert len(secret) == 32
    assert mode_of(path) == 0o600
    assert main(["keys", "show", str(path)]) == Code.OK
    told = capsys.readouterr().out
    assert "1 shared secret, not shown" in told
    assert base64.b64encode(secret).decode() not in told


def test_keygen_makes_a_certificate_whose_pin_is_that_of_its_key(
    tmp_path: Path, capsys: Told
) -> None:
    """For names and IPs; `keys show` and `keys allow` know the pin."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    from cryptography import x509

    options = ["--tls", "--host", "a.example", "--host", "10.0.0.1", "--days", "3"]
    assert main(["keygen", str(tmp_path / "server"), *options]) == Code.OK
    path = tmp_path / "server.crt"
    assert mode_of(tmp_path / "server.pem") == 0o600
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.example"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]
    private = serialization.load_pem_private_key((tmp_path / "server.pem").read_bytes(), None)
    assert private.public_key() == certificate.public_key()
    from cryptography.hazmat.primitives.hashes import SHA256, Hash

    digest = Hash(SHA256())
    digest.update(
        certificate.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    pin = digest.finalize()
    assert pin_of(path.read_bytes()) == pin
    shown = "sha256//" + base64.b64encode(pin).decode()
    assert shown in capsys.readouterr().out
    allowed = tmp_path / "allowed"
    allowed.touch()
    assert main(["keys", "allow", str(allowed), str(path)]) == Code.OK
    assert main(["keys", "remove", str(allowed), shown]) == Code.OK
    assert main(["keys", "show", str(path), str(tmp_path / "server.pem")]) == Code.OK
    told = capsys.readouterr().out
    assert shown in told
    for line in (
        "subject: CN=server",
        "issuer: CN=server, itself",
        "for: a.example, 10.0.0.1",
        "signs: others",
    ):
        assert f"    {line}\n" in told
    assert "a private key of TLS, which is not shown" in told
    assert main(["keygen", str(tmp_path / "server"), "--tls"]) == Code.FAILED
    assert main(["keygen", str(tmp_path / "x"), "--tls", "--days", "0"]) == Code.USAGE
    for host in ("\xe9", "bad host", "a..b", "", "::zz", "https://a.example"):
        assert main(["keygen", str(tmp_path / "x"), "--tls", "--host", host]) == Code.USAGE
    assert not list(tmp_path.glob("x.*"))


def test_a_certificate_says_whose_it_is_and_who_signed_it(tmp_path: Path, capsys: Told) -> None:
    """And for which hosts; one without a SAN is for none."""
    ca = Ca(tmp_path)
    for one, names in (
        (ca.sign("server", "a.example", "127.0.0.1", "spiffe://etl/a"), "a.example, "),
        (ca.sign("client"), "no host: it has no SAN"),
    ):
        assert main(["keys", "show", "--json", str(one.cert)]) == Code.OK
        told = json.loads(capsys.readouterr().out)[str(one.cert)]
        assert (told["subject"], told["issuer"]) == (f"CN={one.entity.name}", "CN=ca")
        assert told["for"].startswith(names)
        assert told["signs"] == "nobody"
    assert main(["keys", "show", "--json", str(ca.file)]) == Code.OK
    told = json.loads(capsys.readouterr().out)[str(ca.file)]
    assert (told["issuer"], told["signs"]) == ("CN=ca, itself", "others")


def test_however_a_certificate_is_cut_it_is_shown_or_refused(tmp_path: Path) -> None:
    """No octet of it is looked for where there is none."""
    der = ssl.PEM_cert_to_DER_cert(alone(tmp_path, "one", "a.example").cert.read_text())
    for at in range(len(der)):
        for some in (der[:at], der[:at] + bytes([der[at] ^ 0xFF]) + der[at + 1 :]):
            for look in (subject_of, issuer_of, hosts_of, is_ca):
                with suppress(ValueError, IndexError):
                    look(some)


def test_without_cryptography_it_says_what_to_install(
    tmp_path: Path, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And how else; nothing is written."""
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert main(["keygen", str(tmp_path / "server"), "--tls"]) == Code.MISSING
    assert "pip install meshmsg[tls]" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [0, 10, 40, 100])
def test_what_is_no_certificate_has_no_pin(cut: int) -> None:
    """However much of one it is."""
    begin, end = b"-----BEGIN CERTIFICATE-----\n", b"\n-----END CERTIFICATE-----\n"
    octets = b"\x30\x82\x01\x00\x30\x81\xf0\xa0\x03\x02\x01\x02" + b"\x02" * 90
    for pem in (begin + base64.b64encode(octets[:cut]) + end, begin, b"", octets):
        with pytest.raises(mm.UsageError, match="no certificate"):
            pin_of(pem)


@curve
def test_a_list_keeps_its_comments_its_order_and_its_mode(tmp_path: Path, capsys: Told) -> None:
    """It is replaced whole: who reads it sees the old one or the new one."""
    alice, bob, eve = (mm.keygen(tmp_path / name) for name in ("alice", "bob", "eve"))
    place = tmp_path / "allowed"
    first = f"# who\r\n\n{bob.public}   bob of B\n# to go\n{eve.public} eve"
    place.write_bytes(first.encode())
    place.chmod(0o640)
    before = place.stat().st_ino
    (tmp_path / "link").symlink_to(place)
    link = str(tmp_path / "link")
    assert main(["keys", "allow", link, str(alice.public_file)]) == Code.OK
    assert place.read_bytes().decode() == f"{first}\n{alice.public} alice\n"
    assert mode_of(place) == 0o640
    assert place.stat().st_ino != before
    assert (tmp_path / "link").is_symlink()
    assert main(["keys", "remove", link, eve.public]) == Code.OK
    assert main(["keys", "allow", link, bob.public, "bob"]) == Code.OK
    assert place.read_bytes().decode() == (
        f"# who\r\n\n{bob.public} bob\n# to go\n{alice.public} alice\n"
    )
    capsys.readouterr()
    state = place.stat()
    assert main(["keys", "allow", link, bob.public, "bob"]) == Code.OK
    assert "is there already" in capsys.readouterr().out
    assert place.stat() == state
    assert not list(tmp_path.glob(".*"))


@curve
def test_a_folder_has_a_file_for_each(tmp_path: Path, capsys: Told) -> None:
    """By its name; a server lets in who is added, and no longer who is removed."""
    alice = mm.keygen(tmp_path / "alice")
    place = tmp_path / "allowed"
    place.mkdir()
    assert main(["keys", "allow", str(place), str(alice.public_file)]) == Code.OK
    assert read_allowed(str(place)) == {alice.public: "alice"}
    assert "secret" not in (place / "alice.key").read_text()
    other = mm.keygen()
    for key, user, words in (
        (alice.public, "bob", "is there as alice: remove it first"),
        (other.public, "a/b", "the name of a file"),
        (other.public, "bob~2", "the name of a file"),
        (other.public, None, "say USER as well"),
    ):
        with pytest.raises(mm.UsageError, match=words):
            lists.allow(str(place), key, user)
    capsys.readouterr()
    assert main(["keys", "show", "--json", str(place)]) == Code.OK
    assert json.loads(capsys.readouterr().out)[str(place)]["keys"] == {alice.public: "alice"}
    assert main(["keys", "remove", str(place), alice.public]) == Code.OK
    assert read_allowed(str(place)) == {}


@curve
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_user_may_have_several_keys(tmp_path: Path, capsys: Told, kind: str) -> None:
    """Whose name is said again; by the name of a file alone nobody becomes another one."""
    place = tmp_path / "allowed"
    place.touch() if kind == "file" else place.mkdir()
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
    keys = [mm.keygen(tmp_path / folder / "alice") for folder in ("a", "b", "c")]
    first, second, third = (str(one.public_file) for one in keys)
    assert main(["keys", "allow", str(place), first]) == Code.OK
    assert main(["keys", "allow", str(place), second]) == Code.USAGE
    assert "alice is there with another key; say USER, alice, if" in capsys.readouterr().err
    for path, words in ((second, "by another key as before"), (third, "by 2 other keys as")):
        assert main(["keys", "allow", str(place), path, "alice"]) == Code.OK
        assert words in capsys.readouterr().out
    assert read_allowed(str(place)) == {one.public: "alice" for one in keys}
    if kind == "folder":
        assert sorted(os.listdir(place)) == ["alice.key", "alice~2.key", "alice~3.key"]
    assert main(["keys", "remove", str(place), second]) == Code.OK
    assert "any more, but by 2 other keys" in capsys.readouterr().out
    assert main(["keys", "remove", str(place), "alice"]) == Code.OK
    assert f"alice ({keys[0].public}, {keys[2].public}) may not" in capsys.readouterr().out
    assert read_allowed(str(place)) == {}
    assert main(["keys", "remove", str(place), "alice"]) == Code.USAGE
    assert "'alice' is nobody's user id there" in capsys.readouterr().err


def test_a_folder_takes_no_certificate(tmp_path: Path, capsys: Told) -> None:
    """Neither CURVE nor TLS lets anybody in by its pin in a folder."""
    one = alone(tmp_path, "some")
    place, file = tmp_path / "allowed", tmp_path / "allowed.txt"
    place.mkdir()
    file.touch()
    for given, what in ((str(one.cert), f"{one.cert}, a certificate"), (one.pin, "a pin")):
        assert main(["keys", "allow", str(place), given, "some"]) == Code.USAGE
        assert f"whose keys are of CURVE, and KEY is {what}: use a" in capsys.readouterr().err
        assert os.listdir(place) == []
    assert main(["keys", "allow", str(file), str(one.cert)]) == Code.OK
    if mm.has("tls"):
        assert one.pin in mm.Tls(**one.files, allow=file)._rule.list  # type: ignore[operator]


@curve
@pytest.mark.parametrize("command", ["allow", "remove"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_list_that_others_can_change_is_not_written(
    tmp_path: Path, capsys: Told, kind: str, command: str
) -> None:
    """No server reads it, so what was written there would change nothing."""
    alice = mm.keygen(tmp_path / "alice")
    place = tmp_path / "allowed"
    place.touch() if kind == "file" else place.mkdir()
    place.chmod(0o777)
    assert main(["keys", command, str(place), str(alice.public_file)]) == Code.USAGE
    told = capsys.readouterr()
    assert f"others can change it (mode 0777): chmod go-w {place}" in told.err
    place.chmod(0o700)
    assert read_allowed(str(place)) == {}


@curve
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_server_that_runs_lets_in_who_is_allowed_and_closes_who_is_removed(
    tmp_path: Path, kind: str
) -> None:
    """Within a second, without a word to it."""
    server, alice = mm.keygen(tmp_path / "server"), mm.keygen(tmp_path / "alice")
    place = tmp_path / "allowed"
    place.touch() if kind == "file" else place.mkdir()
    served = mm.Curve(key=server.secret_file, allow=place)
    called = mm.Curve(server=server.public_file, key=alice.secret_file)
    with mm.Pull(bind=of_its_own(), security=served) as pull:
        assert main(["keys", "allow", str(place), str(alice.public_file)]) == Code.OK
        patient = {"reconnect_min": 0.05, "reconnect_max": 0.05}
        with mm.Push(connect=pull.endpoint, security=called, **patient) as push:
            push.send(b"hi", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S).peer.user_id == "alice"
            assert main(["keys", "remove", str(place), alice.public]) == Code.OK
            wait_until(lambda: any(e.reason is mm.Reason.REVOKED for e in pull.events()))


@curve
def test_what_is_wrong_changes_nothing_and_is_one_sentence(tmp_path: Path, capsys: Told) -> None:
    """With the file, and the line where there is one."""
    key = mm.keygen().public
    place = tmp_path / "allowed"
    for content, words in (
        ("nonsense\n", "line 1: its first word is no key"),
        (f"{key} a\n{key} b\n", "line 2: the key is there twice"),
    ):
        place.write_text(content)
        for command in (["allow", str(place), key, "x"], ["remove", str(place), key]):
            assert main(["keys", *command]) == Code.USAGE
            assert words in capsys.readouterr().err
        assert place.read_text() == content
    place.write_text("")
    for command, words in (
        (["allow", str(place), "short"], "is no file, and no key in Z85"),
        (["allow", str(place), key, " x"], "has no spaces around it"),
        (["allow", str(place), key, "#x"], "no # in front"),
        (["allow", str(place), key, "x" * 256], "a user id of 256 octets"),
        (["allow", str(place), key, "a\nb"], "printable"),
        (["allow", str(tmp_path / "none"), key], "is not there; make it first"),
        (["remove", str(place), key], "is not there"),
        (["show", str(tmp_path / "none")], "is not there"),
    ):
        assert main(["keys", *command]) == Code.USAGE
        told = capsys.readouterr().err
        assert words in told
        assert len(told.splitlines()) == 1
    assert place.read_text() == ""


def test_a_key_that_begins_with_a_dash_is_no_option(tmp_path: Path) -> None:
    """As one of 85 does."""
    place = tmp_path / "allowed"
    place.touch()
    assert main(["keys", "allow", str(place), DASHED, "dash"]) == Code.OK
    assert place.read_text() == f"{DASHED} dash\n"
    assert main(["keys", "remove", str(place), DASHED]) == Code.OK


def test_commands_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """One changes the list after the other."""
    place = tmp_path / "allowed"
    place.touch()
    keys = [f"{number:040}" for number in range(40)]

    def some(part: list[str]) -> None:
        for key in part:
            lists.allow(str(place), key, "u" + key[-2:])

    threads = [threading.Thread(target=some, args=(keys[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_allowed(str(place))) == keys


def test_it_is_a_program(tmp_path: Path) -> None:
    """`python -m meshmsg`, which `meshmsg` is, too; what is wrong goes to standard error."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "meshmsg", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert run("--version").stdout == f"meshmsg {mm.__version__}\n"
    done = run()
    assert (done.returncode, done.stdout) == (Code.USAGE, "")
    assert "usage: meshmsg" in done.stderr
    assert run("keygen", "a", "--secret").returncode == Code.OK
    assert os.listdir(tmp_path) == ["a.secret"]
    done = run("keygen", "nowhere/a", "--secret")
    assert done.returncode == Code.FAILED
    assert "nowhere" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = run("keygen", "a", "--days", "3")
    assert (done.returncode, done.stderr) == (2, "meshmsg: --host and --days are of --tls\n")


def test_the_page_of_the_program_has_each_exit_code() -> None:
    """With its number."""
    page = (Path(__file__).parents[2] / "docs/cli.md").read_text(encoding="utf-8")
    section = page.partition("\n## Exit codes")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (\d+) \|", section, re.MULTILINE) == [str(int(code)) for code in Code]


def test_one_file_that_is_wrong_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is right is shown, what is wrong is told, and the exit code says so."""
    good = mm.keygen(tmp_path / "good")
    (tmp_path / "bad").write_text("nonsense\n")
    names = [str(tmp_path / name) for name in ("bad", "none", "good.key")]
    assert main(["keys", "show", *names]) == Code.USAGE
    said = capsys.readouterr()
    assert good.public in said.out
    assert f"{names[0]}, line 1" in said.err
    assert f"{names[1]} is not there" in said.err


@pytest.mark.parametrize("kind", [[], ["--secret"], ["--tls"]])
@pytest.mark.parametrize("name", ["", "sub/"])
def test_keys_have_a_name(
    name: str, kind: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one their files would begin with a dot."""
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    assert main(["keygen", name, *kind]) == Code.USAGE
    assert list(tmp_path.rglob("*")) == [tmp_path / "sub"]


@pytest.mark.parametrize("kind", [[], ["--secret"], ["--tls"]])
@pytest.mark.parametrize("name", ["z.key", "z.key_secret", "z.secret", "z.crt", "z.pem"])
def test_a_name_has_no_ending(
    name: str, kind: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    """As the files would have it twice."""
    monkeypatch.chdir(tmp_path)
    assert main(["keygen", name, *kind]) == Code.USAGE
    assert f"NAME is {name!r}: say 'z', as" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
