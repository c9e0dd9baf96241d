"""Surveyor: asks all its peers at once, and gives their answers as they come; many surveys at once.

Law: an answer belongs to exactly the survey it answers, by id; when a survey is over is decided by
the core, on the engine's clock; what comes later is counted and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from meshmsg._binding.core import EINTR, lib, native, to_ms
from meshmsg._binding.data import (
    Data,
    Question,
    bytes_of,
    extent_of,
    question_of,
)
from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._binding.message import WHOLE, Message
from meshmsg._binding.note import MessageOptions, note_in, room_within, with_note
from meshmsg._roles.questions import SurveyorForm
from meshmsg._roles.surveys import OVER, Outcome, check_survey, count_late
from meshmsg._sync.sending import drain, sending
from meshmsg._sync.socket import Socket

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Survey(Outcome):
    """One survey under way: iterate over its answers, or take the `next`; and who gave them.

    It ends once everybody asked has answered or is gone, or as many as were expected have answered,
    or its deadline has passed. An answer is a Message; its `peer` says whose it is.
    """

    def __init__(self, surveyor: Surveyor, deadline: float) -> None:
        super().__init__(surveyor, deadline)
        self._ready: Any = native.ready(WHOLE)
        """Answers that came together, and were not given out yet."""

    def __iter__(self) -> Iterator[Message]:
        """Iterate over the answers as they come."""
        surveyor = self._surveyor
        answers: Iterator[Message] = native.answers(
            self._ready,
            self.__next__,
            surveyor,
            surveyor._handle,
            self._begun[0],
            surveyor._slice_ms,
            self._answered,
        )
        return answers

    def __next__(self) -> Message:
        found: Any = self._ready.pop()
        while found is None:
            found = self._wait()
        self._answered.append(found.peer)
        answer: Message = found
        return answer

    def _wait(self) -> Message | None:
        """Wait for an answer; None: it is over, but another thread took some for all."""
        if self._over and not self._ready:
            raise StopIteration
        surveyor = self._surveyor
        found: Any = self._ready.answer(
            surveyor, surveyor._handle, self._begun[0], -1, surveyor._slice_ms
        )
        if found.__class__ is not int:
            answer: Message = found
            return answer
        if found not in OVER:
            return self._wait_on(found)
        self._no_more()
        return None

    def _no_more(self) -> None:
        """The survey is over; there may be answers that are ready."""
        self._end()
        if not self._ready:
            raise StopIteration from None

    def _wait_on(self, code: int) -> Message | None:
        """Wait on after a first try that gave this code; None: it is over, but some are ready."""
        surveyor, found = self._surveyor, None

        def take(ms: int, slice_ms: int) -> int:
            nonlocal found
            taken: Message | int = self._ready.answer(
                surveyor, surveyor._handle, self._begun[0], ms, slice_ms
            )
            if isinstance(taken, int):
                return taken
            found = taken
            return 1

        try:
            if code != EINTR:
                surveyor._check(code, "waiting for an answer")
            surveyor._blocking(take, None, "waiting for an answer")
        except UsageError as error:
            if error.code not in OVER:
                raise
            self._no_more()
            return None
        except BaseException:
            if found is not None:
                self._ready.put_back([found])
            raise
        return cast("Message", found)

    def close(self) -> None:
        """End the survey now: answers that were not given out, or come later, count as late.

        A survey that is dropped ends as well.

        Thread-safe: yes. Closing twice is harmless.
        """
        self._end()
        count_late(self._surveyor._handle, self._ready)

    def _end(self) -> None:
        """Have it be over; answers that were there are still given out."""
        if not self._over:
            with suppress(MeshError):  # no memory: they count as late
                self._hear()
            lib.mm_request_cancel(self._surveyor._handle, self._begun[0])
            self._over = True

    def __del__(self) -> None:
        if hasattr(self, "_ready"):
            self.close()


class Surveyor(SurveyorForm, Socket[Message]):
    drain = drain

    def survey(
        self,
        question: Data,
        *,
        deadline: float = 1.0,
        expect: int | None = None,
        **options: Unpack[MessageOptions],
    ) -> Survey:
        """Ask everybody who is connected, and give the answers as they come.

        The question is on its way when this returns. With nobody connected the survey is over at
        once; `wait_for_peers` waits for those who are to be asked. By default a peer whose queue is
        full is not asked (counted, told in `events`, and missing in the end).

        Thread-safe: yes; any number of surveys may be under way, each gets its own answers.

        Args:
            question: The body. It is copied.
            deadline: Seconds until the survey is over, whoever has answered by then. It runs on the
                engine's clock, while nobody waits as well.
            expect: So many answers are enough; None wants one of each peer asked.
            options: What goes with the question: `key`, `headers`, `ttl`, `timestamp`
                (`MessageOptions`).

        Returns:
            The survey: iterate over it; then `asked`, `answered`, `declined` and `missing` say who
            did what.

        Raises:
            UsageError: `deadline` is not a time above 0, or `expect` is not a number of answers.
            TimedOutError: No room at a peer within the deadline (overflow="block"); nobody was
                asked.
            WouldBlockError: The same, now (overflow="error").
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        return self._ask(with_note(self._handle, bytes_of(question), options), deadline, expect)

    def survey_frames(
        self,
        frames: Sequence[Data],
        *,
        deadline: float = 1.0,
        expect: int | None = None,
        **options: Unpack[MessageOptions],
    ) -> Survey:
        """Ask everybody with a question of several frames; else as `survey`.

        Over SP a message is one body: peers of SP miss a question of several frames (counted, and
        missing in the end).

        Thread-safe: yes; any number of surveys may be under way, each gets its own answers.

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
            TimedOutError, WouldBlockError, ClosedError: As `survey`.
            TooLargeError: Over message_size_max or frames_max, with the two frames of the envelope.
        """
        question = question_of(frames, "survey_frames", "survey")
        return self._ask(with_note(self._handle, question, options), deadline, expect)

    def _ask(self, question: Question, deadline: float, expect: int | None) -> Survey:
        wanted = check_survey(deadline, expect)
        survey = Survey(self, deadline)
        begun, ms = survey._begun, to_ms(deadline)
        if native.survey(self._handle, question, wanted, ms, 0, 0, begun) != 0:
            size, count = extent_of(question)
            within, what = room_within(self._handle, note_in(question), deadline)
            behind_ms = ms - to_ms(within)  # of the deadline, as the question expires first
            sending(
                self,
                lambda left, slice_ms: int(
                    native.survey(
                        self._handle, question, wanted, left + behind_ms, left, slice_ms, begun
                    )
                ),
                within,
                size,
                count,
                what,
            )
        return survey
