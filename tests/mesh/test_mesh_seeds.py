"""Seeds: what each says, how it fails, and that it is a hint only."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import meshmsg as mm
from meshmsg._mesh.limits import SEEDS_MAX as TAKEN_MAX
from meshmsg.mesh import Callback, Dns, DnsSrv, SharedDir, Static
from meshmsg.mesh._finding.asking import JITTER, SEEDS_MAX, Seeding, _Asked, seeds_of
from meshmsg.mesh._finding.seeds import ADDRESSES_MAX, ASK_MAX_S, DIR_AGE_S, ENDING, Seed, believed
from tests.support.meshes import eventually, node
from tests.support.name_servers import NameServer

WAIT_S = 20


@pytest.fixture
def server() -> Iterator[NameServer]:
    """A name server."""
    made = NameServer()
    yield made
    made.close()


def test_a_list_says_what_it_was_given() -> None:
    """Up to its limit."""
    assert Static(["h:1", "tcp://g:2"])._find("").addresses == ["tcp://h:1", "tcp://g:2"]
    Static(["h:1"] * ADDRESSES_MAX)
    with pytest.raises(mm.UsageError, match=f"up to {ADDRESSES_MAX}"):
        Static(["h:1"] * (ADDRESSES_MAX + 1))
    with pytest.raises(TypeError, match="a list of str"):
        Static("h:1")


def test_plain_addresses_are_one_seed() -> None:
    """Beside others; what is neither is refused."""
    other = Callback(list)
    assert [type(one) for one in seeds_of(["h:1", other, "g:1"])] == [Static, Callback]
    assert [repr(one) for one in seeds_of("h:1")] == ["Static(['tcp://h:1'])"]
    assert seeds_of(None) == []
    many = [f"h{number}:1" for number in range(TAKEN_MAX + 1)]
    assert [len(one._addresses) for one in seeds_of(many[:-1])] == [ADDRESSES_MAX] * 4  # type: ignore[attr-defined]
    with pytest.raises(mm.UsageError, match="1,025 addresses are seeds; a node takes up to 1,024"):
        seeds_of(many)
    with pytest.raises(TypeError, match="a seed is 5"):
        seeds_of([5])  # type: ignore[list-item]
    with pytest.raises(mm.UsageError, match=f"up to {SEEDS_MAX}"):
        seeds_of([other] * (SEEDS_MAX + 1))


def test_a_seed_that_fails_keeps_what_it_said_and_is_asked_less_often() -> None:
    """Up to a minute between two questions."""
    answers: list[list[str]] = [["h:1"]]
    asked = _Asked(Callback(lambda: answers.pop()))
    assert asked.ask("", False, 0.0) == 5
    assert asked.addresses == ["tcp://h:1"]
    waits = [asked.ask("", False, 0.0) for _ in range(6)]
    assert waits == [5, 10, 20, 40, ASK_MAX_S, ASK_MAX_S]
    assert asked.addresses == ["tcp://h:1"]
    assert asked.error.startswith("IndexError")


def test_a_callback_that_gives_junk_is_told_of() -> None:
    """As one that raises."""
    asked = _Asked(Callback(lambda: ["junk"]))
    asked.ask("", False, 0.0)
    assert "an address is 'junk'" in asked.error
    with pytest.raises(TypeError, match="function is 5"):
        Callback(5)  # type: ignore[arg-type]
    with pytest.raises(mm.UsageError, match="every is 0"):
        Callback(list, every=0)


def test_names_give_their_addresses_of_both_kinds(server: NameServer) -> None:
    """With the port that was said; again after the TTL."""
    server.records = {
        ("mesh.test.", "A"): ["10.0.0.1", "10.0.0.2"],
        ("mesh.test.", "AAAA"): ["fd00::1"],
    }
    found = Dns("mesh.test", 7450, resolver=server.resolver())._find("")
    assert sorted(found.addresses) == [
        "tcp://10.0.0.1:7450",
        "tcp://10.0.0.2:7450",
        "tcp://[fd00::1]:7450",
    ]
    assert found.again == 30


@pytest.mark.parametrize(("ttl", "again"), [(0, 5), (4, 5), (6, 6), (60, 60), (3600, 60)])
def test_a_name_is_asked_again_within_bounds(server: NameServer, ttl: int, again: int) -> None:
    """Whatever its TTL is."""
    server.records, server.ttl = {("mesh.test.", "A"): ["10.0.0.1"]}, ttl
    assert Dns("mesh.test", 1, resolver=server.resolver())._find("").again == again


def test_a_name_that_is_not_there_may_come_and_go(server: NameServer) -> None:
    """What it said before stays meanwhile."""
    asked = _Asked(Dns("mesh.test", 1, resolver=server.resolver()))
    asked.ask("", False, 0.0)
    assert asked.addresses == []
    assert "NXDOMAIN" in asked.error
    server.records = {("mesh.test.", "A"): ["10.0.0.1"]}
    asked.ask("", False, 0.0)
    assert (asked.addresses, asked.error) == (["tcp://10.0.0.1:1"], "")
    server.records = {}
    asked.ask("", False, 0.0)
    assert asked.addresses == ["tcp://10.0.0.1:1"]


def test_a_poisoned_name_sends_nobody_to_secrets_of_a_cloud(server: NameServer) -> None:
    """Nor to this machine, unless this node is itself on loopback."""
    server.records = {("mesh.test.", "A"): ["169.254.169.254", "127.0.0.1", "10.0.0.1"]}
    asked = _Asked(Dns("mesh.test", 1, resolver=server.resolver()))
    asked.ask("", False, 0.0)
    assert asked.addresses == ["tcp://10.0.0.1:1"]
    assert "left out" in asked.error
    asked.ask("", True, 0.0)
    assert sorted(asked.addresses) == ["tcp://10.0.0.1:1", "tcp://127.0.0.1:1"]


def test_services_give_hosts_and_ports(server: NameServer) -> None:
    """The best first; a host without an address is left out."""
    server.records = {
        ("_m._tcp.test.", "SRV"): ["20 0 2 b.test.", "10 0 1 a.test.", "30 0 3 gone.test."],
        ("a.test.", "A"): ["10.0.0.1"],
        ("b.test.", "A"): ["10.0.0.2"],
    }
    found = DnsSrv("_m._tcp.test", resolver=server.resolver())._find("")
    assert found.addresses == ["tcp://10.0.0.1:1", "tcp://10.0.0.2:2"]


def test_names_and_ports_that_are_none_are_refused() -> None:
    """By name."""
    for name in ("", "x" * 254, "ä"):
        with pytest.raises(mm.UsageError, match="name is"):
            DnsSrv(name)
    for port in (0, 65536, True):
        with pytest.raises(mm.UsageError, match="port is"):
            Dns("h", port)
    with pytest.raises(TypeError, match="resolver is 5"):
        Dns("h", 1, resolver=5)


def test_a_seed_of_ten_thousand_addresses_gives_some_hundreds() -> None:
    """And says that there were more."""
    many = [f"tcp://10.{i // 256}.{i % 256}.1:1" for i in range(10_000)]
    taken, words = believed(many, local=False)
    assert taken == many[:ADDRESSES_MAX]
    assert f"more than {ADDRESSES_MAX}" in words


def test_nodes_see_each_other_in_a_folder(tmp_path: Path) -> None:
    """Each its own file; one that leaves takes it away."""
    folder = tmp_path / "mesh"
    a, b = SharedDir(folder), SharedDir(folder)
    assert a._find("tcp://10.0.0.1:1").addresses == []
    assert b._find("tcp://10.0.0.2:1").addresses == ["tcp://10.0.0.1:1"]
    assert a._find("tcp://10.0.0.1:1").addresses == ["tcp://10.0.0.2:1"]
    b._gone()
    assert a._find("tcp://10.0.0.1:1").addresses == []
    assert b._find("").addresses == ["tcp://10.0.0.1:1"], (
        "who has no address yet reads all the same"
    )
    assert len(list(folder.iterdir())) == 1


def test_what_is_old_or_no_address_in_a_folder_does_not_count(tmp_path: Path) -> None:
    """Nor does a link, or half a file."""
    seed = SharedDir(tmp_path)
    seed._find("tcp://10.0.0.1:1")
    texts = {
        "old": "tcp://10.0.0.2:1",
        "junk": "\0\0",
        "half": "tcp://10",
        "new": "tcp://10.0.0.3:1",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}{ENDING}").write_text(text)
    (tmp_path / f"link{ENDING}").symlink_to(tmp_path / f"new{ENDING}")
    (tmp_path / f"folder{ENDING}").mkdir()
    now = os.stat(tmp_path / seed._name).st_mtime
    os.utime(tmp_path / f"old{ENDING}", (now - DIR_AGE_S - 1, now - DIR_AGE_S - 1))
    (tmp_path / f"tomorrow{ENDING}").write_text("tcp://10.0.0.4:1")
    os.utime(tmp_path / f"tomorrow{ENDING}", (now + DIR_AGE_S + 9, now + DIR_AGE_S + 9))
    os.mkfifo(tmp_path / f"fifo{ENDING}")
    assert seed._find("tcp://10.0.0.1:1").addresses == ["tcp://10.0.0.3:1"]


def test_only_old_files_of_nodes_are_swept(tmp_path: Path) -> None:
    """What is no address may be somebody else's, whatever its name."""
    seed = SharedDir(tmp_path)
    seed._find("tcp://10.0.0.1:1")
    for name, text in (("node", "tcp://10.0.0.2:1"), ("notes", "my notes")):
        (tmp_path / f"{name}{ENDING}").write_text(text)
        os.utime(tmp_path / f"{name}{ENDING}", (1, 1))
    assert seed._find("tcp://10.0.0.1:1").addresses == []
    assert not (tmp_path / f"node{ENDING}").exists()
    assert (tmp_path / f"notes{ENDING}").exists()


def test_what_killed_writers_left_in_a_folder_is_swept(tmp_path: Path) -> None:
    """Regular files of that very name, older than a lease by the folder's clock; nothing else."""
    seed, precious = SharedDir(tmp_path), tmp_path / "precious"
    precious.write_text("mine")
    seed._find("tcp://10.0.0.1:1")
    now = os.stat(tmp_path / seed._name).st_mtime
    old = now - DIR_AGE_S - 1
    left = [f"{number:016x}{ENDING}.{number:016x}.new" for number in range(4)]
    stays = [f"notes{ENDING}.new", f"{'0' * 16}{ENDING}.{'0' * 15}.new", f"{left[0]}.old"]
    for name in (*left[:2], *stays):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (old, old))
    os.utime(tmp_path / left[1], (now, now))  # somebody may be writing it
    (tmp_path / left[2]).symlink_to(precious)
    os.utime(tmp_path / left[2], (old, old), follow_symlinks=False)
    (tmp_path / left[3]).mkdir()
    os.utime(tmp_path / left[3], (old, old))
    assert seed._find("").addresses == []
    assert (tmp_path / left[0]).exists(), "who wrote nothing does not know the folder's clock"
    seed._find("tcp://10.0.0.1:1")
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {seed._name, precious.name, *left[1:], *stays}
    assert precious.read_text() == "mine"


def test_a_node_writes_into_no_file_that_somebody_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a link nor through a pipe: its own is a new one, and nobody knows its name."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "mesh"
    seed = SharedDir(folder)
    seed._find("tcp://10.0.0.1:1")
    (folder / f"{seed._name}.new").symlink_to(precious)
    (folder / seed._name).unlink()
    (folder / seed._name).symlink_to(precious)
    seed._find("tcp://10.0.0.1:1")
    assert precious.read_text() == "mine"
    assert (folder / seed._name).read_text() == "tcp://10.0.0.1:1\n"
    monkeypatch.setattr("meshmsg.mesh._finding.seeds.os.urandom", lambda size: b"\0" * size)
    (folder / f"{seed._name}.{'00' * 8}.new").symlink_to(precious)
    with pytest.raises(FileExistsError):
        seed._find("tcp://10.0.0.1:1")


def test_a_folder_that_cannot_be_made_is_told_of(tmp_path: Path) -> None:
    """And is tried again."""
    (tmp_path / "file").write_text("")
    asked = _Asked(SharedDir(tmp_path / "file" / "mesh"))
    asked.ask("", False, 0.0)
    assert "NotADirectoryError" in asked.error


def test_the_thread_merges_what_seeds_say_and_ends() -> None:
    """It tells what is found once, until it changes."""
    found: list[list[str]] = []
    told = threading.Event()

    def take(addresses: list[str]) -> None:
        found.append(addresses)
        told.set()

    seeds: list[Seed] = [Static(["a:1", "b:1"]), Static(["b:1", "c:1"])]
    seeding = Seeding(seeds, local=True, rng=Random(1), own=lambda: "", found=take)
    assert told.wait(WAIT_S)
    [first, second] = seeding.infos(lambda address: "refused" if address == "tcp://a:1" else "")
    assert dict(first.tried) == {"tcp://a:1": "refused", "tcp://b:1": ""}
    assert second.asked is not None
    seeding.close()
    seeding.close()
    assert found == [["tcp://a:1", "tcp://b:1", "tcp://c:1"]]


def test_nodes_on_all_addresses_find_each_other_by_a_folder(tmp_path: Path) -> None:
    """Though nobody has seen them yet: each writes where it sends from."""
    options = {"bind": "tcp://*:0", "insecure": True}
    with node("a", SharedDir(tmp_path), **options) as a:
        eventually(lambda: list(tmp_path.glob(f"*{ENDING}")))
        with node("b", SharedDir(tmp_path), **options) as b:
            for mesh in (a, b):
                mesh.wait_for(count=2, timeout=WAIT_S)


class Fixed(Random):
    """A source that says the same each time."""

    def __init__(self, said: float) -> None:
        super().__init__(0)
        self._said = said

    def random(self) -> float:
        """Say it."""
        return self._said


@pytest.mark.parametrize(("said", "share"), [(0.0, -0.5), (0.5, 0.0), (0.999, 0.499)])
def test_nodes_do_not_ask_together(said: float, share: float) -> None:
    """When a seed is asked again is a little random: by a fifth of the time in all."""
    told = threading.Event()
    every = 40.0
    seeding = Seeding(
        [Callback(lambda: ["h:1"], every=every)],
        local=False,
        rng=Fixed(said),
        own=lambda: "",
        found=lambda addresses: told.set(),
    )
    assert told.wait(WAIT_S)
    (asked,) = seeding._asked
    seeding.close()
    assert asked.at is not None
    assert asked.due - asked.at == pytest.approx(every * (1 + JITTER * share))
