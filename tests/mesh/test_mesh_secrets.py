"""What a node is told that meets a mesh with a secret, and has none."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.meshes import eventually, node

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
