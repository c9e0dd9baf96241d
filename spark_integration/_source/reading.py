"""Reading a range in an executor: one connection for each spool and process, and batches of it.

Not here: which ranges (planning.py). Law: a task gives each message of its range once, or raises;
what is left out because `failOnDataLoss` is false is logged. A range carries all that is to be
known: nothing of the driver's reader arrives here.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition

import meshmsg as mm

from .batches import record_batch
from .opening import connected, remote_of
from .options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("meshmsg")
CONNECTIONS_MAX = 32
"""Spools that a process stays connected to."""
LOOK_S = 2.0
"""Seconds without a connection until a mesh is asked where the spool is by now, each time."""
PROTOCOL = 2
"""Of what a driver tells its executors."""


class RangePartition(InputPartition):
    """A range of one spool, with all that a task needs to read it."""

    def __init__(
        self,
        uuid: str,
        epoch: int,
        first: int,
        end: int,
        endpoints: tuple[str, ...],
        nodes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(None)
        self.version = mm.__version__
        self.protocol = PROTOCOL
        self.uuid = uuid
        self.epoch = epoch
        self.first = first
        self.end = end
        self.endpoints = endpoints
        self.nodes = nodes
        """Mesh ports that tell where the spool is, once it is not there."""


class _Connections:
    """The connections of this process; those that were read from last stay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._open: OrderedDict[tuple[Any, ...], mm.RemoteSpool] = OrderedDict()
        self._busy: Counter[mm.RemoteSpool] = Counter()
        """How many tasks have each; those that nobody has are closed once they are lost."""

    def of(
        self, piece: RangePartition, endpoints: tuple[str, ...], options: SourceOptions
    ) -> mm.RemoteSpool:
        """Return the connection for a range, opened if there is none."""
        corruption: Any = "fail" if options.fail_on_loss else "gap"
        secret = options.mesh and options.mesh.secret
        policy, timeout = (options.security, secret), options.fetch_timeout
        moves = bool(piece.nodes)
        key = (piece.uuid, endpoints, policy, corruption, timeout, moves)
        with self._lock:
            if self._process != os.getpid():  # of a parent: not ours to close
                self._open.clear()
                self._busy.clear()
                self._process = os.getpid()
            remote = self._open.pop(key, None)
            if remote is None:
                remote = remote_of(
                    endpoints,
                    options,
                    options.fetch_timeout,
                    uuid=piece.uuid,
                    on_corruption=corruption,
                )
                remote._leaves = moves  # then it is looked for, rather than waited for
            self._open[key] = remote
            self._busy[remote] += 1
            self._prune()
            if len(self._open) > CONNECTIONS_MAX:
                self._open.popitem(last=False)[1].close()
            return remote

    def _prune(self) -> None:
        """Close what is lost and nobody has: it would dial for ever."""
        for key, one in list(self._open.items()):
            if not self._busy[one] and not connected(one):
                del self._open[key], self._busy[one]
                one.close()

    def give_back(self, remote: mm.RemoteSpool) -> None:
        """A task has ended; it may be kept for the next one."""
        with self._lock:
            if self._busy[remote] > 1:
                self._busy[remote] -= 1
            else:
                del self._busy[remote]

    def drop(self, remote: mm.RemoteSpool) -> None:
        """Close one that failed: the next attempt opens another."""
        with self._lock:
            for key in [key for key, one in self._open.items() if one is remote]:
                del self._open[key]
            del self._busy[remote]
        remote.close()

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for remote in self._open.values():
                remote.close()
            self._open.clear()
            self._busy.clear()


CONNECTIONS = _Connections()
"""Of this process."""


class _Reach:
    """The connection of a task, to where its spool was planned to be or is by now."""

    def __init__(self, piece: RangePartition, options: SourceOptions) -> None:
        self._piece, self._options = piece, options
        self._endpoints = piece.endpoints
        self._retries = options.fetch_retries
        self.remote = CONNECTIONS.of(piece, self._endpoints, options)

    def connect(self) -> mm.RemoteSpool:
        """Return it, connected; without a mesh whoever reads waits.

        Raises:
            TimedOutError: The spool is nowhere within `fetchTimeout`.
        """
        deadline = time.monotonic() + self._options.fetch_timeout
        while self._piece.nodes:
            left = deadline - time.monotonic()
            try:
                self.remote._req.wait_for_peers(1, timeout=max(min(LOOK_S, left), 0))
                break
            except (mm.TimedOutError, mm.WouldBlockError) as error:
                if not self.moved() and left <= LOOK_S:
                    raise mm.TimedOutError(
                        f"the spool {self._piece.uuid} was planned at "
                        f"{', '.join(self._piece.endpoints)}, and the mesh tells of no other "
                        f"endpoint of it within fetchTimeout: {error}"
                    ) from None
        return self.remote

    def again(self, error: mm.MeshError) -> bool:
        """Whether `fetchRetries` has one left; then it was connected anew, after a while."""
        if self._retries <= 0:
            return False
        self._retries -= 1
        LOG.warning("asked anew, and %d times more: %s", self._retries, error)
        CONNECTIONS.drop(self.remote)
        self.remote = CONNECTIONS.of(self._piece, self._endpoints, self._options)
        time.sleep(self._options.fetch_interval)
        return True

    def moved(self) -> bool:
        """Whether the spool is elsewhere by now, and was connected to there."""
        piece = self._piece
        if not piece.nodes:
            return False
        from .moved import where

        url = where(piece.uuid, self._endpoints, piece.nodes, self._options)
        if url:
            LOG.info("the spool %s is at %s by now", piece.uuid, url)
            CONNECTIONS.drop(self.remote)
            self._endpoints = (url,)
            self.remote = CONNECTIONS.of(piece, self._endpoints, self._options)
        return bool(url)


@dataclass
class Tally:
    """What one attempt of a task has done."""

    rows: int = 0
    bytes: int = 0
    retries: int = 0
    skipped: int = 0

    def add_to(self, counts: Mapping[str, Any]) -> None:
        """Add it to the counts of a query."""
        for name, count in vars(self).items():
            counts[name].add(count)


def _attempts_before() -> int:
    """Return how often this task was tried before."""
    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()


def read_range(
    piece: InputPartition, options: SourceOptions, counts: Mapping[str, Any] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read what a task is to read.

    Args:
        piece: A RangePartition; Spark makes one without a value where there is nothing to read.
        options: Of the source.
        counts: What is added to as it ends well, by the names of a Tally; None: nothing.

    Raises:
        SpoolTrimmedError, SpoolCorruptError: Messages are gone, and `failOnDataLoss` is true.
        SpoolError: Numbers are missing that were not said to be gone.
        SpoolAheadError, SpoolChangedError: It is another spool, or a copy from before.
        TimedOutError: Nobody answered within `fetchTimeout`.
        UsageError: This executor has another version of meshmsg than the driver.
    """
    if not isinstance(piece, RangePartition):
        return
    _same_version(piece)
    if piece.first == piece.end:  # of a spool that nobody shows any more
        return
    reach = _Reach(piece, options)
    constants = {
        "producer": piece.uuid,
        "topic": options.topic,
        "endpoint": ",".join(piece.endpoints),
    }
    tally = Tally(retries=_attempts_before())
    try:
        for batch in _batches(reach, piece, options, tally):
            rows = record_batch(batch, options, constants)
            if rows.num_rows:
                tally.rows += rows.num_rows
                tally.bytes += rows.nbytes
                yield rows
        if counts is not None:
            tally.add_to(counts)
    except mm.MeshError:
        CONNECTIONS.drop(reach.remote)
        raise
    finally:
        CONNECTIONS.give_back(reach.remote)


def _batches(
    reach: _Reach, piece: RangePartition, options: SourceOptions, tally: Tally
) -> Iterator[mm.SpoolBatch]:
    """Read all of it, going on behind what is gone if that is no failure."""
    seq, moved, since = piece.first, 0, time.monotonic()
    while seq < piece.end:
        try:
            remote = reach.connect()
        except mm.TimedOutError as error:  # no endpoint of it is known by now
            if not reach.again(error):
                raise
            since = time.monotonic()
            continue
        try:
            read = remote.read(seq, piece.end, max_bytes=options.batch_bytes, epoch=piece.epoch)
            for batch in read:
                tally.skipped += _complete(batch, seq, piece, options)
                seq, since = batch.last_seq + 1, time.monotonic()
                yield batch
            if seq < piece.end and not options.compacted:
                raise _missing(piece, seq, piece.end - 1)
            return
        except mm.RefusedError:
            raise
        except mm.PeerError as error:  # who showed it has gone: it may be elsewhere
            late = time.monotonic() - since >= options.fetch_timeout
            if late or not piece.nodes or not remote._has_gone(error):
                if not reach.again(error):
                    raise
                since = time.monotonic()
            elif not connected(remote):
                reach.moved()
        except mm.TimedOutError as error:  # it is silent: it may have gone without a word
            if seq != moved and reach.moved():
                moved = seq
            elif not reach.again(error):
                raise
            else:
                since = time.monotonic()
        except mm.SpoolTrimmedError as error:
            if options.fail_on_loss:
                raise mm.SpoolTrimmedError(
                    f"{error}; the query was to read {piece.first} to {piece.end - 1} of the spool "
                    f"{piece.uuid}. failOnDataLoss=false goes on behind them",
                    seq=error.seq,
                    first=error.first,
                ) from None
            LOG.warning("left out: %s", error)
            first = max(seq + 1, min(error.first, piece.end))
            tally.skipped += first - seq
            seq = first


def _complete(batch: mm.SpoolBatch, seq: int, piece: RangePartition, options: SourceOptions) -> int:
    """Return how many are gone; raise if numbers are missing that nobody said are."""
    for gap in batch.gaps:
        LOG.warning("left out: messages %d to %d of %s are harmed", gap.first, gap.last, piece.uuid)
    gone = sum(gap.last - gap.first + 1 for gap in batch.gaps)
    if options.compacted:
        return gone
    if len(batch) + gone != batch.last_seq + 1 - seq:
        raise _missing(piece, seq, batch.last_seq)
    return gone


def _missing(piece: RangePartition, first: int, last: int) -> mm.SpoolError:
    return mm.SpoolError(
        f"of messages {first} to {last} of the spool {piece.uuid} some are not there, and nothing "
        "says that they were harmed or trimmed: if the spool is compacted, say compacted=true"
    )


def _same_version(piece: RangePartition) -> None:
    theirs = (getattr(piece, "version", "?"), getattr(piece, "protocol", 0))
    if theirs != (mm.__version__, PROTOCOL):
        raise mm.UsageError(
            f"the driver has meshmsg {theirs[0]}, and this executor has {mm.__version__}: install "
            "the same version on all nodes"
        )
