"""Against JeroMQ, which is ZeroMQ written anew in Java.

Its "ipc" is TCP on a port made of the name, and has no peers but JeroMQ: only tcp is tested.
See foreign.py for the tests all peers share.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.interop.foreign import PeerTests
from tests.support.fetched import Unavailable, jeromq, run
from tests.support.peerproc import Peer

SOURCE = Path(__file__).with_name("JeromqPeer.java")
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx512m"]
"""Many short runs: start soon, and take little."""
ATTEMPTS, ATTEMPT_S = 20, 0.5


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Build the peer program, and return how to run it."""
    try:
        run(["javac", "-version"])
        run(["java", "-version"])
    except Unavailable as why:
        pytest.skip(f"no Java to build with (Debian: openjdk-17-jdk-headless, maven): {why}")
    jars = jeromq()
    if isinstance(jars, Unavailable):
        pytest.skip(str(jars))
    folder = tmp_path_factory.mktemp("jeromq")
    path = os.pathsep.join(map(str, [*jars, folder]))
    run(["javac", "-Xlint:all", "-Werror", "-cp", path, "-d", str(folder), str(SOURCE)])
    return ["java", *QUICK, "-cp", path, SOURCE.stem]


class TestJeromq(PeerTests):
    """All that every peer does."""

    transports = ("tcp",)
    zmtp_minors = (0, 1)

    def meet(self, ours: Any, theirs: Peer, url: str, they_connect: bool) -> None:
        """T: about one connection in fifty that JeroMQ 0.6 makes, to a peer of any kind, it then
        never reads nor writes (its issue 912), and it may not notice when it is closed."""
        for _ in range(ATTEMPTS if they_connect else 0):
            try:
                ours.wait_for_peers(timeout=ATTEMPT_S)
                return
            except mm.TimedOutError:
                theirs.disconnect(url)
                theirs.connect(url)
        super().meet(ours, theirs, url, they_connect)
