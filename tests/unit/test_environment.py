"""MESHMSG_SECURITY: the policies that sockets have which are given none, and whose engine is not.

Not here: what a policy does (test_security.py).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._security.environment.mechanisms import MECHANISMS
from meshmsg.testing import SimWorld
from tests.support.forked import in_child
from tests.support.pairs import WAIT_S, of_its_own

curve = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
Write = Callable[[str], Path]
BOTH = """
# of this cluster
[bind]
mechanism = curve
key = server.key_secret
allow = allowed

[connect]
mechanism = curve
server = server.key
key = alice.key_secret
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write the file, and name it in the environment."""

    def written(text: str) -> Path:
        path = tmp_path / "security.ini"
        path.write_text(text)
        monkeypatch.setenv("MESHMSG_SECURITY", str(path))
        return path

    return written


@pytest.fixture
def keys(tmp_path: Path) -> None:
    """Those that BOTH names."""
    mm.keygen(tmp_path / "server")
    (tmp_path / "allowed").mkdir()
    alice = mm.keygen(tmp_path / "allowed" / "alice")
    assert alice.secret_file
    alice.secret_file.rename(tmp_path / "alice.key_secret")


def mechanism_between(engine: mm.Engine) -> str:
    """Of a pair of sockets that say nothing themselves."""
    with (
        mm.Pull(bind=of_its_own(), engine=engine) as pull,
        mm.Push(connect=pull.endpoint, engine=engine) as push,
    ):
        push.send(b"hi", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"hi"
        return pull.peers()[0].mechanism


@curve
@pytest.mark.usefixtures("keys")
def test_sockets_have_the_policies_of_the_file(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are relative to the file, wherever the program runs."""
    write(BOTH)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with mm.Engine() as engine:
        assert mechanism_between(engine) == "CURVE"
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("MESHMSG_SECURITY", "security.ini")
        assert mechanism_between(engine) == "CURVE"


@curve
@pytest.mark.usefixtures("keys")
def test_sockets_of_asyncio_have_them_too(write: Write) -> None:
    """The same file, read by the same engine."""
    path = write(BOTH)

    async def run(engine: mm.Engine) -> str:
        async with (
            aio.Pull(bind=of_its_own(), engine=engine) as pull,
            aio.Push(connect=pull.endpoint, engine=engine) as push,
        ):
            await push.send(b"hi", timeout=WAIT_S)
            return (await pull.recv(timeout=WAIT_S)).peer.mechanism

    with mm.Engine() as engine:
        assert asyncio.run(run(engine)) == "CURVE"
    path.write_text("[bind]\n")
    with mm.Engine() as engine, pytest.raises(mm.UsageError, match=r"\[bind\]: no mechanism"):
        asyncio.run(run(engine))


@curve
@pytest.mark.usefixtures("keys")
def test_what_a_socket_or_its_engine_says_is_before_the_environment(write: Write) -> None:
    """NONE opts out, at either; inproc and simulated worlds have nothing to do with it."""
    write(BOTH)
    with mm.Engine(security=mm.NONE) as engine:
        assert mechanism_between(engine) == "NULL"
    with mm.Engine() as engine:
        with (
            mm.Pull(bind=of_its_own(), engine=engine, security=mm.NONE) as pull,
            mm.Push(connect=pull.endpoint, engine=engine, security=mm.NONE) as push,
        ):
            push.wait_for_peers(timeout=WAIT_S)
            assert push.peers()[0].mechanism == "NULL"
        with mm.Pull(bind="inproc://here", engine=engine) as pull:
            with mm.Push(connect="inproc://here", engine=engine) as push:
                push.wait_for_peers(timeout=WAIT_S)
    with SimWorld(seed=1) as world:
        world.engine()
        with mm.Pull(bind="tcp://127.0.0.1:0", engine=world.engine()) as pull:
            assert pull.endpoint


@curve
@pytest.mark.usefixtures("keys")
def test_it_is_looked_at_for_each_socket_and_read_once_an_engine(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that is set late counts for what is opened later; so does one that goes."""
    with mm.Engine() as engine:
        assert mechanism_between(engine) == "NULL"
        path = write(BOTH)
        assert mechanism_between(engine) == "CURVE"
        path.write_text("what is wrong now is not read again")
        assert mechanism_between(engine) == "CURVE"
        monkeypatch.delenv("MESHMSG_SECURITY")
        assert mechanism_between(engine) == "NULL"


@curve
@pytest.mark.usefixtures("keys")
def test_a_forked_child_reads_what_the_environment_says_there(write: Write) -> None:
    """Its own environment, for its own engine."""
    path = write(BOTH)
    with mm.Engine() as engine:
        assert mechanism_between(engine) == "CURVE"
    path.write_text("[bind]\nmechanism = none\n[connect]\nmechanism = none\n")

    def work() -> bool:
        with mm.Engine() as engine:
            assert mechanism_between(engine) == "NULL"
        os.environ["MESHMSG_SECURITY"] = str(path) + ".gone"
        with pytest.raises(mm.UsageError, match="cannot be read"):
            mm.Pull()
        return True

    assert in_child(work)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "security.ini is empty"),
        ("key = x\n", "line 1: something stands in front of the first section"),
        ("[bind]\nmechanism = none\nnonsense of s3cret\n", "line 3: neither a section"),
        ("[bind]\nmechanism = none\n[bind]\n", "line 3: the section is there twice"),
        ("[bind]\nmechanism = none\nmechanism = none\n", "line 3: the name is there twice"),
        ("[DEFAULT]\nmechanism = none\n", r"\[DEFAULT\] is no section of it"),
        ("[Bind]\nmechanism = none\n", r"\[Bind\] is no section of it"),
        ("[bind]\nkey = x\n", r"\[bind\]: no mechanism = is there"),
        ("[bind]\nmechanism = CURVE2\n", r"\[bind\]: mechanism is 'CURVE2'; it is one of"),
        ("[bind]\nmechanism = none\nkey = s3cret\n", r"\[bind\]: key is nothing that none has"),
        ("[bind]\nmechanism = curve\nKey = s3cret\n", r"Key is nothing that curve has; it has key"),
        ("[bind]\nmechanism = curve\nkey =\n", r"\[bind\]: key is empty"),
        (
            "[bind]\nmechanism = curve\nkey = nowhere\nallow = anybody\n",
            "key= names what is not there",
        ),
        ("[connect]\nmechanism = curve\nserver = s3cret\n", r"\[connect\]: server is"),
        ("[connect]\nmechanism = curve\n", r"\[connect\]: who is it"),
    ],
)
def test_a_wrong_file_is_a_clear_error_of_the_first_socket(
    write: Write, text: str, words: str
) -> None:
    """And of the next one, too: none is ever plain."""
    path = write(text)
    with mm.Engine() as engine:
        for kind in (mm.Pull, mm.Push):
            with pytest.raises(mm.UsageError, match=words) as caught:
                kind(engine=engine)
            assert str(caught.value).startswith(f"MESHMSG_SECURITY: {path}")
            if "server" not in words:  # which is a path, and is told
                assert "s3cret" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_told_and_so_is_an_empty_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, nothing at all, too much."""
    large = tmp_path / "large"
    large.write_bytes(b"#" * (64 * 1024 + 1))
    for named, words in (
        (str(tmp_path), "is no file"),
        (str(tmp_path / "none"), "cannot be read: No such file"),
        (str(large), "at most 65536"),
        ("", "is empty: it is the path of a file"),
    ):
        monkeypatch.setenv("MESHMSG_SECURITY", named)
        with mm.Engine() as engine, pytest.raises(mm.UsageError, match=words):
            mm.Push(engine=engine)


def test_a_section_that_is_not_there_refuses_endpoints_of_its_kind(write: Write) -> None:
    """It says what to write; who only connects need not say who may come in."""
    path = write("[connect]\nmechanism = none\n")
    with mm.Engine() as engine, mm.Push(engine=engine) as push:
        with pytest.raises(mm.UsageError, match=r"has no section \[bind\]") as caught:
            push.bind(of_its_own())
        assert str(path) in str(caught.value)
        push.connect("tcp://127.0.0.1:9")
        push.bind("inproc://here")


def test_a_password_is_in_a_file_of_its_own(write: Write, tmp_path: Path) -> None:
    """That others cannot read, and no error quotes."""
    given = {"users": "alice=s3cret\n", "password": "s3cret\n"}
    for name, text in given.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    client = "[connect]\nmechanism = plain\nuser = alice\npassword = password\n"
    write(f"[bind]\nmechanism = plain\nallow = users\n{client}")
    with mm.Engine() as engine:
        assert mechanism_between(engine) == "PLAIN"
    for name, mode, words in (
        ("password", 0o644, r"\[connect\]: .*password has a password.*chmod 600"),
        ("users", 0o644, r"\[bind\]: .*chmod 600"),
    ):
        (tmp_path / name).chmod(mode)
        with mm.Engine() as engine, pytest.raises(mm.UsageError, match=words) as caught:
            mm.Push(engine=engine)
        assert "s3cret" not in str(caught.value)
        (tmp_path / name).chmod(0o600)
    (tmp_path / "password").unlink()
    with (
        mm.Engine() as engine,
        pytest.raises(mm.UsageError, match=r"\[connect\]: password is the path .* not there"),
    ):
        mm.Push(engine=engine)


def test_a_file_that_anybody_can_change_is_refused(write: Write) -> None:
    """Who could write it would say who comes in; a group may be one's own."""
    path = write("[connect]\nmechanism = none\n")
    with mm.Engine() as engine:
        path.chmod(0o666)
        with pytest.raises(mm.UsageError, match=r"mode 0666\): chmod go-w"):
            mm.Push(engine=engine)
        path.chmod(0o664)
        mm.Push(engine=engine).close()


@curve
@pytest.mark.usefixtures("keys")
def test_a_server_that_changes_its_key_has_a_line_for_each(write: Write, tmp_path: Path) -> None:
    """And a public key may stand there itself; `anybody` is a word."""
    new = mm.keygen(tmp_path / "new")
    lines = "key = new.key_secret\n  server.key_secret\nallow = anybody\n"
    write(f"[bind]\nmechanism = curve\n{lines}[connect]\nmechanism = curve\nserver = {new.public}")
    with mm.Engine() as engine:
        assert mechanism_between(engine) == "CURVE"


def test_every_mechanism_is_in_the_documentation() -> None:
    """With all its arguments."""
    page = (Path(__file__).parents[2] / "docs/security.md").read_text(encoding="utf-8")
    section = page.partition("\n## From the environment")[2].partition("\n## ")[0]
    for name, mechanism in MECHANISMS.items():
        assert f"| `{name}` |" in section
        assert all(f"`{argument}`" in section for argument in mechanism.arguments)
