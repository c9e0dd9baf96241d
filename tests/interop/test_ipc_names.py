"""Abstract names and fresh paths of ipc with libzmq (pyzmq) and NNG (pynng) at the other end."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pynng
import pytest
import zmq

import meshmsg as mm
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S

_names = itertools.count()


@pytest.fixture
def name() -> str:
    """The name of an abstract socket of its own."""
    return f"meshmsg-interop-{os.getpid()}-{next(_names)}"


def exchanged(ours: Any, theirs: Any) -> None:
    """One message each way."""
    ours.wait_for_peers(timeout=WAIT_S)
    theirs.send(b"from them")
    assert ours.recv(timeout=WAIT_S) == b"from them"
    ours.send(b"from us", timeout=WAIT_S)
    assert theirs.recv() == b"from us"


@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
def test_an_abstract_name_is_the_same_for_libzmq(name: str, we_bind: bool) -> None:
    """No octet more, and none less."""
    url = f"ipc://@{name}"
    with zmq_socket(zmq.PAIR) as theirs, mm.Pair() as ours:
        if we_bind:
            theirs.connect(ours.bind(url))
        else:
            theirs.bind(url)
            ours.connect(url)
        exchanged(ours, theirs)
        assert ours.peers()[0].address == url
    assert not Path(f"@{name}").exists()


@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
def test_a_fresh_path_is_told_by_endpoint(we_bind: bool) -> None:
    """As LAST_ENDPOINT of libzmq tells it."""
    with zmq_socket(zmq.PAIR) as theirs, mm.Pair() as ours:
        if we_bind:
            theirs.connect(ours.bind("ipc://*"))
        else:
            ours.connect(bind(theirs, "ipc://*"))
        exchanged(ours, theirs)


@pytest.mark.leaves_threads
@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
def test_an_abstract_name_is_the_same_for_nng(name: str, we_bind: bool) -> None:
    """Which says abstract:// for it."""
    with pynng.Pair0(recv_timeout=int(WAIT_S * 1000)) as theirs, mm.Pair() as ours:
        if we_bind:
            ours.bind(f"ipc://@{name}")
            theirs.dial(f"abstract://{name}", block=False)
        else:
            theirs.listen(f"abstract://{name}")
            ours.connect(f"sp+ipc://@{name}")
        exchanged(ours, theirs)
