"""What `meshmsg spool export` writes: JSON lines, or Parquet.

Not here: what is read (spools.py). Law: what is no text is told as base64, under another name; a
gap is told in its place, or, where a table has no place for it, on standard error.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from typing import IO, Any

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ResourceError, UsageError
from meshmsg._cli.spools import Told, text_of
from meshmsg._spool.batch import SpoolBatch
from meshmsg._spool.message import SpoolGap, SpoolMessage

PARQUET = ".parquet"
"""What the name of a file ends with that is written so."""
LINES = (".jsonl", ".ndjson", ".json")
"""Likewise, of JSON lines."""

_WITH_TOPIC = 2
"""Frames that a message has with a topic; what has more is told whole."""


def _said(name: str, value: str | bytes) -> Told:
    text = value if isinstance(value, str) else text_of(value)
    if text is not None:
        return {name: text}
    return {f"{name}_base64": base64.b64encode(bytes(value)).decode()}  # type: ignore[arg-type]


def row_of(one: SpoolMessage | SpoolGap) -> Told:
    """Return it as an object of JSON."""
    if isinstance(one, SpoolGap):
        return {"harmed": [one.first, one.last]}
    row: Told = {"seq": one.seq, "epoch": one.epoch, "stored": one.stored}
    if one.key is not None:
        row |= _said("key", one.key)
    if one.headers:
        headers: Told = {}
        octets: Told = {}
        for name, value in one.headers.items():
            text = value if isinstance(value, str) else None
            if text is None:
                octets[name] = base64.b64encode(bytes(value)).decode()  # type: ignore[arg-type]
            else:
                headers[name] = text
        row |= {"headers": headers} if headers else {}
        row |= {"headers_base64": octets} if octets else {}
    for name, at in (("timestamp", one.timestamp), ("expires", one.expires)):
        if at is not None:
            row[name] = at
    if len(one.frames) > 1:
        row |= _said("topic", one.frames[0])
    if len(one.frames) > _WITH_TOPIC:
        row["frames_base64"] = [base64.b64encode(frame).decode() for frame in one.frames]
    return row | _said("body", bytes(one))


def write_lines(read: Iterable[SpoolMessage | SpoolGap], to: IO[str]) -> tuple[int, int]:
    """Write a line for each; return how many messages, and how many gaps."""
    messages = gaps = 0
    for one in read:
        to.write(json.dumps(row_of(one)) + "\n")
        messages += isinstance(one, SpoolMessage)
        gaps += isinstance(one, SpoolGap)
    return messages, gaps


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ResourceError(
            "no Parquet can be written: pyarrow is not installed: pip install pyarrow; JSON lines "
            "need nothing",
            code=lib.MM_ENOTSUP,
        ) from error
    return pyarrow, pyarrow.parquet


def file_of(name: str | None) -> str | None:
    """Return the file that is to be written; None: standard output.

    Raises:
        UsageError: Its name ends as that of another kind of file; its folder is not there.
    """
    if name in (None, "-"):
        return None
    assert name is not None
    ending = os.path.splitext(name)[1]
    if ending and ending not in (*LINES, PARQUET):
        raise UsageError(
            f"{name} ends in {ending}; export writes JSON lines ({', '.join(LINES)}, or no ending) "
            f"and Parquet ({PARQUET})"
        )
    folder = os.path.dirname(name)
    if folder and not os.path.isdir(folder):
        raise UsageError(f"{name}: there is no folder {folder}")
    return name


def write_parquet(
    read: Iterable[SpoolBatch],
    name: str,
) -> int:
    """Write a row for each message to a new file, which gets its name when it is whole.

    Its columns are those of a `SpoolBatch`.

    Args:
        read: What is written.
        name: The file.

    Raises:
        ResourceError: pyarrow is not installed.
        OSError: It cannot be written.
    """
    arrow, parquet = _arrow()
    schema = arrow.schema(SpoolBatch(lib.mm_spool_rows_none(), seq=1))
    count, partial = 0, f"{name}.{os.getpid()}"
    try:
        with parquet.ParquetWriter(partial, schema) as writer:
            for batch in read:
                writer.write_batch(arrow.record_batch(batch))
                count += len(batch)
        os.replace(partial, name)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return count
