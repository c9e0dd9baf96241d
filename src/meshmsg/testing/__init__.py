"""Test tools for programs that use meshmsg: a simulated world with a virtual clock and seeded
faults."""

from meshmsg.testing._sim import SimFaults as SimFaults
from meshmsg.testing._sim import SimWorld as SimWorld

__all__ = ["SimFaults", "SimWorld"]

for _name in __all__:  # they are what is imported, whichever file they are written in
    globals()[_name].__module__ = __name__
