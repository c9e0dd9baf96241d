"""A feed that one thread looks at is not freed by another one that closes it.

Not here: what is counted (test_push_spool.py), spools that end amid calls (tests/crash).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import lib
from meshmsg._delivery import feeds
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"


class Core:
    """The core, but one of its calls waits inside."""

    def __init__(self, call: str) -> None:
        self._call = call
        self.inside, self.go = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(lib, name)
        return self._waits(found) if name == self._call else found

    def _waits(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def waits(*given: Any) -> Any:
            self.inside.set()
            assert self.go.wait(WAIT_S)
            return call(*given)

        return waits


LOOKS: dict[str, Callable[[Any], object]] = {
    "mm_feed_settle": lambda feed: feed.settle(),
    "mm_feed_inspect": lambda feed: feed.info(),
    "mm_feed_receipts": lambda feed: feed.receipts(1, 1),
}


@pytest.mark.parametrize("call", LOOKS)
def test_a_feed_is_freed_when_nobody_looks_at_it_any_more(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three threads that close a Push at once had one of them in memory that was freed."""
    core, freed = Core(call), threading.Event()
    with mm.Spool(tmp_path / "s", durability="os") as spool, mm.Push(bind=UP, spool=spool) as push:
        push.send(b"a")
        feed = push._spooled._feed

        def end(pointer: Any) -> None:
            freed.set()
            assert core.go.is_set(), "it was freed while another thread was in it"
            lib.mm_feed_close(pointer)

        monkeypatch.setattr(feeds, "lib", core)
        monkeypatch.setattr(feed, "_inspect", core.mm_feed_inspect)
        monkeypatch.setattr(feed, "_end", end)
        looks = threading.Thread(target=LOOKS[call], args=[feed])
        looks.start()
        assert core.inside.wait(WAIT_S)
        closes = threading.Thread(target=feed.close)
        closes.start()
        assert not freed.is_set()
        core.go.set()
        looks.join(WAIT_S)
        closes.join(WAIT_S)
        assert freed.is_set()
        assert feed.info() is None


def test_a_feed_that_is_closed_below_a_look_at_it_is_freed_behind_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a signal's function in the same thread."""
    did: list[str] = []
    with mm.Spool(tmp_path / "s", durability="os") as spool, mm.Push(bind=UP, spool=spool) as push:
        feed = push._spooled._feed
        own, end = feed._end, feed._spool._feeds[feed._key][0]

        def look(pointer: Any, out: Any) -> None:
            assert pointer == end
            feed.close()
            did.append("looked")

        def ended(pointer: Any) -> None:
            did.append("freed")
            own(pointer)

        monkeypatch.setattr(feed, "_end", ended)
        monkeypatch.setattr(feed, "_inspect", look)
        feed.info()
        assert did == ["looked", "freed"]
        assert not spool._feeds
