"""What a task does: put its rows on its disk, send them from there, wait until all are done.

Not here: which class of Spark's that is (writers.py), the order of rows (ordering.py). Law: a row's
name is that of the query, its batch, its partition and all rows there, and its place in an order
that depends only on these, unless the user says otherwise; so whoever sends the same rows again
gives them the same names, and a receiver that remembers names does each once. Other rows have other
names: none is taken for one that was sent before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import meshmsg as mm
from meshmsg.spark._protected import protected

from .checks import checked
from .folders import own_folder
from .options import CONTENT
from .ordering import in_order
from .rows import put

if TYPE_CHECKING:
    import pyarrow as pa

    from .options import SinkOptions

UUID_SIZE = 16
"""Bytes of what the rows of a partition are called."""
_CAUSES = (mm.EventKind.CONNECT_FAILED, mm.EventKind.HANDSHAKE_FAILED, mm.EventKind.PEER_DOWN)
_STUCK = (mm.EventKind.UNSENDABLE, mm.EventKind.SPOOL_STOPPED)
"""What stops rows though somebody is connected."""


class SinkError(mm.MeshError):
    """Rows were not acknowledged in time."""


def name_of(*parts: object) -> bytes:
    """Return what the rows of a partition are called: of its query, its batch and its number."""
    return blake2b("\0".join(map(str, parts)).encode(), digest_size=UUID_SIZE).digest()


def send(batches: Iterable[pa.RecordBatch], options: SinkOptions, name: bytes) -> tuple[int, int]:
    """Send rows, and wait until receivers are done with all of them.

    Args:
        batches: Of the columns that `check_schema` let pass.
        options: Of the user.
        name: 16 bytes, of the partition.

    Returns:
        How many rows, and bytes of their values.

    Raises:
        SinkError: For `send_timeout` nothing was acknowledged, and there was something to.
        MeshError: A row was dropped; the message says why.
        UsageError, TooLargeError, SpoolError: As of a spool.
        AddressError, SecurityError: As of any socket.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder(options.spool_folder))
        whole, given = _named(checked(batches, options.file_bytes), folder, options, name)
        spool = mm.Spool(
            folder / "rows",
            durability="os",
            uuid=whole,
            overflow="block",
            max_bytes=options.spool_bytes,
            segment_bytes=options.file_bytes,
        )
        stack.enter_context(spool)
        stack.enter_context(protected(options.security))
        push = mm.Push(spool=spool, connect=list(options.endpoints), require="acks")
        stack.enter_context(push)
        rows = octets = 0
        for batch in given:
            try:
                octets += put(spool, batch, options.send_timeout)
            except mm.TimedOutError as error:
                raise _late(push, options) from error
            rows += batch.num_rows
        _finish(push, options)
    return rows, octets


def _named(
    batches: Iterator[pa.RecordBatch], folder: Path, options: SinkOptions, name: bytes
) -> tuple[bytes, Iterator[pa.RecordBatch]]:
    """Return what rows are called, and they as they are to go: in order, once all are there."""
    if options.row_order != CONTENT:
        return name, batches
    content, rows = in_order(batches, folder, name)
    return name_of(name.hex(), content.hex()), rows


def _left(report: mm.DrainReport) -> int:
    """Return how many rows nobody is known to be done with."""
    return report.queued + report.unconfirmed + report.unconfirmable + report.in_doubt


def _finish(push: mm.Push, options: SinkOptions) -> None:
    """Wait while it gets less; nothing may be lost on the way."""
    before = None
    while True:
        report = push.drain(timeout=options.send_timeout)
        left = _left(report)
        if left == 0:
            report.raise_for_loss()
            return
        if before is not None and left >= before:
            raise _late(push, options)
        before = left


def _late(push: mm.Push, options: SinkOptions) -> SinkError:
    queued, why = _left(push.drain(timeout=0)), _why(push)
    return SinkError(
        f"{queued:,} rows of this task are not acknowledged by receivers at "
        f"{', '.join(options.endpoints)}, none for sendTimeout={options.send_timeout:g} s: {why}"
    )


def _why(push: mm.Push) -> str:
    peers, events = push.peers(), push.events(since=0)
    told = next(
        (one for one in reversed(events) if one.kind in (_STUCK if peers else _CAUSES)), None
    )
    if not peers:
        last = f"; the last attempt: {told.detail or told.reason.name}" if told else ""
        return f"none is connected{last}"
    if told is None:
        return f"{len(peers)} connected, which take no more or do not acknowledge"
    most = [peer.takes_bytes for peer in peers if peer.takes_bytes is not None]
    now = f"; those that are connected now take up to {max(most):,} bytes" if most else ""
    return f"{len(peers)} connected; the last event: {told.kind.name} {told.detail}{now}"
