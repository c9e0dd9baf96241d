"""`meshmsg doctor` and sockets of libzmq and NNG.

Not here: sockets of ours (tests/unit/test_cli_doctor.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg._cli.doctor import examine
from meshmsg._cli.steps import Report
from tests.interop.spside import NngSide, free_endpoint
from tests.interop.zmqside import bind, zmq_socket
from tests.support import refsp
from tests.support.pairs import WAIT_S, of_its_own

curve = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")


def looked(url: str, policy: mm.Curve | None = None) -> Report:
    """Have a look, with patience."""
    return examine(url, policy, None, WAIT_S)


def words_of(report: Report) -> dict[str, str]:
    """What each step found."""
    return {step.name: step.words for step in report.steps}


@pytest.mark.parametrize("role", ["PUB", "PULL", "REP", "ROUTER", "XPUB"])
def test_a_socket_of_libzmq_is_looked_at_to_the_end(role: str) -> None:
    """It answers a ping."""
    with zmq_socket(getattr(zmq, role)) as theirs:
        report = looked(bind(theirs, of_its_own()))
    words = words_of(report)
    assert report.code == 0, report.lines()
    assert words["wire"] == "ZMTP 3.1"
    assert f"it is a {role}" in words["role"]
    assert words["round trip"].endswith(" ms")


def test_a_push_of_libzmq_keeps_its_messages() -> None:
    """It would give them to whoever comes, so nobody comes."""
    with zmq_socket(zmq.PUSH) as theirs:
        url = bind(theirs, of_its_own())
        report = looked(url)
        assert report.code == 0
        assert "it is a PUSH" in words_of(report)["role"]
        with mm.Pull(connect=url) as pull:
            theirs.send(b"work")
            assert pull.recv(timeout=WAIT_S) == b"work"


@curve
def test_curve_of_libzmq_is_found_out_whatever_its_role() -> None:
    """It does not say what it does not want: roles are tried."""
    server = mm.keygen()
    keys: dict[str, Any] = {
        "CURVE_SERVER": 1,
        "CURVE_PUBLICKEY": server.public.encode(),
        "CURVE_SECRETKEY": server.secret.encode(),
    }
    for role in (zmq.PUB, zmq.REP, zmq.PULL):
        with zmq_socket(role, **keys) as theirs:
            url = bind(theirs, of_its_own())
            report = looked(url, mm.Curve(server=server.public))
            assert report.code == 0, report.lines()
            assert words_of(report)["mechanism"] == f"CURVE; it has the key {server.public}"
            report = looked(url)
            assert (report.steps[-1].name, report.code) == ("mechanism", 6)
            assert "--server KEY" in report.advice
            report = looked(url, mm.Curve(server=mm.keygen().public))
            assert (report.steps[-1].name, report.code) == ("mechanism", 6)
    with zmq_socket(zmq.PUSH, **keys) as theirs:  # its only partner would be given its messages
        report = looked(bind(theirs, of_its_own()), mm.Curve(server=server.public))
        assert (report.steps[-1].name, report.code) == ("allowed", 8)
        assert words_of(report)["mechanism"] == "the server has the key that we expect"
        assert "name a --role" in report.advice


@pytest.mark.leaves_threads
def test_a_socket_of_nng_is_looked_at_over_sp(tmp_path: Path) -> None:
    """Over ZMTP it is told that it is none."""
    url = free_endpoint("tcp", tmp_path)
    theirs = NngSide(refsp.PUB, url, listen=True)
    try:
        report = looked("sp+" + url)
        assert report.code == 0, report.lines()
        assert words_of(report)["wire"] == "SP"
        report = looked(url)
        assert report.steps[-1].name == "wire", report.lines()
    finally:
        theirs.close()
