"""What the commands end with: the one table of exit codes.

Not here: when (program.py, steps.py). Law: a code keeps its meaning.
"""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """The exit code of a command.

    Attributes:
        OK: It was done; of `doctor`, all is well.
        FAILED: Something else failed, as a file that cannot be written.
        USAGE: The command line, a file or a key in it is wrong.
        NAME: `doctor`: the host's name is unknown, or the endpoint cannot be one.
        CONNECTION: `doctor`: nobody answers there.
        WIRE: `doctor`: who answers speaks neither ZMTP 3 nor SP, or not in time.
        MECHANISM: `doctor`: the two sides do not protect the connection alike, or a key is wrong.
        ROLE: `doctor`: the role of the peer's socket is no partner of ours.
        ALLOWED: `doctor`: the peer knows who we are, and does not let us in.
        ROUND_TRIP: `doctor`: the peer was there, and did not answer or went away.
        MISSING: A library is missing; the message says what to install.
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    NAME = 3
    CONNECTION = 4
    WIRE = 5
    MECHANISM = 6
    ROLE = 7
    ALLOWED = 8
    ROUND_TRIP = 9
    MISSING = 10
