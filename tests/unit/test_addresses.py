"""An endpoint that cannot be used: each cause has its words, its errno and what to do; the socket
is as it was.

Not here: what the parser takes (tests/c/test_url.c), the platform's causes (tests/c/test_posix.c).
"""

from __future__ import annotations

import asyncio
import copy
import errno
import os
import pickle
import re
import socket
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.addresses import address_error, path_of
from meshmsg._binding.errors import CLASSES, ERRNOS
from meshmsg.testing import SimWorld
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, of_its_own

MALFORMED = {
    "": "the scheme is missing; endpoints are tcp://host:port",
    "127.0.0.1:5555": "the scheme is missing; endpoints are tcp://host:port",
    "http://127.0.0.1:5": "the scheme is not one of tcp, ipc, inproc",
    "tcp://127.0.0.1": "the port is missing: tcp://host:port",
    "tcp://127.0.0.1:": "the port is missing: tcp://host:port",
    "tcp://[::1]": "the port is missing: tcp://host:port",
    "tcp://127.0.0.1:99999": "the port is a number from 0 to 65535",
    "tcp://127.0.0.1:x": "the port is a number from 0 to 65535",
    "tcp://::1:5": "in brackets: tcp://[::1]:port",
    "tcp://:5": "the host is empty",
    "ipc://": "the path is missing",
    "ipc://@": "the name behind @ is missing",
    "inproc://": "the name is missing",
    "tcp://127.0.0.1:1\0": "zero byte",
}
TOO_LONG = {
    "ipc:///" + "x" * 107: "the path has 108 octets; 107 is the limit",
    "ipc://@" + "x" * 107: "the name with its @ has 108 octets; 107 is the limit",
    "inproc://" + "x" * 247: "the name has 247 octets; 246 is the limit",
}
TO_BIND_ONLY = ["ipc://*", "sp+ipc://*", "tcp://*:5", "tcp://127.0.0.1:0", "tcp://127.0.0.1:*"]
CALLS = ["bind", "connect", "unbind", "disconnect"]


def refused(role: Any, call: str, url: str, **options: Any) -> mm.AddressError:
    """Make the call on a new socket; return its error, once it told where it is from."""

    async def make() -> mm.AddressError:
        socket = role(**options)
        try:
            with pytest.raises(mm.AddressError) as error:
                getattr(socket, call)(url)
            stats = socket.stats()
            assert (stats.listeners, stats.dialers, socket.endpoints) == (0, 0, ())
        finally:
            socket.close()
        return error.value

    error = asyncio.run(make())
    assert error.address == url
    return error


@pytest.fixture(params=[mm.Pull, aio.Pull], ids=["sync", "asyncio"])
def role(request: pytest.FixtureRequest) -> Any:
    """A socket of each kind."""
    return request.param


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("url", "words"), [*MALFORMED.items(), *TOO_LONG.items()])
def test_what_is_no_endpoint_says_which_part_is_wrong(
    role: Any, call: str, url: str, words: str
) -> None:
    """By each call that takes one; the limit stands there, and what was given."""
    error = refused(role, call, url)
    assert words in str(error)
    assert words in str(error.strerror)
    assert error.errno == (errno.ENAMETOOLONG if url in TOO_LONG else errno.EINVAL)
    assert "not of this machine" not in str(error)


@pytest.mark.parametrize("url", TO_BIND_ONLY)
def test_what_only_bind_can_use_is_refused_by_connect(role: Any, url: str) -> None:
    """And it says whose endpoint to connect to."""
    error = refused(role, "connect", url)
    assert "is for bind; connect to what the other side's endpoint says" in str(error)
    assert error.errno == errno.EINVAL


@pytest.mark.parametrize("call", ["unbind", "disconnect"])
def test_an_endpoint_one_has_not_is_told_beside_those_one_has(role: Any, call: str) -> None:
    """One text, not two glued together."""
    error = refused(role, call, "tcp://127.0.0.1:5")
    words = "not bound here; bound: nothing" if call == "unbind" else "not connected to; connected"
    assert words in str(error)
    assert error.errno == errno.ENOENT
    assert "endpoints are" not in str(error)
    with mm.Pull(bind="inproc://mine", connect="inproc://yours") as pull:
        with pytest.raises(mm.AddressError, match=r"bound: inproc://mine$"):
            pull.unbind("inproc://yours")
        with pytest.raises(mm.AddressError, match=r"connected to: inproc://yours$"):
            pull.disconnect("inproc://mine")


def test_an_endpoint_in_use_says_by_whom_and_what_to_take(role: Any, short_path: Path) -> None:
    """Over each transport."""
    name = f"ipc://@meshmsg-test-{os.getpid()}"
    wanted = {
        of_its_own(): "another socket listens there; port 0 takes a free one",
        f"ipc://{short_path}/s": "another socket listens there; ipc://* makes a fresh path",
        name: "another socket of this machine has that name",
        "inproc://taken": "another socket of this process has that name",
    }
    for url, words in wanted.items():
        with mm.Pull(bind=url) as first:
            error = refused(role, "bind", first.endpoint)
            assert words in str(error)
            assert (error.errno, error.code) == (errno.EADDRINUSE, lib.MM_EADDRINUSE)


def test_a_file_in_the_way_is_kept_and_not_called_a_socket(role: Any, short_path: Path) -> None:
    """Nor a folder."""
    plain, folder = short_path / "plain", short_path / "folder"
    plain.write_text("mine")
    folder.mkdir()
    for path in (plain, folder):
        error = refused(role, "bind", f"ipc://{path}")
        assert "a file that is no socket is there, and was kept" in str(error)
        assert (error.errno, error.filename) == (errno.EADDRINUSE, str(path))
    assert plain.read_text() == "mine"


@pytest.mark.parametrize(
    ("path", "words", "number"),
    [
        ("{}/no/s", "the folder {}/no does not exist; make it first", errno.ENOENT),
        ("{}/file/s", "a part of the folder {}/file is a file", errno.ENOTDIR),
        ("{}/loop/s", "too many symbolic links", errno.ELOOP),
        ("/proc/s", "the folder /proc takes no files", errno.ENOENT),
    ],
)
def test_a_path_that_cannot_be_says_what_of_it(
    role: Any, short_path: Path, path: str, words: str, number: int
) -> None:
    """With the path as filename, as an OSError of open has it."""
    (short_path / "file").touch()
    (short_path / "loop").symlink_to("loop")
    error = refused(role, "bind", "ipc://" + path.format(short_path))
    assert words.format(short_path) in str(error)
    assert (error.errno, error.filename) == (number, path.format(short_path))


def test_an_address_of_another_machine_and_an_unknown_name(role: Any) -> None:
    """Two mistakes, two errors; the name is looked up by bind alone."""
    error = refused(role, "bind", "tcp://192.0.2.1:5", insecure=True)
    assert "192.0.2.1 is not an address of this machine" in str(error)
    assert error.errno == errno.EADDRNOTAVAIL
    error = refused(role, "bind", "tcp://256.0.0.1:5")
    assert "the host 256.0.0.1 cannot be resolved" in str(error)
    assert error.errno == errno.ENXIO


def test_the_simulated_world_has_the_same_causes() -> None:
    """So a program that handles them can be tried there."""
    with SimWorld(1) as world:
        engine = world.engine()
        with mm.Pull(engine=engine) as pull, mm.Pull(engine=engine) as other:
            with pytest.raises(mm.AddressError) as unknown:
                pull.bind("tcp://nowhere.invalid:5")
            assert unknown.value.errno == errno.ENXIO
            with pytest.raises(mm.AddressError) as taken:
                other.bind(pull.bind("tcp://127.0.0.1:0"))
            assert taken.value.errno == errno.EADDRINUSE
            fresh = {pull.bind("ipc://*"), pull.bind("ipc://*")}
            assert len(fresh) == 2
            assert "ipc://*" not in fresh


@pytest.mark.parametrize("name", [n for n in CLASSES if issubclass(CLASSES[n], OSError)])
def test_every_error_of_the_system_has_its_errno(name: str) -> None:
    """EAGAIN and ETIMEDOUT by their class; pickled with it, as strerror and filename are."""
    code = getattr(lib, name)
    error = address_error(code, "binding", "ipc:///run/x", lib.MM_USE_BIND)
    assert isinstance(error, OSError)
    assert error.errno == ERRNOS.get(name, error.errno)
    assert error.errno is not None
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (twin.errno, twin.strerror, twin.filename, str(twin), twin.code) == (
            error.errno,
            error.strerror,
            "/run/x",
            str(error),
            code,
        )


@pytest.mark.parametrize(
    ("name", "url", "words"),
    [
        ("MM_ENOSPC", "ipc:///run/x", "no space left on the device of the folder /run"),
        ("MM_ENOSPC", "ipc://*", "the folder for temporary files ($TMPDIR, else /tmp)"),
        ("MM_ENOENT", "ipc://*", "($TMPDIR, else /tmp) does not exist"),
        ("MM_EROFS", "ipc:///run/x", "the folder /run is on a file system that is read-only"),
        ("MM_EPERM", "ipc:///run/x", "not permitted to make a file in the folder /run"),
        ("MM_EPERM", "tcp://127.0.0.1:80", "ports below 1024"),
        ("MM_EPERM", "tcp://127.0.0.1:8000", "not permitted"),
        ("MM_EMFILE", "tcp://127.0.0.1:8000", "too many open files"),
        ("MM_ENOMEM", "tcp://127.0.0.1:8000", "out of memory"),
    ],
)
def test_causes_that_are_seldom_had_have_words_too(name: str, url: str, words: str) -> None:
    """A full device is no lack of memory."""
    error = address_error(getattr(lib, name), "binding", url, lib.MM_USE_BIND)
    assert words in str(error)
    assert ("memory" in str(error)) == (name == "MM_ENOMEM")
    assert type(error) is CLASSES[name]


def test_a_time_out_and_a_try_without_waiting_are_os_errors_with_a_number() -> None:
    """For code that looks at errno and knows nothing of us."""
    with mm.Pull() as pull:
        with pytest.raises(OSError, match="no message") as late:
            pull.recv(timeout=0.001)
        with pytest.raises(OSError, match="no message") as early:
            pull.recv(timeout=0)
    assert (late.value.errno, early.value.errno) == (errno.ETIMEDOUT, errno.EAGAIN)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("ipc:///run/x", "/run/x"),
        ("sp+ipc://x", "x"),
        ("ipc://@x", None),
        ("ipc://*", None),
        ("tcp://h:1", None),
        ("inproc://x", None),
        ("x", None),
    ],
)
def test_a_file_is_named_where_there_is_one(url: str, path: str | None) -> None:
    """As OSError.filename."""
    assert path_of(url) == path


@pytest.mark.parametrize("bad", [5, "epoll", mm.Engine, object()])
def test_what_is_no_engine_is_told_so(role: Any, bad: Any) -> None:
    """Before anything is opened."""
    before = lib.mm_live_handles()
    with pytest.raises(TypeError, match=r"engine is .*; it is a meshmsg\.Engine, or None"):
        role(engine=bad)
    assert lib.mm_live_handles() == before


def test_the_errors_of_a_constructor_are_those_of_bind(role: Any) -> None:
    """And nothing stays bound of what came before the wrong one."""
    url = of_its_own()
    with pytest.raises(mm.AddressError, match=re.escape("the port is missing")):
        role(bind=[url, "tcp://127.0.0.1"])
    with socket.socket() as free:
        free.bind((url[6:].rpartition(":")[0], 0))


@pytest.mark.parametrize("prefix", ["", "sp+"])
def test_tls_in_an_endpoint_of_a_socket_without_it_is_an_address_error(
    role: Any, prefix: str
) -> None:
    """Nothing is tried in the plain, and nothing stays bound."""
    one = role()
    with pytest.raises(mm.AddressError, match=r"TLS needs security=mm.Tls"):
        one.connect(f"{prefix}tls+tcp://127.0.0.1:1")
    with pytest.raises(mm.AddressError, match=r"TLS needs security=|bind to tls"):
        one.bind(f"{prefix}tls+tcp://127.0.0.1:0")
    assert not one.endpoints
    assert not one.stats().dialers
    one.close()


def test_a_path_of_ipc_may_have_any_octets(short_path: Path) -> None:
    """As the system has them; where it is told of, they are replaced."""
    path = os.fsdecode(os.fsencode(str(short_path)) + b"/a\xff")
    with mm.Pull() as pull:
        assert pull.bind(f"ipc://{path}") == pull.endpoint == f"ipc://{path}"
        assert os.path.exists(path)
        with mm.Push(connect=pull.endpoint) as push:
            push.wait_for_peers(timeout=WAIT_S)
            assert push.peers()[0].endpoint == f"ipc://{short_path}/a\N{REPLACEMENT CHARACTER}"
        pull.unbind(pull.endpoint)
        assert not os.path.exists(path)
        with pytest.raises(mm.MeshError):
            pull.bind("ipc:///\ud800/nowhere")
