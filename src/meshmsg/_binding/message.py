"""What a receive gives: bytes that know where they came from.

Law: a Message is its body; nothing else takes part in comparison or hashing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from meshmsg._binding.core import ESTATE, lib, native
from meshmsg._binding.data import Data, Question, buffer_of, bytes_of, extent_of, question_of
from meshmsg._binding.delay import delay_ms
from meshmsg._binding.errors import ClosedError, MeshError, TooLargeError, UsageError
from meshmsg._binding.note import NOTHING, MessageOptions, Note, decode, with_note
from meshmsg._binding.peer import Peer, PeerName, known_peer, peer_name

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

REASON_MAX = 1024
"""Bytes the reason of a refusal may have."""


class Message(bytes):
    """A received message: the body, as bytes, with what else is known of it.

    Attributes:
        topic: Of a Sub: the topic it was published under, "" when it was a single frame.
        peer: Who sent it, a `Peer`: an int, its id in `peers()`; for a Router a `PeerName`: bytes,
            its identity. Both have `user_id`, also once the peer has left.

    A copy is the message itself. Pickled it is its body, plain bytes, so that whoever unpickles it
    needs no meshmsg (Spark's JVM has none): pickle `(m.topic, m.frames)` where more is needed.
    """

    __slots__ = ()
    topic: str = ""
    peer: Peer | PeerName = Peer(0)
    _name: PeerName | None = None  # of who sent it, as a Router calls it; in the class
    _frames: tuple[bytes, ...] = ()
    _meta: bytes | None = None  # what goes with it, as the core has it
    _known: Note | None = None  # the same, once somebody asked
    _lease: tuple[int, int, int, int, int] | None = None
    """Of a message that is acknowledged by hand: its peer, its number there, and where it was
    first: connection, number; how often it was tried."""

    @property
    def frames(self) -> tuple[bytes, ...]:
        """All frames of the message, as ZeroMQ peers send them; the last is the body."""
        return self._frames or (bytes(self),)

    @property
    def attempt(self) -> int:
        """How often it was handed to somebody, this time included; 1 where nobody counts."""
        return self._lease[4] if self._lease is not None else 1

    @property
    def seq(self) -> tuple[int, int] | None:
        """Where it was first: a connection of its sender, and the message's number there.

        The same each time it is handed out; None where nobody counts. Of a message that came out of
        a spool (of a Push with one, of a Sub with `replay=` or `group=`): 64 bits of the spool's
        uuid and epoch, and its number in that spool. So no two messages have the same pair.
        """
        return self._lease[2:4] if self._lease is not None else None

    @property
    def number(self) -> int | None:
        """The second part of its `seq`; None where nobody counts.

        Of a message that came out of a spool it is the number there, as `SpoolMessage.number` is.
        """
        found = self.seq
        return found[1] if found is not None else None

    @property
    def _note(self) -> Note:
        if self._meta is None:
            return NOTHING
        if self._known is None:
            self._known = decode(self._meta)
        return self._known

    @property
    def key(self) -> bytes | None:
        """What it is about, as its sender said (`key=`); None: it did not."""
        return self._note.key

    @property
    def headers(self) -> Mapping[str, str | bytes]:
        """What its sender said with it (`headers=`), by name; empty where it said nothing."""
        return self._note.headers

    @property
    def timestamp(self) -> float | None:
        """When it was made, by its sender's clock, in seconds since 1970.

        None where nothing went with it.
        """
        return self._note.timestamp

    @property
    def expires(self) -> float | None:
        """Until when it is of use, by its sender's clock, in seconds since 1970 (`ttl=`).

        None: for ever, as its sender said no `ttl`: a Req does not say its `timeout` or `deadline`
        by itself. It may come out of a receiver's queue later than that.
        """
        return self._note.expires

    def ack(self) -> bool:
        """Say that it is done, where its Pull has `ack="manual"`: its sender forgets it.

        Never blocks. Thread-safe: yes; any thread may, in any order.

        Returns:
            True: its sender is told. With `ack_timeout` of Push that may be too late: it counts
            also once the time is over, while the message waits for somebody else; not any more
            once somebody else has it, or it is a dead letter.
            False: nobody is told. It was acknowledged or given back before, nobody waits for that
            (`delivery` of Push, `ack` of Pull; pyzmq and NNG never do), or the connection it came
            by has ended; then somebody else gets it, too.

        Raises:
            ClosedError: The socket was closed; what was not acknowledged goes to somebody else.
        """
        return self._settle(lib.mm_ack)

    def nack(self, *, delay: float = 0.0) -> bool:
        """Give it back: somebody else gets it, or this socket once more; its `attempt` counts up.

        Never blocks. Thread-safe: yes.

        Args:
            delay: Seconds, up to 2,000,000, before which nobody gets it. It waits at its sender.

        Returns:
            True: its sender is told. That changes nothing once its time is over (`ack_timeout`):
            then it waits for somebody else already. False: as of `ack`. From a sender that
            does not count (pyzmq, NNG) it is lost then.

        Raises:
            UsageError: The delay is below 0, or over its limit.
            ClosedError: As `ack`.
        """
        return self._settle(lib.mm_nack, delay_ms(delay))

    def extend(self) -> bool:
        """Say that it is still worked on: its `ack_timeout` (Push) begins anew.

        Never blocks. Thread-safe: yes.

        Returns:
            True: its sender is told. That changes nothing once its time is over. False: as of
            `ack`.

        Raises:
            ClosedError: As `ack`.
        """
        return self._settle(lib.mm_extend)

    def _settle(self, call: Callable[..., int], *more: int) -> bool:
        """Tell its sender, where somebody waits for that (_delivery/leases.py)."""
        return False

    def __enter__(self) -> Self:
        """Acknowledge it at the end of the `with` block; give it back if that raised.

        Only of a Pull with `ack="manual"`: elsewhere the block changes nothing.
        """
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.ack()
            else:
                self.nack()
        except ClosedError:
            if kind is None:
                raise

    def __copy__(self) -> Self:
        return self  # nothing in it changes

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(self),)  # who reads it may have no meshmsg: the JVM of Spark has not


class FullMessage(Message):
    """One of several frames, or of a peer with a name: what is known of it are attributes."""


PEERS_MAX = 4096
"""Peers whose class of message is remembered; after that many all are forgotten."""


class ClassesOfPeers(dict[int, type[Message]]):
    """The Message of each peer: the id stands in the class, so that making one sets nothing.

    An attribute of its own would cost each message a dictionary: more than the message itself.
    """

    def __missing__(self, peer: int) -> type[Message]:
        return self.add(Peer(peer))

    def add(self, peer: Peer) -> type[Message]:
        """Make the class of that peer's messages, and keep it."""
        if len(self) >= PEERS_MAX:
            self.clear()
        found: type[Message] = native.message_class(Message, peer)
        self[int(peer)] = found
        return found


classes_of_peers = ClassesOfPeers()
classes_of_known = ClassesOfPeers()
"""Of peers of which more is known than their id, as `security=` protects their connections."""


def _class_of_known(
    peer: int, user_id: str, mechanism: str, properties: bytes, metadata: bytes
) -> type[Message]:
    return classes_of_known.add(known_peer(peer, user_id, mechanism, properties, metadata))


def _named(messages: type[Message], name: bytes) -> PeerName:
    """Return what a Router calls who sends these: made once, and kept in the class."""
    found = messages._name
    if found is None or found != name:
        found = messages._name = peer_name(messages.peer, name)
    return found


native.peers(classes_of_peers, classes_of_known, _class_of_known, _named)
message_class: Callable[[int], type[Message]] = classes_of_peers.__getitem__
"""Returns the Message of a peer; no function of Python, as it is asked for with each message."""

IN_PLACE: bool = native.check(message_class(0), b"sample")
"""Whether this Python lays out bytes as the core knows; else messages are made by calls."""


class Request(FullMessage):
    """A request a Rep or Respondent received: `reply` answers it, or `refuse` says that nobody
    will.

    Used in a `with` statement, it is refused at the end unless it was answered by then, with the
    name of the error that ended the block.
    """

    _way: Any = native.no_way()
    """The way back to who asked (csrc/binding/reply.c); that of one no socket gave is used."""

    if not TYPE_CHECKING:  # as of any Message; not set with each, as it is seldom asked for
        peer = property(attrgetter("_way.peer"), doc="Who asked: its id in `peers()`.")

    def reply(self, data: Data, **options: Unpack[MessageOptions]) -> bool:
        """Answer this request.

        Never blocks. Thread-safe: yes; of several threads one answers.

        Args:
            data: The answer: bytes, or anything contiguous with a buffer.
            options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

        Returns:
            False when whoever asked is gone or takes no more; the answer is then counted as
            dropped.

        Raises:
            UsageError: It was answered already.
            TooLargeError: The answer is over message_size_max; another may be given.
            ClosedError: The socket was closed.
        """
        if options:
            return self._reply_frames([data], options)
        sent: bool | int | None = self._way.reply(data)
        return True if sent is True else self._reply_on(sent, data)

    def reply_frames(self, frames: Sequence[Data], **options: Unpack[MessageOptions]) -> bool:
        """Answer this request with several frames, as ZeroMQ peers know them; else as `reply`.

        Never blocks. Thread-safe: yes; of several threads one answers.

        Args:
            frames: The answer, one frame at least; a frame may be empty. Whoever asked gets the
                last one as the message, and all as its `frames`.
            options: As of `reply`.

        Returns:
            False when whoever asked is gone or takes no more; the answer is then counted as
            dropped.

        Raises:
            UsageError: There is no frame; there are several, and whoever asked speaks SP, where an
                answer is one body (another may be given); or it was answered already.
            TooLargeError: Over message_size_max or frames_max, with the way back; another may be
                given.
            ClosedError: The socket was closed.
        """
        return self._reply_frames(frames, options)

    def _reply_room(self, room: object, size: int) -> bool:
        """Answer as `reply` does, with so many octets of what `spool_blocks` has read: they are not
        copied, and are gone then."""
        sent: bool | int = self._way.reply_room(room, size)
        if sent.__class__ is not bool:
            self._refuse(int(sent), size)
        return bool(sent)

    def _reply_frames(self, frames: Sequence[Data], options: MessageOptions) -> bool:
        answer: Question = question_of(frames, "reply_frames", "reply")
        socket = self._way.about()[0] if options else None
        if socket is not None:
            answer = with_note(socket._handle, answer, options)
        sent: bool | int = self._way.reply(answer)
        if sent.__class__ is not bool:
            self._refuse(int(sent), *extent_of(answer))
        return bool(sent)

    def refuse(self, reason: str = "") -> bool:
        """Tell whoever asked that there will be no answer, and why.

        A `Req` then raises RefusedError at once, and does not ask again, whatever `retries` it has
        left; a `Survey` counts the peer as `declined`. Peers of meshmsg that ask directly
        understand it. Others (ZeroMQ, SP, a Dealer or a forwarder in between, which could hand it
        on as an answer) are sent nothing: this returns False, and `reply` may still tell them, in
        words of your own. A request that is dropped is not refused: `with request:` does that.

        Never blocks. Thread-safe: yes; of several threads one answers or refuses.

        Args:
            reason: Why, for people and logs: up to 1,024 bytes of UTF-8.

        Returns:
            True when the refusal is on its way. False when nothing was sent, as whoever asked does
            not understand it, is gone or takes no more: the request is still open.

        Raises:
            UsageError: It was answered or refused already.
            TooLargeError: The reason is too long; another may be given.
            ClosedError: The socket was closed.
        """
        if not isinstance(reason, str):
            raise TypeError(f"a reason is str, not {type(reason).__name__}")
        body = reason.encode("utf-8", "backslashreplace")
        sent: bool | int = self._way.refuse(body)
        if sent.__class__ is not bool:
            self._not_refused(int(sent), len(body))
        return bool(sent)

    def _not_refused(self, code: int, size: int) -> NoReturn:
        """Raise what kept a refusal with a reason of that size from being sent."""
        if code == lib.MM_EMSGSIZE and size > REASON_MAX:
            raise TooLargeError(
                f"a reason of {size:,} bytes; it may have {REASON_MAX:,}",
                code=code,
                size=size,
                limit=REASON_MAX,
            )
        self._refuse(code, size)

    def __enter__(self) -> Self:
        """Refuse it at the end of the `with` block, unless it was answered there."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        why = "it was not answered" if kind is None else f"{kind.__name__} while it was worked on"
        try:
            self.refuse(why.encode("utf-8", "replace")[:REASON_MAX].decode("utf-8", "ignore"))
        except (UsageError, ClosedError):
            pass  # answered; or nobody can be told any more
        except MeshError as failed:
            if error is None:
                raise
            # its own error is more important
            logging.getLogger("meshmsg").warning("a request was not refused: %s", failed)

    def _reply_on(self, sent: bool | int | None, data: Data) -> bool:
        """Reply after a first try: to nobody (False), with no bytes (None), or the code of why."""
        if sent is None:
            return Request.reply(self, bytes_of(data))
        if sent is not False:
            self._refuse(sent, buffer_of(data)[1])
        return False

    def _refuse(self, code: int, size: int, count: int = 1) -> NoReturn:
        """Raise what kept an answer of that size from being sent."""
        socket, frames, routed, refused = self._way.about()
        if code == ESTATE or socket is None:  # perhaps by another thread, meanwhile
            done = "refused" if refused else "answered"
            raise UsageError(f"this request was {done} already; each takes one reply or refusal")
        raise socket._reply_error(code, routed + size, frames + count)


WHOLE: Any = native.form(message_class, FullMessage, "frame")
"""What messages are made of, by what the first of several frames is: here, a frame like others."""
TOPICAL: Any = native.form(message_class, FullMessage, "topic")
NUMBERED: Any = native.form(message_class, FullMessage, "numbered")
"""Of a subscriber: the topic."""
ROUTED: Any = native.form(message_class, FullMessage, "peer")
"""Of a Router: the identity of who sent it, which is none of the frames."""
REQUESTS: Any = native.form(None, Request, "way")
"""Of who answers: the first frames lead back, and are the native side's."""
