"""Surveyor: asks all its peers at once, and gives their answers as they come; many surveys at once.

Law: an answer belongs to exactly the survey it answers, by id; when a survey is over is decided by
the core, on the engine's clock; what comes later is counted and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

from meshmsg._core import EINTR, fast, lib, to_ms
from meshmsg._data import Data, bytes_of
from meshmsg._errors import UsageError
from meshmsg._message import Message, message_class
from meshmsg._options import check_count
from meshmsg._send import FrameSender
from meshmsg._unpack import Forming

OVER = (lib.MM_ESTATE, lib.MM_EINVAL)
"""What says that no answer will come: the survey is over, or was closed."""


class Outcome:
    """Who was asked and who answered, so far; once the survey is over, for good."""

    def __init__(self) -> None:
        self._begun: list[Any] = [0, b""]
        """Its id, 0: it has not begun, and the ids of those who were asked, as octets."""
        self._answered: list[int] = []

    @property
    def asked(self) -> tuple[int, ...]:
        """The ids of all peers that were connected when the survey began."""
        return tuple(memoryview(self._begun[1]).cast("Q"))

    @property
    def answered(self) -> tuple[int, ...]:
        """The ids of those whose answers were given out, in that order."""
        return tuple(self._answered)

    @property
    def missing(self) -> tuple[int, ...]:
        """The ids of the others: too slow, gone, or with a full queue when they were asked."""
        answered = set(self._answered)
        return tuple(peer for peer in self.asked if peer not in answered)


def check_survey(deadline: float, expect: int | None) -> int:
    """Refuse bounds that are none; return how many answers end the survey, 0: those of all."""
    if isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or not deadline > 0:
        raise UsageError(f"deadline is {deadline!r}; it is a number of seconds above 0")
    if expect is None:
        return 0
    check_count("expect", expect, 1)
    return expect


def count_late(handle: int, ready: Any) -> None:
    """Drop answers that nobody wants any more; they count as late, as those that come later do."""
    left = ready.take(len(ready)) if ready else []
    if left:
        size = sum(sum(map(len, answer.frames)) for answer in left)
        lib.mm_answers_late(handle, len(left), size)


class Survey(Outcome):
    """One survey under way: iterate over its answers, or take the `next`; and who gave them.

    It ends once everybody asked has answered or is gone, or as many as were expected have answered,
    or its deadline has passed. An answer is a Message; its `peer` says whose it is.
    """

    def __init__(self, surveyor: Surveyor) -> None:
        super().__init__()
        self._surveyor = surveyor
        self._ready: Any = fast.ready(message_class)
        """Answers that came together, and were not given out yet."""
        self._over = False

    def __iter__(self) -> Iterator[Message]:
        """Iterate over the answers as they come."""
        surveyor = self._surveyor
        answers: Iterator[Message] = fast.answers(
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
            lib.mm_request_cancel(self._surveyor._handle, self._begun[0])
            self._over = True

    def __del__(self) -> None:
        if hasattr(self, "_over"):
            self.close()


class Surveyor(Forming[Message], FrameSender):
    """Asks all its Respondent peers at once; they answer, or not, until a deadline."""

    _role: ClassVar[int] = lib.MM_SURVEYOR

    def survey(self, question: Data, *, deadline: float = 1.0, expect: int | None = None) -> Survey:
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

        Returns:
            The survey: iterate over it; then `asked`, `answered` and `missing` say who did what.

        Raises:
            UsageError: The deadline or the number of answers is none.
            TimedOutError: No room at a peer within the deadline (overflow="block"); nobody was
                asked.
            WouldBlockError: The same, now (overflow="error").
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        wanted = check_survey(deadline, expect)
        body = bytes_of(question)
        survey = Survey(self)
        begun, ms = survey._begun, to_ms(deadline)
        if fast.survey(self._handle, body, wanted, ms, 0, 0, begun) != 0:
            self._sending(
                lambda ms, slice_ms: int(
                    fast.survey(self._handle, body, wanted, ms, ms, slice_ms, begun)
                ),
                deadline,
                len(body),
                1,
            )
        return survey
