"""Groups at a Pub with a spool: what a Sub says to be in one, and what a Pub tells of its own.

Not here: what a group does (csrc/role/group.c, csrc/api/groups.c), waiting
(_sync/publishing.py, aio/_publishing.py). Law: checked here, before the socket has an endpoint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EAGAIN, lib
from meshmsg._binding.errors import SpoolCorruptError, SpoolError, UsageError
from meshmsg._delivery.group_lag import PREFIX, is_group
from meshmsg._delivery.leases import Ack
from meshmsg._socket.base import SocketBase
from meshmsg._spool.cursor import Looked, looked, names_of, settled, trimmed
from meshmsg._spool.held import first_and_last
from meshmsg._spool.spool import Spool
from meshmsg._spool.starts import Start, begin_of

if TYPE_CHECKING:
    from meshmsg._delivery.spooled import Published

NAME_MAX: int = lib.MM_GROUP_NAME_MAX
"""Characters of the name of a group."""
GROUPS_MAX: int = lib.MM_GROUPS_MAX
"""Groups at a Pub."""
_NAME = re.compile(rf"[A-Za-z0-9._-]{{1,{NAME_MAX}}}", re.ASCII)


@dataclass(frozen=True)
class GroupInfo:
    """What a group at a Pub is, at one moment.

    Attributes:
        name: Its name.
        members: Subscribers that are in it now.
        floor: All messages of the spool up to this number are done; None: its cursor is harmed.
        lag: How many messages up to the last are not done, whatever their topics, with those that
            were compacted and that the group has not come past; None, likewise.
        unacked: Messages that members have, and did not acknowledge.
        acked: Messages that a member was done with, since the Pub was opened or the group was
            moved; so are those below.
        redelivered: Messages that were taken back from a member, for another one; not the last
            time, behind which nobody gets it (`max_attempts`).
        unwanted: Messages passed over, as nobody in it subscribed to their topic.
        removed, harmed: Messages that no member gets: retention removed them, at once, also while
            nobody is in it; they are harmed. What the Pub has in memory members still get: it is
            in the lag.
        expired, attempts: Messages that were dropped: their `ttl` was over; they were handed out
            `max_attempts` times.
        dead: Messages that are dead letters instead, of either cause (`dead_letter` of the Pub).
        refused: Messages that no member gets, as this Pub sends no such: they are over its
            `message_size_max` or `frames_max`. In the spool they are there.
    """

    name: str
    members: int
    floor: int | None
    lag: int | None
    unacked: int
    acked: int
    redelivered: int
    unwanted: int
    removed: int
    harmed: int
    expired: int
    attempts: int
    dead: int
    refused: int


_COUNTS = tuple(GroupInfo.__dataclass_fields__)[4:]


def group_name(group: object) -> str:
    """Return the name of a group.

    Raises:
        TypeError: It is no str.
        UsageError: It is no name.
    """
    if not isinstance(group, str):
        raise TypeError(f"group is {group!r}; it is the name of a group, as text")
    if _NAME.fullmatch(group) is None:
        raise UsageError(
            f"group is {group!r}; it is 1 to {NAME_MAX} of A-Z, a-z, 0-9, dot, underscore and "
            "hyphen"
        )
    return group


def check_member(
    group: str | None,
    *,
    topics: int,
    conflate: object,
    replay: object,
    prefetch: object,
    ack: Ack,
) -> str | None:
    """Return the name of the group of a Sub, or None; refuses what does not go with it."""
    if group is None:
        name = "prefetch" if prefetch is not None else "ack" if ack != "auto" else ""
        if name:
            raise UsageError(f"{name} is for a Sub with group=: nobody waits for others to be done")
        return None
    name = group_name(group)
    if replay is not None:
        raise UsageError(
            "replay is not for a Sub with group=: a group has a place of its own; "
            "Pub.seek_group(name, start) moves it"
        )
    if conflate:
        raise UsageError("conflate is not for a Sub with group=: each message of a group counts")
    if not topics:
        raise UsageError(
            "topics is empty: a member of a group says what it subscribes to as it is made; "
            'topics="" is everything'
        )
    return name


def join_group(socket: SocketBase, name: str) -> None:
    """Have a Sub without an endpoint be a member of a group at each of its publishers."""
    socket._check(lib.mm_sub_group(socket._handle, name.encode()), "joining a group")


def published_of(pub: Any) -> Published:
    """Return what a Pub has of its spool.

    Raises:
        UsageError: It has none.
        ClosedError: It was closed.
    """
    if pub.closed:
        raise pub._error(lib.MM_ECLOSED, "asking for groups")
    spooled: Published | None = pub._spooled
    if spooled is None:
        raise UsageError("this Pub keeps no groups: that is for a Pub with spool=")
    return spooled


def places_of(spool: Spool) -> dict[str, Looked]:
    """Return the place of each group that the spool has; waits for the disk."""
    return {
        name[len(PREFIX) :]: found
        for name in names_of(spool, lib.mm_spool_cursor_names)
        if is_group(name) and (found := looked(spool, name)) is not None
    }


def groups_of(published: Published) -> list[GroupInfo]:
    """List the groups; waits for the disk."""
    active = {one["name"]: one for one in published.feed.groups()}
    kept = places_of(published.spool)
    published.lag.found(kept)
    found = []
    for name in sorted({*active, *kept}):
        counts = active.get(name, {})
        cursor = kept.get(name)
        if cursor is None:
            found.append(
                GroupInfo(name, counts.get("members", 0), 0, 0, **dict.fromkeys(_COUNTS, 0))
            )
            continue
        since = {count: counts.get(count, 0) for count in _COUNTS}
        since["removed"] += cursor.untold  # asked for behind the counts: none is in both
        found.append(GroupInfo(name, counts.get("members", 0), cursor.floor, cursor.lag, **since))
    return found


def move_group(published: Published, name: str, start: Start, *, only_new: bool) -> None:
    """Have a group go on elsewhere, unless only one that is not there is meant; waits for the
    disk."""
    spool = published.spool
    begin = begin_of("start", start)
    if only_new and any(one["name"] == name for one in published.feed.groups()):
        return
    if only_new and PREFIX + name in names_of(spool, lib.mm_spool_cursor_names):
        return
    settled(spool, begin, lambda seq: _moved_to(published, name, seq, only_new))
    published.lag.moved(name, looked(spool, PREFIX + name))


def _moved_to(published: Published, name: str, seq: int, only_new: bool) -> None:
    spool = published.spool
    rc = published.feed.seek_group(name, seq)
    if rc == lib.MM_ESTATE and only_new:
        return  # somebody has come to it just now, so it is there
    doing = f"moving the group {name!r}"
    if rc == lib.MM_ENOENT:
        raise trimmed(spool, seq)
    if rc == lib.MM_EINVAL:
        raise UsageError(
            f"{spool.path}: start is {seq:,}; the next message is {first_and_last(spool)[1] + 1:,}"
        )
    if rc == EAGAIN:
        raise UsageError(
            f"{doing}: there are {GROUPS_MAX} groups, as many as may be; forget_group makes room"
        )
    _raise_for(published, rc, name, doing)


def drop_group(published: Published, name: str) -> None:
    """Forget a group; waits for the disk."""
    rc = published.feed.forget_group(name)
    if rc == lib.MM_ENOENT:
        raise SpoolError(f"{published.spool.path}: there is no group {name!r}", code=rc)
    _raise_for(published, rc, name, f"forgetting the group {name!r}")
    published.lag.moved(name, None)


def _raise_for(published: Published, rc: int, name: str, doing: str) -> None:
    path = published.spool.path
    if rc == lib.MM_ESTATE:
        raise UsageError(
            f"{doing}: a subscriber is in it, or its cursor is open ({path}); wait until it has "
            "left"
        )
    if rc == lib.MM_EPROTO:
        raise SpoolCorruptError(
            f"{path}: the cursor of the group {name!r} is harmed, or of another spool; after "
            "forget_group it can be made anew",
            first=0,
            last=0,
        )
    if rc == lib.MM_ECLOSED:
        published.feed.check_open()
    published.spool._raise_for(rc, doing)
