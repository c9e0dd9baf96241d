"""What protects the sockets of a job: the path of a file of policies, where they are opened.

Not here: what stands in such a file (docs/security.md). Law: keys are in files on each machine; a
path is all that a job hands on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "MESHMSG_SECURITY"
_LOCK = threading.RLock()


@contextmanager
def protected(path: str | None) -> Iterator[None]:
    """Have the environment name a file while sockets are opened; None: as it is.

    Threads of a process take turns.
    """
    if path is None:
        yield
        return
    with _LOCK:
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = path
        try:
            yield
        finally:
            del os.environ[VARIABLE]
            if before is not None:
                os.environ[VARIABLE] = before
