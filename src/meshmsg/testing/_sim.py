"""A simulated world: engines without threads, a clock that jumps, streams that fail as the seed
says.

Blocking calls of sockets of its engines run the world until they can go on, so ordinary sync code
runs in it unchanged, in one thread. Law: the same seed and the same calls give the same trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._socket.engine import Engine

if TYPE_CHECKING:
    from typing_extensions import Self

NS = 1_000_000_000
PPM = 1_000_000
TRACE_WIDTH = 96


@dataclass(frozen=True)
class SimFaults:
    """What may go wrong, each a probability from 0 to 1 of each operation.

    Attributes:
        split: A read gives less than there is.
        short_write: A write takes less than it is given.
        eagain: A read or write says "not now" for no reason (below 1).
        reset: A write finds the connection reset.
        refuse: A connect is refused.
        accept_emfile: An accept finds no descriptor.
        half_open: A new connection swallows everything and never ends.
        reset_after_bytes: Every connection is reset once so many bytes were written; 0: never.
    """

    split: float = 0.0
    short_write: float = 0.0
    eagain: float = 0.0
    reset: float = 0.0
    refuse: float = 0.0
    accept_emfile: float = 0.0
    half_open: float = 0.0
    reset_after_bytes: int = 0


class SimWorld:
    """A world of its own: virtual time, in-memory connections, seeded faults.

    Sockets in it may be protected (`security=`). Certificates are judged by its wall clock, which
    begins on 2023-11-14. A file is read as a socket takes the policy, and never looked at again; a
    function for `allow=` is refused: for both there would have to be a thread.

    Thread-safe: no; one thread uses a world and all sockets in it. asyncio sockets need a real loop
    and do not work in it.

    Args:
        seed: Where all chance comes from.
        latency: Seconds a write or connect takes, (least, most).
        faults: What goes wrong, from the start.
        buffer_size: Bytes a connection holds in each direction.

    Example:
        >>> import meshmsg as mm
        >>> with SimWorld(7) as world:
        ...     push = mm.Push(bind="tcp://127.0.0.1:0", engine=world.engine())
        ...     pull = mm.Pull(connect=push.endpoint, engine=world.engine())
        ...     push.send(b"hello", timeout=5)
        ...     pull.recv(timeout=5)
        b'hello'
    """

    def __init__(
        self,
        seed: int,
        *,
        latency: tuple[float, float] = (0.0001, 0.001),
        faults: SimFaults | None = None,
        buffer_size: int = 256 * 1024,
    ) -> None:
        self.seed = seed
        self._latency = latency
        self._buffer_size = buffer_size
        self._engines: list[Engine] = []
        out = ffi.new("mm_handle *")
        opts = self._options(faults or SimFaults())
        raise_for(lib.mm_sim_open(seed % 2**64, opts, out), f"opening the world of seed {seed}")
        self._handle: int = out[0]

    def _options(self, faults: SimFaults) -> Any:
        low, high = self._latency
        return ffi.new(
            "mm_sim_opts *",
            {
                "latency_min_ns": round(low * NS),
                "latency_max_ns": round(high * NS),
                "buffer_size": self._buffer_size,
                "reset_after_bytes": faults.reset_after_bytes,
                "split_ppm": round(faults.split * PPM),
                "short_write_ppm": round(faults.short_write * PPM),
                "eagain_ppm": round(faults.eagain * PPM),
                "reset_ppm": round(faults.reset * PPM),
                "refuse_ppm": round(faults.refuse * PPM),
                "accept_emfile_ppm": round(faults.accept_emfile * PPM),
                "half_open_ppm": round(faults.half_open * PPM),
            },
        )

    def engine(self) -> Engine:
        """Open an engine in this world, for the `engine=` of sockets. The world closes it."""
        out = ffi.new("mm_handle *")
        raise_for(lib.mm_sim_engine_open(self._handle, out), "opening a simulated engine")
        engine = Engine._adopt(out[0])
        self._engines.append(engine)
        return engine

    def run(self, seconds: float) -> None:
        """Let the world go on for so long, in virtual time."""
        raise_for(lib.mm_sim_run(self._handle, round(seconds * NS)), "running the world")

    def set_faults(self, faults: SimFaults) -> None:
        """From now on, this may go wrong."""
        raise_for(lib.mm_sim_faults(self._handle, self._options(faults)), "setting faults")

    def heal(self) -> None:
        """From now on, nothing goes wrong any more, and partitions are over."""
        raise_for(lib.mm_sim_heal(self._handle), "healing the world")

    def partition(
        self, first: Engine, second: Engine, seconds: float, *, one_way: bool = False
    ) -> None:
        """For so long nothing gets from the first engine to the second, nor back unless one_way."""
        a, b = self._engines.index(first), self._engines.index(second)
        for one, two in [(a, b)] if one_way else [(a, b), (b, a)]:
            rc = lib.mm_sim_partition(self._handle, one, two, round(seconds * NS))
            raise_for(rc, "partitioning the world")

    def reset_all(self) -> None:
        """Reset every connection now."""
        raise_for(lib.mm_sim_reset_all(self._handle), "resetting connections")

    def jump_wall_clock(self, seconds: float) -> None:
        """Set the wall clock forth or back; nothing but time stamps may notice."""
        raise_for(lib.mm_sim_jump_wall(self._handle, round(seconds * NS)), "jumping the clock")

    def suspend(self, seconds: float) -> None:
        """Stop every engine for so long: the clock goes on, and nobody runs meanwhile."""
        raise_for(lib.mm_sim_suspend(self._handle, round(seconds * NS)), "suspending the world")

    def _look(self) -> Any:
        out = ffi.new("mm_sim_state *")
        raise_for(lib.mm_sim_inspect(self._handle, out), "looking at the world")
        return out

    @property
    def now(self) -> float:
        """Virtual seconds."""
        return float(self._look().now_ns) / NS

    @property
    def trace_hash(self) -> int:
        """A hash of everything that happened: equal for equal seeds and calls."""
        return int(self._look().trace_hash)

    @property
    def open_streams(self) -> int:
        """How many ends of connections and listeners there are."""
        return int(self._look().open_streams)

    def trace(self, lines: int = 40) -> list[str]:
        """Return the last lines of what happened, oldest first."""
        total = int(self._look().trace_lines)
        out = ffi.new("char[]", TRACE_WIDTH)
        found: list[str] = []
        for line in range(max(total - lines, 0), total):
            if lib.mm_sim_trace(self._handle, line, out, TRACE_WIDTH) == 0:
                found.append(str(ffi.string(out).decode()))
        return found

    def close(self) -> None:
        """Close the engines and the world. Closing twice is harmless."""
        for engine in self._engines:
            engine.close()
        self._engines.clear()
        lib.mm_sim_close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
