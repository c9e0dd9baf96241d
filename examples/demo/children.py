"""Child processes that are always stopped, and that leave by themselves if their parent dies.

The parent holds the writing end of each child's standard input; the kernel closes it when the
parent ends in whatever way, and the child's watching thread then ends the child.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

ORPHANED = 70  # exit status of a child whose parent went away
_STOP_WAIT = 15.0  # seconds from SIGTERM to SIGKILL


def leave_with_parent() -> None:
    """In a child: end this process when the parent is gone."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(ORPHANED)

    threading.Thread(target=watch, name="demo-parent", daemon=True).start()


class Child:
    """One child process, `python -m module arguments`, with its output in a log file."""

    def __init__(
        self,
        module: str,
        arguments: list[str],
        *,
        root: Path,
        log: Path,
        security: Path | None = None,
    ) -> None:
        self.name = module.rsplit(".", 1)[-1]
        self.log = log
        self._file: IO[bytes] = log.open("wb")
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(
            part for part in (str(root), os.environ.get("PYTHONPATH", "")) if part
        )
        if security is not None:
            environment["MESHMSG_SECURITY"] = str(security)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            cwd=root,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches the parent only, which then stops us
        )

    @property
    def status(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.poll()

    def wait(self, timeout: float) -> int | None:
        """Wait for the end; None when it takes longer."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def last_lines(self, count: int = 15) -> str:
        """The end of its output, for an error message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])

    def stop(self) -> None:
        """End it and what it started, kindly first; harmless when it has ended."""
        if self.status is None:
            self._signal(signal.SIGTERM)
            if self.wait(_STOP_WAIT) is None:
                self._signal(signal.SIGKILL)
                self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._file.close()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return
