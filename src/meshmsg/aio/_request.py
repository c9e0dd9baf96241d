"""Req for asyncio: any number of tasks ask at once, one wake-up completes all whose answers came.

Law: as in _sync/request.py: an answer belongs to its request by id; a cancelled request is
forgotten, and its late answer counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshmsg._binding.core import EAGAIN, EREFUSED, borrow, give_back, lib, native, to_ms
from meshmsg._binding.data import (
    Data,
    Question,
    bytes_of,
    extent_of,
    question_of,
)
from meshmsg._binding.errors import PeerError, TimedOutError
from meshmsg._binding.message import Message, classes_of_peers
from meshmsg._binding.note import MessageOptions, has_expired, note_in, room_within, with_note
from meshmsg._roles.attempts import NO_RETRY, Attempts, lost
from meshmsg._roles.questions import ReqForm, refused
from meshmsg.aio._loop import READABLE, Due, Waiter
from meshmsg.aio._sending import drain, sending
from meshmsg.aio._socket import Socket

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Req(ReqForm, Socket[Message]):
    """Use it from one loop."""

    drain = drain

    def _prepare(self) -> None:
        super()._prepare()
        self._pending: dict[int, Waiter[Message]] = {}

    async def request(
        self,
        data: Data,
        *,
        timeout: float | None = None,
        retries: int = 0,
        deadline: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> Message:
        """Ask, and wait for the answer; many tasks may ask at once.

        Cancel-safe: a cancelled request is forgotten, and its answer counted as late.
        Thread-safe: no; use it from its loop's thread.

        Args:
            data: The question.
            timeout: Seconds an attempt may take, sending included; None waits for ever.
            retries: How often to ask again after a time-out or when the peer went away.
            deadline: Seconds all attempts may take together; None sets no bound.
                It stays here; `ttl` tells the server, too (`message.expires`).
            options: What goes with the question: `key`, `headers`, `ttl`, `timestamp`
                (`MessageOptions`); each attempt has the same.

        Returns:
            The answer.

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
            return await self._ask_again(question, timeout, retries, deadline)
        try:
            return await self._ask(question, timeout, [0])
        except PeerError as error:
            raise lost(error, NO_RETRY) from None

    async def request_frames(
        self,
        frames: Sequence[Data],
        *,
        timeout: float | None = None,
        retries: int = 0,
        deadline: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> Message:
        """Ask with a question of several frames; see `meshmsg.Req.request_frames`.

        Cancel-safe: a cancelled request is forgotten, and its answer counted as late.
        Thread-safe: no; use it from its loop's thread.

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
        return await self._ask_again(question, timeout, retries, deadline)

    async def _ask_again(
        self, question: Question, timeout: float | None, retries: int, deadline: float | None
    ) -> Message:
        clock = asyncio.get_running_loop().time
        attempts = Attempts(timeout, retries, deadline, clock())
        note = note_in(question)
        while True:
            number = [0]
            try:
                return await self._ask(question, attempts.begin(clock()), number)
            except (TimedOutError, PeerError) as error:
                if has_expired(self._handle, note):
                    attempts.last()
                attempts.next(self, error, number[0] != 0, clock())

    async def _ask(self, question: Question, timeout: float | None, number: list[int]) -> Message:
        """Make one attempt; number[0] gets its id once it is sent."""
        loop = asyncio.get_running_loop()
        end = None
        if timeout is not None:
            to_ms(timeout)
            end = loop.time() + timeout
        waker = self._waker(loop)  # before anything is sent: it may be refused
        request: int = native.ask(self._handle, waker.handle, question)
        if request < 0:
            request = await self._ask_on(question, timeout)
        number[0] = request
        future: Waiter[Message] = Waiter(loop=loop)
        self._pending[request] = future
        waker.on_readable[self._handle] = self._complete
        timer = None if end is None else loop.call_at(end, self._too_late, request, timeout)
        had = False
        try:
            reply = await future
            had = True
            return reply
        finally:
            if timer is not None:
                timer.cancel()
            if self._pending.pop(request, None) is not None:
                lib.mm_request_cancel(self._handle, request)
            elif not had:
                self._count_late(future)
            if not self._pending:
                waker.on_readable.pop(self._handle, None)  # it must not keep this socket alive

    def _count_late(self, future: Waiter[Message]) -> None:
        """A reply that was taken for a task that is cancelled in this very moment."""
        if future.done() and not future.cancelled() and future.exception() is None:
            lib.mm_answers_late(self._handle, 1, sum(map(len, future.result().frames)))

    async def _ask_on(self, question: Question, timeout: float | None) -> int:
        """Send a request that was not taken at once; its id."""
        asked: int = 0

        def attempt() -> int:
            nonlocal asked
            waker = self._waker(asyncio.get_running_loop())
            asked = int(native.ask(self._handle, waker.handle, question))
            return min(asked, 0)

        size, count = extent_of(question)
        within, what = room_within(
            self._handle, note_in(question), timeout, "no room for a request"
        )
        await sending(self, attempt, within, size, count, what)
        return asked

    def _too_late(self, request: int, timeout: float | None) -> None:
        future = self._pending.get(request)
        if future is not None and not future.done():
            code = lib.MM_ETIMEDOUT if timeout else EAGAIN  # as a thread is told
            future.set_exception(self._error(code, "no reply", timeout))

    def _fail_all(self, code: int) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(self._error(code, "no reply"))

    def _take_reply(self, request: int) -> Message:
        slot = borrow()
        try:
            found = native.reply_now(self._handle, request, slot.address, classes_of_peers)
            if found.__class__ is not int:
                reply: Message = found
                return reply
            if found == EREFUSED:
                raise refused(self, slot)
            if found < 0:
                raise self._no_reply(found)
            return self._unpack_one(slot)
        except BaseException:
            slot.drop()
            raise
        finally:
            give_back(slot)

    def _complete(self) -> Due | None:
        """Replies came: give each to the task that waits for it, a lone one by way of the
        caller."""
        ids = native.replies(self._handle)
        if ids.__class__ is int:
            self._fail_all(ids)
            return None
        due: list[tuple[Waiter[Message], Message]] = []
        try:
            for request in ids:
                future = self._pending.pop(request, None)
                if future is None or future.done():  # given up in this very moment: counted as late
                    lib.mm_request_cancel(self._handle, request)
                    continue
                try:
                    due.append((future, self._take_reply(request)))
                except BaseException as error:  # also of a signal's function: its reply is gone
                    future.set_exception(error)
        finally:
            if self._pending:  # and fires again at once if replies were left
                rc = self._waker(asyncio.get_running_loop()).watch(self._handle, READABLE)
                if rc < 0:
                    self._fail_all(rc)
        if len(due) == 1:
            return due[0]
        for future, found in due:
            future.set_result(found)
        return None
