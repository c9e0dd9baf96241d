"""What a server of ranges does for those that ask: it reads, holds and trims; no sockets.

Not here: what a request looks like (form.py), serving (_sync/spool_server.py,
aio/_spool/server.py). Law: it keeps nothing for a reader but the leases it asked for; only what is
durable is told or given.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from meshmsg._binding.core import lib
from meshmsg._binding.errors import (
    MeshError,
    SpoolChangedError,
    SpoolError,
    SpoolTrimmedError,
    WouldBlockError,
)
from meshmsg._binding.peer_info import PeerInfo
from meshmsg._ranges.form import (
    ANSWER_A,
    ANY_UUID,
    Answer,
    Busy,
    NotAsked,
    Op,
    Request,
    Status,
    answer_octets,
    request_of,
)
from meshmsg._ranges.places import Filled, Places
from meshmsg._spool.held import Held
from meshmsg._spool.kept import Kept
from meshmsg._spool.told import SpoolInfo

WINDOWS_MAX = 2
"""Answers of the largest size that may wait to be written to one peer."""
LEASES_MAX = 256
"""Leases that peers have at once."""
OF_PEERS = "range."
"""In front of the name of a lease of a peer, in the spool: it replaces none of this process."""
SYNC_S = 0.5
"""Seconds that who asks how far a spool is waits for what was put before, to be on the disk."""
_MS = 1000


@dataclass(frozen=True)
class Limits:
    """What a server gives to all."""

    readers: int
    """Peers that are served at once."""
    window_bytes: int
    """Octets of an answer; one batch may have more."""
    flight_bytes: int
    """Octets that wait to be written to all of them."""


class Load(NamedTuple):
    """What a server has to write, as one of its peers asks."""

    rank: int
    """How many peers have been there longer."""
    own: int
    """Octets that wait for it."""
    all: int
    """Octets that wait for anybody."""


def load_of(peers: Sequence[PeerInfo], peer: int) -> Load:
    """Return what waits, of those that are there."""
    own = next((one.queued_out_bytes for one in peers if one.id == peer), 0)
    return Load(
        sum(one.id < peer for one in peers), own, sum(one.queued_out_bytes for one in peers)
    )


class _Lease:
    """Of a peer."""

    def __init__(self, holder: bytes, from_seq: int, until: float) -> None:
        self.holder = holder
        self.from_seq = from_seq
        self.until = until


class Answers:
    """Answers requests of a spool, from any thread."""

    def __init__(
        self,
        spool: Held,
        limits: Limits,
        *,
        trims: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spool: Any = spool
        self._keeps = isinstance(spool, Kept)
        """Whether it is written here: a view holds and removes nothing."""
        self._limits = limits
        self._trims = trims
        self._clock = clock
        self._places = Places(spool)
        self._lock = threading.Lock()
        self._leases: dict[str, _Lease] = {}

    def answer(self, data: bytes, load: Load) -> bytes | Filled:
        """Return what is answered to what came.

        Raises:
            NotAsked: It is refused, with these words.
            ClosedError: The spool was closed.
        """
        request = request_of(data)
        try:
            info: SpoolInfo = self._spool.info()
        except SpoolError as error:
            return self._amiss(request, error)
        uuid = bytes.fromhex(info.uuid)
        if request.uuid not in (ANY_UUID, uuid) or request.epoch > info.epoch:
            return answer_octets(_told(info, Status.CHANGED))
        if request.op == Op.INFO:
            return answer_octets(_told(self._synced(info), Status.DONE))
        try:
            if request.op == Op.READ:
                return self._read(request, info, load)
            return answer_octets(self._keep(request, info))
        except SpoolChangedError as error:
            return self._amiss(request, error)
        except (MeshError, MemoryError) as error:
            if self._spool._pointer is None:
                raise
            return answer_octets(_told(info, Status.FAILED)) + str(error).encode()

    @staticmethod
    def _amiss(request: Request, error: SpoolError) -> bytes:
        """A view cannot look any more; who knows the spool hears that there is another."""
        if isinstance(error, SpoolChangedError) and request.uuid != ANY_UUID:
            uuid = bytes.fromhex(error.uuid)
            return answer_octets(Answer(Status.CHANGED, uuid, error.epoch, 1, 1))
        failed = Answer(Status.FAILED, request.uuid, request.epoch, 1, 1)
        return answer_octets(failed) + str(error).encode()

    def close(self) -> None:
        """Let go of what is kept to go on quickly; leases end when they end."""
        self._places.close()

    def _synced(self, info: SpoolInfo) -> SpoolInfo:
        """Have what was put so far synced now, if it would be some time later; look again."""
        if not self._keeps or info.durable_seq == info.last_seq:
            return info
        if self._spool._level == lib.MM_SPOOL_DISK:  # a call that is not back yet has it synced
            return info
        with suppress(MeshError):  # it is late, or failed: what was durable before is told
            self._spool._flush(lib.MM_SPOOL_DISK, SYNC_S, "telling how far it is")
        synced: SpoolInfo = self._spool.info()
        return synced

    def _read(self, request: Request, info: SpoolInfo, load: Load) -> bytes | Filled:
        stable = info.durable_seq + 1
        if request.a < info.first_seq:
            return answer_octets(_told(info, Status.TRIMMED, info.first_seq))
        if request.b > stable:
            return answer_octets(_told(info, Status.AHEAD, stable))
        if request.a == request.b:
            return answer_octets(_told(info, Status.DONE, request.a))
        most = min(request.c, self._limits.window_bytes)
        if (busy := self._busy(most, load)) is not None:
            return answer_octets(_told(info, Status.BUSY, *busy))
        head = answer_octets(_told(info, Status.DONE))
        blocks = self._places.read(request.a, request.b - 1, most, head, ANSWER_A)
        if blocks.code == lib.MM_ENOENT:
            return answer_octets(_told(info, Status.TRIMMED, blocks.goes_on))
        if blocks.code == lib.MM_SPOOL_HARMED:
            last = min(blocks.goes_on, stable) - 1
            return answer_octets(_told(info, Status.HARMED, request.a, last))
        if blocks.code != 1:
            self._spool._raise_for(blocks.code, f"reading message {request.a}")
            return answer_octets(_told(info, Status.AHEAD, request.a))
        return blocks.filled

    def _busy(self, most: int, load: Load) -> tuple[int, int] | None:
        """Return which limit is in the way, and what it is; None: none is."""
        limits, own = self._limits, self._limits.window_bytes * WINDOWS_MAX
        if load.rank >= limits.readers:
            return Busy.READERS, limits.readers
        if load.own and load.own + most > own:
            return Busy.READER_BYTES, own
        if load.all and load.all + most > limits.flight_bytes:
            return Busy.BYTES, limits.flight_bytes
        return None

    def _keep(self, request: Request, info: SpoolInfo) -> Answer:
        """Hold, let go or remove."""
        if not self._keeps:
            raise NotAsked("this server shows a spool that another process writes: it holds none")
        if request.op == Op.TRIM and not self._trims:
            raise NotAsked("this server trims for nobody (trim=True allows it)")
        if request.a > info.durable_seq + (request.op == Op.LEASE):
            return _told(info, Status.AHEAD, info.durable_seq + 1)
        with self._lock:
            self._end_leases()
            lease = self._leases.get(request.name)
            if lease is not None and lease.holder != request.holder:
                return _told(info, Status.HELD)
            if request.op == Op.RELEASE:
                return _told(info, Status.DONE, int(self._release(request.name)))
            if request.op == Op.LEASE:
                return self._lease(request, info)
            if lease is not None and lease.from_seq <= request.a:
                lease.from_seq = request.a + 1
                self._renew(request.name, lease)
        return _told(self._spool.info(), Status.DONE, self._spool.trim(request.a))

    def _lease(self, request: Request, info: SpoolInfo) -> Answer:
        until = self._clock() + request.b / _MS
        before = self._leases.get(request.name) if request.c else None  # of that holder
        first = request.a if before is None else before.from_seq
        lease = _Lease(request.holder, first, until)
        if request.name not in self._leases and len(self._leases) >= LEASES_MAX:
            return _told(info, Status.NO_LEASE, 0, LEASES_MAX)
        try:
            self._renew(request.name, lease)
        except SpoolTrimmedError as error:
            return _told(info, Status.TRIMMED, error.first)
        except WouldBlockError:
            return _told(info, Status.NO_LEASE, 0, lib.MM_SPOOL_LEASES_MAX)
        self._leases[request.name] = lease
        return _told(info, Status.DONE, lease.from_seq)

    def _renew(self, name: str, lease: _Lease) -> None:
        left = max(lease.until - self._clock(), 1 / _MS)
        self._spool.lease(OF_PEERS + name, lease.from_seq, left)

    def _release(self, name: str) -> bool:
        if self._leases.pop(name, None) is None:
            return False
        with self._spool._in_use() as pointer:
            return bool(lib.mm_spool_release(pointer, (OF_PEERS + name).encode()) == lib.MM_OK)

    def _end_leases(self) -> None:
        now = self._clock()
        for name in [name for name, lease in self._leases.items() if lease.until <= now]:
            del self._leases[name]


def _told(info: SpoolInfo, status: Status, a: int = 0, b: int = 0) -> Answer:
    stable = info.durable_seq + 1
    first = min(info.first_seq, stable)
    return Answer(status, bytes.fromhex(info.uuid), info.epoch, first, stable, a, b)
