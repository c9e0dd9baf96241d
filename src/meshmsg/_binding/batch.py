"""Many messages as one object: contiguous bodies and offsets, which is how Arrow lays out binary.

Not here: receiving one (_sync/receiving.py). Law: no Python object per message until one is asked
for; the memory lives as long as the batch, a slice of it, or an Arrow array made of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from operator import is_
from typing import Any, ClassVar, overload

from meshmsg._binding.core import ffi
from meshmsg._hints.plural import counted, plural


class MessageBatch:
    """The bodies of received messages, oldest first: what a sequence of bytes does, this does.

    Takes part in Arrow's PyCapsule interface. `pyarrow.array(batch)` is this memory, bodies and
    offsets. `polars.Series(batch)` refers to the bodies here and makes 16 bytes of its own for
    each; a body of 12 bytes or less stands in those; it has no name, so `.alias("name")` gives it
    one. DuckDB reads the table `batch` from here.

    It is no `collections.abc.Sequence`: polars looks for one before it looks for Arrow, and would
    make a bytes of each message. Immutable, so it may be used by several threads.
    """

    __slots__ = ("_all", "_batch", "_count", "_first", "_topics")

    def __init__(self, batch: Any, first: int, count: int, topics: list[str] | None = None) -> None:
        self._batch = batch
        self._topics = topics
        """Of messages whose frames Python has seen already; else they stand in the batch."""
        self._first = first
        self._count = count
        self._all: memoryview | None = None

    @property
    def _memory(self) -> memoryview:
        """All bodies; made when one is asked for, as many a batch is only counted or handed on."""
        if self._all is None:
            batch, end = self._batch, self._first + self._count
            # A view of it refers to the bodies, and they to the batch: else it would outlive them.
            # By a finalizer that does nothing, and runs no code of Python: a signal's function
            # would run in it, and what it raises be gone.
            bodies = ffi.gc(batch.body, partial(is_, batch))
            self._all = memoryview(ffi.buffer(bodies, batch.body_offset[end]))
        return self._all

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> MessageBatch | list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | MessageBatch | list[bytes]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            if step == 1:
                count = max(stop - start, 0)
                topics = None if self._topics is None else self._topics[index]
                return MessageBatch(self._batch, self._first + start, count, topics)
            return [self[i] for i in range(start, stop, step)]
        at = index + self._count if index < 0 else index
        if not 0 <= at < self._count:
            raise IndexError(f"message {index} of a batch of {self._count}")
        offset = self._batch.body_offset
        first = self._first + at
        return self._memory[offset[first] : offset[first + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.to_list())

    def __reversed__(self) -> Iterator[bytes]:
        return reversed(self.to_list())

    def __contains__(self, body: object) -> bool:
        return body in self.to_list()

    def index(self, body: Any, start: int = 0, stop: int | None = None) -> int:
        """Return where a body stands first, from start on and before stop.

        Thread-safe: yes.

        Args:
            body: What to look for.
            start: The first message to look at; negative: counted from the end.
            stop: The first not to look at; None: look at all.

        Returns:
            Its index.

        Raises:
            ValueError: It is not there.
        """
        return self.to_list().index(body, start, self._count if stop is None else stop)

    def count(self, body: Any) -> int:
        """Return how many messages have this body.

        Thread-safe: yes.
        """
        return self.to_list().count(body)

    def to_list(self) -> list[bytes]:
        """Return all bodies, each a bytes of its own.

        Thread-safe: yes.

        Returns:
            As many as the batch is long.
        """
        offset = ffi.unpack(self._batch.body_offset + self._first, self._count + 1)
        start = offset[0]
        data = self._memory[start : offset[-1]].tobytes()
        return [data[a - start : b - start] for a, b in itertools.pairwise(offset)]

    @property
    def nbytes(self) -> int:
        """Bytes of all bodies."""
        offset = self._batch.body_offset
        return int(offset[self._first + self._count] - offset[self._first])

    @property
    def data(self) -> memoryview:
        """The bodies end to end, read-only, as they lie in memory; `offsets` says where each is."""
        offset = self._batch.body_offset
        whole = self._memory[offset[self._first] : offset[self._first + self._count]]
        return whole.toreadonly()

    @property
    def offsets(self) -> list[int]:
        """Where each body begins in `data`, and where the last one ends: one more than messages."""
        offset = ffi.unpack(self._batch.body_offset + self._first, self._count + 1)
        return [at - offset[0] for at in offset]

    @property
    def peers(self) -> list[int]:
        """The id in `peers()` of the peer each message came from."""
        batch = self._batch
        if batch.peer == ffi.NULL:
            return [int(batch.one_peer)] * self._count
        return list(map(int, ffi.unpack(batch.peer + self._first, self._count)))

    @property
    def topics(self) -> list[str]:
        """The topic of each message; "" where it came as a single frame."""
        if self._topics is not None:
            return list(self._topics)
        batch = self._batch
        if batch.frame_count == batch.message_count or batch.first_frame == ffi.NULL:
            return [""] * self._count
        firsts = ffi.unpack(batch.first_frame + self._first, self._count + 1)
        data, offset = batch.data, batch.offset
        return [
            ffi.buffer(data + offset[a], offset[a + 1] - offset[a])[:].decode(
                "utf-8", "surrogateescape"
            )
            if b - a > 1
            else ""
            for a, b in itertools.pairwise(firsts)
        ]

    def __copy__(self) -> MessageBatch:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> MessageBatch:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a MessageBatch cannot be pickled: it is memory of the core; pickle its bodies, "
            "batch.to_list(), or the Arrow array pyarrow.array(batch)"
        )

    def __arrow_c_schema__(self) -> object:
        from meshmsg._binding.arrow import schema_capsule

        return schema_capsule()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from meshmsg._binding.arrow import array_capsule, schema_capsule

        return schema_capsule(), array_capsule(self._batch, self._first, self._count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (MessageBatch, Sequence)) or isinstance(other, (bytes, str)):
            return NotImplemented
        return len(self) == len(other) and self.to_list() == list(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        size = f"{self.nbytes:,} {plural(self.nbytes, 'byte')}"
        return f"<MessageBatch of {counted(self._count, 'message')}, {size}>"
