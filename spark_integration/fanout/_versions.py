"""Whether a task and the program that began it have the same meshmsg.

Law: what differs is refused before anything is worked on; no form is guessed.
"""

from __future__ import annotations

from meshmsg import UsageError, __version__

from ._words import WIRE


def same_version(version: str, wire: int) -> None:
    """See that the program has the version of this task, and the form of what it says.

    Raises:
        UsageError: It has not.
    """
    if (version, wire) != (__version__, WIRE):
        raise UsageError(
            f"the driver has meshmsg {version}, and this executor has {__version__}: install the "
            "same version on all nodes"
        )
