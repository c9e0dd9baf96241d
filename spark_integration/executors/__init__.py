"""Tasks of one Spark job that open sockets and talk to each other."""

from ._mesh import TaskNode as TaskNode
from ._mesh import executors_as_mesh as executors_as_mesh
from ._topology import Topology as Topology
