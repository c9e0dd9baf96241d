"""What a reader in another process asks for, and what the answers mean; no sockets.

Not here: the octets (form.py), waiting (_sync/remote_spool.py, aio/_spool/remote.py). Law: what a
server says is checked; nothing of a range is left out without a word, and nothing comes twice.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from meshmsg._binding.core import LEAST_S, ffi, lib
from meshmsg._binding.data import buffer_of
from meshmsg._binding.errors import (
    MeshError,
    PeerError,
    SpoolAheadError,
    SpoolChangedError,
    SpoolCorruptError,
    SpoolError,
    SpoolTrimmedError,
    TimedOutError,
    UsageError,
    WouldBlockError,
)
from meshmsg._ranges.form import (
    ANSWER_HEAD,
    ANY_UUID,
    HOLDER_SIZE,
    NAME_MAX,
    TTL_MS_MAX,
    UUID_SIZE,
    Answer,
    Busy,
    NotAnswered,
    Op,
    Request,
    Status,
    answer_of,
    lease_name,
    request_octets,
)
from meshmsg._spool.arguments import lease_ms, whole
from meshmsg._spool.batch import SpoolBatch, check_batch
from meshmsg._spool.message import SpoolGap

Octets: TypeAlias = bytes | memoryview
"""What came as an answer: an object of its own, or the memory where it lies."""
EPOCH_MAX = 2**32 - 1
"""Of a spool."""
LIVES_MAX = 16
"""Lives of a spool that a reader remembers."""
TIMEOUT = 30.0
"""Seconds that an answer may take, if nothing is said."""
RETRIES = 2**20
"""Times that the same is asked again within that time."""
BUSY_S, BUSY_MAX_S = 0.02, 1.0
"""Seconds until a server that is busy is asked again: at first, and what that grows to."""
HELD = "has another holder"
"""What an error says of a lease, if it is that."""
_LIMITS: dict[int, str] = {
    Busy.READERS: "it serves {:,} readers, and no more at once",
    Busy.READER_BYTES: "{:,} bytes wait to be written to this reader, and no more may",
    Busy.BYTES: "{:,} bytes wait to be written to its readers, and no more may",
}


@dataclass(frozen=True)
class RemoteSpoolInfo:
    """What a spool of another process is, at one moment.

    Attributes:
        uuid: Which spool it is, as 32 hexadecimal digits; new when a folder is made anew.
        epoch: Counts its lives, from 1 on.
        first_seq: The first number that is there; `stable_seq`: there is none.
        stable_seq: The number behind the last that is durable: what is below can be read, and will
            be the same whenever it is read, until it is trimmed.
    """

    uuid: str
    epoch: int
    first_seq: int
    stable_seq: int


class Asking:
    """What one reader knows of the spool, and asks of it."""

    def __init__(self, where: str, uuid: str | None, holder: object) -> None:
        self.where = where
        """The endpoint, for errors."""
        self._uuid = _uuid_octets(uuid)
        self._epoch = 0
        """Of the last life that is known."""
        self._lives: dict[int, int] = {}
        """Of each life that was seen: the number behind the last that was durable then."""
        self._holder = _holder_octets(holder)

    def octets(self, request: Request) -> bytes:
        """Return a request as it is sent: of the spool as it is known now."""
        return request_octets(replace(request, uuid=self._uuid, epoch=self._known(request)))

    def info(self) -> Request:
        """Ask which spool it is, and which numbers it has."""
        return self._request(Op.INFO)

    def read(self, from_seq: int, to_seq: int, max_bytes: int) -> Request:
        """Ask for batches."""
        return self._request(Op.READ, from_seq, to_seq, max_bytes)

    def lease(
        self, name: str, from_seq: object, ttl: object, *, as_before: bool = False
    ) -> Request:
        """Ask to hold what is from a number on, or, as before, from where the server is by now."""
        ms = lease_ms(ttl)
        if ms > TTL_MS_MAX:
            raise UsageError(f"ttl is {ttl!r}; of a lease over the wire it is up to a week")
        first = whole("from_seq", from_seq, 1)
        return self._request(Op.LEASE, first, ms, int(as_before), _checked(name))

    def release(self, name: str) -> Request:
        """Ask to hold it no longer."""
        return self._request(Op.RELEASE, name=_checked(name))

    def trim(self, seq: object, name: str | None) -> Request:
        """Ask to remove what is up to a number."""
        return self._request(
            Op.TRIM, whole("seq", seq, 0), name="" if name is None else _checked(name)
        )

    def answer(self, request: Request, data: Octets) -> Answer:
        """Return what was answered, if it was done, or cannot be now.

        Raises:
            SpoolTrimmedError, SpoolAheadError, SpoolChangedError, SpoolCorruptError: As said there.
            WouldBlockError: Another has the lease, or there are too many.
            SpoolError: The server could not do it, as it says.
            PeerError: It is no server of ranges.
        """
        try:
            answer = answer_of(data)
        except NotAnswered as error:
            raise self.strange(str(error)) from None
        if (wrong := self._wrong(request, answer, data)) is not None:
            raise wrong
        given = request.op == Op.READ and answer.status == Status.DONE
        if len(data) > ANSWER_HEAD and not given:
            raise self.strange(f"{len(data) - ANSWER_HEAD:,} octets behind an answer that has none")
        if given and answer.a > answer.stable_seq:
            raise self.strange(
                f"it gave messages up to {answer.a - 1}, and says that {answer.stable_seq - 1} is "
                "the last that is durable"
            )
        self._uuid, self._epoch = answer.uuid, answer.epoch
        self._lives[answer.epoch] = max(answer.stable_seq, self._lives.get(answer.epoch, 0))
        if len(self._lives) > LIVES_MAX:
            del self._lives[min(self._lives)]
        return answer

    def lives(self, epoch: int | None, to_seq: int) -> tuple[tuple[int, int], ...]:
        """Return lives, and before which number all was put in it or earlier; of a range that was
        told in a life, that one, too."""
        told = () if epoch is None else ((epoch, to_seq),)
        return (*told, *self._lives.items())

    def still_busy(self, answer: Answer, timeout: float | None) -> MeshError:
        """Say that a server was busy for all that time."""
        limit = _LIMITS.get(answer.a, "it has a limit of {:,}")
        return TimedOutError(
            f"{self.where}: the server was busy for {timeout} s: {limit.format(answer.b)}",
            code=lib.MM_ETIMEDOUT,
            address=self.where,
        )

    def ahead(self, seq: int, stable_seq: int) -> MeshError:
        """Say that a number is not durable."""
        return SpoolAheadError(
            f"{self.where}: {seq} is ahead of what is durable there, which is up to "
            f"{stable_seq - 1}",
            seq=seq,
            stable_seq=stable_seq,
        )

    def given_again(self, seq: int, epoch: int, told: int) -> MeshError:
        """Say that a number was durable before, and has another message by now."""
        return SpoolChangedError(
            f"{self.where}: message {seq} was put in life {epoch} of the spool, and that number "
            f"was told as durable in life {told}: a copy from before was put back",
            uuid=self._uuid.hex(),
            epoch=epoch,
        )

    def strange(self, why: str) -> MeshError:
        """Say that what came is not what was asked for."""
        return PeerError(f"{self.where}: {why}", code=lib.MM_EPROTO, address=self.where)

    def _request(self, op: Op, a: int = 0, b: int = 0, c: int = 0, name: str = "") -> Request:
        return Request(op, self._uuid, self._epoch, a, b, c, self._holder, name)

    def _wrong(self, request: Request, answer: Answer, data: Octets) -> MeshError | None:
        """Return what is raised for it; None: it was done, or cannot be now."""
        where, status = self.where, answer.status
        known = self._known(request)
        other = self._uuid not in (ANY_UUID, answer.uuid) or answer.epoch < known
        if status == Status.CHANGED or other:
            return self.changed(answer, known)
        if status == Status.TRIMMED:
            return SpoolTrimmedError(
                f"{where}: messages {request.a} to {answer.a - 1} were removed; {answer.a} is the "
                "first that is there",
                seq=request.a,
                first=answer.a,
            )
        if status == Status.AHEAD:
            seq = max(request.b - 1, request.a) if request.op == Op.READ else request.a
            return self.ahead(seq, answer.stable_seq)
        if status == Status.HELD:
            return WouldBlockError(f"{where}: the lease {request.name!r} {HELD}")
        if status == Status.NO_LEASE:
            return WouldBlockError(f"{where}: there are {answer.b:,} leases, and no more")
        if status == Status.FAILED:
            text = bytes(data[ANSWER_HEAD:]).decode("utf-8", "replace")
            return SpoolError(f"{where}: the server says: {text}")
        return None

    def changed(self, answer: Answer, known: int) -> MeshError:
        """Say that it is another spool, or an earlier life of it than the last that is known."""
        uuid = answer.uuid.hex()
        here = f"{self.where}: it is the spool {uuid} in life {answer.epoch}"
        if self._uuid in (ANY_UUID, answer.uuid):
            here += f", and was in life {known}: a copy from before was put back"
        else:
            here += f", and was to be {self._uuid.hex()}"
        return SpoolChangedError(
            f"{here}; numbers of one mean nothing in the other", uuid=uuid, epoch=answer.epoch
        )

    def _known(self, request: Request) -> int:
        """Return the last life that is known, here or to whoever asks."""
        return max(self._epoch, request.epoch)


def info_of(answer: Answer) -> RemoteSpoolInfo:
    """Return what an answer tells of the spool."""
    return RemoteSpoolInfo(answer.uuid.hex(), answer.epoch, answer.first_seq, answer.stable_seq)


class Leases:
    """From which number on a reader holds what is there, by the names of its leases, as it last
    heard. Thread-safe: each call is one of a dict."""

    def __init__(self) -> None:
        self._from: dict[str, int] = {}

    def held(self, request: Request, answer: Answer) -> int:
        """Note what a LEASE holds, and return it; a server that does not tell holds what was asked
        for."""
        first = answer.a or request.a
        self._from[request.name] = first
        return first

    def first(self, name: str, known: int) -> int:
        """Return the number; `known`, if it was let go of."""
        return self._from.get(name, known)

    def trimmed(self, name: str | None, seq: int) -> None:
        """Note that what is up to a number is not needed for a name."""
        if name is not None and (first := self._from.get(name)) is not None:
            self._from[name] = max(first, seq + 1)

    def released(self, name: str) -> None:
        """Forget it."""
        self._from.pop(name, None)


class Patience:
    """How long the same is asked for again, of a server that is busy. Law: pure."""

    def __init__(self, timeout: float | None, now: float) -> None:
        self._until = None if timeout is None else now + timeout
        self._wait = BUSY_S

    def left(self, now: float) -> float | None:
        """Return the seconds that are left; None: it never ends."""
        return None if self._until is None else max(self._until - now, LEAST_S)

    def wait(self, now: float) -> float | None:
        """Return the seconds until it is asked again; None: time is up."""
        wait, self._wait = self._wait, min(self._wait * 2, BUSY_MAX_S)
        return None if self._until is not None and now + wait >= self._until else wait


class Range:
    """Messages that are being read: which come next, and the batches of an answer."""

    def __init__(
        self,
        asking: Asking,
        from_seq: int,
        to_seq: int | None,
        limits: tuple[int, int],
        gaps: bool,
        epoch: int | None,
    ) -> None:
        self._asking = asking
        self._epoch = epoch
        self._next = from_seq
        self.begun = to_seq is not None
        """Whether it is known where it ends."""
        self._to = from_seq if to_seq is None else to_seq
        self._max_messages, self._max_bytes = limits
        self._gaps = gaps
        self._gone: list[SpoolGap] = []

    def begin(self, stable_seq: int) -> None:
        """It ends with what is durable."""
        if self._next > stable_seq:
            raise self._asking.ahead(self._next, stable_seq)
        self._to, self.begun = stable_seq, True

    def opening(self) -> Request:
        """Ask where it ends."""
        return self._told(self._asking.info())

    def request(self) -> Request | None:
        """Ask for what is next; None: nothing is."""
        if self._next >= self._to:
            return None
        return self._told(self._asking.read(self._next, self._to, self._max_bytes))

    def _told(self, request: Request) -> Request:
        """Say in which life its numbers were told: an earlier one is a copy from before."""
        return request if self._epoch is None else replace(request, epoch=self._epoch)

    def batches(self, answer: Answer, data: Octets) -> Iterator[SpoolBatch]:
        """Go on behind an answer, and return its batches, to be made one after another."""
        first = self._next
        if answer.status == Status.HARMED:
            self._harm(answer)
            return iter(())
        if answer.a <= first:
            raise self._asking.strange(f"it was asked for {first}, and gave none")
        self._next = min(answer.a, self._to)
        gone, self._gone = self._gone, []
        return self._made(data, first, self._next, gone)

    def rest(self) -> Iterator[SpoolBatch]:
        """Return a batch without messages, if there are gaps that came before none."""
        if self._gone:
            yield SpoolBatch(lib.mm_spool_rows_none(), self._gone, seq=self._to)

    def _harm(self, answer: Answer) -> None:
        if answer.a != self._next or answer.b < answer.a:
            raise self._asking.strange("it told of harm where nothing was asked for")
        last = min(answer.b, self._to - 1)
        if not self._gaps:
            raise SpoolCorruptError(
                f"{self._asking.where}: messages {answer.a} to {answer.b} are harmed",
                first=answer.a,
                last=answer.b,
            )
        self._gone.append(SpoolGap(answer.a, last))
        self._next = last + 1

    def _made(self, data: Octets, seq: int, to: int, gone: list[SpoolGap]) -> Iterator[SpoolBatch]:
        lives = self._asking.lives(self._epoch, self._to)
        octets = buffer_of(memoryview(data)[ANSWER_HEAD:])  # stays with the blocks
        blocks = lib.mm_spool_blocks_new(*octets, seq, to)
        if blocks == ffi.NULL:
            raise MemoryError("no memory for a range of a spool")
        blocks = ffi.gc(blocks, lib.mm_spool_blocks_free)
        out: Any = ffi.new("mm_spool_rows **")
        while True:
            rc = int(lib.mm_spool_blocks_rows(blocks, self._max_messages, self._max_bytes, out))
            if rc == lib.MM_ENOMEM:
                raise MemoryError("no memory for a batch of a spool")
            if rc == 0:
                break  # all of it; or compaction removed the rest
            if rc != 1 and seq >= to:
                raise self._asking.strange(f"it gave octets behind message {to - 1}, its last one")
            if rc != 1:
                raise self._asking.strange(f"what it gave for message {seq} is not that")
            batch = SpoolBatch(out[0], gone, seq=seq)
            self._check(batch, out[0], lives)
            seq, gone = batch.last_seq + 1, []
            yield batch
        if gone:
            yield SpoolBatch(lib.mm_spool_rows_none(), gone, seq=to)
        del octets

    def _check(self, batch: SpoolBatch, rows: Any, lives: Iterable[tuple[int, int]]) -> None:
        """Raise if a number was given again since it was told as durable."""
        found = ffi.new("mm_spool_message *")
        for epoch, behind in lives:
            count = bisect_left(range(len(batch)), behind, key=batch._seq)
            if count > 0:  # epochs grow with the numbers: the last of those will do
                lib.mm_spool_rows_at(rows, count - 1, found)
                if found.epoch > epoch:
                    raise self._asking.given_again(int(found.seq), int(found.epoch), epoch)


def range_of(
    asking: Asking,
    from_seq: object,
    to_seq: object,
    *,
    max_messages: object,
    max_bytes: object,
    gaps: bool,
    epoch: object,
) -> Range:
    """Return a range to be read, its arguments checked."""
    first = whole("from_seq", from_seq, 1)
    last = None if to_seq is None else whole("to_seq", to_seq, first)
    life = None if epoch is None else whole("epoch", epoch, 1, EPOCH_MAX)
    return Range(asking, first, last, check_batch(max_messages, max_bytes), gaps, life)


def _checked(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}; it is the name of a lease, as text")
    if not lease_name(name.encode("utf-8", "replace")):
        raise UsageError(
            f"name is {name!r}; it is 1 to {NAME_MAX} of A-Z, a-z, 0-9, dot, underscore and "
            "hyphen, with no dot in front"
        )
    return name


def _uuid_octets(uuid: object) -> bytes:
    if uuid is None:
        return ANY_UUID
    if not isinstance(uuid, str):
        raise TypeError(f"uuid is {uuid!r}; it is the uuid of a spool, as text")
    try:
        octets = bytes.fromhex(uuid)
    except ValueError:
        octets = b""
    if len(octets) != UUID_SIZE or octets == ANY_UUID:
        raise UsageError(f"uuid is {uuid!r}; it is 32 hexadecimal digits, as in info().uuid")
    return octets


def _holder_octets(holder: object) -> bytes:
    if holder is None:
        return os.urandom(HOLDER_SIZE)
    if not isinstance(holder, bytes):
        raise TypeError(f"holder is {holder!r}; it is bytes")
    if not 0 < len(holder) <= HOLDER_SIZE:
        raise UsageError(f"holder has {len(holder)} bytes; it has 1 to {HOLDER_SIZE}")
    return holder.ljust(HOLDER_SIZE, b"\0")
