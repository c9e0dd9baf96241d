"""Publishing, for threads that may block: sending under a topic, and waiting until both ends know
of it; and the groups of a Pub with a spool.

Not here: subscribing, and counting subscribers (_roles/topics.py). Law: as of any send
(sending.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import ffi, lib, sends_natively
from meshmsg._binding.data import Data, buffer_of, encode_topic, is_topic, pack_frames
from meshmsg._binding.message import Message
from meshmsg._binding.note import MessageOptions
from meshmsg._delivery.grouped import (
    GroupInfo,
    drop_group,
    group_name,
    groups_of,
    move_group,
    published_of,
)
from meshmsg._delivery.retaining import asked
from meshmsg._roles.subscribed import Subscribed, not_subscribed
from meshmsg._roles.topics import shown, subscribers_of, waited_topic
from meshmsg._socket.options import check_count
from meshmsg._socket.signature import verb
from meshmsg._spool.starts import Start, begin_of
from meshmsg._sync.sending import send_body, send_packed, sent_at_once
from meshmsg._sync.socket import Socket
from meshmsg._sync.spooled import put_published

if TYPE_CHECKING:
    from typing_extensions import Unpack


@sends_natively
@verb
def send(
    self: Socket[Any],
    data: Data,
    *,
    topic: str | bytes = "",
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> None:
    """Publish one message to every peer that subscribed to a prefix of its topic.

    By default a peer whose queue is full misses it (counted, and told in `events`).

    Thread-safe: yes.

    Args:
        data: The body. It is copied.
        topic: Sent as a frame of its own; without one, the body itself is matched.
        timeout: Seconds to wait (overflow="block"); None waits for ever, 0 never waits.
        options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

    Raises:
        TimedOutError: A subscriber had no room in time (overflow="block"); nobody got it.
        WouldBlockError: The same, now (overflow="error" or timeout=0).
        TooLargeError: Over message_size_max; or key and headers take over 16 KiB.
        UsageError: An option is out of its range.
        ClosedError: The socket was closed.
    """
    if self._spooled is not None:
        put_published(self._spooled, [data], topic, timeout, options)
    elif options or is_topic(topic):
        packed = pack_frames([data], topic) if is_topic(topic) else pack_frames([data])
        send_packed(self, packed, timeout, options)
    else:
        send_body(self, data, timeout)


@verb
def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    topic: str | bytes = "",
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> None:
    """Publish one message of several frames to every peer that subscribed to its topic.

    Thread-safe: yes; all frames arrive, or none.

    Args:
        frames: The frames, at least one.
        topic: Sent as a frame in front of them; without one, the first frame is matched.
        timeout: Seconds to wait (overflow="block"); None waits for ever, 0 never waits.
        options: What goes with it, as of `send`.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, ClosedError: As `send`.
        UsageError: There is no frame.
    """
    plain = None if topic == "" else topic
    if self._spooled is not None:
        put_published(self._spooled, frames, topic, timeout, options)
    elif options or not sent_at_once(self, frames, timeout, topic=plain):
        send_packed(self, pack_frames(frames, topic), timeout, options)


@verb
def retained(
    self: Socket[Any], topic: str | bytes, *, timeout: float | None = None
) -> Message | None:
    """Tell which message is kept of a topic (`retain="last"`).

    Thread-safe: yes.

    Args:
        topic: The topic itself, not a prefix; "" is that of messages without one.
        timeout: Seconds to wait, with a `spool`: it is read first, and what was sent before is
            published; None waits for ever, 0 never waits.

    Returns:
        What who subscribes gets; None: nothing is kept of that topic.

    Raises:
        TimedOutError: That was not done in time.
        WouldBlockError: It is not done yet (timeout=0).
        SpoolCorruptError, SpoolFailedError: It cannot be read.
        UsageError: This Pub retains nothing.
        ClosedError: The socket was closed.
    """
    with asked(self, encode_topic(topic)) as asking:
        self._blocking(asking.call, timeout, f"asking what is retained of {shown(topic)}")
        return asking.message()


@verb
def wait_for_subscribers(
    self: Socket[Any], topic: str | bytes = "", count: int = 1, *, timeout: float | None = None
) -> None:
    """Wait until a message of this topic would reach so many peers.

    Thread-safe: yes.

    Args:
        topic: The topic a message will have.
        count: How many peers.
        timeout: Seconds to wait; None waits for ever, 0 only looks.

    Raises:
        TimedOutError: There were not so many in time.
        WouldBlockError: There are not so many now (timeout=0).
        ClosedError: The socket was closed.
    """
    raw = waited_topic(topic)
    check_count("count", count)
    self._blocking(
        lambda ms, slice_ms: lib.mm_wait_subscribers(
            self._handle, *buffer_of(raw), count, ms, slice_ms
        ),
        timeout,
        subscribers_of(self, topic, count),
    )


@verb
def wait_for_subscribed(
    self: Socket[Any], count: int = 1, *, timeout: float | None = None
) -> Subscribed:
    """Wait until the publishers know of every subscription made so far.

    What meshmsg publishers send under these topics from then on comes here. They prove that they
    have the topics by answering a PING that was sent behind them. Others do not prove it: libzmq
    answers before the socket of its program has the topics, so the first messages it publishes then
    may be missed; one of ZMTP 3.0 cannot answer, and is waited for until the topics were written to
    its connection; one of SP sends everything, once it has this socket among its peers. What is
    returned tells them apart. If a forwarder lies between, it is the forwarder that has the topics.
    While this socket's receive queue is full, no answer is read.

    Thread-safe: yes.

    Args:
        count: How many peers there must be at least; all that are connected must have answered.
        timeout: Seconds to wait; None waits for ever, 0 only asks and looks.

    Returns:
        How many peers are certain to have the topics, as an int whose `certain`, `probable`
        and `written` list the peers.

    Raises:
        TimedOutError: Not all of them said so in time, or there were not so many.
        WouldBlockError: It is not known now (timeout=0).
        ClosedError: The socket was closed.
    """
    check_count("count", count)
    info = ffi.new("mm_subscribed_info *")
    self._blocking(
        lambda ms, slice_ms: lib.mm_wait_subscribed(self._handle, count, ms, slice_ms, info),
        timeout,
        not_subscribed(self, count, info),
    )
    return Subscribed(int(info.confirmed), self.peers())


@verb
def groups(self: Socket[Any]) -> list[GroupInfo]:
    """List the groups that there are, with or without members, in the order of their names.

    Thread-safe: yes. It waits for the disk.

    Returns:
        What each is now: its members, its place in the spool, how far it is behind.

    Raises:
        UsageError: The Pub has no spool.
        SpoolError: Their cursors cannot be read.
        ClosedError: The socket, or its spool, was closed.
    """
    return groups_of(published_of(self))


@verb
def seek_group(self: Socket[Any], name: str, start: Start, *, only_new: bool = False) -> None:
    """Have a group that nobody is in go on elsewhere; one that is not there is made.

    That is on the disk when it returns. Thread-safe: yes. It waits for the disk.

    Args:
        name: The group's.
        start: "earliest": with the first message that is there; "latest": with what is published
            from now on; "seq:42", or 42: with that number; "last:100": with the last hundred
            numbers; "since:5m": with the first of the last 5 minutes (s, m, h, d), by the clock of
            this machine.
        only_new: Leave one that is there where it is, also if somebody is in it: so a program may
            say at each of its starts where the group begins the first time. Say it before `bind`: a
            member that comes first makes the group, behind what is there.

    Raises:
        UsageError: A subscriber is in it; the number is beyond the next message; there are 64
            other groups; or the Pub has no spool.
        SpoolTrimmedError: The message was removed.
        SpoolCorruptError: Its cursor is harmed, or of another spool.
        SpoolFailedError, SpoolFullError: The disk failed, or has no room for it.
        ClosedError: The socket, or its spool, was closed.
        TypeError: The name is no text, or `start` is no number.
    """
    group_name(name)
    begin_of("start", start)
    move_group(published_of(self), name, start, only_new=only_new)


@verb
def forget_group(self: Socket[Any], name: str) -> None:
    """Remove a group that nobody is in, and its place. Its next member makes it anew.

    Thread-safe: yes. It waits for the disk.

    Args:
        name: The group's.

    Raises:
        UsageError: A subscriber is in it, or the cursor "group.NAME" is open; or the Pub has no
            spool.
        SpoolError: There is none of that name, or it cannot be removed.
        ClosedError: The socket, or its spool, was closed.
        TypeError: The name is no text.
    """
    drop_group(published_of(self), group_name(name))
