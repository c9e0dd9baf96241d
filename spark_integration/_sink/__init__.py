"""`format("meshmsg")` for writing: each task sends its rows, and ends once receivers are done.

Receivers are Pulls that acknowledge. This package needs pyspark and pyarrow
(`pip install "meshmsg[spark]"`); importing it starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .options import OPTION_NAMES as OPTION_NAMES
from .options import sink_options
from .rows import check_schema

__all__ = ["OPTION_NAMES", "stream_writer_of", "writer_of"]


def writer_of(options: Mapping[str, str], schema: Any, overwrite: bool) -> Any:
    """Return the writer of `df.write`.

    Args:
        options: Of the user.
        schema: Of the rows, as Spark has it.
        overwrite: Whether what is there is to go first: nothing is there.

    Raises:
        UsageError: An option, the schema or the mode is wrong.
    """
    from .writers import BatchWriter

    return BatchWriter(sink_options(options, overwrite=overwrite), check_schema(schema))


def stream_writer_of(options: Mapping[str, str], schema: Any, overwrite: bool) -> Any:
    """Return the writer of `df.writeStream`, as the version of Spark that is here has it.

    Args:
        options: Of the user.
        schema: Of the rows, as Spark has it.
        overwrite: Whether each batch replaces all rows (output mode "complete"): they are sent.

    Raises:
        UsageError: An option or the schema is wrong.
    """
    del overwrite
    found = sink_options(options, overwrite=False, stream=True)
    columns = check_schema(schema)
    try:
        from .arrow_stream_writer import StreamWriter
    except ImportError:  # before Spark 4.1
        from .writers import RowStreamWriter

        return RowStreamWriter(found, columns)
    return StreamWriter(found, columns)
