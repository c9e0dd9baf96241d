"""Who may come in by a list: files and folders that are looked at again, lists that change.

Not here: policies and sockets (test_security.py), functions (test_allow_functions.py).
"""

from __future__ import annotations

import base64
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security import allow_files
from meshmsg._security.allow_files import AllowFile, read_allowed
from meshmsg._security.files import told as told_files
from meshmsg._security.files.told import Told
from meshmsg._security.keys import key_octets
from tests.support.mm import ffi, lib
from tests.support.pairs import WAIT_S, of_its_own, wait_until

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")


@contextmanager
def serving(allow: Any) -> Iterator[tuple[mm.Pull, mm.KeyPair]]:
    """A server, and its keys."""
    server = mm.keygen()
    policy = mm.Curve(key=server, allow=allow)
    with mm.Pull(bind=of_its_own(), security=policy) as pull:
        yield pull, server


def put(path: Path, text: str) -> None:
    """Have this in a file that somebody looks at: never half of it, nor nothing."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def client(pull: mm.Pull, server: mm.KeyPair, key: mm.KeyPair) -> mm.Push:
    """Somebody who has this key, and tries."""
    policy = mm.Curve(server=server, key=key)
    return mm.Push(connect=pull.endpoint, security=policy, reconnect_max=0.2)


def test_a_key_that_is_added_comes_in_and_one_that_is_removed_is_closed() -> None:
    """At once, with the reason at both counters and in the event; others stay."""
    alice, bob = mm.keygen(), mm.keygen()
    allowed = mm.AllowList({alice.public: "alice"})
    with (
        serving(allowed) as (pull, server),
        client(pull, server, alice) as one,
        client(pull, server, bob) as two,
    ):
        one.wait_for_peers(timeout=WAIT_S)
        wait_until(lambda: pull.stats().closed.get(mm.Reason.NOT_ALLOWED))
        allowed.add(bob, "bob")
        two.wait_for_peers(timeout=WAIT_S)
        assert {peer.user_id for peer in pull.peers()} == {"alice", "bob"}
        allowed.remove(alice)
        assert pull.stats().closed[mm.Reason.REVOKED] == 1
        assert [peer.user_id for peer in pull.peers()] == ["bob"]
        [event] = [e for e in pull.events() if e.reason is mm.Reason.REVOKED]
        assert event.kind is mm.EventKind.PEER_DOWN
        two.send(b"still here")
        assert pull.recv(timeout=WAIT_S) == b"still here"
        allowed.replace([alice])
        one.wait_for_peers(timeout=WAIT_S)
        wait_until(lambda: [peer.user_id for peer in pull.peers()] == [alice.public])


def test_one_list_serves_several_sockets_and_forgets_closed_ones() -> None:
    """Of several engines, too."""
    alice = mm.keygen()
    allowed = mm.AllowList([alice])
    with mm.Engine() as engine, serving(allowed) as (pull, server):
        policy = mm.Curve(key=server, allow=allowed)
        with mm.Pull(bind=of_its_own(), engine=engine, security=policy) as other:
            for one in (pull, other):
                with client(one, server, alice) as push:
                    push.wait_for_peers(timeout=WAIT_S)
            assert len(allowed._sockets) == 2
        allowed.remove(alice.public)
        assert len(allowed._sockets) == 1
        assert len(allowed) == 0
        assert alice not in allowed
        with pytest.raises(mm.UsageError, match="not in the list"):
            allowed.remove(alice)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    """Within a second or so: who was added comes in, who was taken out is closed."""
    alice, bob = mm.keygen(), mm.keygen()
    path = tmp_path / "allowed"
    path.write_text(f"{alice.public} alice\n")
    with (
        serving(path) as (pull, server),
        client(pull, server, alice),
        client(pull, server, bob),
    ):
        wait_until(lambda: [peer.user_id for peer in pull.peers()] == ["alice"])
        put(path, f"{bob.public} bob\n")
        wait_until(lambda: [peer.user_id for peer in pull.peers()] == ["bob"])
        assert pull.stats().closed[mm.Reason.REVOKED] == 1


def test_a_file_that_is_wrong_changes_nothing_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log; mended, it is read."""
    alice = mm.keygen()
    path = tmp_path / "allowed"
    path.write_text(alice.public)
    with serving(path) as (pull, server), client(pull, server, alice) as push:
        push.wait_for_peers(timeout=WAIT_S)
        put(path, "nonsense\n")
        wait_until(lambda: "line 1: its first word is no key" in caplog.text)
        assert "stays as it was" in caplog.text
        assert [peer.key for peer in pull.peers()] == [alice.public]
        path.write_text("")
        wait_until(lambda: not pull.peers())
    with pytest.raises(mm.UsageError, match="line 1"):
        path.write_text("nonsense\n")
        mm.Curve(key=server, allow=path)


def test_a_file_that_is_wrong_is_not_read_again_before_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have 65,536 lines, and is looked at each second; what its folder lets others do may
    change meanwhile."""
    path = tmp_path / "allowed"
    path.write_text(mm.keygen().public)
    found = AllowFile(path)
    reads: list[str] = []

    def read(given: str, says: str) -> dict[str, str]:
        reads.append(given)
        return read_allowed(given, says)

    monkeypatch.setattr(allow_files, "read_allowed", read)
    path.write_text("nonsense\n")
    assert "no key" in found.look()
    assert [found.look() for _ in range(3)] == ["", "", ""]
    assert len(reads) == 1
    tmp_path.chmod(0o777)
    assert "others can replace it" in found.look()
    tmp_path.chmod(0o755)
    assert "no key" in found.look()
    path.write_text("# more\nnonsense\n")
    assert "line 2" in found.look()
    assert len(reads) == 2
    path.write_text("")
    assert (found.look(), len(reads), len(found.list)) == ("", 3, 0)


def test_what_a_file_and_a_folder_say(tmp_path: Path) -> None:
    """A comment begins with #, as no key does; the id is all behind the key."""
    keys = [mm.keygen().public for _ in range(2)]
    path = tmp_path / "allowed"
    path.write_text(f"# who\n#{keys[0][1:]} not her\n\n  {keys[0]}\talice of A \n{keys[1]}\n")
    found = AllowFile(path)
    assert found.list._users == {keys[0]: "alice of A", keys[1]: keys[1]}
    assert found.look() == ""
    path.write_text(f"{keys[0]}\n{keys[0]}\n")
    assert "line 2: the key is there twice" in found.look()
    assert found.look() == ""  # as it was told
    assert len(found.list) == 2
    path.unlink()
    assert f"{path} is gone: who may come in stays" in found.look()
    folder = tmp_path / "folder"
    folder.mkdir()
    known = mm.keygen(folder / "alice").public
    found = AllowFile(folder)
    assert found.list._users == {known: "alice"}
    bob = mm.keygen(folder / "bob").public
    assert found.look() == ""
    assert found.list._users == {known: "alice", bob: "bob"}
    (folder / "again.key").write_text((folder / "bob.key").read_text())
    assert "its key is that of" in found.look()
    (folder / "again.key").unlink()
    (folder / "bob.key").unlink()
    found.look()
    assert found.list._users == {known: "alice"}


@pytest.mark.parametrize("user_id", ["x" * 256, "a\nb", "\0"])
def test_a_user_id_that_nobody_can_have_is_refused(user_id: str) -> None:
    """By lists and by Allow."""
    with pytest.raises(mm.UsageError, match="at most 255"):
        mm.AllowList({mm.keygen().public: user_id})
    with pytest.raises(mm.UsageError, match="at most 255"):
        mm.Allow(user_id)


def test_the_core_takes_no_list_that_is_wrong_or_would_not_be_looked_at() -> None:
    """A key twice, an id too long or missing; a socket that asks nobody."""
    cases = [
        (b"a" * 64, b"a\0b\0", 2, lib.MM_EINVAL),
        (b"a" * 32, b"x" * 256 + b"\0", 1, lib.MM_EINVAL),
        (b"a" * 64, b"a\0b", 2, lib.MM_EINVAL),
        (b"a" * 32, b"", 1, lib.MM_EINVAL),
        (b"", b"", 0, lib.MM_OK),
        (b"a" * 32 + b"b" * 32, b"a\0\0", 2, lib.MM_OK),
    ]
    with serving(mm.AllowList()) as (pull, _):
        for keys, ids, count, code in cases:
            assert lib.mm_socket_allow(pull._handle, keys, ids, len(ids), count) == code
    with serving(mm.ANYBODY) as (pull, _), mm.Pull() as plain:
        for socket in (pull, plain):
            rc = lib.mm_socket_allow(socket._handle, b"", ffi.NULL, 0, 0)
            assert rc == lib.MM_ESTATE


def test_a_pin_is_a_key_in_another_form(tmp_path: Path) -> None:
    """As other programs write them; one that is none says so."""
    octets = bytes(range(32))
    pin = f"sha256//{base64.b64encode(octets).decode()}"
    assert key_octets(next(iter(mm.AllowList([pin])._users))) == octets
    assert pin in mm.AllowList({pin: "a service"})
    path = tmp_path / "allowed"
    path.write_text(f"{pin} a service\n")
    assert pin in AllowFile(path).list
    for wrong in ("sha256//", "sha256//AAAA", f"{pin}=", f"{pin[:-3]}-_="):
        with pytest.raises(mm.UsageError, match="is no pin, which is sha256// and base64 of 32"):
            mm.AllowList([wrong])
        path.write_text(f"# pins\n{wrong} a service\n")
        with pytest.raises(mm.UsageError, match="line 2: its first word is no key: it is no pin"):
            AllowFile(path)


def test_two_that_look_at_once_leave_what_the_file_says_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two engines with one policy: who reads first is not the last one to say what counts."""
    alice, mallory = mm.keygen(), mm.keygen()
    path = tmp_path / "allowed"
    path.write_text(f"{alice.public} alice\n{mallory.public} mallory\n")
    file = AllowFile(path)
    reads, go_on = threading.Event(), threading.Event()
    read = file._read

    def slow() -> dict[str, str]:
        found = read()
        if mallory.public in found and not reads.is_set():
            reads.set()
            assert go_on.wait(WAIT_S)
        return found

    monkeypatch.setattr(file, "_read", slow)
    path.write_text(f"{alice.public} alice\n{mallory.public} mallory again\n")
    first = threading.Thread(target=file.look)
    first.start()
    assert reads.wait(WAIT_S)
    path.write_text(f"{alice.public} alice\n")
    second = threading.Thread(target=file.look)
    second.start()
    second.join(0.05)  # it may be done by now, if nothing keeps it
    go_on.set()
    first.join(WAIT_S)
    second.join(WAIT_S)
    assert mallory.public not in file.list
    assert alice.public in file.list


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_list_that_is_gone_disconnects_nobody_and_is_told_again(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is there; one that is empty disconnects everybody."""
    place, pair = tmp_path / "allowed", mm.keygen(tmp_path / "alice")
    if kind == "file":
        place.write_text(f"{pair.public} alice\n")
    else:
        place.mkdir()
        (tmp_path / "alice.key").rename(place / "alice.key")
    server = mm.keygen()
    with (
        mm.Pull(bind=of_its_own(), security=mm.Curve(key=server, allow=place)) as pull,
        mm.Push(connect=pull.endpoint, security=mm.Curve(server=server, key=pair)) as push,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        shutil.rmtree(place) if kind == "folder" else place.unlink()
        words = f"{place} is gone: who may come in stays as it was, and nobody is disconnected; to "
        wait_until(lambda: words in caplog.text)
        monkeypatch.setattr(told_files, "AGAIN_LOOKS", 2)
        wait_until(lambda: caplog.text.count(words) >= 2)
        assert pull.peers()[0].user_id == "alice"
        place.touch() if kind == "file" else place.mkdir()
        wait_until(lambda: mm.Reason.REVOKED in pull.stats().closed)


def test_what_is_wrong_is_told_as_it_is_found_and_each_minute() -> None:
    """And anew once it was right, or is wrong otherwise."""
    told = Told("it stays")
    many = told_files.AGAIN_LOOKS
    assert [bool(told.wrong("no key")) for _ in range(2 * many + 1)].count(True) == 3
    assert told.wrong("two keys") == "two keys: it stays"
    assert told.wrong("two keys") == ""
    assert told.right() == ""
    assert not told
    assert told.wrong(FileNotFoundError(2, "No such file", "/x")) == "/x is gone: it stays"
