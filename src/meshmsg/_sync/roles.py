"""The sockets, one class a role, for threads that may block. The same names are in meshmsg.aio.

A class is its role's form and the verbs that wait. Not here: constructors, docstrings and what
never waits (_roles). Law: what a role cannot do is absent.
"""

from __future__ import annotations

from collections.abc import Sequence

from meshmsg._binding.data import Data
from meshmsg._binding.errors import MeshError
from meshmsg._binding.message import Message, Request
from meshmsg._roles import forms, questions, topics
from meshmsg._sync import batches, publishing, receiving, sending
from meshmsg._sync.socket import Socket


class Push(forms.PushForm, Socket[Message]):
    send = sending.send
    send_many = sending.send_many
    send_frames = sending.send_frames
    send_batch = sending.send_batch
    drain = sending.drain


class Pull(forms.PullForm, Socket[Message]):
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate
    recv_batch = batches.recv_batch


class Pair(forms.PairForm, Socket[Message]):
    send = sending.send
    send_many = sending.send_many
    send_frames = sending.send_frames
    send_batch = sending.send_batch
    drain = sending.drain
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate
    recv_batch = batches.recv_batch


class Pub(topics.PubForm, Socket[Message]):
    send = publishing.send
    send_frames = publishing.send_frames
    send_many = sending.send_many
    send_batch = sending.send_batch
    drain = sending.drain
    wait_for_subscribers = publishing.wait_for_subscribers


class XPub(topics.XPubForm, Socket[Message]):
    send = publishing.send
    send_frames = publishing.send_frames
    send_many = sending.send_many
    send_batch = sending.send_batch
    drain = sending.drain
    wait_for_subscribers = publishing.wait_for_subscribers
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate


class Sub(topics.SubForm, Socket[Message]):
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate
    recv_batch = batches.recv_batch
    wait_for_subscribed = publishing.wait_for_subscribed


class XSub(topics.XSubForm, Socket[Message]):
    send = sending.send
    send_many = sending.send_many
    send_frames = sending.send_frames
    send_batch = sending.send_batch
    drain = sending.drain
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate
    recv_batch = batches.recv_batch
    wait_for_subscribed = publishing.wait_for_subscribed


class Dealer(forms.DealerForm, Socket[Message]):
    send = sending.send
    send_many = sending.send_many
    send_frames = sending.send_frames
    send_batch = sending.send_batch
    drain = sending.drain
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate
    recv_batch = batches.recv_batch


class Router(forms.RouterForm, Socket[Message]):
    drain = sending.drain
    recv = receiving.recv
    recv_many = receiving.recv_many
    __iter__ = receiving.iterate

    def send(self, data: Data, *, to: bytes, timeout: float | None = None) -> None:
        """Send one message to the peer of that identity.

        Thread-safe: yes.

        Args:
            data: The body. It is copied.
            to: The peer's identity, as in `message.peer`.
            timeout: Seconds to wait when its queue is full (overflow="block").

        Raises:
            PeerError: No connected peer has that identity.
            WouldBlockError: Its queue is full.
            TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        self.send_frames([to, data], timeout=timeout)

    def send_frames(self, frames: Sequence[Data], *, timeout: float | None = None) -> None:
        """Send one message of several frames; the first is the identity of the peer it goes to.

        Thread-safe: yes.

        Args:
            frames: The identity, then at least one frame.
            timeout: Seconds to wait when its queue is full (overflow="block").

        Raises:
            PeerError: No connected peer has that identity.
            UsageError: There is no frame behind the identity.
            WouldBlockError, TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        packed = forms.pack_route(frames)
        try:
            sending.send_packed(self, packed, timeout)
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
    drain = sending.drain
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate


class Respondent(questions.RespondentForm, Socket[Request]):
    drain = sending.drain
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate


class Bus(forms.BusForm, Socket[Message]):
    send = sending.send
    send_many = sending.send_many
    send_frames = sending.send_frames
    send_batch = sending.send_batch
    drain = sending.drain
    recv = receiving.recv
    recv_many = receiving.recv_many
    recv_frames = receiving.recv_frames
    __iter__ = receiving.iterate
