"""Nodes that find each other, without a server; multicast is not needed.

Each process makes a `Mesh` with any seed, announces its sockets under names, and connects others to
them. `meshmsg.mesh.aio` has the same for asyncio. Not in `import meshmsg`; needs the extra `mesh`.
"""

from meshmsg._mesh.told import Event as Event
from meshmsg._mesh.told import EventKind as EventKind
from meshmsg._mesh.told import Member as Member
from meshmsg._mesh.told import Record as Record
from meshmsg._mesh.told import Service as Service
from meshmsg._mesh.told import State as State
from meshmsg.mesh._explain import Explanation as Explanation
from meshmsg.mesh._finding.asking import SeedInfo as SeedInfo
from meshmsg.mesh._finding.beacon import Beacon as Beacon
from meshmsg.mesh._finding.dns import Dns as Dns
from meshmsg.mesh._finding.dns import DnsSrv as DnsSrv
from meshmsg.mesh._finding.seeds import Callback as Callback
from meshmsg.mesh._finding.seeds import Seed as Seed
from meshmsg.mesh._finding.seeds import SharedDir as SharedDir
from meshmsg.mesh._finding.seeds import Static as Static
from meshmsg.mesh._finding.spark import SparkSeeds as SparkSeeds
from meshmsg.mesh._finding.text import parse_seed as parse_seed
from meshmsg.mesh._outside.asking import ask as ask
from meshmsg.mesh._outside.info import MemberInfo as MemberInfo
from meshmsg.mesh._outside.info import MeshInfo as MeshInfo
from meshmsg.mesh._sync import Mesh as Mesh
from meshmsg.mesh._watch import Watch as Watch

__all__ = [
    "Beacon",
    "Callback",
    "Dns",
    "DnsSrv",
    "Event",
    "EventKind",
    "Explanation",
    "Member",
    "MemberInfo",
    "Mesh",
    "MeshInfo",
    "Record",
    "Seed",
    "SeedInfo",
    "Service",
    "SharedDir",
    "SparkSeeds",
    "State",
    "Static",
    "Watch",
    "ask",
    "parse_seed",
]

for _name in __all__:  # they are what is imported, whichever file they are written in
    globals()[_name].__module__ = __name__
