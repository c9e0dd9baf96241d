"""Surveyor for asyncio: any number of tasks survey at once; an answer wakes only who waits for it.

Law: as in _sync/survey.py; every answer is taken by the task that returns it, so a cancelled one
has taken nothing; a survey that nobody refers to any more is forgotten. The question goes out when
`survey` is called; only where it finds no room it goes out when the survey is awaited or iterated.
"""

from __future__ import annotations

import asyncio
import warnings
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EAGAIN, LEAST_S, ffi, lib, native, to_ms
from meshmsg._binding.data import (
    Data,
    Question,
    bytes_of,
    extent_of,
    question_of,
)
from meshmsg._binding.errors import MeshError
from meshmsg._binding.message import WHOLE, Message
from meshmsg._binding.note import MessageOptions, note_in, room_within, with_note
from meshmsg._roles.questions import SurveyorForm
from meshmsg._roles.surveys import OVER, Outcome, check_survey, count_late
from meshmsg._socket.clock import now_of
from meshmsg.aio._loop import READABLE, LoopWaker
from meshmsg.aio._sending import drain, sending
from meshmsg.aio._socket import Socket
from meshmsg.aio._turns import is_due, share

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

IDS_AT_ONCE = 256
"""Surveys one call into C tells of."""


class Survey(Outcome):
    """One survey: an asynchronous iterator over its answers, and who gave them.

    See `meshmsg.Survey`. Whoever awaits it gets it back once the question is on its way: at once,
    but with overflow="block" and no room.
    """

    _surveyor: Surveyor
    _over = False
    _known = False
    """Whether its loop tells it of its answers."""
    _waits = False
    """Whether there was no room for its question."""
    _ready: Any = ()

    def __init__(
        self,
        surveyor: Surveyor,
        ask: Callable[[int, list[Any]], int],
        size: int,
        count: int,
        deadline: float,
        note: bytes,
    ) -> None:
        super().__init__(surveyor, deadline)
        self._ask = ask
        """Sends the question, for so many milliseconds, and notes what began; returns a code."""
        self._size, self._count, self._note = size, count, note
        self._beginning = asyncio.Lock()
        self._waiters: list[asyncio.Future[None]] = []
        self._ready = native.ready(WHOLE)
        """Answers that came together, and were not given out yet."""

    def __await__(self) -> Generator[Any, None, Self]:
        """Wait until the question is on its way."""
        return self._asked().__await__()

    def __aiter__(self) -> Self:
        """Iterate over the answers as they come."""
        return self

    async def __anext__(self) -> Message:
        await self._asked()
        if is_due():
            await share()
        while not self._over or self._ready:
            answer = self._take()
            if answer is not None:
                return answer
            if not self._over:
                await self._wait()
        raise StopAsyncIteration

    async def _asked(self) -> Self:
        """Have the question on its way, and the loop know of the survey."""
        if not (self._known or self._over):
            async with self._beginning:
                if not (self._known or self._over):
                    await self._surveyor._begin(self)
        return self

    def _try(self) -> int:
        """Send the question, if there is room; a code."""
        left = max(self._ends - now_of(self._surveyor), LEAST_S)
        return self._ask(to_ms(left), self._begun)

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
        native.async_turn()
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
            with suppress(MeshError):  # no memory: they count as late
                self._hear()
            self._surveyor._end(self._begun[0])
            self._over = True
            self._wake()

    def __del__(self) -> None:
        if not self._over and self._begun[0]:
            self._surveyor._end(self._begun[0])
            self._over = True
        elif not self._over and self._waits:
            warnings.warn(
                "a survey asked nobody: there was no room, and it was neither awaited nor iterated",
                RuntimeWarning,
                stacklevel=2,
            )
        count_late(self._surveyor._handle, self._ready)


class Surveyor(SurveyorForm, Socket[Message]):
    """Use it from one loop."""

    drain = drain
    _asking_waker: LoopWaker | None = None

    def _prepare(self) -> None:
        super()._prepare()
        self._surveys: weakref.WeakValueDictionary[int, Survey] = weakref.WeakValueDictionary()

    def survey(
        self,
        question: Data,
        *,
        deadline: float = 1.0,
        expect: int | None = None,
        **options: Unpack[MessageOptions],
    ) -> Survey:
        """Ask everybody who is connected, and give the answers as they come: `async for`.

        The question is on its way when this returns, without an `await`. Only with overflow="block"
        and no room at a peer it goes out once the survey is awaited or iterated over, within the
        deadline. With nobody connected the survey is over at once; `wait_for_peers` waits for those
        who are to be asked. A cancelled iteration has taken no answer, and may be resumed while the
        survey is not over.

        Thread-safe: no; use it from its loop's thread.

        Args:
            question: The body. It is copied.
            deadline: Seconds until the survey is over, whoever has answered by then. It runs on the
                engine's clock from this call on, while nobody waits as well.
            expect: So many answers are enough; None wants one of each peer asked.
            options: What goes with the question: `key`, `headers`, `ttl`, `timestamp`
                (`MessageOptions`).

        Returns:
            The survey: iterate over it; then `asked`, `answered`, `declined` and `missing` say who
            did what.

        Raises:
            UsageError: `deadline` is not a time above 0, or `expect` is not a number of answers.
            TimedOutError: Of the `await` or the iteration: no room at a peer within the deadline
                (overflow="block"); nobody was asked.
            WouldBlockError: The same, now (overflow="error").
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        return self._survey(with_note(self._handle, bytes_of(question), options), deadline, expect)

    def survey_frames(
        self,
        frames: Sequence[Data],
        *,
        deadline: float = 1.0,
        expect: int | None = None,
        **options: Unpack[MessageOptions],
    ) -> Survey:
        """Ask everybody with a question of several frames; see `meshmsg.Surveyor.survey_frames`.

        The question is on its way when this returns, as that of `survey`.

        Thread-safe: no; use it from its loop's thread.

        Args:
            frames: The question, one frame at least; a frame may be empty.
            deadline: As of `survey`.
            expect: As of `survey`.
            options: As of `survey`.

        Returns:
            The survey. An answer that was given in several frames has them as `frames`.

        Raises:
            UsageError: There is no frame; there are several, and all peers speak SP; or as
                `survey`.
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As `survey`.
        """
        question = question_of(frames, "survey_frames", "survey")
        return self._survey(with_note(self._handle, question, options), deadline, expect)

    def _survey(self, question: Question, deadline: float, expect: int | None) -> Survey:
        wanted, handle = check_survey(deadline, expect), self._handle

        def ask(ms: int, begun: list[Any]) -> int:
            return int(native.survey(handle, question, wanted, ms, 0, 0, begun))

        return self._ask_now(Survey(self, ask, *extent_of(question), deadline, note_in(question)))

    def _ask_now(self, survey: Survey) -> Survey:
        """Send the question of a survey, unless it has to wait for room."""
        is_due()
        with suppress(RuntimeError):  # no loop runs yet: the iteration will find one
            self._waker(asyncio.get_running_loop())  # before anything is sent: it may be refused
        rc = survey._try()
        if rc == EAGAIN and self._opts.overflow != lib.MM_OVERFLOW_ERROR:
            survey._waits = True
        elif rc == lib.MM_EMSGSIZE:
            raise self._too_large(survey._size, survey._count)
        elif rc < 0:
            raise self._error(rc, "no room for a message", 0)
        return survey

    async def _begin(self, survey: Survey) -> None:
        """Have the question of a survey sent; from then on it is told of its answers."""
        waker = self._asking_waker = self._waker(asyncio.get_running_loop())
        survey._waits = False
        if survey._begun[0] == 0:
            left = max(survey._ends - now_of(self), LEAST_S)
            within, what = room_within(self._handle, survey._note, left)
            try:
                await sending(self, survey._try, within, survey._size, survey._count, what)
            except MeshError as error:
                if error.code == lib.MM_ETIMEDOUT:
                    survey._over = True
                    told = survey._deadline if within == left else within
                    raise self._error(error.code, what, told) from None
                raise
        if survey._over:  # closed while it waited for room
            lib.mm_request_cancel(self._handle, survey._begun[0])
            return
        self._surveys[survey._begun[0]] = survey
        waker.on_readable[self._handle] = self._tell
        self._watch_answers(waker)
        survey._known = True

    def _watch_answers(self, waker: LoopWaker) -> None:
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
            self._watch_answers(self._asking_waker)

    def _end(self, number: int) -> None:
        """Forget a survey; the loop knows this socket only while there are any."""
        if number:
            self._surveys.pop(number, None)
            lib.mm_request_cancel(self._handle, number)
        if not self._surveys and self._asking_waker is not None:
            self._asking_waker.on_readable.pop(self._handle, None)
