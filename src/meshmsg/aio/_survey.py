"""Surveyor for asyncio: any number of tasks survey at once; an answer wakes only who waits for it.

Law: as in meshmsg._survey; every answer is taken by the task that returns it, so a cancelled one
has taken nothing; a survey that nobody refers to any more is forgotten.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from meshmsg._blocking import LEAST_S
from meshmsg._core import EAGAIN, fast, ffi, lib, to_ms
from meshmsg._data import Data, bytes_of
from meshmsg._message import Message, message_class
from meshmsg._survey import OVER, Outcome, check_survey, count_late
from meshmsg._unpack import Forming
from meshmsg.aio._io import AsyncFrameSender
from meshmsg.aio._loop import READABLE, LoopWaker
from meshmsg.aio._waiting import FAST_CALLS_MAX

if TYPE_CHECKING:
    from typing_extensions import Self

IDS_AT_ONCE = 256
"""Surveys one call into C tells of."""


class Survey(Outcome):
    """One survey: an asynchronous iterator over its answers, and who gave them.

    See `meshmsg.Survey`. The question is sent when the iteration begins.
    """

    _over = False
    _known = False
    """Whether its loop tells it of its answers."""
    _ready: Any = ()

    def __init__(self, surveyor: Surveyor, question: Data, deadline: float, wanted: int) -> None:
        super().__init__()
        self._surveyor = surveyor
        self._question = bytes_of(question)
        self._deadline = deadline
        self._wanted = wanted
        self._beginning = asyncio.Lock()
        self._waiters: list[asyncio.Future[None]] = []
        self._ready = fast.ready(message_class)
        """Answers that came together, and were not given out yet."""

    def __aiter__(self) -> Self:
        """Iterate over the answers as they come."""
        return self

    async def __anext__(self) -> Message:
        surveyor = self._surveyor
        if not (self._known or self._over):
            async with self._beginning:
                if not (self._known or self._over):
                    await surveyor._begin(self)
        surveyor._fast += 1
        if surveyor._fast >= FAST_CALLS_MAX:
            await surveyor._share()
        while not self._over or self._ready:
            answer = self._take()
            if answer is not None:
                return answer
            if not self._over:
                await self._wait()
        raise StopAsyncIteration

    def _take(self) -> Message | None:
        """Return an answer if there is one; closes a survey that is over."""
        surveyor = self._surveyor
        found: Any = self._ready.answer(surveyor, surveyor._handle, self._begun[0], 0, 0)
        if found.__class__ is not int:
            self._answered.append(found.peer)
            if self._waiters and self._ready:
                self._wake()
            answer: Message = found
            return answer
        if found in OVER:
            self._over_now()
        elif found != EAGAIN:
            surveyor._check(found, "waiting for an answer")
        return None

    async def _wait(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        self._surveyor._fast = 0
        try:
            await future
        finally:
            if future in self._waiters:
                self._waiters.remove(future)

    def _wake(self) -> None:
        """Something became of this survey: who waits for it looks again."""
        waiters, self._waiters = self._waiters, []
        for future in waiters:
            if not future.done():
                future.set_result(None)

    def close(self) -> None:
        """End the survey now: answers that were not given out, or come later, count as late.

        A survey that is dropped ends as well.

        Thread-safe: no; call it on its loop's thread. Closing twice is harmless.
        """
        self._over_now()
        count_late(self._surveyor._handle, self._ready)

    def _over_now(self) -> None:
        """Have it be over; answers that were there are still given out."""
        if not self._over:
            self._surveyor._end(self._begun[0])
            self._over = True
            self._wake()

    def __del__(self) -> None:
        if not self._over and self._begun[0]:
            self._surveyor._end(self._begun[0])
            self._over = True
        count_late(self._surveyor._handle, self._ready)


class Surveyor(Forming[Message], AsyncFrameSender):
    """Asks all its Respondent peers at once; see `meshmsg.Surveyor`. Use it from one loop."""

    _role: ClassVar[int] = lib.MM_SURVEYOR
    _asking_waker: LoopWaker | None = None

    def _prepare(self) -> None:
        super()._prepare()
        self._surveys: weakref.WeakValueDictionary[int, Survey] = weakref.WeakValueDictionary()

    def survey(self, question: Data, *, deadline: float = 1.0, expect: int | None = None) -> Survey:
        """Ask everybody who is connected, and give the answers as they come: `async for`.

        The question goes out when the iteration begins, and the deadline runs from then on. With
        nobody connected the survey is over at once; `wait_for_peers` waits for those who are to be
        asked. A cancelled iteration has taken no answer, and may be resumed while the survey is not
        over. The iteration raises what the sync `survey` raises.

        Thread-safe: no; use it from its loop's thread.

        Args:
            question: The body. It is copied.
            deadline: Seconds until the survey is over, whoever has answered by then.
            expect: So many answers are enough; None wants one of each peer asked.

        Returns:
            The survey: iterate over it; then `asked`, `answered` and `missing` say who did what.

        Raises:
            UsageError: The deadline or the number of answers is none.
        """
        return Survey(self, question, deadline, check_survey(deadline, expect))

    async def _begin(self, survey: Survey) -> None:
        """Send the question of a survey; from then on it is told of its answers."""
        body, begun = survey._question, survey._begun
        loop = asyncio.get_running_loop()
        end = loop.time() + survey._deadline
        waker = self._asking_waker = self._waker(loop)  # before anything is sent: it may be refused

        def attempt() -> int:
            ms = to_ms(max(end - loop.time(), LEAST_S))
            return int(fast.survey(self._handle, body, survey._wanted, ms, 0, 0, begun))

        if begun[0] == 0:  # else it was sent, and a signal's function raised before all was done
            await self._sending(attempt, survey._deadline, len(body), 1)
        if survey._over:  # closed while it waited for room
            lib.mm_request_cancel(self._handle, begun[0])
            return
        self._surveys[begun[0]] = survey
        waker.on_readable[self._handle] = self._tell
        self._watch(waker)
        survey._known = True

    def _watch(self, waker: LoopWaker) -> None:
        if waker.watch(self._handle, READABLE) < 0:
            self._wake_all()

    def _wake_all(self) -> None:
        """The socket is gone, or cannot be watched: everybody looks, and finds out."""
        for survey in list(self._surveys.values()):
            survey._wake()

    def _tell(self) -> None:
        """There are answers, or ends: whose surveys they are of look."""
        ids = ffi.new("uint64_t[]", IDS_AT_ONCE)
        count = lib.mm_replies_ready(self._handle, ids, IDS_AT_ONCE)
        if count < 0:
            self._wake_all()
            return
        for i in range(count):
            survey = self._surveys.get(int(ids[i]))
            if survey is not None:
                survey._wake()
        if self._surveys and self._asking_waker is not None:
            self._watch(self._asking_waker)

    def _end(self, number: int) -> None:
        """Forget a survey; the loop knows this socket only while there are any."""
        if number:
            self._surveys.pop(number, None)
            lib.mm_request_cancel(self._handle, number)
        if not self._surveys and self._asking_waker is not None:
            self._asking_waker.on_readable.pop(self._handle, None)
