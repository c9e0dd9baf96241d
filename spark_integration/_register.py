"""register: makes `format("meshmsg")` known to a session of Spark.

Law: pyspark is imported when it is called, and not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshmsg import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

EXISTS = "DATA_SOURCE_ALREADY_EXISTS"
"""The error of a Spark that lets nobody replace a source which it has found by itself."""


def source_of_spark() -> type[DataSource]:
    """Return what `format("meshmsg")` is.

    Raises:
        ImportError: pyspark is not there.
        UsageError: It has no sources in Python.
    """
    try:
        from pyspark_meshmsg import DefaultSource
    except ModuleNotFoundError as error:
        if error.name != "pyspark.sql.datasource":
            raise
    else:
        return DefaultSource
    import pyspark

    raise UsageError(f'format("meshmsg") needs Spark 4.0 or later; this is {pyspark.__version__}')


def registered(session: SparkSession, source: type[DataSource]) -> bool:
    """Register a source; False: Spark keeps the one of that name that it has found."""
    try:
        session.dataSource.register(source)
    except Exception as error:  # of py4j, or of Spark Connect
        if EXISTS not in str(error):
            raise
        return False
    return True


def register(session: SparkSession) -> None:
    """Make `format("meshmsg")` known to a session.

    Spark finds it by itself where meshmsg is installed for the driver's Python; this is for where
    it does not look, such as some hosted Sparks. Again: nothing changes.

    Thread-safe: as the session.

    Args:
        session: The session that is to know it.

    Raises:
        ImportError: pyspark is not there.
        UsageError: Spark is older than 4.0.
    """
    registered(session, source_of_spark())
