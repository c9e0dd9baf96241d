"""`format("meshmsg")` for reading: Spark's executors read ranges of spools themselves.

A `meshmsg.SpoolServer` shows the spool of a producer; `spark.read` and `spark.readStream` plan
ranges of it in the driver, and each task reads its own. This package needs pyspark and pyarrow
(`pip install "meshmsg[spark]"`); importing it starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meshmsg import UsageError

from .options import OPTION_NAMES as OPTION_NAMES
from .options import columns_asked, source_options
from .schema import columns_of, ddl

__all__ = ["OPTION_NAMES", "reader_of", "schema_of", "stream_reader_of", "stream_reader_or_why"]


def schema_of(options: Mapping[str, str]) -> str:
    """Return the schema of a reader with these options, as SQL says it.

    Raises:
        UsageError: An option is unknown, or wrong.
    """
    return ddl(columns_asked(options))


def reader_of(options: Mapping[str, str], schema: Any) -> Any:
    """Return the reader of `spark.read`.

    Args:
        options: Of the user.
        schema: As Spark has it: what `schema_of` says, or what the user gave.

    Raises:
        UsageError: An option or the schema is wrong.
    """
    from .readers import RangesReader

    return RangesReader(replace(source_options(options, stream=False), columns=columns_of(schema)))


def stream_reader_of(options: Mapping[str, str], schema: Any) -> Any:
    """Return the reader of `readStream`, as the version of Spark that is here has it.

    Args:
        options: Of the user.
        schema: As Spark has it: what `schema_of` says, or what the user gave.

    Raises:
        UsageError: An option or the schema is wrong.
    """
    found = replace(source_options(options, stream=True), columns=columns_of(schema))
    return _stream_reader(live=found.live)(found)


def stream_reader_or_why(options: Mapping[str, str], schema: Any) -> Any:
    """Return the reader of `readStream`, or one that says what is wrong once it is asked.

    A process of Spark that has no reader fails by a fault of its own, an UnboundLocalError, which
    a user would read last.

    Args:
        options: Of the user.
        schema: As Spark has it.
    """
    from .readers import RefusedStreamReader

    try:
        return stream_reader_of(options, schema)
    except UsageError as error:
        return RefusedStreamReader(str(error))


def _stream_reader(*, live: bool) -> Any:
    """Return the class: what is raised by making one has not the lack of another behind it."""
    if live:
        from .live import LiveStreamReader

        return LiveStreamReader
    try:
        from .limited_reader import LimitedStreamReader
    except ImportError:  # before Spark 4.2
        from .readers import PlainStreamReader

        return PlainStreamReader
    return LimitedStreamReader
