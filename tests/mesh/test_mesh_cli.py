"""`meshmsg mesh`: what is asked of a node from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._cli.codes import Code
from meshmsg._cli.program import main
from meshmsg._security.files.secret_files import write_secret
from meshmsg.mesh import EventKind, Mesh
from tests.support.asked import ask_patiently
from tests.support.meshes import WAIT_S, Process, node, until
from tests.support.pairs import of_its_own


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """A node, and a second one that offers something."""
    with node("a") as a, node("b", a.endpoint, zone="z1") as b:
        with mm.Pull(bind="tcp://127.0.0.1:0") as pull:
            b.announce("orders", pull)
            a.wait_for("orders", timeout=WAIT_S)
            yield a


def test_all_nodes_are_listed(mesh: Mesh, capsys: pytest.CaptureFixture[str]) -> None:
    """The one that was asked has a star."""
    assert main(["mesh", "ls", mesh.endpoint]) == Code.OK
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "id", "state", "rtt", "ms", "address", "zone", "services"]
    assert first.startswith("a* ")
    assert mesh.endpoint in first
    assert "ALIVE" in second
    assert "z1" in second
    assert "orders (pull) tcp://127.0.0.1:" in second


def test_all_nodes_are_listed_as_json(mesh: Mesh, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the scheme of the address, too."""
    assert main(["mesh", "ls", mesh.endpoint.removeprefix("tcp://"), "--json"]) == Code.OK
    told = json.loads(capsys.readouterr().out)
    assert told["cluster"] == "test"
    assert told["me"] == mesh.node_id.hex()
    assert {one["name"]: [s["name"] for s in one["services"]] for one in told["members"]} == {
        "a": [],
        "b": ["orders"],
    }


def test_a_node_is_explained(mesh: Mesh, capsys: pytest.CaptureFixture[str]) -> None:
    """One that nobody has told of is a failure."""
    assert main(["mesh", "explain", mesh.endpoint, "b"]) == Code.OK
    assert "ALIVE" in capsys.readouterr().out
    assert main(["mesh", "explain", mesh.endpoint, "nobody"]) == Code.FAILED
    assert "nobody has told of it" in capsys.readouterr().out
    assert main(["mesh", "explain", mesh.endpoint, "b", "--json"]) == Code.OK
    assert json.loads(capsys.readouterr().out)["members"][0]["zone"] == "z1"


@pytest.mark.parametrize("scheme", ["", "tcp://", "tls+tcp://"])
def test_a_node_is_explained_by_its_address(
    mesh: Mesh, scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As seeds say it, too; also by the Mesh itself."""
    (b,) = [one.record for one in mesh.members() if one.record.name == "b"]
    where = scheme + b.addresses[0].removeprefix("tcp://")
    assert main(["mesh", "explain", mesh.endpoint, where]) == Code.OK
    assert capsys.readouterr().out.startswith("b (")
    assert [one.record for one in mesh.explain(where).found] == [b]
    assert main(["mesh", "explain", mesh.endpoint, f"{scheme}127.0.0.1:1"]) == Code.FAILED


def test_a_node_answers(mesh: Mesh, capsys: pytest.CaptureFixture[str]) -> None:
    """As often as it is asked."""
    assert main(["mesh", "ping", mesh.endpoint, "-n", "2"]) == Code.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["a", "a"]
    assert main(["mesh", "ping", mesh.endpoint, "-n", "1", "--json"]) == Code.OK
    assert json.loads(capsys.readouterr().out)["seconds"] > 0


def test_a_node_is_made_to_leave(mesh: Mesh, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are told."""
    b = mesh.wait_for("orders", timeout=WAIT_S)[0]
    with mesh.watch() as watch:
        assert main(["mesh", "leave", b.record.addresses[0]]) == Code.OK
        until(watch, EventKind.LEFT, "b")
    assert "b leaves" in capsys.readouterr().out


def test_changes_are_told_as_they_happen(mesh: Mesh) -> None:
    """After who is there; until it is interrupted."""
    command = [sys.executable, "-m", "meshmsg", "mesh", "watch", mesh.endpoint, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        there = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert {(one["event"], one["name"]) for one in there} == {("UP", "a"), ("UP", "b")}
        with node("c", mesh.endpoint):
            told: tuple[str, str] = ("", "")
            while told != ("UP", "c"):
                line = json.loads(process.stdout.readline())
                told = line["event"], line["name"]
        process.terminate()


@pytest.mark.parametrize("leaves", [True, False])
def test_who_watches_a_node_that_ends_is_told_and_ends(leaves: bool) -> None:
    """Whether it leaves or dies: one line on standard error, and exit code 1."""
    with Process("x") as its:
        command = [sys.executable, "-m", "meshmsg", "mesh", "watch", its.endpoint]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, **pipes) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("UP ")
            if leaves:
                assert main(["mesh", "leave", its.endpoint]) == Code.OK
            else:
                its.kill()
            _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == Code.FAILED
    assert said == f"meshmsg: {its.endpoint}: the node left or died, and tells no more\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls", "junk"], "the address is 'junk'"),
        (["ls", "h:1", "--timeout", "0"], "--timeout is 0"),
        (["ls", "h:1", "--secret", "no.file"], "--secret 'no.file' cannot be read: No such file"),
        (["ping", "h:1", "-n", "0"], "-n is 0"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name."""
    assert main(["mesh", *arguments]) == Code.USAGE
    assert words in capsys.readouterr().err


def test_where_nobody_answers_it_is_told_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is there; or who is there is no mesh port."""
    ask_patiently(monkeypatch)
    with mm.Router(bind=of_its_own()) as other:
        address = other.endpoint
        assert main(["mesh", "ping", address, "--timeout", "0.3"]) == Code.FAILED
        assert "it may be no mesh port" in capsys.readouterr().err
    assert main(["mesh", "ping", address, "--timeout", "0.3"]) == Code.FAILED
    assert "refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("its", "given", "words"),
    [
        ("a", "", "this mesh has a secret: give its file, --secret FILE, as secret= of its nodes"),
        ("a", "b", "this mesh most likely has another secret than that of --secret"),
        ("", "b", "this mesh most likely has no secret: leave out --secret"),
    ],
)
def test_who_asks_with_the_wrong_secret_is_told_what_to_give(
    its: str,
    given: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or with none, where there is one."""
    ask_patiently(monkeypatch)
    files = {name: str(write_secret(tmp_path / f"{name}.secret")) for name in "ab"}
    with node("x", secret=files.get(its), bind="tcp://127.0.0.1:0") as mesh:
        told = ["--secret", files[given]] if given else []
        address = mesh.endpoint
        assert main(["mesh", "ls", address, "--timeout", "0.5", *told]) == Code.FAILED
    assert f"{address}: {words}; " in capsys.readouterr().err
