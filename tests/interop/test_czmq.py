"""Against libczmq, the C library that many C programs use libzmq by.

See foreign.py for the tests all peers share.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.interop.foreign import PeerTests
from tests.interop.foreign_security import SecuredTests
from tests.support.fetched import Unavailable, run

SOURCE = Path(__file__).with_name("czmq_peer.c")
CC = os.environ.get("CC") or shutil.which("cc") or "cc"
FLAGS = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Build the peer program, and return how to run it."""
    try:
        library = run(["pkg-config", "--cflags", "--libs", "libczmq", "libzmq"]).split()
        run([CC, "--version"])
    except Unavailable as why:
        pytest.skip(f"no libczmq to build with (Debian: libczmq-dev, pkg-config, gcc): {why}")
    program = tmp_path_factory.mktemp("czmq") / "peer"
    run([CC, *FLAGS, str(SOURCE), *library, "-o", str(program)])
    return [str(program)]


class TestCzmq(PeerTests):
    """All that every peer does; the libzmq below it may be of any age."""

    zmtp_minors = (0, 1)


class TestCzmqSecured(SecuredTests):
    """By its CURVE and PLAIN, which are libzmq's."""
