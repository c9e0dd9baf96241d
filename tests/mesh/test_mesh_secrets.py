"""What a node is told that meets a mesh with a secret, and has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.meshes import eventually, node

UP = "tcp://127.0.0.1:0"
WORDS = "this mesh has a secret: give its file (secret=)"


def test_a_node_without_the_secret_is_told_to_give_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By the log, by `explain`, and as a wait ends; nothing about the form of an address."""
    path = str(write_secret(tmp_path / "its.secret"))
    with node("x", secret=path, bind="tcp://127.0.0.1:0") as its, node("y", its.endpoint) as mesh:
        eventually(lambda: any(WORDS in one.getMessage() for one in caplog.records))
        with pytest.raises(mm.TimedOutError) as caught:
            mesh.wait_for(count=2, timeout=0.01)
        logged = "\n".join(one.getMessage() for one in caplog.records)
        for told in (str(caught.value), str(mesh.explain("x")), logged):
            assert WORDS in told
            assert "tls+ left out" not in told


def test_a_secret_that_is_wanted_is_one_warning_of_who_dials(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """None of its socket; who is dialed says its own."""
    path = str(write_secret(tmp_path / "its.secret"))
    with node("x", secret=path, bind="tcp://127.0.0.1:0") as its, node("y", its.endpoint):
        eventually(lambda: any(WORDS in one.getMessage() for one in caplog.records))
    ours = [m for one in caplog.records if "tls+" not in (m := one.getMessage())]
    assert len(ours) == 1
    assert ours[0].startswith(f"Mesh 'y' of 'test': seed {its.endpoint} ")


def test_a_socket_without_the_secret_says_why_it_has_no_peer(tmp_path: Path) -> None:
    """One that was made before, where a class would have been given it."""
    path = str(write_secret(tmp_path / "its.secret"))
    with node("x", secret=path, bind="tcp://127.0.0.1:0") as mesh:
        pull = mm.Pull(bind="tls+tcp://127.0.0.1:0", security=mesh.security)
        with pull, mm.Push() as push:
            mesh.announce("orders", pull)
            mesh.connect("orders", push)
            eventually(lambda: any(one.why() for one in push._follows))
            with pytest.raises(mm.TimedOutError, match="TLS needs.* security=mesh.security; see"):
                push.send(b"x", timeout=0.01)


@pytest.mark.parametrize("security", [None, mm.NONE])
def test_a_service_without_the_secret_is_told_of_where_it_is_offered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, security: Any
) -> None:
    """Who follows it can only fail; of one that is meant so, or is protected, nothing is said."""

    def offered() -> list[str]:
        return [m for one in caplog.records if "is offered at" in (m := one.getMessage())]

    path = str(write_secret(tmp_path / "its.secret"))
    with node("x", secret=path, bind=UP) as mesh:
        with mm.Pull(bind=UP, security=security) as open_to_all:
            mesh.announce("open", open_to_all)
        with mm.Pull(bind="tls+" + UP, security=mesh.security) as protected:
            mesh.announce("protected", protected)
        eventually(lambda: offered() or security is not None)
    said = offered()
    if security is None:
        assert len(said) == 1
        assert "the service 'open' is offered at tcp://127.0.0.1:" in said[0]
        assert "security=mesh.security" in said[0]
    else:
        assert said == []


UNLIKE = [
    ("a", "b", "it most likely has another secret than this node", "came with another secret"),
    ("a", "", WORDS, "came without the secret of this mesh"),
    (
        "",
        "b",
        "it most likely has no secret, and this node has one",
        "came with a secret, and this",
    ),
]
"""The secret of who is dialed and of who dials, "" is none; what both say."""


@pytest.mark.parametrize(("its", "ours", "here", "there"), UNLIKE)
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_nodes_whose_secrets_are_unlike_say_so_on_both_sides(
    its: str, ours: str, here: str, there: str, transport: str, tmp_path: Path
) -> None:
    """By `explain`, whichever node is asked for, and as a wait for others ends."""
    files = {name: str(write_secret(tmp_path / f"{name}.secret")) for name in "ab"}
    options: dict[str, Any] = {"bind": UP, "transport": transport}
    with (
        node("x", secret=files.get(its), **options) as dialed,
        node("y", dialed.endpoint, secret=files.get(ours), **options) as dials,
    ):
        for mesh, words in ((dials, here), (dialed, there)):
            eventually(lambda mesh=mesh, words=words: words in str(mesh.explain("z")))
            with pytest.raises(mm.TimedOutError) as caught:
                mesh.wait_for(count=2, timeout=0.01)
            assert words in str(caught.value)
            assert len(mesh.members()) == 1
