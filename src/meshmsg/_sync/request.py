"""Req: asks, and waits for the answer; any number of requests at once.

Law: an answer belongs to exactly the request it answers, by id; one that comes too late is counted
and dropped; there is no state to get stuck in.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshmsg._binding.core import (
    EINTR,
    EREFUSED,
    LEAST_S,
    Slot,
    borrow,
    give_back,
    lib,
    native,
    to_ms,
)
from meshmsg._binding.data import (
    Data,
    Question,
    bytes_of,
    extent_of,
    question_of,
)
from meshmsg._binding.errors import MeshError, PeerError, RefusedError, TimedOutError, TooLargeError
from meshmsg._binding.message import Message, classes_of_peers
from meshmsg._binding.note import MessageOptions, has_expired, note_in, room_within, with_note
from meshmsg._roles.attempts import NO_RETRY, Attempts, lost
from meshmsg._roles.questions import ReqForm, refused
from meshmsg._socket.clock import now_of
from meshmsg._sync.sending import drain
from meshmsg._sync.socket import Socket

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Req(ReqForm, Socket[Message]):
    drain = drain

    def request(
        self,
        data: Data,
        *,
        timeout: float | None = None,
        retries: int = 0,
        deadline: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> Message:
        """Ask, and wait for the answer.

        Thread-safe: yes; many threads may ask at once, each gets its own answer.

        Args:
            data: The question.
            timeout: Seconds an attempt may take, sending included; None waits for ever.
            retries: How often to ask again after a time-out or when the peer went away; each goes
                to the next peer. Only for questions that may be asked twice.
            deadline: Seconds all attempts may take together; None sets no bound. The last attempt
                has what is left of it.
                It stays here, as `timeout` does. For the server to know it (`message.expires`), say
                `ttl` as well: `request(question, deadline=5, ttl=5)`.
            options: What goes with the question: `key`, `headers`, `ttl`, `timestamp`
                (`MessageOptions`); each attempt has the same.

        Returns:
            The answer. One that comes after its attempt was given up is dropped and counted.

        Raises:
            TimedOutError: No answer to any attempt.
            WouldBlockError: The same, now (timeout=0); it is not asked again.
            RefusedError: The peer refused it, in words of its own; it is not asked again.
            PeerError: The peer went away and no retry is left; the outcome is unknown.
            UsageError: `retries` is not a count, or `deadline` is not a time above 0.
            TooLargeError: Over message_size_max, with the 4 bytes of its id; or the connection was
                ended here, as an answer was over a limit: the outcome is unknown, and it is not
                asked again.
            ClosedError: The socket was closed.
        """
        body: bytes = (
            data if data.__class__ is bytes else bytes_of(data)  # pyright: ignore[reportAssignmentType]
        )
        question = with_note(self._handle, body, options) if options else body
        if retries != 0 or deadline is not None:
            return self._ask_again(question, timeout, retries, deadline)
        try:
            return self._ask(question, timeout, [0])
        except PeerError as error:
            raise lost(error, NO_RETRY) from None

    def request_frames(
        self,
        frames: Sequence[Data],
        *,
        timeout: float | None = None,
        retries: int = 0,
        deadline: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> Message:
        """Ask with a question of several frames, as ZeroMQ peers know them; else as `request`.

        A question of several frames goes to peers of ZMTP only, as over SP a message is one body.

        Thread-safe: yes; many threads may ask at once, each gets its own answer.

        Args:
            frames: The question, one frame at least; a frame may be empty.
            timeout: As of `request`.
            retries: As of `request`; each attempt sends all frames.
            deadline: As of `request`.
            options: As of `request`.

        Returns:
            The answer: the last frame, with all of them as its `frames`.

        Raises:
            UsageError: There is no frame; there are several, and all peers speak SP; or as
                `request`.
            TooLargeError: Over message_size_max or frames_max, with the two frames of its envelope.
            TimedOutError, RefusedError, PeerError, ClosedError: As `request`.
        """
        question = with_note(
            self._handle, question_of(frames, "request_frames", "request"), options
        )
        return self._ask_again(question, timeout, retries, deadline)

    def _ask_again(
        self, question: Question, timeout: float | None, retries: int, deadline: float | None
    ) -> Message:
        attempts = Attempts(timeout, retries, deadline, now_of(self))
        note = note_in(question)
        while True:
            number = [0]
            try:
                return self._ask(question, attempts.begin(now_of(self)), number)
            except (TimedOutError, PeerError) as error:
                if has_expired(self._handle, note):
                    attempts.last()
                attempts.next(self, error, number[0] != 0, now_of(self))

    def _ask(self, question: Question, timeout: float | None, number: list[int]) -> Message:
        """Make one attempt; number[0] gets its id once it is sent."""
        ms = -1 if timeout is None else to_ms(timeout)
        deadline = None if not timeout else time.monotonic() + timeout
        slot = borrow()
        try:
            address = slot.address
            slice_ms = self._slice_ms
            rc = native.call(
                self._handle, question, address, ms, slice_ms, classes_of_peers, number
            )
            if rc.__class__ is not int:
                reply: Message = rc
                return reply
            if not number[0]:
                ms = self._put(question, number, timeout)
                rc = native.await_reply(self._handle, number[0], address, ms, slice_ms)
            if rc == EINTR:
                self._log_events()
                left = timeout if deadline is None else max(deadline - time.monotonic(), LEAST_S)
                self._await_reply(number[0], slot, left, timeout)
            elif rc == EREFUSED:
                raise refused(self, slot)
            elif rc < 0:
                raise self._no_reply(rc, timeout)
            return self._unpack_one(slot)
        except BaseException:  # also of a signal's function, wherever it came
            lib.mm_request_cancel(self._handle, number[0])
            slot.drop()
            raise
        finally:
            give_back(slot)

    def _put(self, question: Question, number: list[int], timeout: float | None) -> int:
        """Send a request, waiting for room; number[0] gets its id. The milliseconds that are left
        for the answer."""
        began = now_of(self)
        within, what = room_within(
            self._handle, note_in(question), timeout, "no room for a request"
        )
        try:
            self._blocking(
                lambda ms, slice_ms: int(
                    native.request(self._handle, question, ms, slice_ms, number)
                ),
                within,
                what,
            )
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                size, count = extent_of(question)
                raise self._too_large(size, count) from None
            raise
        return to_ms(timeout and max(timeout - (now_of(self) - began), LEAST_S))

    def _await_reply(
        self, number: int, slot: Slot, left: float | None, timeout: float | None
    ) -> None:
        """Wait on for the reply to a request."""
        try:
            self._blocking(
                lambda ms, slice_ms: lib.mm_recv_reply(
                    self._handle, number, slot.batch, ms, slice_ms
                ),
                left,
                "no reply",
            )
        except TimedOutError:
            raise self._error(lib.MM_ETIMEDOUT, "no reply", timeout) from None
        except RefusedError:
            raise refused(self, slot) from None
        except TooLargeError as error:
            raise self._no_reply(error.code) from None
