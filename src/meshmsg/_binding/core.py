"""The border to C: the only module that imports the extension.

Not here: sockets. Law: a call that receives borrows a batch for as long as it reads it: a signal's
function or a finalizer that receives in between borrows another one.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar

from meshmsg import _mm
from meshmsg._binding.errors import CLASSES, ERRNOS, MeshError
from meshmsg._hints.wrong_role import MESSAGE_OPTIONS, PUSH_OPTIONS, SEND_OPTIONS
from meshmsg._hints.wrong_role import wrong_send_of as wrong
from meshmsg._mm import ffi as ffi
from meshmsg._mm import lib as lib


def _load_native() -> Any:
    """Return the functions of csrc/binding/module.c: a second module in the same shared object."""
    loader = ExtensionFileLoader("meshmsg._native", str(_mm.__file__))
    spec = spec_from_file_location("meshmsg._native", _mm.__file__, loader=loader)
    if spec is None:
        raise ImportError("meshmsg._mm has no file", name="meshmsg._native")
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


native: Any = _load_native()

if TYPE_CHECKING:

    class NativeSocket:
        """What native calls know of a socket."""

        _handle: int
        _ready: Any
        """What was received and not given out (csrc/binding/ready.h); unset, if it receives
        nothing."""
        _puts_into: Any
        """The `NativeSpool` that what is sent is put into; None: it has none."""
        _puts_max: int
        """Bytes of a message that may be put natively; below 0: none may."""

    class NativeSpool:
        """What native calls know of a spool (csrc/binding/append.c); also `_inside`, who is in a
        call with it: a `NativeInside`."""

        _door: int
        """Where it is; 0: calls are for Python."""
        _look_at: float
        """When who puts looks at the folder again, by the monotonic clock."""
        _ages: bool
        _waits: bool
        """Whether who waits until a message is kept has to wait for anything."""
        _told_jumps: int
        """Of the clock: that the log was told of."""

    class NativeInside:
        """Who is in a call: what native calls know of it."""

        _calls: int
        """Native calls that are in it."""
else:
    NativeSocket, NativeSpool, NativeInside = native.Socket, native.Spool, native.Inside

_Method = TypeVar("_Method", bound=Callable[..., Any])


def sends_natively(method: _Method) -> _Method:
    """Have a socket's `send` send plain bytes natively, and leave all else to this.

    Awaited, a coroutine without a frame does so (csrc/binding/coroutine.h).
    """
    own = [name for name in SEND_OPTIONS if name in method.__annotations__]
    own += PUSH_OPTIONS if "PushOptions" in method.__annotations__["options"] else ()
    names = ("timeout", *own, *MESSAGE_OPTIONS)
    checks = iscoroutinefunction(method), wrong(own)
    made: _Method = native.send_method(method, names, *checks)
    return made


RETURNS_AT_ONCE = sys.version_info < (3, 12)
"""Whether an await takes what a coroutine of the native side returns as it is. Later Pythons take
it out of a StopIteration, which costs more than a coroutine of their own does."""


def receives_natively(method: _Method) -> _Method:
    """Have a coroutine without a frame receive in an event loop, where that is quicker, and leave
    waiting to this."""
    made: _Method = native.recv_method(method) if RETURNS_AT_ONCE else method
    return made


def appends_natively(
    kept: Callable[[Any, int], int | None], left: Callable[[Any], None]
) -> Callable[[_Method], _Method]:
    """Have the `append` of a spool put plain bytes natively, and leave all else to the function.

    Args:
        kept: Goes on for a message that was put and is not kept yet, by the spool and its number
            (0: it was dropped), and returns what `append` does.
        left: Is told, of a spool that somebody closes, that no native call is in it any more.
    """

    def native_of(method: _Method) -> _Method:
        made: _Method = native.append_method(method, kept, left)
        return made

    return native_of


EAGAIN: int = lib.MM_EAGAIN
ECLOSED: int = lib.MM_ECLOSED
EINTR: int = lib.MM_EINTR
EREFUSED: int = lib.MM_EREFUSED
ESTATE: int = lib.MM_ESTATE
SLICE_MS = 100
"""Milliseconds a blocking call sleeps before it looks at signals again (main thread)."""
LEAST_S = 0.000001
"""What is left of a time that is up: the call then waits its shortest, and says that it is too
late."""
_MS_MAX = 2**62

_BY_CODE: dict[int, type[MeshError]] = {
    getattr(lib, name): error_class for name, error_class in CLASSES.items()
}
_ERRNO_BY_CODE: dict[int, int] = {getattr(lib, name): value for name, value in ERRNOS.items()}


def address_of(batch: Any) -> int:
    """Return where a batch is, for native calls."""
    return int(ffi.cast("uintptr_t", batch))


class Slot:
    """A batch of the core's, and where it is."""

    __slots__ = ("address", "batch")

    def __init__(self) -> None:
        out = ffi.new("mm_batch **")
        if lib.mm_batch_new(out) != 0:
            raise MemoryError("no memory for a receive batch")
        self.batch: Any = ffi.gc(out[0], lib.mm_batch_free)
        self.address = address_of(out[0])

    def drop(self) -> None:
        """Let go of what it holds: a large message would stay until the next use."""
        lib.mm_batch_drop(self.batch)


_idle_slots: list[Slot] = []
IDLE_SLOTS_MAX = 32
"""Batches that are kept for the next calls; more are freed."""


def borrow() -> Slot:
    """Take a batch that nobody reads; `give_back` it once it was read."""
    try:
        return _idle_slots.pop()
    except IndexError:
        return Slot()


def give_back(slot: Slot) -> None:
    """Let the next call that receives have it."""
    if len(_idle_slots) < IDLE_SLOTS_MAX:
        _idle_slots.append(slot)


def body_in(slot: Slot) -> memoryview:
    """Return the body of the one message in a slot, where it lies; its last frame is that.

    It is there until the slot is dropped, or something else is received into it.
    """
    size = ffi.new("size_t *")
    last = lib.mm_batch_frame_count(slot.batch, 0) - 1
    data = lib.mm_batch_frame(slot.batch, 0, last, size)
    return memoryview(ffi.buffer(data, size[0]))


def on_main_thread() -> bool:
    """Tell whether signals are handled on this thread."""
    return threading.get_ident() == threading.main_thread().ident


def to_ms(timeout: float | None) -> int:
    """Turn seconds (None: for ever) into what C wants: milliseconds, -1 for ever."""
    if timeout is None:
        return -1
    try:
        late = not timeout >= 0  # NaN too
    except TypeError:
        raise TypeError(
            f"timeout is {timeout!r}; seconds as a number, or None to wait for ever"
        ) from None
    if late:
        raise ValueError(f"timeout is {timeout!r}; seconds >= 0, or None to wait for ever")
    return min(math.ceil(timeout * 1000), _MS_MAX) if timeout < _MS_MAX else _MS_MAX


def ends_of(timeout: float | None, clock: Callable[[], float] = time.monotonic) -> float | None:
    """Return when a timeout is up, by that clock; None: never, 0: it does not wait at all.

    Raises:
        TypeError, ValueError: It is no time.
    """
    to_ms(timeout)
    return clock() + timeout if timeout else timeout


def left_of(deadline: float | None, clock: Callable[[], float] = time.monotonic) -> float | None:
    """Return the seconds until then, LEAST_S at least: 0 is for who does not wait at all."""
    return max(deadline - clock(), LEAST_S) if deadline else deadline


def text_of(code: int) -> str:
    """Return the core's own words for a code."""
    return str(ffi.string(lib.mm_strerror(code)).decode())


def error_for(code: int, message: str, *, address: str = "", **more: Any) -> MeshError:
    """Make the exception of a code; more: what its class has besides."""
    if code == lib.MM_ECLOSED and exiting.is_set() and threading.current_thread().daemon:
        _stop_for_good()
    error = _BY_CODE.get(code, MeshError)(message, code=code, address=address, **more)
    if code in _ERRNO_BY_CODE:
        vars(error).update(errno=_ERRNO_BY_CODE[code], strerror=text_of(code))
    return error


def raise_for(code: int, what: str, *, address: str = "") -> None:
    """Raise what a negative result means; what says who was doing what, to what."""
    if code < 0:
        raise error_for(code, f"{what}: {text_of(code)}", address=address)


exiting = threading.Event()
"""Whether the program is at its end, and its engines are being closed."""


def _stop_for_good() -> None:
    """Keep a daemon thread here until the process is gone, as the interpreter itself does later on.

    What it waited for was closed by the exit, not by the program: the trace of an error nobody made
    would be printed while standard error is being closed, which aborts the process.
    """
    lock = threading.Lock()
    while True:
        lock.acquire()


os.register_at_fork(
    before=lib.mm_fork_prepare,
    after_in_parent=lib.mm_fork_parent,
    after_in_child=lib.mm_fork_child,
)
