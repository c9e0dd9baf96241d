"""The groups of a Pub with a spool, for asyncio.

Not here: what a group is (_delivery/grouped.py). Law: nothing here blocks the loop.
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
from meshmsg.aio._socket import Socket


@verb
async def groups(self: Socket[Any]) -> list[GroupInfo]:
    """List the groups that there are, with or without members, in the order of their names.

    Thread-safe: yes. Cancel-safe: yes.

    Returns:
        What each is now: its members, its place in the spool, how far it is behind.

    Raises:
        UsageError, SpoolError, ClosedError: As `meshmsg.Pub.groups`.
    """
    published = published_of(self)
    found: list[GroupInfo] = await published.given._in_thread(lambda: groups_of(published))
    return found


@verb
async def seek_group(self: Socket[Any], name: str, start: Start) -> None:
    """Have a group that nobody is in go on elsewhere; one that is not there is made.

    Thread-safe: yes. Cancel-safe: yes; it may go on, and be moved.

    Args:
        name: The group's.
        start: "earliest": with the first message that is there; "latest": with what is published
            from now on; or the number of a message.

    Raises:
        UsageError, SpoolTrimmedError, SpoolCorruptError, SpoolFailedError, SpoolFullError,
            ClosedError, TypeError: As `meshmsg.Pub.seek_group`.
    """
    group_name(name)
    check_start(start)
    published = published_of(self)
    await published.given._in_thread(lambda: move_group(published, name, start))


@verb
async def forget_group(self: Socket[Any], name: str) -> None:
    """Remove a group that nobody is in, and its place. Its next member makes it anew.

    Thread-safe: yes. Cancel-safe: yes; it may go on, and be removed.

    Args:
        name: The group's.

    Raises:
        UsageError, SpoolError, ClosedError, TypeError: As `meshmsg.Pub.forget_group`.
    """
    group_name(name)
    published = published_of(self)
    await published.given._in_thread(lambda: drop_group(published, name))
