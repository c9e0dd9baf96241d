"""Why a call had to give up, in words: what is so at that moment, never what was once.

Not here: the errors themselves (failures.py). Law: each sentence comes from peers, attempts,
counters or the last event of an endpoint that has no peer now; an endpoint that has one has no
trouble.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.peer_info import PeerInfo
from meshmsg._binding.snapshots import Event, EventKind, Reason, text
from meshmsg._delivery.later import later_of
from meshmsg._events.outlet import read_events
from meshmsg._hints.plural import counted, plural
from meshmsg._socket.options import SHARING
from meshmsg._socket.peers import Attempt, all_peers, attempts_of, first_peers, peer_count

if TYPE_CHECKING:
    from meshmsg._socket.state import State

What = str | Callable[[], str]
"""What could not be done; a function where it is to be found out then."""

TOLD_MAX = 3
"""Endpoints or queues that a sentence lists."""
LOOKED_AT = 16
"""Peers that an error of a call that did not wait looks at."""
ENDING = {
    "stops": "is stopping (stop_receiving) and takes no more",
    "left": "is being left (disconnect)",
}
"""Peers that are sent nothing more, by `PeerInfo.stopping`."""
SILENT_S = 0.05
"""Seconds without a word after which it is worth a sentence."""
TROUBLE = (
    EventKind.CONNECT_FAILED,
    EventKind.HANDSHAKE_FAILED,
    EventKind.PEER_DOWN,
    EventKind.PEER_SILENT,
)
NO_ID = "an answer without the id of its request"
"""How the cause of such a drop begins (csrc/queue/drop.c)."""
WORDLESS = "before it said anything"
"""In the detail of a handshake that ended so: of the same peer, what it said before tells more."""


def written_out(url: str) -> str:
    """Write an endpoint as the core does, so that it compares with those of events and peers."""
    again = ffi.new("char[]", lib.MM_ENDPOINT_MAX + 1)
    host = ffi.new("char[]", lib.MM_ENDPOINT_MAX + 1)
    raw = url.encode("utf-8", "surrogateescape")
    port = ffi.new("uint16_t *")
    rc = lib.mm_url_parts(raw, host, len(host), port, again, len(again))
    return text(again) if rc == 0 else url


def seconds(span: float) -> str:
    """Write a time as it is to be read: to the millisecond, or less if it is shorter."""
    return f"{round(span, 3) if span >= 0.001 or span == 0 else f'{span:.1g}'} s"


def listed(parts: Sequence[str]) -> str:
    """Join the first few, and tell how many more there are."""
    more = len(parts) - TOLD_MAX
    return "; ".join(parts[:TOLD_MAX]) + (f"; and {more} more" if more > 0 else "")


def _of_attempt(attempt: Attempt) -> str:
    """Say how far a connection has come that is no peer's yet."""
    age = f"{attempt.age:.1f} s"
    if not attempt.connected:
        return f"no answer from {attempt.address} to the attempt to connect for {age}"
    if attempt.octets == 0:
        return (
            f"connected to {attempt.address}, which has not said anything for {age} "
            "(it may not be a ZeroMQ or NNG peer)"
        )
    return (
        f"the handshake with {attempt.address} is not done after {age} "
        f"({counted(attempt.octets, 'octet')} came)"
    )


def _of_event(event: Event, times: int, wordless: int) -> str:
    """Say what ended the last attempt, or the last peer."""
    words = f"last: {event.endpoint} "
    if event.address not in ("", event.endpoint):
        words += f"(with {event.address}) "
    words += event.detail
    if times > 1:
        words += f", {times} times"
    if wordless:
        words += f"; {wordless} more time{'s' if wordless > 1 else ''} {WORDLESS}"
    return words


def _wordless(event: Event) -> bool:
    """Whether it is a handshake that the peer ended without a word: that may have been lost."""
    ended = event.reason in (Reason.HANDSHAKE_EOF, Reason.RESET)
    return ended and event.kind is EventKind.HANDSHAKE_FAILED and WORDLESS in event.detail


def _most_telling(trouble: list[Event]) -> Event:
    """Find what tells most of the last trouble: what the same peer said an attempt or more ago."""
    last = trouble[0]
    said = next((event for event in trouble if not _wordless(event)), last)
    same = said.kind is EventKind.HANDSHAKE_FAILED and said.address == last.address
    return said if same else last


def _last_of(endpoint: str, events: list[Event], now: float | None) -> str:
    """Say what the last trouble with an endpoint was, if nothing better came after it."""
    trouble: list[Event] = []
    for event in reversed(events):
        if event.endpoint != endpoint:
            continue
        if event.kind not in TROUBLE or event.reason is Reason.LOCAL:
            break
        trouble.append(event)
    if not trouble:
        return ""
    found = _most_telling(trouble)
    said = found.kind is EventKind.HANDSHAKE_FAILED and not _wordless(found)
    times = wordless = 0
    for event in trouble:
        if said and _wordless(event) and event.address == found.address:
            wordless += 1
        elif (event.kind, event.reason) == (found.kind, found.reason):
            times += event.count
        else:
            break
    words, last = _of_event(found, times, wordless), trouble[0]
    left = last.time + last.retry_in - now if last.retry_in is not None and now else 0
    return f"{words}, next attempt in {left:.1f} s" if left >= 0.1 else words


def about(socket: State) -> str:
    """Say which socket this is."""
    places = [f"bound to {bound}" for _, bound in socket._bound]
    places += [f"connected to {url}" for url in socket._connected]
    places += [f"follows the service {one.service!r}" for one in socket._follows]
    count, somewhere = peer_count(socket._handle), bool(places)
    if not somewhere:
        places.append("neither bound nor connected")
    if count > 0 or (count == 0 and somewhere):
        places.append(counted(count, "peer"))
    return f"{type(socket).__name__} {', '.join(places)}"


def too_few(socket: State, count: int) -> What:
    """What a wait for so many peers says that ends without them."""

    def told() -> str:
        there = peer_count(socket._handle)
        wanted = counted(count, "peer")
        return f"waiting for {wanted}" if there < 0 else f"{there} of {wanted}"

    return told


def trouble_of(socket: State) -> str:
    """Say what is known of peers that are stalled, and of endpoints that have no peer now."""
    count, peers = all_peers(socket._handle)
    code, events, _ = read_events(socket._handle, 1)
    if count < 0 or code < 0:
        return ""
    attempts = {
        attempt.endpoint: attempt
        for attempt in attempts_of(socket._handle)
        if attempt.outgoing and attempt.age >= SILENT_S
    }
    served = {peer.endpoint for peer in peers}
    now = time.time() if socket._slice_ms else None  # a simulated world has a time of its own
    wanted = [written_out(url) for url in socket._connected]
    parts = [
        f"{peer.address} is stalled: its system answers, but it reads and says nothing"
        for peer in peers
        if peer.stalled
    ]
    parts += [event.detail for event in events if event.detail.startswith(NO_ID)][:1]
    for endpoint in dict.fromkeys([*wanted, *(bound for _, bound in socket._bound)]):
        if endpoint in served:
            continue
        said = [_of_attempt(attempts[endpoint])] if endpoint in attempts else []
        said += [last] if (last := _last_of(endpoint, events, now)) else []
        parts.append(", ".join(said))
    told = listed([part for part in parts if part])
    return f"; {told}" if told else ""


def services_of(socket: State) -> str:
    """Say of services that a mesh keeps it connected to why none of them is a peer."""
    if not socket._follows or peer_count(socket._handle) > 0:
        return ""
    told = listed([why for one in socket._follows if (why := one.why())])
    return f"; {told}; see mesh.explain" if told else ""


def _queue(peer: PeerInfo, messages: int, size: int) -> str:
    """Say how full a peer's queue is, by what it has least room for."""
    if peer.queued_out_messages / messages >= peer.queued_out_bytes / size:
        what, here, most = "message", peer.queued_out_messages, messages
    else:
        what, here, most = "byte", peer.queued_out_bytes, size
    return f"{peer.address}: {here:,} of {most:,} {plural(most, what)}"


def _queues_of(socket: State, peers: list[PeerInfo]) -> str:
    """Say whose queues are full, and how full."""
    messages, size = int(socket._opts.send_queue_messages), int(socket._opts.send_queue_bytes)
    full = [
        peer
        for peer in peers
        if peer.queued_out_messages >= messages or peer.queued_out_bytes * 2 >= size
    ]
    if socket._role in SHARING and peers:
        full = peers
    if not full:
        return ""
    told = listed([_queue(peer, messages, size) for peer in full])
    if len(peers) == 1:
        return f": its peer's queue is full ({told})"
    how_many = "all" if len(full) == len(peers) else f"{len(full)} of"
    return f": {how_many} {len(peers)} peers' queues are full ({told})"


def _ending(peers: list[PeerInfo]) -> list[str]:
    """Say of peers that are sent nothing more why that is so."""
    return [f"{peer.address} {ENDING[peer.stopping]}" for peer in peers if peer.stopping in ENDING]


def room_of(socket: State, what: str, *, in_detail: bool) -> tuple[str, str]:
    """Say why there is no room: nobody is there, nobody takes more, too much was given back for
    later, or queues are full."""
    nobody = f"no peer{what.removeprefix('no room')}"
    count, peers = first_peers(socket._handle, LOOKED_AT)
    choked = later_of(socket._handle).choked()
    if in_detail and count > len(peers):
        count, peers = all_peers(socket._handle)
    if count < 0:
        return what, ""
    ending = _ending(peers)
    told = listed(ending)
    causes = [cause for cause in (choked, told) if cause]
    if len(ending) >= count:
        return nobody, f": {'; '.join(causes)}" if causes else ""
    if choked:
        return what, f": {'; '.join(causes)}"
    if count > len(peers):
        return what, ""  # a call that does not wait looks at no more
    queues = _queues_of(socket, [peer for peer in peers if peer.stopping not in ENDING])
    return what, f"{queues}; {told}" if ending else queues


def topics_of(socket: State) -> str:
    """Say of a subscriber that it asked for nothing: the commonest reason that nothing comes."""
    facts = lib.mm_role_facts(socket._role)
    if not facts & lib.MM_ROLE_SUBSCRIBES:
        return ""
    out = ffi.new("mm_stats *")
    if lib.mm_socket_stats(socket._handle, out) < 0 or out.topics:
        return ""
    if facts & lib.MM_ROLE_SENDS:
        return "; subscribed to nothing: send b'\\x01', or subscribe(\"\"), for everything"
    return '; subscribed to nothing: topics=[""] is everything'
