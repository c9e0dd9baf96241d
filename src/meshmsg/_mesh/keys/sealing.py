"""Datagrams between nodes: sealed for one of them by the cluster's secret, and taken once.

Not here: the socket (mesh/_udp/port.py), what a datagram says (../messages.py). Law: what nobody of
the cluster sealed for this node costs some hashes, is counted, and changes nothing else.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from ..limits import MEMBERS_MAX
from ..octets import U64, cluster_tag

DATAGRAM_MAX = 1_400
"""Octets of a datagram, so that no network has to cut it."""
NODE = 16
"""Octets of a node's id."""
SEALED, PLAIN = 0xB1, 0xB0
"""First octet of a datagram: sealed by a secret, or by nobody."""
HEAD = struct.Struct(">B4s16sQ")
"""The kind, the cluster's tag, who sends it, and which of its own it is, from 1."""
TAG = 16
"""Octets that say that nothing was changed."""
ROOM = DATAGRAM_MAX - HEAD.size - TAG
"""Octets that a datagram has for what it says."""
BACK = 64
"""Datagrams of one sender that may come in another order."""
_NONCE = struct.Struct(">4xQ")


class Window:
    """Which datagrams of one sender came: the last `BACK`, and none of those before them again."""

    __slots__ = ("bits", "top")

    def __init__(self) -> None:
        self.top = self.bits = 0
        """The highest number, and a bit for each below it; the lowest bit is of `top`."""

    def new(self, number: int) -> bool:
        """Whether that one did not come, and may still."""
        behind = self.top - number
        return number > 0 and (behind < 0 or (behind < BACK and not self.bits >> behind & 1))

    def came(self, number: int) -> None:
        """Note that it did."""
        ahead = number - self.top
        if ahead > 0:
            self.bits = (self.bits << min(ahead, BACK)) & ((1 << BACK) - 1)
            self.top = number
        self.bits |= 1 << (self.top - number)


class _Sender:
    """A node whose datagrams were opened."""

    __slots__ = ("cipher", "secret", "window")

    def __init__(self, secret: bytes, cipher: ChaCha20Poly1305) -> None:
        self.secret, self.cipher = secret, cipher
        self.window = Window()


class Sealing:
    """What one node sends and takes. Not thread-safe: one thread at a time."""

    def __init__(
        self, cluster: str, own: bytes, secrets: Sequence[bytes], *, senders_max: int = MEMBERS_MAX
    ) -> None:
        """Begin; none was sent.

        Args:
            cluster: Of the node.
            own: Its id. No other node has it, nor this one when it starts again, so no key made of
                it is used for the same number twice.
            secrets: Of the cluster, as of its file; none: nothing is sealed.
            senders_max: Nodes whose last datagrams are remembered. Who was heard of longest ago
                goes first, and copies of what it had sent would be taken again.
        """
        self._tag, self._own, self._max = cluster_tag(cluster), own, senders_max
        self._number = 0
        self._senders: OrderedDict[bytes, _Sender] = OrderedDict()
        self.counts: Counter[str] = Counter()
        """Datagrams that were refused, and why."""
        self.use(secrets)

    def use(self, secrets: Sequence[bytes]) -> None:
        """Take other secrets: the first seals, all open."""
        self._secrets = tuple(secrets)
        self._cipher = self._cipher_of(secrets[0], self._own) if secrets else None
        for node in [n for n, one in self._senders.items() if one.secret not in self._secrets]:
            self._senders[node].secret = b""  # its window stays

    def _cipher_of(self, secret: bytes, node: bytes) -> ChaCha20Poly1305:
        """Return what a node seals with; no other one has that key."""
        key = blake2b(b"udp" + self._tag + node, key=secret, digest_size=32).digest()
        return ChaCha20Poly1305(key)

    @property
    def sealed(self) -> bool:
        """Whether datagrams are sealed; else whoever reaches the port may send any."""
        return bool(self._secrets)

    def seal(self, data: bytes, to: bytes) -> bytes | None:
        """Return the datagram that says this to a node.

        Args:
            data: Up to `ROOM` octets; of more: None, as there is none.
            to: The id of that node: no other can open it.
        """
        if len(data) > ROOM or self._number >= U64:
            return None
        self._number += 1
        kind = SEALED if self._cipher is not None else PLAIN
        head = HEAD.pack(kind, self._tag, self._own, self._number)
        if self._cipher is None:
            return head + to + data
        return head + self._cipher.encrypt(_NONCE.pack(self._number), data, head + to)

    def open(self, datagram: bytes) -> tuple[bytes, bytes] | None:
        """Return who sent it, and what it says; None: it is none, and that was counted."""
        if not HEAD.size + TAG <= len(datagram) <= DATAGRAM_MAX:
            return self._refuse("of a wrong size")
        kind, tag, node, number = HEAD.unpack_from(datagram)
        if kind not in (SEALED, PLAIN):
            return self._refuse("of something else")
        if tag != self._tag or node == self._own:
            return self._refuse("of another cluster" if tag != self._tag else "of our own")
        if (kind == SEALED) != self.sealed:
            return self._refuse("sealed, and we have no secret" if kind == SEALED else "not sealed")
        if kind == PLAIN:
            at = HEAD.size + NODE
            if datagram[HEAD.size : at] != self._own:
                return self._refuse("for another node")
            return node, datagram[at:]
        return self._opened(datagram, node, number)

    def _refuse(self, why: str) -> tuple[bytes, bytes] | None:
        self.counts[why] += 1
        return None

    def _opened(self, datagram: bytes, node: bytes, number: int) -> tuple[bytes, bytes] | None:
        sender = self._senders.get(node)
        if sender is not None and not sender.window.new(number):
            return self._refuse("that came before, or too late")
        known = sender is not None and sender.secret != b""
        ciphers = (
            [(sender.secret, sender.cipher)]
            if sender is not None and known
            else [(secret, self._cipher_of(secret, node)) for secret in self._secrets]
        )
        opened = self._first(datagram, number, ciphers)
        if opened is None and known and len(self._secrets) > 1:  # it may have another one now
            others = [(secret, self._cipher_of(secret, node)) for secret in self._secrets]
            opened = self._first(datagram, number, others)
        if opened is None:
            return self._refuse("that no secret of ours sealed for this node")
        data, secret, cipher = opened
        if sender is None:
            sender = self._senders[node] = _Sender(secret, cipher)
            while len(self._senders) > self._max:
                self._senders.popitem(last=False)
        sender.secret, sender.cipher = secret, cipher
        self._senders.move_to_end(node)
        sender.window.came(number)
        return node, data

    def _first(
        self, datagram: bytes, number: int, ciphers: Sequence[tuple[bytes, ChaCha20Poly1305]]
    ) -> tuple[bytes, bytes, ChaCha20Poly1305] | None:
        """Open it by the first that can."""
        head, body = datagram[: HEAD.size], datagram[HEAD.size :]
        for secret, cipher in ciphers:
            try:
                opened = cipher.decrypt(_NONCE.pack(number), body, head + self._own)
            except InvalidTag:
                continue
            return opened, secret, cipher
        return None
