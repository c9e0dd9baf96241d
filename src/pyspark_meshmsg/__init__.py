"""What Spark looks for: packages whose names begin with `pyspark_`, and `DefaultSource` in them.

Not here: how it reads and writes (meshmsg.spark._source, _sink). Law: Spark imports this as it
looks for any source, so it imports nothing but pyspark; meshmsg is imported once somebody asks for
`format("meshmsg")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """`format("meshmsg")`: see docs/spark.md."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "meshmsg"

    def schema(self) -> str:
        """Return the columns that the options ask for."""
        from meshmsg.spark._source import schema_of

        return schema_of(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of `spark.read`."""
        from meshmsg.spark._source import reader_of

        reader: DataSourceReader = reader_of(self.options, schema)
        return reader

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of `readStream`."""
        from meshmsg.spark._source import stream_reader_or_why

        reader: DataSourceStreamReader = stream_reader_or_why(self.options, schema)
        return reader

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of `df.write`."""
        from meshmsg.spark._sink import writer_of

        writer: DataSourceWriter = writer_of(self.options, schema, overwrite)
        return writer

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer of `df.writeStream`."""
        from meshmsg.spark._sink import stream_writer_of

        writer: DataSourceStreamWriter = stream_writer_of(self.options, schema, overwrite)
        return writer
