"""Seeds that somebody else has made: names that lie, and folders with what is no file of a node."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dns.resolver
import pytest

from meshmsg.mesh import DnsSrv, SharedDir
from meshmsg.mesh._finding import dns as names
from meshmsg.mesh._finding.asking import _Asked
from meshmsg.mesh._finding.dns import HOSTS_MAX, LIFETIME_S, TOGETHER_S
from meshmsg.mesh._finding.seeds import ADDRESSES_MAX, DIR_SWEEP_S, ENDING, LINE_MAX
from tests.support.meshes import WAIT_S
from tests.support.name_servers import NameServer

SRV = ("_m._tcp.test.", "SRV")
NOBODY = 54_321
"""A user of this machine that nobody is."""
HUGE = 10 * 1024**3
"""Octets of a file, none of which is on the disk."""


@pytest.fixture
def server() -> Iterator[NameServer]:
    """A name server."""
    made = NameServer()
    yield made
    made.close()


def asked(server: NameServer, *, local: bool = False) -> _Asked:
    """What SRV records of that name give."""
    made = _Asked(DnsSrv("_m._tcp.test", resolver=server.resolver()))
    made.ask("", local, 0.0)
    return made


def test_poisoned_records_send_nobody_to_loopback_or_to_secrets_of_a_cloud(
    server: NameServer,
) -> None:
    """Whatever names they have; a node that is on loopback is meant by loopback."""
    server.records = {
        SRV: [f"1 0 7450 {host}.test." for host in ("me", "cloud", "six", "all", "good")],
        ("me.test.", "A"): ["127.0.0.1", "127.8.8.8"],
        ("cloud.test.", "A"): ["169.254.169.254"],
        ("six.test.", "AAAA"): ["::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "fe80::1"],
        ("all.test.", "A"): ["0.0.0.0", "224.0.0.1", "255.255.255.255"],
        ("good.test.", "A"): ["10.0.0.1"],
    }
    found = asked(server)
    assert "tcp://10.0.0.1:7450" in found.addresses
    assert found.addresses == ["tcp://10.0.0.1:7450"]
    assert "left out" in found.error
    there = asked(server, local=True).addresses
    assert "tcp://127.0.0.1:7450" in there
    assert not any("169.254" in one for one in there)


def test_a_port_that_nobody_can_have_is_left_out(server: NameServer) -> None:
    """0; and a service that says that it is not there (RFC 2782: the name is the root)."""
    server.records = {
        SRV: ["1 0 0 a.test.", "2 0 65535 a.test.", "3 0 7450 ."],
        ("a.test.", "A"): ["10.0.0.1"],
    }
    assert asked(server).addresses == ["tcp://10.0.0.1:65535"]


def test_a_host_with_hundreds_of_addresses_hides_no_other_one(server: NameServer) -> None:
    """Such as nobody may connect to do not count."""
    server.records = {
        SRV: ["1 0 7450 bad.test.", "2 0 7450 good.test."],
        ("bad.test.", "A"): [f"169.254.{i // 256}.{i % 256}" for i in range(ADDRESSES_MAX + 44)],
        ("good.test.", "A"): ["10.0.0.1"],
    }
    assert asked(server).addresses == ["tcp://10.0.0.1:7450"]


def test_hosts_beyond_the_limit_are_not_looked_up_and_each_is_once(server: NameServer) -> None:
    """The best of them are; what is left out is told."""
    hosts = [f"h{number}.test." for number in range(HOSTS_MAX + 10)]
    server.records = {
        SRV: [f"{number} 0 {port} {host}" for number, host in enumerate(hosts) for port in (1, 2)],
        **{(host, "A"): [f"10.0.0.{number}"] for number, host in enumerate(hosts)},
    }
    found = asked(server)
    assert len(found.addresses) == 2 * HOSTS_MAX
    assert found.error == "10 hosts of its SRV records not looked up: too many, or too slow"
    assert sorted(name for name, kind in server.asked if kind == "A") == sorted(hosts[:HOSTS_MAX])


class Slow(dns.resolver.Resolver):
    """Knows the records, and answers nothing else, for as long as one waits."""

    def __init__(self, server: NameServer, clock: list[float]) -> None:
        super().__init__(configure=False)
        self._knows, self._clock = server.resolver(), clock
        self.waited: list[float] = []

    def resolve(self, name: Any, kind: Any = "A", *args: Any, **options: Any) -> Any:
        """Answer, or be silent."""
        if kind == "SRV":
            return self._knows.resolve(name, kind, *args, **options)
        self.waited.append(options["lifetime"])
        self._clock[0] += options["lifetime"]
        raise dns.resolver.LifetimeTimeout(timeout=options["lifetime"], errors=[])


def test_hosts_whose_name_server_is_silent_hold_up_other_seeds_for_seconds_only(
    server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: 64 of them would be ten minutes."""
    clock = [0.0]
    monkeypatch.setattr(names, "monotonic", lambda: clock[0])
    server.records = {SRV: [f"{number} 0 1 h{number}.test." for number in range(HOSTS_MAX)]}
    resolver = Slow(server, clock)
    found = DnsSrv("_m._tcp.test", resolver=resolver)._find("")
    assert found.addresses == []
    assert clock[0] <= TOGETHER_S + LIFETIME_S
    assert max(resolver.waited) <= LIFETIME_S
    assert "not looked up" in found.words


def put(folder: Path, name: str, text: str = "tcp://10.0.0.9:1\n") -> Path:
    """Put a file there, as a node does."""
    path = folder / f"{name}{ENDING}"
    path.write_text(text)
    return path


def test_of_a_huge_file_in_a_folder_one_line_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 GB: of zeros it is no address, and one that begins with a line has more than that."""
    for name, text in (("zeros", ""), ("line", "tcp://10.0.0.9:1\n")):
        with put(tmp_path, name, text).open("r+b") as file:
            file.truncate(HUGE)
    put(tmp_path, "good", "tcp://10.0.0.1:1\n")
    read: list[int] = []

    def counts(file: int, count: int) -> bytes:
        data = real(file, count)
        read.append(len(data))
        return data

    real = os.read
    monkeypatch.setattr(os, "read", counts)
    assert SharedDir(tmp_path)._find("tcp://10.0.0.2:1").addresses == ["tcp://10.0.0.1:1"]
    assert max(read) == LINE_MAX
    assert len(read) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to another user")
def test_a_file_of_another_owner_is_a_hint_as_any_other(tmp_path: Path) -> None:
    """Containers that share a folder have users of their own; it is only tried."""
    theirs = put(tmp_path, "theirs")
    os.chown(theirs, NOBODY, NOBODY)
    seed = SharedDir(tmp_path)
    assert seed._find("tcp://10.0.0.2:1").addresses == ["tcp://10.0.0.9:1"]
    assert theirs.stat().st_uid == NOBODY
    assert theirs.read_text() == "tcp://10.0.0.9:1\n"


def test_a_file_that_may_not_be_read_or_removed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another user, say, in a folder where each removes his own only."""
    secret, old = put(tmp_path, "secret"), put(tmp_path, "old")
    put(tmp_path, "good", "tcp://10.0.0.1:1\n")
    os.utime(old, (1, 1))
    tried: list[str] = []

    def opens(path: str, *given: Any) -> int:
        if path == str(secret):
            tried.append("open")
            raise PermissionError(13, "not yours", path)
        return int(real(path, *given))

    def removes(path: str) -> None:
        tried.append("unlink")
        raise PermissionError(1, "not yours", path)

    real = os.open
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", opens)
        patched.setattr(os, "unlink", removes)
        found = SharedDir(tmp_path)._find("tcp://10.0.0.2:1")
    assert found.addresses == ["tcp://10.0.0.1:1"]
    assert sorted(tried) == ["open", "unlink"]
    assert old.exists()


def test_links_in_a_folder_are_neither_read_nor_removed(tmp_path: Path) -> None:
    """To a file, to a folder, to nothing, and to a file of a node that is old."""
    folder, outside = tmp_path / "mesh", put(tmp_path, "outside")
    folder.mkdir()
    os.utime(outside, (1, 1))
    for name, where in (("file", outside), ("folder", tmp_path), ("nothing", tmp_path / "none")):
        (folder / f"{name}{ENDING}").symlink_to(where)
    assert SharedDir(folder)._find("tcp://10.0.0.2:1").addresses == []
    assert outside.exists()
    assert len([one for one in folder.iterdir() if one.is_symlink()]) == 3


def test_who_writes_into_a_pipe_in_a_folder_is_not_answered(tmp_path: Path) -> None:
    """It is not opened: who waits there for a reader waits on, and no node waits for him."""
    pipe = tmp_path / f"pipe{ENDING}"
    os.mkfifo(pipe)
    opened = threading.Event()

    def write() -> None:
        with open(pipe, "wb"):
            opened.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seed = SharedDir(tmp_path)
        for _ in range(20):
            assert seed._find("tcp://10.0.0.2:1").addresses == []
        assert not opened.is_set()
    finally:
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        writer.join(WAIT_S)
        os.close(reader)
    assert opened.is_set()


def test_a_file_that_is_old_for_long_is_removed_only_if_it_is_one_of_a_node(tmp_path: Path) -> None:
    """A huge one of somebody else's stays."""
    huge = put(tmp_path, "huge", "")
    with huge.open("r+b") as file:
        file.truncate(HUGE)
    nodes = put(tmp_path, "nodes")
    seed = SharedDir(tmp_path)
    seed._find("tcp://10.0.0.2:1")
    now = os.stat(tmp_path / seed._name).st_mtime
    for path in (huge, nodes):
        os.utime(path, (now - DIR_SWEEP_S - 9, now - DIR_SWEEP_S - 9))
    seed._find("tcp://10.0.0.2:1")
    assert huge.exists()
    assert not nodes.exists()
