"""Rows of a DataFrame, each worked on where Spark has it; results come here."""

from ._progress import RowStats as RowStats
from ._rows import map_rows as map_rows
