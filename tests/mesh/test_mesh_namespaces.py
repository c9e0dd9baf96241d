"""A mesh over a network of its own: links that go down, and addresses that change."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.meshes import Process

LEFT, RIGHT = f"mml{os.getpid()}", f"mmr{os.getpid()}"
BIND = {"bind": "tcp://0.0.0.0:7450", "insecure": True}


def ip(*words: str) -> None:
    """Run ip."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def network() -> Iterator[None]:
    """Two namespaces with a link between them; 10.77.0.1 and .2."""
    try:
        ip("netns", "add", LEFT)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"network namespaces are not allowed here: {error}")
    try:
        ip("netns", "add", RIGHT)
        ip("-n", LEFT, "link", "add", "v", "type", "veth", "peer", "name", "v", "netns", RIGHT)
        for space, address in ((LEFT, "10.77.0.1/24"), (RIGHT, "10.77.0.2/24")):
            ip("-n", space, "address", "add", address, "dev", "v")
            ip("-n", space, "link", "set", "v", "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield
    finally:
        for space in (LEFT, RIGHT):
            subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)


@pytest.mark.usefixtures("network")
def test_a_link_that_is_down_parts_a_mesh_and_one_that_is_up_heals_it() -> None:
    """Both sides go on, and are one again by themselves."""
    seed = "10.77.0.1:7450"
    with Process("a", inside=LEFT, **BIND) as a, Process("b", seed, inside=RIGHT, **BIND) as b:
        with Process("b2", seed, inside=RIGHT, **{**BIND, "bind": "tcp://0.0.0.0:7451"}) as b2:
            for one in (a, b, b2):
                assert one.do("wait", None, 3) == ["a", "b", "b2"]
            assert b.do("addresses") == ["tcp://10.77.0.2:7450"]
            ip("-n", LEFT, "link", "set", "v", "down")
            a.do("until", "UNREACHABLE", "b")
            b.do("until", "UNREACHABLE", "a")
            assert b.do("wait", None, 2) == ["b", "b2"]
            ip("-n", LEFT, "link", "set", "v", "up")
            a.do("until", "UP", "b")
            b.do("until", "UP", "a")


@pytest.mark.usefixtures("network")
def test_a_node_whose_address_changes_is_found_at_the_new_one() -> None:
    """It is the same node; others tell it where they see it."""
    with Process("a", inside=LEFT, **BIND) as a:
        with Process("b", "10.77.0.1:7450", inside=RIGHT, **BIND) as b:
            a.do("wait", None, 2)
            b.do("announce", "s", "tcp://0.0.0.0:0")
            a.do("wait", "s", 1)
            ip("-n", RIGHT, "address", "add", "10.77.0.3/24", "dev", "v")
            ip("-n", RIGHT, "address", "delete", "10.77.0.2/24", "dev", "v")
            ip("-n", RIGHT, "address", "replace", "10.77.0.3/24", "dev", "v")
            addresses: list[str] = []
            while addresses != ["tcp://10.77.0.3:7450"]:
                addresses = a.do("until", "CHANGED", "b")
