"""Sockets of users and passwords: who comes in, who does not, what changes meanwhile, and where
PLAIN may be used.

Not here: octets (test_plain_handshake.py), libzmq (tests/interop).
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from tests.support.forked import in_child
from tests.support.pairs import WAIT_S, of_its_own, wait_until

USERS = {"alice": "correct horse", "bob": "battery"}
PASSWORD = "correct horse"
ALICE = mm.Plain(user="alice", password=PASSWORD)


@contextmanager
def served(allow: Any, client: mm.Plain = ALICE) -> Iterator[tuple[mm.Pull, mm.Push]]:
    """A server of these users, and somebody who wants to come in."""
    with (
        mm.Pull(bind=of_its_own(), security=mm.Plain(allow=allow)) as pull,
        mm.Push(connect=pull.endpoint, security=client, reconnect_max=0.2) as push,
    ):
        yield pull, push


def is_told(socket: Any, reason: mm.Reason, words: str) -> bool:
    """Whether an event says so."""
    return any(e.reason is reason and words in e.detail for e in socket.events())


def passwords(folder: Path, **users: str) -> Path:
    """Write a file of them, as one is replaced that is in use."""
    file, beside = folder / "passwords", folder / "new"
    beside.write_text("# who\n\n" + "".join(f"{user}={said}\n" for user, said in users.items()))
    beside.chmod(0o600)
    beside.replace(file)
    return file


def test_who_has_the_password_is_known_by_the_user() -> None:
    """At the server; the client knows nothing of the server."""
    with served(USERS) as (pull, push):
        push.send(b"hi")
        assert pull.recv(timeout=WAIT_S) == b"hi"
        ours, theirs = pull.peers()[0], push.peers()[0]
        assert (ours.user_id, ours.mechanism, ours.key) == ("alice", "PLAIN", "")
        assert (theirs.user_id, theirs.mechanism, theirs.key) == ("", "PLAIN", "")


@pytest.mark.parametrize(
    ("user", "password", "words"),
    [
        ("alice", "battery", "the user 'alice' has another password"),
        ("alice", "", "the user 'alice' has another password"),
        ("alice", "correct horse ", "the user 'alice' has another password"),
        ("mallory", "correct horse", "the user 'mallory' is not in allow="),
        ("Alice", "correct horse", "the user 'Alice' is not in allow="),
        ("\u00e4\n", "", "the user '\u00e4\\n' is not in allow="),
    ],
)
def test_who_has_another_password_is_denied_and_both_sides_say_so(
    user: str, password: str, words: str
) -> None:
    """Neither says the password."""
    with served(USERS, mm.Plain(user=user, password=password)) as (pull, push):
        wait_until(lambda: is_told(pull, mm.Reason.NOT_ALLOWED, words))
        wait_until(lambda: is_told(push, mm.Reason.ERROR_COMMAND, "does not let us in: '400'"))
        assert not pull.peers()
        with pytest.raises(mm.TimedOutError, match="does not let us in"):
            push.wait_for_peers(timeout=0.01)


def test_a_function_sees_the_user_and_the_password_and_repr_does_not() -> None:
    """What it says is done; "" is known by the user."""
    seen: list[mm.Applicant] = []
    answers = [mm.Later("not now"), mm.Allow()]

    def allow(who: mm.Applicant) -> Any:
        seen.append(who)
        return answers.pop(0)

    with served(allow) as (pull, push):
        push.wait_for_peers(timeout=WAIT_S)
        assert pull.peers()[0].user_id == "alice"
        assert is_told(pull, mm.Reason.NOT_ALLOWED, "later: not now")
    for who in seen:
        assert (who.mechanism, who.user, who.password) == ("PLAIN", "alice", PASSWORD)
        assert (who.key, who.properties) == ("", {})
        assert PASSWORD not in repr(who)
        assert PASSWORD not in str(who)


def test_anybody_may_come_in_where_the_server_says_so() -> None:
    """Whatever it says; nobody is known."""
    with served(mm.ANYBODY, mm.Plain(user="x", password="")) as (pull, push):
        push.wait_for_peers(timeout=WAIT_S)
        assert pull.peers()[0].user_id == ""


def test_who_binds_need_not_be_the_server() -> None:
    """Roles come from the policy."""
    with (
        mm.Pull(bind=of_its_own(), security=ALICE) as pull,
        mm.Push(connect=pull.endpoint, security=mm.Plain(allow=USERS)) as push,
    ):
        push.send(b"hi")
        assert pull.recv(timeout=WAIT_S) == b"hi"
        assert push.peers()[0].user_id == "alice"


def test_an_asyncio_socket_asks_for_passwords_on_no_loop_and_a_function_on_its_own() -> None:
    """A coroutine function is awaited there."""

    async def run() -> None:
        loop = asyncio.get_running_loop()

        async def slowly(who: mm.Applicant) -> mm.Allow:
            await asyncio.sleep(0)
            assert asyncio.get_running_loop() is loop
            return mm.Allow(who.user.upper())

        for allow, known in ((USERS, "alice"), (slowly, "ALICE")):
            async with (
                mm.aio.Pull(bind=of_its_own(), security=mm.Plain(allow=allow)) as pull,
                mm.aio.Push(connect=pull.endpoint, security=ALICE) as push,
            ):
                await push.send(b"hi")
                assert await pull.recv(timeout=WAIT_S) == b"hi"
                assert pull.peers()[0].user_id == known

    asyncio.run(run())


def test_a_file_is_followed_and_whose_password_changed_is_disconnected(tmp_path: Path) -> None:
    """Within a second; who stays in it stays, and comes in with the new one."""
    bob = mm.Plain(user="bob", password="battery")
    file = passwords(tmp_path, **USERS)
    with served(file) as (pull, push), mm.Push(connect=pull.endpoint, security=bob) as other:
        push.wait_for_peers(timeout=WAIT_S)
        other.wait_for_peers(timeout=WAIT_S)
        passwords(tmp_path, alice="staple", bob="battery")
        wait_until(lambda: is_told(pull, mm.Reason.REVOKED, ""))
        wait_until(lambda: is_told(pull, mm.Reason.NOT_ALLOWED, "has another password"))
        assert [peer.user_id for peer in pull.peers()] == ["bob"]
        passwords(tmp_path, **USERS)
        wait_until(lambda: len(pull.peers()) == 2)
        passwords(tmp_path, alice=PASSWORD)
        wait_until(lambda: [peer.user_id for peer in pull.peers()] == ["alice"])
        wait_until(lambda: other.stats().disconnects)  # it hears of it when its system does
        assert (other.stats().disconnects, push.stats().disconnects) == (1, 1)


def test_a_file_that_becomes_wrong_changes_nothing_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does one that is gone; no line is quoted."""
    file = passwords(tmp_path, **USERS)
    with served(file) as (pull, push):
        push.wait_for_peers(timeout=WAIT_S)
        file.write_text("alice:correct horse\n")
        wait_until(lambda: "line 1: it is no user=password" in caplog.text)
        file.unlink()
        wait_until(lambda: "passwords is gone: who may come in stays" in caplog.text)
        assert len(pull.peers()) == 1
        assert PASSWORD not in caplog.text


WRONG_FILES: dict[str, tuple[bytes, str]] = {
    "no_equals": (b"alice\n", "line 1: it is no user=password"),
    "blanks": (b"\n#x\nalice = horse\n", "line 3: there are blanks"),
    "behind": (b"alice=horse \n", "line 1: there are blanks"),
    "twice": (b"alice=1\nalice=2\n", "line 2: the user 'alice' is there twice"),
    "nobody": (b"=horse\n", "line 1: a user is empty"),
    "empty": (b"alice=\n", "line 1: the password of 'alice' is empty"),
    "long_user": (b"u" * 256 + b"=x\n", "line 1: a user id of 256 octets"),
    "long_password": (b"u=" + b"p" * 256, "line 1: the password of 'u' has over 255 octets"),
    "unprintable": (b"a\x07=x\n", "line 1: a user id of 2 octets"),
}


@pytest.mark.parametrize("name", sorted(WRONG_FILES))
def test_a_file_that_is_wrong_is_refused_by_its_line(tmp_path: Path, name: str) -> None:
    """And never quoted."""
    content, words = WRONG_FILES[name]
    file = tmp_path / "passwords"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(mm.UsageError, match=words) as error:
        mm.Plain(allow=file)
    assert "horse" not in str(error.value)


def test_a_file_that_others_can_read_is_refused_and_one_may_be_as_long_as_a_line_can_be(
    tmp_path: Path,
) -> None:
    """With the chmod; = and blanks may be within a password."""
    file = passwords(tmp_path, **USERS)
    file.chmod(0o640)
    with pytest.raises(mm.UsageError, match=r"has passwords, and others can reach it .*chmod 600"):
        mm.Plain(allow=str(file))
    with pytest.raises(FileNotFoundError):
        mm.Plain(allow=tmp_path / "none")
    with pytest.raises(mm.UsageError, match="is no file"):
        mm.Plain(allow=tmp_path)
    long = mm.Plain(user="u" * 255, password="p=q " + "x" * 251)
    with served(passwords(tmp_path, **{"u" * 255: "p=q " + "x" * 251}), long) as (_, push):
        push.wait_for_peers(timeout=WAIT_S)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "who is it"),
        ({"user": "alice"}, "user= and password="),
        ({"password": "x"}, "user= and password="),
        ({"user": "", "password": "x"}, "the user is not empty"),
        ({"user": "alice", "password": "x", "allow": USERS}, "allow= is of servers"),
        ({"user": "u" * 256, "password": "x"}, "user has over 255 octets"),
        ({"user": "u", "password": "\u00e4" * 128}, "password has over 255 octets"),
        ({"allow": {"alice": ""}}, "the password of 'alice' is empty"),
        ({"allow": {"": "x"}}, "a user is empty"),
        ({"allow": {"a\n": "x"}}, "a user id of 2 octets"),
        ({"allow": {"alice": b"x"}}, "are str"),
        ({"allow": 7}, "allow is int"),
    ],
)
def test_what_is_missing_or_too_much_is_said(given: dict[str, Any], words: str) -> None:
    """Where it is made."""
    with pytest.raises(mm.UsageError, match=words):
        mm.Plain(**given)


def test_octets_are_no_user() -> None:
    """As elsewhere: text is str."""
    with pytest.raises(TypeError, match="user is bytes"):
        mm.Plain(user=b"alice", password="x")  # type: ignore[arg-type]


def test_no_text_of_a_policy_has_a_password_and_none_is_pickled(tmp_path: Path) -> None:
    """Nor is one changed."""
    file = passwords(tmp_path, **USERS)
    texts = [repr(ALICE), repr(mm.Plain(allow=USERS)), repr(mm.Plain(allow=file))]
    assert texts[0] == "Plain(user='alice')"
    assert texts[1] == "Plain(allow=<passwords of 2 users>)"
    assert texts[2] == f"Plain(allow={str(file)!r})"
    with pytest.raises(mm.UsageError, match="not pickled"):
        pickle.dumps(ALICE)
    with pytest.raises(AttributeError):
        ALICE.user = "bob"  # type: ignore[attr-defined]


FAR = ["tcp://10.0.0.1:1", "tcp://example.org:1", "tcp://127.0.0.1.example.org:1", "tcp://[::2]:1"]
NEAR = ["tcp://127.0.0.1:1", "tcp://127.1.2.3:1", "tcp://localhost:1", "tcp://[::1]:1"]


@pytest.mark.parametrize("url", FAR)
def test_a_password_does_not_leave_the_machine_unless_the_socket_says_insecure(url: str) -> None:
    """Neither by a client nor, to a server that connects."""
    for policy in (ALICE, mm.Plain(allow=USERS)):
        with mm.Push(security=policy) as push:
            with pytest.raises(mm.UsageError, match="PLAIN hides nothing"):
                push.connect(url)
        with mm.Push(security=policy, insecure=True) as push:
            push.connect(url)


def test_a_server_binds_to_loopback_and_ipc_unless_it_says_insecure(tmp_path: Path) -> None:
    """As nothing is protected by it."""
    policy = mm.Plain(allow=USERS)
    for url in ("tcp://*:0", "tcp://0.0.0.0:0"):
        with mm.Pull(security=policy) as pull:
            with pytest.raises(mm.UsageError, match="PLAIN hides nothing"):
                pull.bind(url)
        with mm.Pull(security=policy, insecure=True) as pull:
            pull.bind(url)
    with mm.Pull(bind=f"ipc://{tmp_path}/s", security=policy) as pull:
        with mm.Push(connect=pull.endpoint, security=ALICE) as push:
            push.wait_for_peers(timeout=WAIT_S)
    for url in NEAR:
        with mm.Push(connect=url, security=ALICE):
            pass


def test_over_ipc_both_sides_and_who_is_asked_see_the_user_of_the_system(tmp_path: Path) -> None:
    """Files and names; over tcp there is none."""
    seen: list[int | None] = []

    def allow(who: mm.Applicant) -> mm.Allow:
        seen.append(who.uid)
        return mm.Allow()

    policy, ours = mm.Plain(allow=allow), os.geteuid()
    for url, uid in (
        (f"ipc://{tmp_path}/s", ours),
        (f"ipc://@meshmsg-test-{os.getpid()}", ours),
        (of_its_own(), None),
    ):
        with (
            mm.Pull(bind=url, security=policy) as pull,
            mm.Push(connect=pull.endpoint, security=ALICE) as push,
        ):
            push.send(b"hi")
            pull.recv(timeout=WAIT_S)
            assert [pull.peers()[0].uid, push.peers()[0].uid, seen.pop()] == [uid] * 3
            assert pull.peers()[0].as_dict()["uid"] == uid


def test_sp_has_no_plain_and_a_socket_without_it_does_not_meet_one_with_it() -> None:
    """Nothing falls back."""
    with mm.Push(security=ALICE) as push:
        with pytest.raises(mm.UsageError, match="SP has no PLAIN"):
            push.connect("sp+tcp://127.0.0.1:1")
    with mm.Pull(bind=of_its_own()) as pull, mm.Push(connect=pull.endpoint, security=ALICE):
        wait_until(lambda: is_told(pull, mm.Reason.MECHANISM, "'PLAIN', ours NULL"))


def test_a_forked_child_can_make_sockets_with_the_same_policy() -> None:
    """Its own engine has it anew."""
    server = mm.Plain(allow=USERS)
    with mm.Pull(bind=of_its_own(), security=server):

        def work() -> bool:
            with (
                mm.Pull(bind="tcp://127.0.0.1:0", security=server) as pull,
                mm.Push(connect=pull.endpoint, security=ALICE) as push,
            ):
                push.wait_for_peers(timeout=WAIT_S)
            return True

        assert in_child(work)


def test_however_long_a_user_is_the_reason_is_told() -> None:
    """Who is not known yet chooses the name: it is cut, and what is wrong of it is not."""
    for user in ("x" * 255, "\N{SNOWMAN}" * 85):
        with served(USERS, mm.Plain(user=user, password=PASSWORD)) as (pull, _):
            wait_until(lambda at=pull: is_told(at, mm.Reason.NOT_ALLOWED, "...' is not in allow="))
