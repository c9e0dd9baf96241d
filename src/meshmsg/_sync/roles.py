"""The sockets, one class a role, for threads that may block. The same names are in meshmsg.aio.

A class is its role's form and the verbs that wait. Not here: constructors, docstrings and what
never waits (_roles). Law: what a role cannot do is absent; a verb is assigned by its bare name, as
only then its type is certain for whoever checks types against an installed copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshmsg._binding.data import Data
from meshmsg._binding.errors import MeshError
from meshmsg._binding.message import Message, Request
from meshmsg._binding.note import MessageOptions
from meshmsg._roles import forms, questions, topics
from meshmsg._sync.batches import recv_batch
from meshmsg._sync.publishing import (
    forget_group,
    groups,
    retained,
    seek_group,
    wait_for_subscribed,
    wait_for_subscribers,
)
from meshmsg._sync.publishing import send as publish
from meshmsg._sync.publishing import send_frames as publish_frames
from meshmsg._sync.receipts import send as send_with_receipt
from meshmsg._sync.receipts import send_batch as send_batch_with_receipts
from meshmsg._sync.receipts import send_frames as send_frames_with_receipt
from meshmsg._sync.receipts import send_many as send_many_with_receipts
from meshmsg._sync.receiving import iterate, recv, recv_frames, recv_many
from meshmsg._sync.sending import (
    drain,
    send,
    send_batch,
    send_frames,
    send_many,
    send_packed,
    sent_at_once,
    wait_for_finished,
)
from meshmsg._sync.socket import Socket

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
    __iter__ = iterate
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
    __iter__ = iterate
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
    __iter__ = iterate


class Sub(topics.SubForm, Socket[Message]):
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __iter__ = iterate
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
    __iter__ = iterate
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
    __iter__ = iterate
    recv_batch = recv_batch


class Router(forms.RouterForm, Socket[Message]):
    drain = drain
    recv = recv
    recv_many = recv_many
    __iter__ = iterate

    def send(
        self,
        data: Data,
        *,
        to: bytes,
        timeout: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> None:
        """Send one message to the peer of that identity.

        Thread-safe: yes.

        Args:
            data: The body. It is copied.
            to: The peer's identity, as in `message.peer`.
            timeout: Seconds to wait when its queue is full (overflow="block").
            options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

        Raises:
            PeerError: No connected peer has that identity.
            WouldBlockError: Its queue is full.
            TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        self.send_frames([to, data], timeout=timeout, **options)

    def send_frames(
        self,
        frames: Sequence[Data],
        *,
        timeout: float | None = None,
        **options: Unpack[MessageOptions],
    ) -> None:
        """Send one message of several frames; the first is the identity of the peer it goes to.

        Thread-safe: yes.

        Args:
            frames: The identity, then at least one frame.
            timeout: Seconds to wait when its queue is full (overflow="block").
            options: What goes with it, as of `send`.

        Raises:
            PeerError: No connected peer has that identity.
            UsageError: There is no frame behind the identity.
            WouldBlockError, TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        if not options and sent_at_once(self, frames, timeout, forms.ROUTED_LEAST):
            return
        packed = forms.pack_route(frames)
        try:
            send_packed(self, packed, timeout, options)
        except MeshError as error:
            raise self._unknown(error, forms.first_of(packed)) from None

    def recv_frames(self, *, timeout: float | None = None) -> list[bytes]:
        """Receive one message as its frames; the first is the identity of who sent it.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            The identity, then all frames.

        Raises:
            TimedOutError, WouldBlockError, ClosedError: As `recv`.
        """
        message = self.recv(timeout=timeout)
        assert isinstance(message.peer, bytes)
        return [message.peer, *message.frames]


class Rep(questions.RepForm, Socket[Request]):
    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __iter__ = iterate


class Respondent(questions.RespondentForm, Socket[Request]):
    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __iter__ = iterate


class Bus(forms.BusForm, Socket[Message]):
    send = send
    send_many = send_many
    send_frames = send_frames
    send_batch = send_batch
    drain = drain
    recv = recv
    recv_many = recv_many
    recv_frames = recv_frames
    __iter__ = iterate
