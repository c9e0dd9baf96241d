"""Nodes of two clusters that meet: both sides are told, and neither takes the other in."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from tests.support.meshes import eventually, node


@pytest.mark.parametrize("protected", [False, True])
def test_a_wrong_cluster_is_told_at_both_sides(
    protected: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning each, by name; `explain` and who waits say it as well."""
    options = {}
    if protected:
        options = {"secret": str(tmp_path / "it.secret"), "bind": "tcp://127.0.0.1:0"}
        write_secret(tmp_path / "it.secret")
    with node("x", cluster="a", **options) as a:
        with node("y", a.endpoint, cluster="b", **options) as b:
            eventually(lambda: len(caplog.records) == 2)
            dialer, other = sorted((r.getMessage() for r in caplog.records), reverse=True)
            words = "answers for the cluster 'a', not 'b'"
            assert dialer == f"Mesh 'y' of 'b': seed {a.endpoint} {words}; see mesh.explain"
            assert other.startswith("Mesh 'x' of 'a': node 'y' of ")
            assert other.endswith(" came for the cluster 'b', not 'a'; see mesh.explain")
            assert f"{a.endpoint}: it {words}" in str(b.explain("x"))
            assert "came for the cluster 'b', not 'a'" in str(a.explain("y"))
            with pytest.raises(mm.TimedOutError, match=words):
                b.wait_for(count=2, timeout=0.01)
            with pytest.raises(mm.TimedOutError, match="came for the cluster 'b', not 'a'"):
                a.wait_for(count=2, timeout=0.01)
            assert len(a.members()) == len(b.members()) == 1
    assert len(caplog.records) == 2
