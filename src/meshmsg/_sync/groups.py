"""The groups of a Pub with a spool, for threads that may block.

Not here: what a group is (_delivery/grouped.py).
"""

from __future__ import annotations

from typing import Any

from meshmsg._delivery.grouped import (
    GroupInfo,
    check_start,
    drop_group,
    group_name,
    groups_of,
    move_group,
    published_of,
)
from meshmsg._socket.signature import verb
from meshmsg._spool.cursor import Start
from meshmsg._sync.socket import Socket


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
def seek_group(self: Socket[Any], name: str, start: Start) -> None:
    """Have a group that nobody is in go on elsewhere; one that is not there is made.

    That is on the disk when it returns. Thread-safe: yes. It waits for the disk.

    Args:
        name: The group's.
        start: "earliest": with the first message that is there; "latest": with what is published
            from now on; or the number of a message.

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
    check_start(start)
    move_group(published_of(self), name, start)


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
