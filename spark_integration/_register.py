"""register: makes `format("meshmsg")` known to a session of Spark.

Law: pyspark is imported when it is called, and not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(session: SparkSession) -> None:
    """Make `format("meshmsg")` known to a session.

    Spark finds it by itself where meshmsg is installed for the driver's Python; this is for where
    it does not look, such as some hosted Sparks. Again: nothing changes.

    Thread-safe: as the session.

    Args:
        session: The session that is to know it.

    Raises:
        ImportError: pyspark is not there.
    """
    from pyspark_meshmsg import DefaultSource

    session.dataSource.register(DefaultSource)
