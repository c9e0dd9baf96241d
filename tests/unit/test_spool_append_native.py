"""`Spool.append` of plain bytes, and `send` of a socket with a spool, are native: what they do is
what they did in Python.

Not here: signals in a native call (tests/fault/test_signals_append.py), what `append` does at all
(test_spool.py).
"""

from __future__ import annotations

import gc
import inspect
import math
import pickle
import pydoc
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT

DATA: dict[str, Any] = {
    "nothing": b"",
    "little": b"x",
    "as much as is copied under the lock": b"y" * 65_536,
    "more": b"z" * 65_537,
    "of a class": type("Body", (bytes,), {"__len__": lambda self: 3})(b"body"),
    "bytearray": bytearray(b"array"),
    "memoryview": memoryview(b"view"),
}
LEVELS = ("buffered", "os", "disk")
ROOM: dict[str, Any] = {"segment_bytes": SEGMENT, "max_bytes": 2 * SEGMENT}
IN_PYTHON = 256
"""One of so many calls is left to Python."""


def function(call: Any) -> Any:
    """What a native method stands over, for one spool or socket."""
    return partial(call.__wrapped__, call.__self__)


def bodies(spool: mm.Spool) -> list[tuple[int, bytes]]:
    """What it has, with its numbers."""
    with spool.reader() as reader:
        return [(one.seq, bytes(one)) for one in reader.read(1000)]


def ended(call: Callable[[], object]) -> tuple[Any, ...]:
    """How a call ended, and what that says of what was put."""
    try:
        return "returned", call()
    except mm.MeshError as error:
        return type(error), str(error), getattr(error, "sent", None)


@pytest.mark.parametrize("durability", LEVELS)
@pytest.mark.parametrize("wait", [None, True, False, 1])
def test_it_puts_what_the_function_puts(tmp_path: Path, durability: Any, wait: Any) -> None:
    """Each kind of data, and each wait; a wait that is no bool, too."""
    named = {} if wait is None else {"wait": wait}
    with (
        mm.Spool(tmp_path / "s", durability=durability) as spool,
        mm.Spool(tmp_path / "t", durability=durability) as other,
    ):
        for data in DATA.values():
            said = ended(partial(spool.append, data, **named))
            assert said == ended(partial(function(other.append), data, **named))
        for one in (spool, other):
            one.flush(timeout=WAIT_S)
        assert bodies(spool) == bodies(other)
        assert spool.info().appended == other.info().appended == len(DATA)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often Python put something."""
    counts = Counter[str]()
    put = mm.Spool._put

    def counted(*given: Any) -> None:
        counts["put"] += 1
        put(*given)

    monkeypatch.setattr(mm.Spool, "_put", counted)
    return counts


@pytest.mark.parametrize("durability", LEVELS)
@pytest.mark.parametrize("wait", [True, False])
def test_it_is_native(tmp_path: Path, calls: Counter[str], durability: Any, wait: bool) -> None:
    """Python has a turn now and then only, in which signals and other threads have theirs."""
    with mm.Spool(tmp_path / "s", durability=durability) as spool:
        spool._look_at = math.inf
        for number in range(1, 2 * IN_PYTHON + 1):
            assert spool.append(b"x", wait=wait) == number
    assert calls["put"] == 2


def test_python_looks_at_the_folder_when_it_is_time_to(tmp_path: Path, calls: Counter[str]) -> None:
    """As it does between calls of its own."""
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        spool._look_at = 0
        spool.append(b"x")
        assert calls["put"] == 1
        assert spool._look_at > time.monotonic()


@pytest.mark.parametrize("durability", LEVELS)
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("full", ["error", "drop_newest", "drop_oldest"])
def test_what_a_full_spool_says_is_what_the_function_says(
    tmp_path: Path, durability: Any, wait: bool, full: Any
) -> None:
    """The same number is put, and refused or dropped with the same words."""
    said: dict[str, list[Any]] = {}
    for way in ("native", "function"):
        folder = tmp_path / "s"
        with mm.Spool(folder, durability=durability, overflow=full, **ROOM) as spool:
            put = spool.append if way == "native" else function(spool.append)
            said[way] = [ended(partial(put, b"x" * 20_000, wait=wait)) for _ in range(20)]
            info = spool.info()
            said[way].append((info.first_seq, info.last_seq, info.dropped_newest))
        folder.rename(tmp_path / way)
    assert said["native"] == said["function"]
    assert {one[0] for one in said["native"][:-1]} == (
        {"returned", mm.SpoolFullError} if full == "error" else {"returned"}
    )


def test_it_waits_for_room(tmp_path: Path) -> None:
    """A call that waits natively leaves it to Python to go on, which says who waits, for what."""
    with mm.Spool(tmp_path / "s", durability="os", overflow="block", **ROOM) as spool:
        put = Counter[int]()

        def fill() -> None:
            for _ in range(30):
                number = spool.append(b"x" * 20_000)
                assert number is not None
                put[number] += 1

        waiting = Later(fill)
        for upto in range(3, 30, 3):
            wait_until(partial(put.__contains__, upto))
            spool.trim(upto)
        assert waiting.result() is None
        assert put == Counter(range(1, 31))


def test_a_message_that_no_file_has_room_for_is_refused(tmp_path: Path) -> None:
    """With the function's words; nothing is put."""
    with mm.Spool(tmp_path / "s", segment_bytes=SEGMENT) as spool:
        large = b"x" * SEGMENT
        assert ended(lambda: spool.append(large)) == ended(lambda: function(spool.append)(large))
        assert spool.info().last_seq == 0
        with pytest.raises(mm.TooLargeError, match="room for"):
            spool.append(large)


def test_a_spool_that_nobody_has_is_closed(tmp_path: Path) -> None:
    """There is no cycle: it goes with its last name, whatever the collector does."""
    gc.disable()
    try:
        spool = mm.Spool(tmp_path / "s", durability="os")
        put = spool.append
        assert put(b"x") == 1
        gone = weakref.ref(spool)
        del spool
        assert put(b"y") == 2
        del put
        assert gone() is None
    finally:
        gc.enable()
    with mm.Spool(tmp_path / "s") as again:
        assert again.info().last_seq == 2


def test_it_is_called_as_a_function_is(tmp_path: Path) -> None:
    """Through the class, by names, and with what it does not take."""
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        assert mm.Spool.append(spool, b"x") == 1
        assert mm.Spool.append(spool, data=b"x", wait=False) == 2
        assert spool.append(data=b"x") == 3
        calls: list[tuple[Any, dict[str, Any]]] = [
            ((), {}),
            ((b"x", True), {}),
            (("text",), {}),
            ((b"x",), {"wiat": True}),
            ((b"x",), {"wait": True, "other": 1}),
        ]
        for args, named in calls:
            with pytest.raises(TypeError):
                spool.append(*args, **named)
        with pytest.raises(TypeError):
            mm.Spool.append(b"x")  # type: ignore[call-arg, arg-type]
        assert spool.info().last_seq == 3


def test_who_asks_is_told_of_the_function(tmp_path: Path) -> None:
    """By tools that show documentation and signatures, and those that keep and copy it."""
    assert pickle.loads(pickle.dumps(mm.Spool.append)) is mm.Spool.append
    assert "Put a message" in pydoc.render_doc(mm.Spool.append)
    with mm.Spool(tmp_path / "s") as spool:
        for method in (mm.Spool.append, spool.append):
            assert method.__name__ == "append"
            assert {"data", "wait", "origin"} <= inspect.signature(method).parameters.keys()


@pytest.mark.parametrize("durability", LEVELS)
@pytest.mark.parametrize("wait", [True, False])
def test_who_closes_it_waits_for_those_that_are_in_it(
    tmp_path: Path, durability: Any, wait: bool
) -> None:
    """Threads put as it is closed: each message that has a number is there."""
    for turn in range(20):
        folder = tmp_path / str(turn)
        spool = mm.Spool(folder, durability=durability)
        put = [0, 0, 0]

        def run(which: int, spool: mm.Spool = spool, put: list[int] = put) -> None:
            while True:
                try:
                    spool.append(b"x", wait=wait)
                except mm.ClosedError as error:
                    put[which] += getattr(error, "sent", 0)
                    return
                put[which] += 1

        threads = [threading.Thread(target=run, args=(which,)) for which in range(len(put))]
        for thread in threads:
            thread.start()
        wait_until(lambda put=put: sum(put) > 10)  # type: ignore[misc]
        spool.close()
        for thread in threads:
            thread.join(WAIT_S)
        assert spool._inside._calls == 0
        with mm.Spool(folder) as again:
            assert not again.recovery.unclean
            assert again.info().last_seq == sum(put)


@pytest.mark.parametrize("role", [mm.Push, mm.Pub])
@pytest.mark.parametrize("durability", LEVELS)
def test_a_socket_puts_natively(
    tmp_path: Path, calls: Counter[str], durability: Any, role: Any
) -> None:
    """Plain bytes within its limits; all else is the function's."""
    with (
        mm.Spool(tmp_path / "s", durability=durability) as spool,
        role(spool=spool, message_size_max=10) as socket,
    ):
        spool._look_at = math.inf
        for _ in range(IN_PYTHON):
            assert socket.send(b"x") is None
        assert calls["put"] == 1
        socket.send(bytearray(b"y"))
        socket.send(b"y", timeout=WAIT_S)
        assert calls["put"] == 3
        with pytest.raises(mm.TooLargeError):
            socket.send(b"x" * 11)
        assert spool.info().last_seq == IN_PYTHON + 2


def shut_spool(push: mm.Push, spool: mm.Spool) -> None:
    """Close the spool under it."""
    spool.close()


ENDS: dict[str, tuple[Callable[[mm.Push, mm.Spool], object], type[Exception]]] = {
    "finished": (lambda push, spool: push.finish(), mm.UsageError),
    "closed": (lambda push, spool: push.close(), mm.ClosedError),
    "spool closed": (shut_spool, mm.ClosedError),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("data", [b"", b"x"])
def test_a_socket_that_is_over_puts_nothing(tmp_path: Path, end: str, data: bytes) -> None:
    """It raises what the function raises, also for a message of no octets."""
    finish, error = ENDS[end]
    with mm.Spool(tmp_path / "s", durability="os") as spool, mm.Push(spool=spool) as push:
        push.send(data)
        finish(push, spool)
        with pytest.raises(error):
            push.send(data)
    with mm.Spool(tmp_path / "s") as again:
        assert again.info().last_seq == 1


def test_a_socket_whose_engine_ended_puts_nothing(tmp_path: Path) -> None:
    """Its handle is of nobody."""
    engine = mm.Engine()
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        push = mm.Push(spool=spool, engine=engine)
        push.send(b"x")
        engine.close()
        with pytest.raises(mm.ClosedError):
            push.send(b"x")
        assert spool.info().last_seq == 1


def test_what_a_pull_gets_is_what_was_sent(tmp_path: Path) -> None:
    """In order, of plain bytes and others."""
    with (
        mm.Spool(tmp_path / "s", durability="os") as spool,
        mm.Push(bind="tcp://127.0.0.1:0", spool=spool) as push,
        mm.Pull(connect=push.endpoint) as pull,
    ):
        sent = [data for _ in range(50) for data in DATA.values()]
        for data in sent:
            push.send(data)
        got = [bytes(pull.recv(timeout=WAIT_S)) for _ in sent]
    assert got == [bytes.__getitem__(bytes(memoryview(data)), slice(None)) for data in sent]
