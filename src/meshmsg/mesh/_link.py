"""The mesh port: one Router that others connect to, and that connects to others.

Connections are made as there is something to say, and closed as they are idle or too many. Not
here: what is said (_mesh), when (_driver.py). Law: one thread calls this, but for `note`; nothing
waits here; what a peer can make grow has a limit.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from meshmsg._binding.errors import AddressError, PeerError, UsageError, WouldBlockError
from meshmsg._binding.message import Message
from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._mesh.limits import SYNC_MAX
from meshmsg._mesh.seam import Evidence
from meshmsg._security.policy import Policy
from meshmsg._socket.engine import engine_apart
from meshmsg._socket.peers import address_of, addresses_of
from meshmsg._sync.roles import Router
from meshmsg.mesh._addresses import PLAIN, PROTECTED
from meshmsg.mesh._finding.turned_away import TurnedAway
from meshmsg.mesh._finding.unreached import Attempts

CONNECTIONS_MAX = 256
"""Connections that this node has made and keeps."""
ACCEPTED_MAX = 4_096
"""Connections that others have made."""
HEARTBEAT_S, SILENT_S = 20.0, 45.0
"""Seconds between heartbeats of a connection, and of silence that end it. Members are asked by the
mesh itself: this finds a connection alone that is dead. A node has two for each of its members."""
IDLE_S = 120.0
"""Seconds after which a connection that nothing was sent over is closed."""
PROVE_S = 5.0
"""Seconds that a connection to a node which is held unreachable has to bring something, or it is
made anew: less than between two tries to reach such a node."""
IDLE_LOOK_S = 5.0
"""Seconds between two looks for those."""
WAITING_MAX = 32
"""Messages that wait for one connection to be made."""
SOURCES_FIRST = 1_024
"""Connections whose address is remembered, before those that ended are forgotten; or twice as many
as there are then. One look at all of them costs as much as some hundred new ones."""
REPLIES_MAX = 8_192
"""Peers whose way back is remembered."""
ERRORS_MAX = 1_024
"""Addresses whose last error is remembered."""
EVENTS_MAX = 65_536
"""Events of connections that wait to be looked at; the oldest go first."""
RECV_MAX = 1_000
"""Messages that one look takes."""
LINGER_S = 0.5
"""Seconds that what was sent has to go out as a connection is closed."""
DIAL_AGAIN_S = 5.0
"""Longer than a connection that failed is kept: the mesh itself says when it is dialed again."""
WANTS_SECRET = "this mesh has a secret: give its file (secret=)"
OTHER_SECRET = (
    "it most likely has another secret than this node: both are to have the same file (secret=)"
)
NO_SECRET = "it most likely has no secret, and this node has one (secret=)"
QUESTION = b"meshmsg.ask"
"""First of the frames of who is no member and asks (_outside)."""
_WHERE, _SEEN = b"meshmsg.where", b"meshmsg.seen"
"""Frames of "I dialed this address; where do you see me?", and of the answer."""
TWO = 2


class Seen(NamedTuple):
    """What happened to a connection that this node made."""

    url: str
    node: bytes | None
    evidence: Evidence | None
    words: str
    missed: bool = False
    """Whether it was to be made, and was not."""


class Came(NamedTuple):
    """One message."""

    reply: int
    source: str
    frames: Sequence[bytes]


class _Connection:
    """One that this node makes."""

    __slots__ = ("identity", "node", "up", "used", "waiting")

    def __init__(self, identity: bytes, now: float) -> None:
        self.identity = identity
        self.node: bytes | None = None
        self.up = False
        self.used = now
        self.waiting: list[bytes] = []


class Link:
    """The Router of one node, and which connections it has."""

    def __init__(
        self,
        bind: str,
        security: Policy | None,
        insecure: bool,
        salt: bytes,
        ring: Callable[[], None],
    ) -> None:
        """Bind.

        Args:
            bind: Where, as "tcp://host:port".
            security: What protects the connections; None: nothing.
            insecure: Whether it may be bound outside loopback without that.
            salt: Random octets, so that nobody guesses what peers are called here.
            ring: Called, by any thread, when `note` was.

        Raises:
            AddressError, InsecureBindError, ResourceError: As of any socket.
        """
        self._scheme = PLAIN if security is None else PROTECTED
        self._salt, self._ring = salt, ring
        self._noted: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._open: OrderedDict[str, _Connection] = OrderedDict()
        self._numbers: dict[bytes, int] = {}
        self._replies: OrderedDict[int, bytes] = OrderedDict()
        self._sources: dict[bytes, str] = {}
        self._sources_most = SOURCES_FIRST
        self._dialed = self._last_number = 0
        self._mute: dict[bytes, tuple[str, float]] = {}
        """Of each connection to nobody who is known, over which nothing came yet: the address, and
        since when it is used."""
        self._bound = ""
        """Of connections that others made: their endpoint, in events."""
        self._look_at = 0.0
        self._to_prove: dict[bytes, float] = {}
        """By identity of a connection of this node: since when it is to bring something."""
        self.errors: OrderedDict[str, str] = OrderedDict()
        """By address: why it could not be reached the last time."""
        self.attempts: OrderedDict[str, int] = OrderedDict()
        """By address: how many attempts in a row failed; 0: the last one went well."""
        self.elsewhere: OrderedDict[str, str] = OrderedDict()
        """By address: what is wrong with who answers there, if that is one of another cluster."""
        self.turned_away = TurnedAway()
        self.dropped = 0
        """Messages that found no room or nobody."""
        self.seen: list[tuple[str, bytes]] = []
        """Addresses that others see connections of this node come from, and who does."""
        self.dialed_at: list[tuple[str, bytes]] = []
        """Addresses that others say they have dialed to reach this node, and who does."""
        self.router = Router(
            bind=bind.replace(PLAIN, self._scheme, 1),
            overflow="error",
            security=security,
            insecure=insecure,
            on_event=self.note,
            linger=LINGER_S,
            reconnect_min=DIAL_AGAIN_S,
            reconnect_max=DIAL_AGAIN_S,
            heartbeat_interval=HEARTBEAT_S,
            heartbeat_timeout=SILENT_S,
            connections_max=ACCEPTED_MAX,
            engine=engine_apart("mesh"),
            message_size_max=2 * SYNC_MAX,
        )
        self._bound = self.router.endpoint
        self.router._outlet.expect(_ORDINARY, once=_AS_IT_ENDS, refusals=_TOLD)

    @property
    def address(self) -> str:
        """Where it is bound, as records have it."""
        return self.router.endpoint.replace(PROTECTED, PLAIN, 1)

    def note(self, event: Event) -> None:
        """Take an event of the Router's, from its thread: what says nothing here wakes nobody."""
        theirs = event.endpoint == self._bound and self._url(event) not in self._open
        if event.reason != Reason.LOCAL and not theirs:  # theirs are told of by what comes
            self._noted.append(event)
            self._ring()
        elif theirs:
            self.turned_away.note(event)

    def _url(self, event: Event) -> str:
        return event.endpoint.replace(PROTECTED, PLAIN, 1)

    # Sending

    def send(self, now: float, to: str, data: bytes, node: bytes | None) -> None:
        """Send a message to an address, and connect to it if that was not done."""
        if self._to_prove and to in self._open:
            since = self._to_prove.get(self._open[to].identity, now)
            if now - since > PROVE_S:
                self._hang_up(to)
        connection = self._open.get(to) or self._dial(now, to)
        if connection is None:
            return
        if node is not None and self.elsewhere.pop(to, ""):  # a member is there now
            self.errors.pop(to, None)
        self._open.move_to_end(to)
        connection.used = now
        connection.node = node or connection.node
        if connection.up:
            self._put(connection.identity, [data])
        elif len(connection.waiting) < WAITING_MAX:
            connection.waiting.append(data)
        else:
            self.dropped += 1

    def _dial(self, now: float, to: str) -> _Connection | None:
        while len(self._open) >= CONNECTIONS_MAX:
            self._hang_up(next(iter(self._open)))
        self._dialed += 1
        made = _Connection(b"m" + self._salt + self._dialed.to_bytes(8, "big"), now)
        self._open[to] = made  # before there are events of it
        try:
            self.router.connect(to.replace(PLAIN, self._scheme, 1), identity=made.identity)
        except (AddressError, UsageError) as error:
            del self._open[to]
            self._failed(to, str(error))
            return None
        return made

    def answer(self, reply: int, frames: Sequence[bytes]) -> None:
        """Send back on the connection that something came on."""
        identity = self._replies.get(reply)
        if identity is None:
            self.dropped += 1
        else:
            self._put(identity, frames)

    def _put(self, identity: bytes, frames: Sequence[bytes]) -> None:
        try:
            self.router.send_frames([identity, *frames], timeout=0)
        except (PeerError, WouldBlockError):
            self.dropped += 1

    def _hang_up(self, url: str) -> None:
        made = self._open.pop(url, None)
        if made is not None:
            self._to_prove.pop(made.identity, None)
            self._mute.pop(made.identity, None)
            with suppress(AddressError):
                self.router.disconnect(url.replace(PLAIN, self._scheme, 1))

    def prove(self, now: float, addresses: Sequence[str], node: bytes) -> None:
        """Have the mesh's own connections to a node be made anew by a later message, unless they
        bring something by then.

        Not at once: who has no time answers late, and to be dialled as well takes its time.
        """
        for url, made in self._open.items():
            if made.node == node or url in addresses:
                self._to_prove.setdefault(made.identity, now)

    def hang_up_all(self) -> None:
        """Close all connections that this node made: the next message makes another one."""
        for url in list(self._open):
            self._hang_up(url)

    def _speaks(self, peer: bytes) -> None:
        """Something came from who had not said anything."""
        url, _ = self._mute.pop(peer, ("", 0.0))
        if self.elsewhere.get(url) == MUTE:
            del self.elsewhere[url]
            self.errors.pop(url, None)

    def close_idle(self, now: float) -> None:
        """Close connections that nothing was sent over for some time; note who says nothing."""
        if now < self._look_at:
            return
        self._look_at = now + IDLE_LOOK_S
        for url, since in self._mute.values():
            if now - since > MUTE_S:
                self.is_elsewhere(url, MUTE)
        for url in [one for one, made in self._open.items() if now - made.used > IDLE_S]:
            self._hang_up(url)

    @property
    def busy(self) -> bool:
        """Whether it is connected to somebody, or about to be."""
        return bool(self._open)

    @property
    def waits(self) -> bool:
        """Whether something for a member waits for a connection to be made."""
        dialed = (made for made in self._open.values() if not made.up)
        return any(made.waiting and made.node is not None for made in dialed)

    # What came

    def came(self) -> list[Came]:
        """Return messages that came, some at most."""
        try:
            messages = self.router.recv_many(RECV_MAX, timeout=0)
        except WouldBlockError:
            return []
        found = []
        for message in messages:
            frames, peer = message.frames, bytes(message.peer)
            if self._to_prove:
                self._to_prove.pop(peer, None)
            if self._mute:
                self._speaks(peer)
            if len(frames) == TWO and frames[0] in (_WHERE, _SEEN):
                self._where(peer, frames)
            else:
                found.append(Came(self._number(peer), self._source(message), frames))
        return found

    def _where(self, peer: bytes, frames: Sequence[bytes]) -> None:
        if frames[0] == _WHERE:
            self._put(peer, [_SEEN, self._source_of(peer).encode()])
            if len(self.dialed_at) < CONNECTIONS_MAX:
                self.dialed_at.append((frames[1].decode("ascii", "replace"), peer))
            return
        url = next((url for url, made in self._open.items() if made.identity == peer), "")
        if url and len(self.seen) < CONNECTIONS_MAX:  # only who was asked may say
            self.seen.append((frames[1].decode("ascii", "replace"), url.encode()))

    def _number(self, peer: bytes) -> int:
        number = self._numbers.get(peer)
        if number is None:
            self._last_number += 1
            number = self._numbers[peer] = self._last_number
            self._replies[number] = peer
            if len(self._replies) > REPLIES_MAX:
                del self._numbers[self._replies.popitem(last=False)[1]]
        return number

    def _source(self, message: Message) -> str:
        return self._source_of(bytes(message.peer))

    def _source_of(self, peer: bytes) -> str:
        source = self._sources.get(peer)
        if source is None:
            source = address_of(self.router._handle, peer)
            if source:
                self._sources[peer] = source
            if len(self._sources) > self._sources_most:
                self._sources = addresses_of(self.router._handle, self._sources)
                self._sources_most = max(SOURCES_FIRST, 2 * len(self._sources))
        return source

    # What happened

    def happened(self) -> list[Seen]:
        """Return what happened to connections that this node made."""
        found = []
        while self._noted:
            event = self._noted.popleft()
            url = self._url(event)
            made = self._open.get(url)
            if made is None:
                continue
            if event.kind == EventKind.PEER_UP:
                found.append(self._up(url, made))
            elif event.kind in _ENDS:
                words = _words_of(event, protected=self._scheme == PROTECTED)
                dialing = event.kind != EventKind.PEER_DOWN
                self._failed(url, words, dialing=dialing)
                self._hang_up(url)
                found.append(Seen(url, made.node, _evidence_of(event), words, dialing))
            elif event.kind == EventKind.PEER_STALLED:
                found.append(Seen(url, made.node, Evidence.LOST, "its system answers, it does not"))
        return found

    def _up(self, url: str, made: _Connection) -> Seen:
        made.up = True
        if made.node is None:
            self._mute[made.identity] = url, made.used
        self._to_prove.pop(made.identity, None)
        if url not in self.elsewhere:  # who answers is asked again soon
            self.errors.pop(url, None)
        self._attempted(url, 0)
        self._put(made.identity, [_WHERE, url.encode()])
        for data in made.waiting:
            self._put(made.identity, [data])
        made.waiting.clear()
        return Seen(url, made.node, None, "")

    def _failed(self, url: str, words: str, *, dialing: bool = True) -> None:
        self.elsewhere.pop(url, None)
        self.errors[url] = words
        self.errors.move_to_end(url)
        while len(self.errors) > ERRORS_MAX:
            self.errors.popitem(last=False)
        if dialing:
            self._attempted(url, self.attempts.get(url, 0) + 1)

    def _attempted(self, url: str, failed: int) -> None:
        self.attempts[url] = failed
        self.attempts.move_to_end(url)
        while len(self.attempts) > ERRORS_MAX:
            self.attempts.popitem(last=False)

    def dialed(self, address: str) -> Attempts | None:
        """Return what became of dialing an address; None: it was not dialed, or long ago."""
        failed = self.attempts.get(address)
        if failed is None:
            return None
        other = self.elsewhere.get(address, "")
        return Attempts(failed, self.errors.get(address, ""), other)

    def url_of(self, reply: int) -> str:
        """Return what was dialed for the connection that something came on; "": they dialed."""
        identity = self._replies.get(reply)
        return next((url for url, made in self._open.items() if made.identity == identity), "")

    def is_elsewhere(self, url: str, words: str) -> None:
        """Take that who answers at an address is of no use: why is said in place of an error."""
        self.elsewhere[url] = words
        self.errors[url] = f"it {words}"
        while len(self.elsewhere) > ERRORS_MAX:
            self.elsewhere.popitem(last=False)

    def why(self, address: str) -> str:
        """Return why an address could not be reached; "": it could, or was not dialed."""
        words, failed = self.errors.get(address, ""), self.attempts.get(address, 0)
        return f"{words}, {failed} attempts in a row" if words and failed > 1 else words


MUTE_S = 5.0
"""Seconds after which who was dialed, and has not said anything, is told of."""
MUTE = f"is connected, and has said nothing for {MUTE_S:.0f} s: it may be no mesh port"
_AS_IT_ENDS = frozenset((EventKind.HANDSHAKE_FAILED,))
"""What comes of a dial as a process ends; of one that wants a secret it comes again."""
_TOLD = frozenset((Reason.PLAINTEXT,))
"""What the mesh says in words of its own: who dials has no secret."""
_ORDINARY = frozenset((EventKind.DROPPED, EventKind.PEER_DOWN, EventKind.CONNECT_FAILED))
"""Gossip to somebody who left, which is counted and said again to others; and ends, and members
that nobody can connect to, which the mesh tells of itself. Of seeds it tells, too (unreached.py).
"""
_WORDLESS = (Reason.HANDSHAKE_EOF, Reason.RESET)
NO_TLS = "it may not speak TLS there"
"""What the core says of who is dialed, and ends the handshake before a word (csrc/wire/tls)."""
_ENDS = (EventKind.CONNECT_FAILED, EventKind.HANDSHAKE_FAILED, EventKind.PEER_DOWN)


def _words_of(event: Event, *, protected: bool) -> str:
    """Say why a connection ended: what is said of secrets is in the words of a Mesh."""
    if event.reason == Reason.PLAINTEXT:
        return WANTS_SECRET
    if protected and event.kind == EventKind.HANDSHAKE_FAILED:
        if event.reason == Reason.TLS_ALERT:
            return OTHER_SECRET
        if event.reason in _WORDLESS and NO_TLS in event.detail:
            return NO_SECRET
    return event.detail or event.reason.name


def _evidence_of(event: Event) -> Evidence | None:
    """Return what an end says of the node there: nothing, if the two just do not agree."""
    if event.kind == EventKind.PEER_DOWN:
        return Evidence.LOST
    if event.kind == EventKind.CONNECT_FAILED:
        return Evidence.REFUSED if event.reason == Reason.REFUSED else Evidence.LOST
    return None
