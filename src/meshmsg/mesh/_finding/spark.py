"""Seeds that a driver of Spark tells its tasks, as an entry of its configuration.

Not here: lists of addresses (seeds.py). Law: pyspark is imported as a seed is made or told, and not
before; what a task was told is read on its own thread, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ResourceError, UsageError
from meshmsg.mesh._finding.seeds import Static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "spark.meshmsg.seeds"
"""The entry: addresses with commas between them."""
_HOW = f"on the driver say SparkSeeds.tell(spark, mesh.endpoint), or set {KEY} as Spark starts"


class SparkSeeds(Static):
    """The addresses that the driver of Spark has told: for tasks, and on the driver itself.

    Reads the entry `spark.meshmsg.seeds` as it is made: on the thread of the task, where that is
    one. The driver sets it by `SparkSeeds.tell`. Where it is set as Spark starts (`--conf`), the
    driver has it, and tasks of DataFrames; tasks of RDDs have what was told.

    Thread-safe: yes; it is not changed.

    Raises:
        UsageError: This is neither a task nor a driver with a session, nothing was told, or it is
            no list of addresses.
        ResourceError: pyspark is not there.
    """

    def __init__(self) -> None:
        said = _told()
        if not said:
            raise UsageError(f"{KEY} is not set: {_HOW}")
        super().__init__([one.strip() for one in said.split(",")])

    @staticmethod
    def tell(session: SparkSession, *addresses: str) -> None:
        """Tell tasks that begin from now on where nodes are; in place of what was told before.

        Those of RDDs (`run_tasks`) that this thread begins, and all of the session's DataFrames.

        Thread-safe: yes.

        Args:
            session: Of the driver; not one of Spark Connect, which has no `sparkContext`.
            addresses: As `Static` has them: those of the driver's Mesh, which the executors reach.

        Raises:
            UsageError: There is none, or one is no address.
            TypeError: It is no such session.
        """
        if not addresses:
            raise UsageError("no address is told; say mesh.endpoint, where executors reach it")
        said = ",".join(Static(addresses)._addresses)
        try:
            context = session.sparkContext
        except AttributeError:
            raise TypeError(
                f"session is {session!r}; it is a SparkSession, and not one of Spark Connect"
            ) from None
        context.setLocalProperty(KEY, said)
        session.conf.set(KEY, said)

    def __repr__(self) -> str:
        return f"SparkSeeds({self._addresses!r})"


def _told() -> str | None:
    try:
        from pyspark import TaskContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise ResourceError(
            "SparkSeeds needs pyspark, which is not there: pip install meshmsg[spark]",
            code=lib.MM_ENOTSUP,
        ) from None
    task = TaskContext.get()
    if task is not None:
        return task.getLocalProperty(KEY)
    session: Any = SparkSession.getActiveSession()
    if session is None:
        raise UsageError(f"this is neither a task of Spark nor its driver with a session: {_HOW}")
    found: str | None = session.conf.get(KEY, None)
    return found
