"""Files that say who is believed are refused if others can change them or put others in their
place.

Not here: files with secrets in them (test_secret_files.py, test_keys.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security.files import believed
from meshmsg._security.files.believed import check_believed
from tests.support.certs import Ca
from tests.support.pairs import of_its_own, wait_until

OTHERS_GID = 12_345
KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
curve = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
tls = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")


@pytest.fixture(autouse=True)
def _a_group_has_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever groups this machine has: a group is that of others, but where a test says so."""
    monkeypatch.setattr(believed, "_is_private", lambda _: False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that nobody else can change."""
    made = tmp_path / "lists"
    made.mkdir(0o755)
    return made


@pytest.fixture
def listed(folder: Path) -> Path:
    """A list in it."""
    path = folder / "allowed"
    path.write_text(f"{KEY} alice\n")
    path.chmod(0o644)
    return path


MODES = [(0o644, True), (0o640, True), (0o600, True), (0o444, True)]
MODES += [(0o664, False), (0o646, False), (0o666, False), (0o620, False), (0o602, False)]


@pytest.mark.parametrize(("mode", "good"), MODES)
def test_a_file_is_good_if_only_its_owner_can_write_it(listed: Path, mode: int, good: bool) -> None:
    """Whoever may read it; the error has the mode and the chmod."""
    listed.chmod(mode)
    if good:
        check_believed(listed, "who may come in")
        return
    with pytest.raises(mm.UsageError) as caught:
        check_believed(listed, "who may come in")
    words = f"others can change it (mode {mode:04o}): chmod go-w {listed}"
    assert str(caught.value) == f"{listed} says who may come in, and {words}"


@pytest.mark.parametrize(
    ("mode", "good"),
    [(0o755, True), (0o1777, True), (0o1775, True), (0o775, False), (0o777, False), (0o757, False)],
)
def test_a_file_is_good_if_only_its_owner_can_replace_it(
    listed: Path, folder: Path, mode: int, good: bool
) -> None:
    """By the mode of its folder; a sticky one, as /tmp is, lets others replace theirs only."""
    folder.chmod(mode)
    if good:
        check_believed(listed, "x")
        return
    words = rf"others can replace it, by its folder \(mode {mode:04o}\): chmod go-w {folder}$"
    with pytest.raises(mm.UsageError, match=words):
        check_believed(listed, "x")


def test_of_a_link_its_own_folder_and_that_of_the_file_count(tmp_path: Path, listed: Path) -> None:
    """Either could be replaced."""
    links = tmp_path / "links"
    links.mkdir()
    link = links / "allowed"
    link.symlink_to(listed)
    check_believed(link, "x")
    for place in (links, listed.parent):
        place.chmod(0o777)
        with pytest.raises(mm.UsageError, match=f"chmod go-w {place}$"):
            check_believed(link, "x")
        place.chmod(0o755)


@pytest.mark.parametrize("mode", [0o775, 0o1777])
def test_a_folder_of_keys_has_nobody_else_s(folder: Path, mode: int) -> None:
    """Who can put a key into it is let in, so that a sticky one is none either."""
    folder.chmod(mode)
    with pytest.raises(mm.UsageError, match=f"others can change it .* chmod go-w {folder}$"):
        check_believed(folder, "x")
    folder.chmod(0o755)
    key = folder / "bob.key"
    key.write_text("x")
    key.chmod(0o666)
    with pytest.raises(mm.UsageError, match=f"^{key} says x, .* chmod go-w {key}$"):
        check_believed(folder, "x")
    key.rename(folder / "bob.note")  # which is no key
    check_believed(folder, "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused_and_one_of_root_s_is_not(listed: Path) -> None:
    """Its owner can write it whatever its mode."""
    check_believed(listed, "x")
    os.chown(listed, 12_345, -1)
    with pytest.raises(mm.UsageError, match="belongs to user 12345: it must be yours, or root's"):
        check_believed(listed, "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_link_of_another_user_is_refused(listed: Path, tmp_path: Path) -> None:
    """In a sticky folder nobody can replace it but who made it, and he says which file it is."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    link = shared / "allowed"
    link.symlink_to(listed)
    check_believed(link, "x")
    os.chown(link, 12_345, -1, follow_symlinks=False)
    words = f"^{link} says x, and is a link that user 12345 made: it must be yours, or root's$"
    with pytest.raises(mm.UsageError, match=words):
        check_believed(link, "x")
    passwords = listed.parent / "passwords"
    passwords.write_text("alice=1234")
    passwords.chmod(0o600)
    other = shared / "passwords"
    other.symlink_to(passwords)
    mm.Plain(allow=other)
    os.chown(other, 12_345, -1, follow_symlinks=False)
    with pytest.raises(mm.UsageError, match="is a link that user 12345 made"):
        mm.Plain(allow=other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize("mode", [0o755, 0o700, 0o1777])
def test_a_file_in_a_folder_of_another_user_is_refused(
    listed: Path, folder: Path, mode: int
) -> None:
    """He can put another one there whatever its mode, and whosever the file is."""
    folder.chmod(mode)
    check_believed(listed, "x")
    os.chown(folder, 12_345, -1)
    words = (
        f"^{listed} says x, and user 12345 can replace it, by its folder: {folder} must be yours"
    )
    with pytest.raises(mm.UsageError, match=words):
        check_believed(listed, "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize(
    "which", ["allow", "key", "server", "passwords", "ca", "crl", "pin", "ini"]
)
def test_whatever_is_believed_is_in_a_folder_of_ours(
    folder: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each argument that names such a file, and what MESHMSG_SECURITY names."""
    if not (mm.has("curve") and mm.has("tls")):
        pytest.skip("no libsodium or no OpenSSL here")
    ca = Ca(folder)
    server = ca.sign("server", "127.0.0.1")
    names = {"allow": f"{KEY} alice\n", "passwords": "a=b\n", "ini": "[bind]\nmechanism=none\n"}
    for name, content in names.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o600)
    mm.keygen(folder / "alice")
    crl, elsewhere = ca.revoke(), Ca(folder.parent, "elsewhere")
    key = folder / "alice.key"

    def of_ini() -> None:
        monkeypatch.setenv("MESHMSG_SECURITY", str(folder / "ini"))
        with mm.Engine() as engine, mm.Pull(bind=of_its_own(), engine=engine):
            pass

    makes: dict[str, Callable[[], object]] = {
        "allow": lambda: mm.Curve(key=mm.keygen(), allow=folder / "allow"),
        "key": lambda: mm.Curve(key=mm.keygen(), allow=[key]),
        "server": lambda: mm.Curve(server=key),
        "passwords": lambda: mm.Plain(allow=folder / "passwords"),
        "ca": lambda: mm.Tls(ca=ca.file),
        "crl": lambda: mm.Tls(ca=elsewhere.file, crl=crl),
        "pin": lambda: mm.Tls(allow=[server.cert]),
        "ini": of_ini,
    }
    makes[which]()
    os.chown(folder, 12_345, -1)
    with pytest.raises(mm.UsageError, match=f"user 12345 can replace it, by its folder: {folder} "):
        makes[which]()


def test_each_folder_on_the_way_of_links_counts(tmp_path: Path, listed: Path) -> None:
    """Who can change one of the links says which file it is; there is an end to them."""
    places = [tmp_path / name for name in ("first", "second", "third")]
    target = listed
    for place in reversed(places):
        place.mkdir(0o755)
        link = place / "allowed"
        link.symlink_to(os.path.relpath(target, place) if place.name == "second" else target)
        target = link
    first = places[0] / "allowed"
    check_believed(first, "x")
    for place in (*places, listed.parent):
        place.chmod(0o777)
        with pytest.raises(mm.UsageError, match=f"chmod go-w {tmp_path}.*{place.name}$"):
            check_believed(first, "x")
        place.chmod(0o755)
    check_believed(first, "x")
    listed.unlink()
    listed.symlink_to(first)
    with pytest.raises(OSError, match="links"):
        check_believed(first, "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_link_of_another_user_on_the_way_is_refused(tmp_path: Path, listed: Path) -> None:
    """Also in a sticky folder, where nobody else can replace it."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "theirs").symlink_to(listed)
    link = tmp_path / "link"
    link.symlink_to(shared / "theirs")
    check_believed(link, "x")
    os.chown(shared / "theirs", 12_345, -1, follow_symlinks=False)
    words = f"^{link} says x, and leads to {shared}/theirs, which is a link that user 12345 made"
    with pytest.raises(mm.UsageError, match=words):
        check_believed(link, "x")


@curve
def test_so_do_those_of_the_keys_of_a_folder(tmp_path: Path, folder: Path) -> None:
    """A key may be a link, but to where nobody else can put another one."""
    others = tmp_path / "others"
    others.mkdir(0o755)
    mm.keygen(others / "alice")
    (folder / "alice.key").symlink_to(others / "alice.key")
    mm.Curve(key=mm.keygen(), allow=folder)
    others.chmod(0o777)
    with pytest.raises(mm.UsageError, match=rf"alice\.key says .* chmod go-w {others}$"):
        mm.Curve(key=mm.keygen(), allow=folder)


@curve
@pytest.mark.parametrize("what", ["allow", "folder", "key", "pin", "ca"])
def test_what_is_read_is_what_was_looked_at(
    listed: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file takes its place just before it is opened: that one is refused."""
    key = listed.with_name("alice.key")
    mm.keygen(listed.with_name("alice"))
    ca = Ca(listed.parent) if mm.has("tls") else None
    if what in ("pin", "ca") and ca is None:
        pytest.skip("no OpenSSL here")
    policies: dict[str, tuple[Path, Callable[[], object]]] = {
        "allow": (listed, lambda: mm.Curve(key=mm.keygen(), allow=listed)),
        "folder": (key, lambda: mm.Curve(key=mm.keygen(), allow=listed.parent)),
        "key": (key, lambda: mm.Curve(server=key)),
    }
    if ca is not None:
        policies["pin"] = (ca.file, lambda: mm.Tls(allow=[ca.file]))
        policies["ca"] = (ca.file, lambda: mm.Tls(ca=ca.file))
    path, make = policies[what]
    make()
    opened = os.open

    def swapped(given: Any, flags: int, *more: Any, **named: Any) -> int:
        if os.fspath(given) == str(path):
            path.chmod(0o666)
        return opened(given, flags, *more, **named)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(mm.UsageError, match=f"others can change it .*{path}$"):
        make()


def test_a_group_of_the_owner_alone_is_nobody_else(
    listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on systems whose umask is 002: it has the owner's name and no other member."""
    import grp
    import pwd

    monkeypatch.undo()
    listed.chmod(0o664)
    user = pwd.getpwuid(os.geteuid()).pw_name
    for name, members, good in [
        (user, [], True),
        (user, [user], True),
        (user, ["mallory"], False),
        (user, [user, "mallory"], False),
        ("staff", [user], False),
    ]:
        group = SimpleNamespace(gr_name=name, gr_mem=members)
        monkeypatch.setattr(grp, "getgrgid", lambda _, group=group: group)
        assert believed._is_private(listed.stat()) is good
        if good:
            check_believed(listed, "x")
        else:
            with pytest.raises(mm.UsageError, match="mode 0664"):
                check_believed(listed, "x")

    def unknown(_: int) -> Any:
        raise KeyError

    monkeypatch.setattr(grp, "getgrgid", unknown)
    assert not believed._is_private(listed.stat())


Policies = dict[str, Callable[[Path], Any]]
BY_FILE: Policies = {
    "allow": lambda path: mm.Curve(key=mm.keygen(), allow=path),
    "a key of allow": lambda path: mm.Curve(key=mm.keygen(), allow=[path.with_name("alice.key")]),
    "server": lambda path: mm.Curve(server=path.with_name("alice.key")),
}


@curve
@pytest.mark.parametrize("which", BY_FILE)
def test_policies_of_curve_refuse_such_a_file(listed: Path, which: str) -> None:
    """Where they are made: of a server its list, of a client the key of its server."""
    key = listed.with_name("alice.key")
    mm.keygen(listed.with_name("alice"))
    BY_FILE[which](listed)
    for path in (listed, key):
        path.chmod(0o666)
    with pytest.raises(mm.UsageError, match="chmod go-w"):
        BY_FILE[which](listed)


def test_a_file_of_passwords_that_can_be_replaced_is_refused(folder: Path) -> None:
    """Its mode is that of a secret anyway; no password is told."""
    path = folder / "passwords"
    path.write_text("alice=correct horse\n")
    path.chmod(0o600)
    mm.Plain(allow=path)
    folder.chmod(0o777)
    with pytest.raises(mm.UsageError, match=f"has passwords, and .*chmod go-w {folder}") as caught:
        mm.Plain(allow=path)
    assert "horse" not in str(caught.value)


@tls
@pytest.mark.parametrize("which", ["ca", "crl"])
def test_who_signs_and_what_is_taken_back_is_not_for_others_to_say(
    folder: Path, which: str
) -> None:
    """Our own certificate others may change: it then fits no key."""
    ca = Ca(folder)
    server = ca.sign("server", "127.0.0.1")
    crl = ca.revoke()
    server.cert.chmod(0o666)
    given = {"ca": ca.file, "crl": crl}
    mm.Tls(**server.files, **given)
    given[which].chmod(0o664)
    with pytest.raises(mm.UsageError, match=f"chmod go-w {given[which]}"):
        mm.Tls(**server.files, **given)


@curve
def test_a_list_that_others_can_change_meanwhile_changes_nothing(
    listed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Told in the log; once it is good again, it counts."""
    server, client = mm.keygen(), mm.keygen()
    policy = mm.Curve(key=server, allow=listed)
    beside = listed.with_suffix(".new")
    beside.write_text(f"{KEY} alice\n{client.public} bob\n")
    beside.chmod(0o666)
    rule = policy._rule.list
    assert rule is not None
    with mm.Pull(bind=of_its_own(), security=policy):
        beside.replace(listed)
        wait_until(lambda: any("others can change it" in text for text in caplog.messages))
        assert client.public not in rule
        listed.chmod(0o644)
        wait_until(lambda: client.public in rule)
