"""MESHMSG_SECURITY: which file it names, read once for each engine that asks.

Not here: the file (ini.py). Law: what is set is obeyed or refused; only a variable that is not
there means that nothing protects the connections.
"""

from __future__ import annotations

import os

from meshmsg._binding.errors import UsageError
from meshmsg._security.policy import Profile

VARIABLE = "MESHMSG_SECURITY"


class FromEnvironment:
    """What the environment says to one engine.

    The variable is looked at for each socket, so one that is set late counts for sockets that are
    opened later; the file it names is read for the first of them. A forked child has an engine of
    its own, and so reads it again.
    """

    def __init__(self) -> None:
        self._read: tuple[str, Profile] | None = None

    def security(self) -> Profile | None:
        """Return the policies of the file, None if the variable is not there.

        Raises:
            UsageError: It is empty, or the file is wrong or cannot be read.
        """
        path = os.environ.get(VARIABLE)
        if path is None:
            return None
        read = self._read
        if read is None or read[0] != path:
            read = self._read = path, _profile(path)
        return read[1]


def _profile(path: str) -> Profile:
    from meshmsg._security.environment.ini import read_profile

    if not path:
        raise UsageError(f"{VARIABLE} is empty: it is the path of a file, or not there at all")
    try:
        return read_profile(path)
    except UsageError as error:
        raise UsageError(f"{VARIABLE}: {error}") from error.__cause__
