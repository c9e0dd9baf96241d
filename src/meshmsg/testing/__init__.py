"""Test tools for programs that use meshmsg: a simulated world with a virtual clock and seeded
faults."""

from meshmsg.testing._sim import SimFaults as SimFaults
from meshmsg.testing._sim import SimWorld as SimWorld

__all__ = ["SimFaults", "SimWorld"]
