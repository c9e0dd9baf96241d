"""The sockets for asyncio: the same names, options and meanings as in meshmsg, awaitable.

A class is its role's form and the verbs that wait. Not here: constructors, docstrings and what
never waits (_roles). Law: what a role cannot do is absent; a verb is assigned by its bare name, as
only then its type is certain for whoever checks types against an installed copy. `send_on` and the
like are what a native verb goes on as (csrc/binding/async.c), which is told so once, here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshmsg._binding.core import native
from meshmsg._binding.data import Data
from meshmsg._binding.errors import MeshError
from meshmsg._binding.message import Message, Request
from meshmsg._binding.note import MessageOptions
from meshmsg._roles import forms, questions, topics
from meshmsg.aio._batches import recv_batch
from meshmsg.aio._finishing import wait_for_finished
from meshmsg.aio._publishing import (
    forget_group,
    groups,
    publish_on,
    retained,
    seek_group,
    wait_for_subscribed,
    wait_for_subscribers,
)
from meshmsg.aio._publishing import send as publish
from meshmsg.aio._publishing import send_frames as publish_frames
from meshmsg.aio._receipts import send as send_with_receipt
from meshmsg.aio._receipts import send_batch as send_batch_with_receipts
from meshmsg.aio._receipts import send_frames as send_frames_with_receipt
from meshmsg.aio._receipts import send_many as send_many_with_receipts
from meshmsg.aio._receiving import iterate, next_on, recv, recv_frames, recv_many, recv_on, step
from meshmsg.aio._sending import (
    drain,
    send,
    send_batch,
    send_frames,
    send_many,
    send_on,
    send_packed,
    sent_at_once,
)
from meshmsg.aio._socket import Socket

if TYPE_CHECKING:
    from typing_extensions import Unpack

native.async_rests({"send": send_on, "publish": publish_on, "recv": recv_on, "next": next_on})


class Push(forms.PushForm, Socket[Message]):
    send = send_with_receipt
    send_many = send_many_with_receipts
    send_frames = send_frames_with_receipt
    send_batch = send_batch_with_receipts
    drain = drain
    wait_for_finished = wait_for_finished


class Pull(forms.PullForm, Socket[Message]):
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step
    recv_batch = recv_batch


class Pair(forms.PairForm, Socket[Message]):
    send = send
    send_many = send_many
    send_frames = send_frames
    send_batch = send_batch
    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step
    recv_batch = recv_batch


class Pub(topics.PubForm, Socket[Message]):
    send = publish
    send_frames = publish_frames
    send_many = send_many
    send_batch = send_batch
    drain = drain
    wait_for_subscribers = wait_for_subscribers
    retained = retained
    groups = groups
    seek_group = seek_group
    forget_group = forget_group


class XPub(topics.XPubForm, Socket[Message]):
    send = publish
    send_frames = publish_frames
    send_many = send_many
    send_batch = send_batch
    drain = drain
    wait_for_subscribers = wait_for_subscribers
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step


class Sub(topics.SubForm, Socket[Message]):
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step
    recv_batch = recv_batch
    wait_for_subscribed = wait_for_subscribed


class XSub(topics.XSubForm, Socket[Message]):
    send = send
    send_many = send_many
    send_frames = send_frames
    send_batch = send_batch
    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step
    recv_batch = recv_batch
    wait_for_subscribed = wait_for_subscribed


class Dealer(forms.DealerForm, Socket[Message]):
    send = send
    send_many = send_many
    send_frames = send_frames
    send_batch = send_batch
    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step
    recv_batch = recv_batch


class Router(forms.RouterForm, Socket[Message]):
    drain = drain
    recv = recv
    recv_many = recv_many
    __aiter__ = iterate
    __anext__ = step

    async def send(
        self,
        data: Data,
        *,
        to: bytes,
        timeout: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> None:
        """Send one message to the peer of that identity.

        Cancel-safe: sent whole or not at all. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            data: The body. It is copied.
            to: The peer's identity, as in `message.peer`.
            timeout: Seconds to wait when its queue is full (overflow="block").
            options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

        Raises:
            PeerError: No connected peer has that identity.
            WouldBlockError, TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        await self.send_frames([to, data], timeout=timeout, **options)

    async def send_frames(
        self,
        frames: Sequence[Data],
        *,
        timeout: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> None:
        """Send one message of several frames; the first is the identity of the peer it goes to.

        Cancel-safe: sent whole or not at all. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            frames: The identity, then at least one frame.
            timeout: Seconds to wait when its queue is full (overflow="block").
            options: What goes with it, as of `send`.

        Raises:
            PeerError: No connected peer has that identity.
            UsageError: There is no frame behind the identity.
            WouldBlockError, TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        if not options and await sent_at_once(self, frames, timeout, forms.ROUTED_LEAST):
            return
        packed = forms.pack_route(frames)
        try:
            await send_packed(self, packed, timeout, options)
        except MeshError as error:
            raise self._unknown(error, forms.first_of(packed)) from None

    async def recv_frames(self, *, timeout: float | None = None) -> list[bytes]:
        """Receive one message as its frames; the first is the identity of who sent it.

        Cancel-safe: a cancelled call has not taken a message. Thread-safe: yes, but a loop waits on
        its own thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            The identity, then all frames.

        Raises:
            TimedOutError, WouldBlockError, ClosedError: As `recv`.
        """
        message = await self.recv(timeout=timeout)
        assert isinstance(message.peer, bytes)
        return [message.peer, *message.frames]


class Rep(questions.RepForm, Socket[Request]):
    """`reply` never waits, so it is an ordinary function here too."""

    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step


class Respondent(questions.RespondentForm, Socket[Request]):
    """`reply` never waits, so it is an ordinary function here too."""

    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step


class Bus(forms.BusForm, Socket[Message]):
    send = send
    send_many = send_many
    send_frames = send_frames
    send_batch = send_batch
    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __aiter__ = iterate
    __anext__ = step
