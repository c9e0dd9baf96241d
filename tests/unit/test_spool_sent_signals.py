"""What a signal's function raises as a spool has just taken messages says how many it has.

It comes before the caller has what the core returned, which is why the core counts. What is not
plain bytes is put in Python. Not here: what else ends such a call (test_spool_sent.py), signals in
one that waits (test_spool_life.py), and in one that is native (tests/fault/test_signals_append.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
import meshmsg._delivery.spooled
import meshmsg._spool.arrow
import meshmsg._spool.puts
from meshmsg._binding.core import lib, native
from tests.support.points import at_point, interrupt
from tests.support.spooled import SEGMENT

COUNT = 50
ROOM = {"segment_bytes": SEGMENT, "max_bytes": 2 * SEGMENT, "overflow": "drop_newest"}


def breaking(call: Callable[..., Any]) -> Callable[..., Any]:
    """Have Ctrl-C come as the core has returned, and nobody has what it says."""

    def called(*given: Any) -> Any:
        call(*given)
        raise KeyboardInterrupt

    return called


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break each call that puts something off."""
    names = {name: getattr(native, name) for name in dir(native) if not name.startswith("__")}
    names |= {name: breaking(names[name]) for name in ("spool_append", "spool_put")}
    for module in (meshmsg._spool.puts, meshmsg._delivery.spooled):
        monkeypatch.setattr(module, "native", SimpleNamespace(**names))
    core = {name: getattr(lib, name) for name in dir(lib)}
    core |= {"mm_spool_append_arrow": breaking(lib.mm_spool_append_arrow)}
    monkeypatch.setattr(meshmsg._spool.arrow, "lib", SimpleNamespace(**core))


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("durability", ["buffered", "os", "disk"])
@pytest.mark.parametrize("origin", [None, ("p", 1)])
def test_what_a_spool_took_was_sent(
    tmp_path: Path, durability: Any, wait: bool, origin: Any
) -> None:
    """One message, and several."""
    with mm.Spool(tmp_path / "s", durability=durability) as spool:
        with pytest.raises(KeyboardInterrupt) as one:
            spool.append(bytearray(b"x"), wait=wait, origin=origin)
        assert one.value.sent == spool.info().last_seq == 1  # type: ignore[attr-defined]
        behind = None if origin is None else ("p", 2)
        with pytest.raises(KeyboardInterrupt) as many:
            spool.append_many([b"x"] * COUNT, wait=wait, origin=behind)
        assert many.value.sent == spool.info().last_seq - 1 == COUNT  # type: ignore[attr-defined]


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("durability", ["buffered", "os", "disk"])
def test_what_a_spool_took_of_a_table_was_sent(tmp_path: Path, durability: Any, wait: bool) -> None:
    """Of the first of its chunks; the second one is not begun."""
    table = pa.chunked_array([[b"x"] * COUNT] * 2)
    with mm.Spool(tmp_path / "s", durability=durability) as spool:
        with pytest.raises(KeyboardInterrupt) as many:
            spool.append_batch(table, wait=wait)
        assert many.value.sent == spool.info().last_seq == COUNT  # type: ignore[attr-defined]


def back(name: str) -> Callable[[FrameType, str], bool]:
    """Behind what a function has done."""
    return lambda frame, what: what == "return" and frame.f_code.co_name == name


CALLS: dict[str, tuple[int, Callable[[mm.Spool], Any]]] = {
    "append": (1, lambda spool: spool.append(bytearray(b"x"))),
    "append_many": (COUNT, lambda spool: spool.append_many([b"x"] * COUNT)),
    "append_batch": (COUNT, lambda spool: spool.append_batch(pa.array([b"x"] * COUNT))),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_breaks_a_call_off_behind_all_that_it_did_says_so_too(
    tmp_path: Path, call: str
) -> None:
    """As the method that puts is left."""
    count, do = CALLS[call]
    with mm.Spool(tmp_path / "s") as spool:
        with at_point(1, interrupt, lambda _: True, back("_put")) as hit:
            with pytest.raises(KeyboardInterrupt) as ended:
                do(spool)
        assert hit()
        assert ended.value.sent == spool.info().last_seq == count  # type: ignore[attr-defined]


@pytest.mark.usefixtures("broken")
def test_what_was_dropped_was_not(tmp_path: Path) -> None:
    """Of a list for which there was not room."""
    with mm.Spool(tmp_path / "s", **ROOM) as spool:  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt) as many:
            spool.append_many([b"x" * 20_000] * COUNT)
        info = spool.info()
        assert 0 < info.last_seq < COUNT
        assert many.value.sent == info.last_seq  # type: ignore[attr-defined]


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("role", [mm.Push, mm.Pub])
@pytest.mark.parametrize("confirm", [False, True])
def test_what_a_socket_put_was_sent(tmp_path: Path, role: Any, confirm: bool) -> None:
    """`unsent` has the others: whoever sends those again sends nothing twice."""
    options = {"confirm": True} if confirm and role is mm.Push else {}
    with mm.Spool(tmp_path / "s") as spool, role(spool=spool) as socket:
        if not options:
            with pytest.raises(KeyboardInterrupt) as one:
                socket.send(bytearray(b"x"))
            assert one.value.sent == spool.info().last_seq  # type: ignore[attr-defined]
        before = spool.info().last_seq
        bodies = [b"%d" % number for number in range(COUNT)]
        with pytest.raises(KeyboardInterrupt) as many:
            socket.send_many(bodies, **options)
        error: Any = many.value
        assert error.sent == spool.info().last_seq - before > 0
        assert error.unsent == bodies[error.sent :]
