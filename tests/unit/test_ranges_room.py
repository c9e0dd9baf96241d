"""What a server of ranges has read goes out in the memory that it was read to, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._ranges import form
from meshmsg._ranges.answers import Answers, Limits, Load
from meshmsg._ranges.places import Filled
from tests.support.meshes import eventually
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.ranged import octets_of
from tests.support.spooled import small

MESSAGES = 100
SIZE_MAX = 5_000
"""Octets of an answer, which a few messages do not have, and all do."""


Asked = tuple[mm.Rep, mm.Dealer, list[mm.Request]]


@pytest.fixture
def read(tmp_path: Path) -> Iterator[Callable[[int], Filled]]:
    """Reads messages from 1 on, up to that number."""
    with small(tmp_path / "s") as spool:
        for _ in range(MESSAGES):
            spool.append(b"x" * 100)
        spool.flush()
        answers = Answers(spool, Limits(1, 2**20, 2**20), trims=False)

        def up_to(last: int) -> Filled:
            asked = form.Request(form.Op.READ, a=1, b=last + 1, c=2**20)
            answer = answers.answer(form.request_octets(asked), Load(0, 0, 0))
            assert isinstance(answer, Filled)
            return answer

        yield up_to
        answers.close()


@pytest.fixture
def asked() -> Iterator[Asked]:
    """Who answers, who asked twice, and both requests."""
    with (
        mm.Rep(bind=of_its_own(), message_size_max=SIZE_MAX) as rep,
        mm.Dealer(connect=rep.endpoint) as dealer,
    ):
        for _ in range(2):
            dealer.send_frames([b"", b"?"])
        yield rep, dealer, [rep.recv(timeout=WAIT_S) for _ in range(2)]


def test_what_was_read_is_sent_once(read: Callable[[int], Filled], asked: Asked) -> None:
    """Whatever came of it: it is gone then. A request that was answered takes no other."""
    _, dealer, (first, second) = asked
    large, some, more = read(MESSAGES), read(9), read(9)
    with pytest.raises(mm.TooLargeError):
        first._reply_room(*large)
    told = octets_of(some)
    assert first._reply_room(*some) is True
    with pytest.raises(mm.UsageError, match="answered already"):
        first._reply_room(*more)
    for gone in (large, some, more):
        with pytest.raises(ValueError, match="incorrect name"):
            second._reply_room(*gone)
    assert second.reply(b"!") is True
    assert [dealer.recv_frames(timeout=WAIT_S)[1] for _ in range(2)] == [told, b"!"]


def test_what_is_no_room_is_refused(read: Callable[[int], Filled], asked: Asked) -> None:
    """And the request can be answered all the same."""
    _, dealer, (request, _) = asked
    for wrong in (b"x", None, object()):
        with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
            request._reply_room(wrong, 1)
    room = read(9).room
    for size in (-1, 2**64):
        with pytest.raises(OverflowError):
            request._reply_room(room, size)
    with pytest.raises(mm.UsageError):
        request._reply_room(room, 2**40)  # it has no such room
    assert request.reply(b"!") is True
    assert dealer.recv_frames(timeout=WAIT_S)[1] == b"!"


def test_what_nobody_takes_goes(read: Callable[[int], Filled], asked: Asked) -> None:
    """As what is never sent does: memory that the leak check of ASan looks at."""
    rep, dealer, (request, other) = asked
    dealer.close()
    eventually(lambda: rep.peers() == [])
    assert request._reply_room(*read(9)) is False
    rep.close()
    with pytest.raises(mm.ClosedError):
        other._reply_room(*read(9))
    assert read(9).size > form.ANSWER_HEAD  # which goes as it is
