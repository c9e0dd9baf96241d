"""The options of the sink: read from text, checked, and refused when they are unknown.

Not here: what is done with them. Law: no secret is an option, as options show in plans and logs:
`security` is a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from meshmsg import UsageError
from meshmsg.spark._parsing import TIMEOUT_MAX_S, endpoints, near, one_of, seconds, size, text

SPOOL_BYTES_MIN = 2**24
"""Bytes that the rows of a task may take on its disk, at least."""
SPOOL_BYTES_MAX = 2**50
"""The same, at most."""
FILES = 4
"""Files that those rows are in, if they are as many as they may be: files go as a whole."""
FILE_BYTES_MAX = 2**26
"""Bytes of a file, at most."""
SEND_TIMEOUT_S = 120.0
"""Seconds that a task waits while no row is acknowledged, if nothing is said."""

CONTENT, GIVEN = "content", "given"
"""In which order the rows of a task are numbered: that of their content, or as Spark gives them."""


@dataclass(frozen=True)
class SinkOptions:
    """What a user asked for; times are seconds, sizes are bytes."""

    endpoints: tuple[str, ...]
    send_timeout: float = SEND_TIMEOUT_S
    security: str | None = None
    spool_folder: str | None = None
    spool_bytes: int = 2**30
    row_order: str = CONTENT
    write_id: str | None = None
    """What `df.write` calls its rows by; None: each by a name of its own."""

    @property
    def file_bytes(self) -> int:
        """Bytes of a file of the spool of a task, which a row has to fit into."""
        return min(self.spool_bytes // FILES, FILE_BYTES_MAX)


_OPTIONS: dict[str, tuple[Callable[[str, str], Any], str]] = {
    "endpoints": (endpoints, "endpoints"),
    "sendTimeout": (seconds(TIMEOUT_MAX_S), "send_timeout"),
    "security": (text, "security"),
    "spoolFolder": (text, "spool_folder"),
    "spoolBytes": (size(SPOOL_BYTES_MIN, SPOOL_BYTES_MAX), "spool_bytes"),
    "rowOrder": (one_of(CONTENT, GIVEN), "row_order"),
    "writeId": (text, "write_id"),
}
OPTION_NAMES = tuple(_OPTIONS)
"""All options of the sink, as they are spelled."""
_OF_SPARK = ("checkpointlocation", "queryname")
"""What Spark hands over of its own."""
_BY_WORD = {name.lower(): name for name in _OPTIONS} | {"path": "endpoints"}


def sink_options(given: Mapping[str, str], *, overwrite: bool, stream: bool = False) -> SinkOptions:
    """Return the options of a writer, checked.

    Args:
        given: What Spark hands over: text by name; case does not matter.
        overwrite: Whether the mode is "overwrite".
        stream: Whether it is of a stream, whose batches have names.

    Raises:
        UsageError: An option is unknown or wrong, or the mode is.
    """
    if overwrite:
        raise UsageError('there is nothing to overwrite where messages are sent: mode("append")')
    found: dict[str, Any] = {}
    for word, value in given.items():
        if word.lower() in _OF_SPARK:
            continue
        name = _BY_WORD.get(word.lower())
        if name is None:
            raise UsageError(f"option {word} is none of the meshmsg sink{near(word, OPTION_NAMES)}")
        read, kept = _OPTIONS[name]
        found[kept] = read(name, value)
    if "endpoints" not in found:
        raise UsageError(
            "option endpoints is missing: where receivers are bound, such as tcp://10.0.0.5:5571"
        )
    options = SinkOptions(**found)
    if options.write_id is not None and stream:
        raise UsageError("option writeId is for df.write: a stream has a name for each batch")
    if options.write_id is not None and options.row_order == GIVEN:
        raise UsageError(
            "option writeId needs rowOrder=content: else other rows that are written under it are "
            "taken for those that were"
        )
    return options
