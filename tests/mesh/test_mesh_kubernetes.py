"""The YAML of examples/kubernetes: it is what its schema says, and its program is what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.making import make_secret
from meshmsg.mesh import Mesh, State
from tests.support.pairs import WAIT_S, wait_until

yaml = pytest.importorskip("yaml")
kubernetes_validate = pytest.importorskip("kubernetes_validate")
FILE = Path(__file__).parents[2] / "examples" / "kubernetes" / "mesh.yaml"
PORT = 7450
JOBS = 50
"""That are there as the worker is to end: those that it does not do are others'."""


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    """What it has, by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all(FILE.read_text())}


@pytest.mark.parametrize("kind", ["Service", "ConfigMap", "Deployment"])
def test_each_part_is_what_the_schema_says(parts: dict[str, Any], kind: str) -> None:
    """Of the latest Kubernetes that is known, without a field that it does not have."""
    latest = kubernetes_validate.latest_version()
    kubernetes_validate.validate(parts[kind], latest, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):  # it can fail
        kubernetes_validate.validate({**parts[kind], "sped": {}}, latest, strict=True)


def test_the_service_is_headless_and_has_the_pods_of_the_deployment(parts: dict[str, Any]) -> None:
    """Also those that are not ready: the first node is a seed before it is."""
    service, template = parts["Service"]["spec"], parts["Deployment"]["spec"]["template"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    assert service["selector"] == template["metadata"]["labels"]
    assert [one["port"] for one in service["ports"]] == [PORT]


def test_its_program_finds_a_mesh_works_and_ends(parts: dict[str, Any], tmp_path: Path) -> None:
    """With other addresses, and a file of its own for the secret. SIGTERM loses no job."""
    container = parts["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    ports = [one["containerPort"] for one in container["ports"]]
    text = parts["ConfigMap"]["data"]["worker.py"]
    secret = tmp_path / "etl.secret"
    make_secret(str(tmp_path / "etl"))
    here = "tcp://127.0.0.1:0"
    with Mesh(cluster="etl", name="boss", bind=here, secret=secret) as mesh:
        swaps = {
            f'Dns("etl-mesh", {ports[0]})': repr(mesh.endpoint),
            f"tcp://*:{ports[0]}": here,
            f"tls+tcp://*:{ports[1]}": "tls+tcp://127.0.0.1:0",
            "/secret/etl.secret": str(secret),
        }
        for there, own in swaps.items():
            assert there in text
            text = text.replace(there, own)
        (tmp_path / "worker.py").write_text(text)
        command = [sys.executable, str(tmp_path / "worker.py")]
        env = {**os.environ, "POD_NAME": "etl-worker-1"}
        with (
            subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as worker,
            mesh.connect("jobs", mm.Push) as jobs,
        ):
            assert worker.stdout is not None
            try:
                jobs.send(b"a job", timeout=WAIT_S)
                assert worker.stdout.readline() == "a job\n"
                assert [one.record.name for one in mesh.members()] == ["boss", "etl-worker-1"]
                jobs.send_many([b"more"] * JOBS)
                worker.terminate()  # as Kubernetes does
                assert worker.wait(WAIT_S) == 0
                done = worker.stdout.read().count("more\n")
                wait_until(lambda: mesh.members()[1].state is State.LEFT)
                assert jobs.drain(timeout=0).queued == JOBS - done
            finally:
                worker.kill()
