"""A PostgreSQL server of the tests' own: one a session, on a unix socket, gone at the end.

Not here: what is asked of it. Law: it belongs to no privileged user, listens on no port, and a
machine without its programs is told so.
"""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pairs import WAIT_S, wait_until

USER = "meshmsg"
UNPRIVILEGED = "nobody"
"""Who has the server where the tests are root's, for which PostgreSQL refuses to run."""
PLACES = "/usr/lib/postgresql/*/bin"
"""Where Debian has those programs that only a server's machine needs."""
QUICK = ("fsync=off", "shared_buffers=16MB", "max_connections=40", "autovacuum=off")
"""A server that is killed is not looked at again."""


def programs() -> Path:
    """Return the folder of initdb and postgres, or skip."""
    found = [str(Path(which).resolve().parent) for which in [shutil.which("initdb")] if which]
    for folder in [*found, *sorted(glob.glob(PLACES), reverse=True)]:
        if all((Path(folder) / name).exists() for name in ("initdb", "postgres")):
            return Path(folder)
    pytest.skip("PostgreSQL is not installed (Debian: the package postgresql)")


def _owner(folder: str) -> dict[str, Any]:
    """Give a folder to whom the server is to belong; return how to start a process of theirs.

    A sanitizer of the tests' own is not for it.
    """
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if os.getuid() != 0:
        return {"env": plain}
    user = pwd.getpwnam(UNPRIVILEGED)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"env": plain, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Run one; gives the folder of its socket, where the user `meshmsg` may connect."""
    bin_ = programs()
    with tempfile.TemporaryDirectory(prefix="mm-pg-", dir="/tmp") as folder:
        owner = _owner(folder)
        data = f"{folder}/data"
        command = [bin_ / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run([*command, "--locale=C"], check=True, capture_output=True, **owner)
        settings = [f"-c{one}" for one in (*QUICK, f"unix_socket_directories={folder}")]
        with open(f"{folder}/log", "wb") as log:
            process = subprocess.Popen(
                [bin_ / "postgres", "-D", data, "-clisten_addresses=", *settings],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **owner,
            )
        try:
            wait_until(lambda: process.poll() is not None or _ready(data))
            assert process.poll() is None, Path(f"{folder}/log").read_text()
            yield folder
        finally:
            process.send_signal(signal.SIGINT)  # ends at once, without waiting for who is connected
            try:
                process.wait(WAIT_S)
            finally:
                process.kill()


def _ready(data: str) -> bool:
    """Whether its file says so; the last line of it is its state."""
    with contextlib.suppress(OSError, IndexError):  # not there, or empty yet
        return Path(f"{data}/postmaster.pid").read_text().splitlines()[-1].strip() == "ready"
    return False
