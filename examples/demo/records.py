"""The records: three files of weather that lie inside the package vega_datasets.

A record is one line of a file as it is, with the name of the file and the number of the pass
before it.  Parsing one, and what is known of the files, is here; nothing here sends anything.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

FILES = ("sf-temps", "seattle-temps", "seattle-weather")  # the index is the code in a result
TITLES = (
    "San Francisco, every hour of 2010",
    "Seattle, every hour of 2010",
    "Seattle, every day of 2012 to 2015",
)
RESULT = struct.Struct(">QBBBdd")  # sequence, partition, file, month, first value, second value
END = b"end"  # a partition's last message: b"end" + LAST

LAST = struct.Struct(">BQQ")  # partition, records taken, results pushed
_CODES = {name.encode(): code for code, name in enumerate(FILES)}


def lines(name: str) -> list[bytes]:
    """The lines of a file of the package, without the line that names the columns."""
    import vega_datasets

    path = Path(vega_datasets.__file__).parent / "_data" / f"{name}.csv"
    return path.read_bytes().splitlines()[1:]


def all_lines() -> list[tuple[bytes, bytes]]:
    """(file name, line) of every record there is."""
    return [(name.encode(), line) for name in FILES for line in lines(name) if line]


def stream(passes: int) -> Iterator[bytes]:
    """All records, `passes` times over, each with its pass number."""
    once = all_lines()
    for number in range(1, passes + 1):
        mark = b"\t%d\t" % number
        for name, line in once:
            yield name + mark + line


def parse(record: bytes) -> tuple[int, int, float, float]:
    """(file, month, first value, second value) of a record.

    The values are degrees Celsius and 0 for the hourly files (which are in Fahrenheit), and
    millimetres of rain and metres a second of wind for the daily one.

    Raises:
        ValueError: This is no record of these files.
    """
    name, _, line = record.split(b"\t", 2)
    code = _CODES.get(name)
    fields = line.split(b",")
    if code == 0:
        temperature, date = fields
    elif code == 1:
        date, temperature = fields
    elif code == 2:
        date, rain, _, _, wind, _ = fields
        return code, int(date[5:7]), float(rain), float(wind)
    else:
        raise ValueError(f"no such file: {name!r}")
    return code, int(date[5:7]), (float(temperature) - 32.0) / 1.8, 0.0
