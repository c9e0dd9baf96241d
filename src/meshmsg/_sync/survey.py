"""Surveyor: asks all its peers at once, and gives their answers as they come; many surveys at once.

Law: an answer belongs to exactly the survey it answers, by id; when a survey is over is decided by
the core, on the engine's clock; what comes later is counted and dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from meshmsg._binding.core import EINTR, borrow, fast, give_back, lib, to_ms
from meshmsg._binding.data import (
    Data,
    Question,
    bytes_of,
    extent_of,
    question_of,
)
from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._binding.message import Message, message_class
from meshmsg._binding.snapshots import EventKind
from meshmsg._socket.base import SocketBase
from meshmsg._socket.forms import QuestionForm
from meshmsg._socket.options import check_count
from meshmsg._sync.blocking import now_of
from meshmsg._sync.send import FrameSender

if TYPE_CHECKING:
    from typing_extensions import Self

ID_SIZE = 8
"""Octets of the id of one that was asked."""
REFUSALS_AT_ONCE = 64
"""Refusals one call into C tells of."""
OVER = (lib.MM_ESTATE, lib.MM_EINVAL)
"""What says that no answer will come: the survey is over, or was closed."""


class AskedPeer(int):
    """A peer that a survey asked: an int, its id as in `peers()`, that knows more of it.

    Attributes:
        address: Where it is or was connected, as in `peers()`; "" when that is not known any more.
        reason: Why it declined, in its own words; "" when it gave none, or did not decline.
    """

    address: str
    reason: str

    def __new__(cls, peer: int, address: str = "", reason: str = "") -> Self:
        self = super().__new__(cls, peer)
        self.address = address
        self.reason = reason
        return self

    @property
    def id(self) -> int:
        """Its id, as in `peers()`."""
        return int(self)

    def __repr__(self) -> str:
        why = f", reason={self.reason!r}" if self.reason else ""
        return f"AskedPeer({int(self)}, address={self.address!r}{why})"


class Outcome:
    """Who was asked and who answered, so far; once the survey is over, for good."""

    _over = False
    _addresses: Mapping[int, str] = MappingProxyType({})
    _refused: Mapping[int, str] = MappingProxyType({})
    """Of whom something is known; most surveys need neither."""

    def __init__(self, surveyor: SocketBase, deadline: float) -> None:
        self._surveyor: Any = surveyor
        self._deadline = deadline
        self._ends = (monotonic() if surveyor._slice_ms else now_of(surveyor)) + deadline
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
    def declined(self) -> tuple[AskedPeer, ...]:
        """Those that refused to answer, ids with addresses and reasons, in that order."""
        self._hear()
        return self._as_peers(list(self._refused))

    @property
    def missing(self) -> tuple[AskedPeer, ...]:
        """The others, ids with addresses: too slow, gone, or with a full queue when asked."""
        self._hear()
        return self._as_peers(self._unheard())

    def _unheard(self) -> list[int]:
        heard = {*self._answered, *self._refused}
        return [peer for peer in self.asked if peer not in heard]

    def _hear(self) -> None:
        """Note who refused, as far as that may have changed and the core still knows it."""
        told = len(self._answered) + len(self._refused)
        if self._over or told * ID_SIZE >= len(self._begun[1]):
            return
        slot = borrow()
        try:
            handle, number = self._surveyor._handle, self._begun[0]
            while (rc := lib.mm_recv_refusals(handle, number, slot.batch, REFUSALS_AT_ONCE)) > 0:
                told_now = {
                    peer: frames[-1].decode("utf-8", "replace")
                    for frames, peer, _ in fast.parts(slot.address)
                }
                self._refused = {**self._refused, **told_now}
            if rc == lib.MM_ENOMEM:
                self._surveyor._check(rc, "looking for refusals")
        finally:
            slot.drop()
            give_back(slot)

    def _as_peers(self, ids: list[int]) -> tuple[AskedPeer, ...]:
        """Say of ids where they are connected, or were, and why they declined."""
        wanted = {peer for peer in ids if peer not in self._addresses}
        if wanted:
            with suppress(MeshError):  # closed: what is known is known
                self._addresses = {**self._addresses, **self._find(wanted)}
        return tuple(
            AskedPeer(peer, self._addresses.get(peer, ""), self._refused.get(peer, ""))
            for peer in ids
        )

    def _find(self, wanted: set[int]) -> dict[int, str]:
        """Look for addresses: among the peers, and for those that left in what is known of it."""
        surveyor = self._surveyor
        found = {peer.id: peer.address for peer in surveyor.peers() if peer.id in wanted}
        if len(found) < len(wanted):
            for event in surveyor._read_events(1)[0]:
                if event.kind is EventKind.PEER_UP and event.peer in wanted:
                    found.setdefault(event.peer, event.address)
        return found

    def __repr__(self) -> str:
        self._hear()
        asked, missing = len(self.asked), len(self._unheard())
        left = max(self._ends - now_of(self._surveyor), 0.0)
        if self._over or left == 0:
            state = "over"
        elif math.isinf(left):
            state = "no deadline"
        else:
            state = f"at most {left:.3g} s left"
        counts = f"{asked} asked, {len(self._answered)} answered, {missing} missing"
        if self._refused:
            counts += f", {len(self._refused)} declined"
        return f"<meshmsg.{type(self).__name__}: {counts}, {state}>"


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

    def __init__(self, surveyor: Surveyor, deadline: float) -> None:
        super().__init__(surveyor, deadline)
        self._ready: Any = fast.ready(message_class)
        """Answers that came together, and were not given out yet."""

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
            with suppress(MeshError):  # no memory: they count as late
                self._hear()
            lib.mm_request_cancel(self._surveyor._handle, self._begun[0])
            self._over = True

    def __del__(self) -> None:
        if hasattr(self, "_ready"):
            self.close()


class Surveyor(QuestionForm, FrameSender):
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
        return self._ask(bytes_of(question), deadline, expect)

    def survey_frames(
        self, frames: Sequence[Data], *, deadline: float = 1.0, expect: int | None = None
    ) -> Survey:
        """Ask everybody with a question of several frames; else as `survey`.

        Over SP a message is one body: peers of SP miss a question of several frames (counted, and
        missing in the end).

        Thread-safe: yes; any number of surveys may be under way, each gets its own answers.

        Args:
            frames: The question, one frame at least; a frame may be empty.
            deadline: As of `survey`.
            expect: As of `survey`.

        Returns:
            The survey. An answer that was given in several frames has them as `frames`.

        Raises:
            UsageError: There is no frame; there are several, and all peers speak SP; or as
                `survey`.
            TimedOutError, WouldBlockError, ClosedError: As `survey`.
            TooLargeError: Over message_size_max or frames_max, with the two frames of the envelope.
        """
        return self._ask(question_of(frames, "survey_frames", "survey"), deadline, expect)

    def _ask(self, question: Question, deadline: float, expect: int | None) -> Survey:
        wanted = check_survey(deadline, expect)
        survey = Survey(self, deadline)
        begun, ms = survey._begun, to_ms(deadline)
        if fast.survey(self._handle, question, wanted, ms, 0, 0, begun) != 0:
            size, count = extent_of(question)
            self._sending(
                lambda ms, slice_ms: int(
                    fast.survey(self._handle, question, wanted, ms, ms, slice_ms, begun)
                ),
                deadline,
                size,
                count,
            )
        return survey
