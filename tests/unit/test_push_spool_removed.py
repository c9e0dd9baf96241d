"""What retention removes while a Push has it is dropped, and told as the Push or the spool closes.

Not here: what is removed before the Push reads it (test_push_spool_lost.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._delivery.feeds import Feed
from tests.support.pairs import WAIT_S, wait_until
from tests.unit.test_dead_letters import UP

SENT, MOST, HAD = 5_000, 1_000, 10
BODY = b"x" * 300


class Life:
    """A spool with little room, a Push that has it, and how many it dropped, as its events say."""

    def __init__(self, folder: Path, until_acked_by: list[str] | None = None) -> None:
        self.dropped = self.acked = 0
        self.spool = mm.Spool(
            str(folder / "jobs"),
            overflow="drop_oldest",
            segment_bytes=65_536,
            max_messages=MOST,
            until_acked_by=until_acked_by,
        )
        self.push = mm.Push(bind=UP, spool=self.spool, on_event=self._count)

    def _count(self, event: mm.Event) -> None:
        if event.kind is mm.EventKind.DROPPED:
            self.dropped += event.count

    def fill(self, prefetch: int) -> None:
        """Send all of them, to one who takes ten and says so of one."""
        with mm.Pull(connect=self.push.endpoint, ack="manual", prefetch=prefetch) as pull:
            self.push.wait_for_peers(1, timeout=WAIT_S)
            self.push.send_many([BODY] * SENT)
            for _ in range(HAD):
                message = pull.recv(timeout=WAIT_S)
            assert message.ack()
            self.acked = 1
            wait_until(lambda: self.push.stats().acked_messages == self.acked)
            wait_until(lambda: self.spool.info().first_seq > SENT - 2 * MOST)

    def rest(self) -> int:
        """Take what is left, and tell how many that were."""
        count, left = 0, self.spool.cursors()[0].lag
        with mm.Pull(connect=self.push.endpoint) as pull:
            while count < left:
                count += len(pull.recv_many(timeout=WAIT_S))
        return count


def _push_first(life: Life) -> None:
    life.push.close()
    life.spool.close()


def _spool_first(life: Life) -> None:
    life.spool.close()
    life.push.close()


@pytest.mark.parametrize("close", [_push_first, _spool_first])
def test_each_message_is_acknowledged_or_told_as_dropped(
    close: Callable[[Life], None], tmp_path: Path
) -> None:
    """By one of both lives."""
    first = Life(tmp_path)
    first.fill(prefetch=HAD)
    close(first)
    second = Life(tmp_path)
    got = second.rest()
    _push_first(second)
    wait_until(lambda: first.acked + first.dropped + got + second.dropped == SENT)
    assert second.dropped == 0


def _fills_again(call: Callable[[Feed], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """While a Push closes, before that call of its feed, the spool is filled once more; once."""

    def late(feed: Feed) -> None:
        if feed._spool.info().last_seq == SENT:
            feed._spool.append_many([BODY] * SENT)
        call(feed)

    monkeypatch.setattr(Feed, call.__name__, late)


@pytest.mark.parametrize("call", [Feed.settle, Feed.close])
@pytest.mark.parametrize("kept", [False, True])
def test_what_is_removed_while_it_closes_is_told_too(
    kept: bool,
    call: Callable[[Feed], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind its last word on that, too: then by the next life, once."""
    _fills_again(call, monkeypatch)
    first = Life(tmp_path, until_acked_by=["push"] if kept else None)
    first.fill(prefetch=HAD)
    _push_first(first)
    second = Life(tmp_path)
    got = second.rest()
    wait_until(lambda: first.acked + first.dropped + got + second.dropped >= 2 * SENT)
    _push_first(second)
    assert first.acked + first.dropped + got + second.dropped == 2 * SENT


def test_the_next_push_of_a_spool_that_stays_open_tells_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the spool has the cursor open all the while."""
    _fills_again(Feed.close, monkeypatch)
    life = Life(tmp_path, until_acked_by=["push"])
    life.fill(prefetch=HAD)
    life.push.close()
    before = life.dropped
    life.push = mm.Push(bind=UP, spool=life.spool, on_event=life._count)
    got = life.rest()
    wait_until(lambda: life.acked + life.dropped + got >= 2 * SENT)
    _push_first(life)
    assert life.acked + life.dropped + got == 2 * SENT
    assert life.dropped > before
