"""Tally: counts results once each, and adds them up by file and month.

Pure: no sockets.  Law: received = unique + duplicates, and only unique results are added up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import records

_TYPE = np.dtype(
    [
        ("sequence", ">u8"),
        ("partition", "u1"),
        ("file", "u1"),
        ("month", "u1"),
        ("first", ">f8"),
        ("second", ">f8"),
    ]
)
_CELLS = len(records.FILES) * 13
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


class Tally:
    """What the collector knows."""

    def __init__(self) -> None:
        self.received = 0
        self.duplicates = 0
        self.by_partition = np.zeros(256, dtype=np.int64)
        self._seen = np.zeros(1 << 20, dtype=bool)
        self._count = np.zeros(_CELLS, dtype=np.int64)
        self._positive = np.zeros(_CELLS, dtype=np.int64)
        self._first = np.zeros(_CELLS)
        self._second = np.zeros(_CELLS)
        self._low = np.full(_CELLS, np.inf)
        self._high = np.full(_CELLS, -np.inf)

    @property
    def unique(self) -> int:
        """Results counted once."""
        return self.received - self.duplicates

    def add(self, results: Sequence[bytes]) -> None:
        """Take some results, in any order, some perhaps for the second time."""
        rows = np.frombuffer(b"".join(results), dtype=_TYPE)
        self.received += len(rows)
        np.add.at(self.by_partition, rows["partition"], 1)
        sequences, index = np.unique(rows["sequence"].astype(np.int64), return_index=True)
        while sequences.size and sequences[-1] >= self._seen.size:
            self._seen = np.concatenate([self._seen, np.zeros_like(self._seen)])
        new = index[~self._seen[sequences]]
        self._seen[sequences] = True
        self.duplicates += len(rows) - len(new)
        rows = rows[new]
        cell = rows["file"].astype(np.int64) * 13 + rows["month"]
        first = rows["first"].astype(float)
        self._count += np.bincount(cell, minlength=_CELLS)
        self._positive += np.bincount(cell[first > 0], minlength=_CELLS)
        self._first += np.bincount(cell, weights=first, minlength=_CELLS)
        self._second += np.bincount(cell, weights=rows["second"].astype(float), minlength=_CELLS)
        np.minimum.at(self._low, cell, first)
        np.maximum.at(self._high, cell, first)

    def missing(self, total: int) -> int:
        """How many of the sequence numbers below `total` never came."""
        return total - int(np.count_nonzero(self._seen[:total]))

    def beyond(self, total: int) -> int:
        """How many sequence numbers came that were never given out."""
        return int(np.count_nonzero(self._seen[total:]))

    def means(self, file: int) -> list[float]:
        """The mean of the first value, month by month."""
        part = slice(file * 13 + 1, file * 13 + 13)
        return list(self._first[part] / np.maximum(self._count[part], 1))

    def agrees(self, other: Tally, passes: int) -> bool:
        """Whether this says the same as a tally of one pass, `passes` times over."""
        return (
            bool(np.array_equal(self._count, other._count * passes))
            and bool(np.array_equal(self._positive, other._positive * passes))
            and bool(np.array_equal(self._low, other._low))
            and bool(np.array_equal(self._high, other._high))
            and bool(np.allclose(self._first, other._first * passes))
            and bool(np.allclose(self._second, other._second * passes))
        )

    def text(self, passes: int) -> str:
        """The table, counts per pass."""
        out = [
            "          San Francisco 2010         Seattle 2010           Seattle 2012-2015",
            "          mean    low   high         mean    low   high      rain    wet   wind",
            "            °C     °C     °C           °C     °C     °C    mm/day   days    m/s",
        ]
        for month in range(1, 13):
            one, two, three = month, 13 + month, 26 + month
            count = np.maximum(self._count, 1)
            out.append(
                f"    {_MONTHS[month - 1]} "
                f"{self._first[one] / count[one]:7.1f}{self._low[one]:7.1f}{self._high[one]:7.1f}"
                f"      {self._first[two] / count[two]:7.1f}{self._low[two]:7.1f}"
                f"{self._high[two]:7.1f}   {self._first[three] / count[three]:7.2f}"
                f"{self._positive[three] / passes:7.0f}{self._second[three] / count[three]:7.1f}"
            )
        return "\n".join(out)


def direct() -> Tally:
    """The same sums over one pass, without any messages: what the table is checked against."""
    tally = Tally()
    pack, once = records.RESULT.pack, records.stream(1)
    tally.add([pack(number, 0, *records.parse(record)) for number, record in enumerate(once)])
    return tally
