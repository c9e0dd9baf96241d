"""The warning of endpoints that nothing protects and others can reach.

Not here: binding there without insecure=True, which is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import meshmsg as mm
from meshmsg._binding.addresses import leaves_machine
from meshmsg._socket import protection
from meshmsg.testing import SimWorld
from tests.support.pairs import told_all

FAR = "tcp://[::ffff:127.0.0.1]:9"
"""Loopback in a form that is not looked through: no test sends anything elsewhere."""
BOUND = "lets in anybody who can reach this machine"
CONNECTED = "is not protected"


@pytest.fixture(autouse=True)
def nothing_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(protection, "_told", set())


@pytest.mark.parametrize(
    ("url", "leaves"),
    [
        ("tcp://127.0.0.1:5555", False),
        ("tcp://127.200.1.9:5555", False),
        ("tcp://localhost:5555", False),
        ("sp+tcp://[::1]:5555", False),
        ("ipc:///tmp/a", False),
        ("inproc://a", False),
        ("tls+tcp://a:5555", False),
        ("tcp://*:5555", True),
        ("tcp://0.0.0.0:5555", True),
        ("tcp://[::]:5555", True),
        ("tcp://db.internal:5555", True),
        ("tcp://127.0.0.1.example.org:5555", True),
        ("sp+tcp://192.0.2.1:5555", True),
    ],
)
def test_what_leaves_this_machine(url: str, leaves: bool) -> None:
    """TLS is always protected, and ipc is of this machine."""
    assert leaves_machine(url) is leaves


def test_it_is_told_once_of_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever the socket belongs to."""
    for _ in range(2):
        with mm.Push(connect=FAR), mm.Pull(bind="tcp://0.0.0.0:0", insecure=True):
            pass
    with mm.Sub(connect=FAR):
        pass
    told_all()
    said = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert sum(CONNECTED in words for words in said) == 1
    assert sum(BOUND in words for words in said) == 1
    assert any(words.startswith(f"Push {FAR} {CONNECTED}") for words in said)


def by_word(url: str) -> None:
    """Say that it is meant."""
    with mm.Push(connect=url, security=mm.NONE):
        pass
    with mm.Pull(bind="tcp://0.0.0.0:0", insecure=True, security=mm.NONE):
        pass


def by_the_engine(url: str) -> None:
    """Say it for all sockets, or for those that connect."""
    for said in (mm.NONE, mm.Profile(bind=mm.NONE, connect=mm.NONE)):
        with mm.Engine(security=said) as engine, mm.Push(connect=url, engine=engine):
            pass


def nearby(url: str) -> None:
    """Stay on loopback."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, mm.Push(connect=pull.endpoint):
        pass


def protected(url: str) -> None:
    """Have a policy that hides what is sent."""
    if mm.has("curve"):
        with mm.Push(connect=url, security=mm.Curve(server=mm.keygen().public)):
            pass


def simulated(url: str) -> None:
    """Be in a world where there is nobody else."""
    world = SimWorld(seed=1)
    with world.engine() as engine, mm.Push(connect=url, engine=engine):
        pass


@pytest.mark.parametrize("ways", [by_word, by_the_engine, nearby, protected, simulated])
def test_it_is_not_told(ways: Callable[[str], None], caplog: pytest.LogCaptureFixture) -> None:
    """Of what is meant, protected, or nobody else's."""
    ways(FAR)
    told_all()
    assert CONNECTED not in caplog.text
    assert BOUND not in caplog.text
    assert not protection._told


def test_a_password_that_everybody_can_read_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """PLAIN hides nothing, whatever it is that insecure=True says."""
    plain = mm.Plain(user="alice", password="1234")
    with mm.Push(connect=FAR, security=plain, insecure=True):
        pass
    told_all()
    assert f"Push {FAR} {CONNECTED}" in caplog.text
