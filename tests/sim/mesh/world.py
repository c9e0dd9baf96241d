"""A mesh in a simulation: many cores, one virtual clock, a network that a seed decides.

Not here: what happens in it (scenes.py). Law: the cores are the production ones; nothing is real
but them, and one seed gives one run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from random import Random

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.messages import BUCKETS
from meshmsg._mesh.octets import Signed, signed_of
from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.sync import AGREE, DOUBLINGS_MAX
from meshmsg._mesh.table import Row, Table, version_digest
from meshmsg._mesh.told import Answer, Arrival, EventKind, State

from .shared import SharedNames, SharedRows

SHARED_FROM = 3_000
"""Nodes from which on they share what they know at the start."""
ORDERS = 8
"""Different orders in which nodes that share their members probe them."""
LATER_S = 1e-9
"""Seconds: what a clock that drifts is rounded by, so that what is due then is due."""
REFUSAL_TIME = 0.001
"""Seconds until a refusal is seen."""


class Stamp:
    """Signs with a keyed hash: cheap, and only who has the secret can."""

    def __init__(self, world: World, secret: bytes) -> None:
        self.key = blake2b(secret, digest_size=32).digest()
        self._secret = world.secrets[self.key] = secret

    def sign(self, data: bytes) -> bytes:
        """Return 64 octets."""
        return blake2b(data, key=self._secret, digest_size=64).digest()


@dataclass
class Network:
    """What the network does to each message."""

    latency: tuple[float, float] = (0.0003, 0.002)
    loss: float = 0.01


class Host:
    """One process, and the address that it has."""

    def __init__(self, index: int, address: str, name: str) -> None:
        self.index, self.address, self.name = index, address, name
        self.core: Core = None  # type: ignore[assignment]
        self.up = True
        self.silent = False
        """Whether messages to it vanish, when it is down, instead of being refused."""
        self.group = 0
        """Messages go between hosts of one group only."""
        self.deaf = False
        """Whether nothing reaches it; what it sends goes out."""
        self.cost = 0.0
        """Seconds that it takes for each message."""
        self.busy = 0.0
        self.frozen = 0.0
        """Until when it does nothing."""
        self.rate = 1.0
        """Of its clock."""
        self.tick_at = float("inf")
        self.sent = 0
        """Octets."""
        self.messages = 0
        self.peers: set[int] = set()
        """Whom it has a connection with."""


class World:
    """The simulation."""

    def __init__(
        self, seed: int, *, times: Times | None = None, loss: float = 0.01, watched: bool = True
    ) -> None:
        """Make an empty one; watched: whether it is kept what the cores tell."""
        self.rng = Random(seed)
        self.watched = watched
        self.times = times or Times()
        self.network = Network(loss=loss)
        self.now = 0.0
        self.hosts: list[Host] = []
        self.at: dict[str, Host] = {}
        self.secrets: dict[bytes, bytes] = {}
        self.decode = lru_cache(None)(signed_of)
        self.seen: list[tuple[float, Host, EventKind, bytes]] = []
        """What the cores told: when, who, what, of which node."""
        self.delivered = 0
        self.filter: Callable[[Host, Host], bool] | None = None
        self._heap: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._number = count()

    def verify(self, key: bytes, data: bytes, signature: bytes) -> bool:
        """Say whether who has that key signed."""
        secret = self.secrets.get(key)
        return (
            secret is not None and signature == blake2b(data, key=secret, digest_size=64).digest()
        )

    # Making

    def host(self, name: str = "", *, address: str = "", seeds: tuple[str, ...] = ()) -> Host:
        """Start a process."""
        index = len(self.hosts)
        address = address or f"tcp://10.{index >> 16}.{index >> 8 & 255}.{index & 255}:7450"
        host = Host(index, address, name or f"node-{index}")
        self.hosts.append(host)
        self.at[address] = host
        host.core = Core(
            name=host.name,
            cluster="sim",
            boot_epoch=1_000_000 + int(self.now * 1000) + index,
            signer=Stamp(self, self.rng.randbytes(32)),
            verify=self.verify,
            rng=Random(self.rng.getrandbits(64)),
            now=self.clock(host),
            addresses=(address,),
            times=self.times,
            decode=self.decode,
        )
        if seeds:
            host.core.seeds(self.clock(host), seeds)
        self.acted(host)
        return host

    def formed(
        self, size: int, *, shared: bool | None = None, full: int | None = None
    ) -> list[Host]:
        """Start processes that know each other already; many of them share what they know.

        Args:
            size: How many.
            shared: Whether they do; None: from `SHARED_FROM` on.
            full: How many know all; the others know nobody. None: all.
        """
        hosts = [self.host() for _ in range(size)]
        everyone = [host.core.here.me for host in hosts]
        base = {one.handle: Row(one, State.ALIVE, self.now, b"") for one in everyone}
        names = {one.record.name: one.handle for one in everyone}
        orders = [self.rng.sample(list(base), size) for _ in range(ORDERS)]
        digest, buckets = 0, [0] * BUCKETS
        for signed in everyone:
            version = version_digest(signed, State.ALIVE)
            digest ^= version
            buckets[signed.handle[0]] ^= version & 0xFFFF_FFFF
        for host in hosts[:full]:
            core, table = host.core, host.core.here.table
            if size >= SHARED_FROM if shared is None else shared:
                table.rows = SharedRows(base, core.here.me.handle)
                table._names = SharedNames(names, host.name)
                table._order = orders[host.index % ORDERS]
                table._next = self.rng.randrange(size // 2)
            else:
                self._fill(table, [one for one in everyone if one is not core.here.me])
            table.here, table.digest, table.buckets = size - 1, digest, list(buckets)
            core.dialer.met(self.now)
            core.syncer.agreed = AGREE + DOUBLINGS_MAX
            core.syncer.plan(self.now)
        return hosts

    def _fill(self, table: Table, others: list[Signed]) -> None:
        """Put them into a table, as `Table.add` does it one by one."""
        for signed in others:
            handle = signed.handle
            table.rows[handle] = Row(signed, State.ALIVE, self.now, signed.record.node_id)
            table._names[signed.record.name] = handle
        table._order = list(table.rows)
        self.rng.shuffle(table._order)

    def clock(self, host: Host) -> float:
        """Its own time."""
        return self.now * host.rate

    # Running

    def call(self, at: float, what: Callable[..., None], *args: object) -> None:
        """Have it done then."""
        heapq.heappush(self._heap, (at, next(self._number), what, args))

    def run(self, until: float) -> None:
        """Go on until that time."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= until:
            self.now, _, what, args = pop(heap)
            what(*args)
        self.now = until

    def run_until(self, done: Callable[[], bool], limit: float, step: float = 0.05) -> float:
        """Go on until something is so; return how long that took, or infinity."""
        start = self.now
        while not done():
            if self.now - start > limit:
                return float("inf")
            self.run(self.now + step)
        return self.now - start

    def acted(self, host: Host) -> None:
        """Carry on what a core says, after something was done with it."""
        core = host.core
        here = core.here
        if here.out:
            for item in core.take():
                if isinstance(item, Answer):
                    self._send(host, self.hosts[item.reply - 1], item.data)
                else:
                    target = self.at.get(item.to)
                    if target is not None:
                        self._send(host, target, item.data, item.node)
        if here.told:
            told = core.events()
            if self.watched:
                at = self.now
                self.seen += [(at, host, one.kind, one.member.record.node_id) for one in told]
        due = max(self.now, core.due() / host.rate + (LATER_S if host.rate != 1.0 else 0.0))
        if due < host.tick_at - 1e-9:
            host.tick_at = due
            self.call(due, self._tick, host, due)

    def _tick(self, host: Host, due: float) -> None:
        if not host.up or due != host.tick_at:
            return
        if host.frozen > self.now:
            host.tick_at = host.frozen
            self.call(host.frozen, self._tick, host, host.frozen)
            return
        host.tick_at = float("inf")
        host.core.tick(self.now * host.rate)
        self.acted(host)

    def _send(self, host: Host, target: Host, data: bytes, node: bytes | None = None) -> None:
        host.sent += len(data)
        host.messages += 1
        rng, network = self.rng, self.network
        if host.group != target.group or target.deaf or rng.random() < network.loss:
            return
        if not target.up:
            if not target.silent and node is not None:
                self.call(self.now + REFUSAL_TIME, self._saw, host, node, Evidence.REFUSED)
            return
        host.peers.add(target.index)
        target.peers.add(host.index)
        low, high = network.latency
        at = self.now + low + (high - low) * rng.random()
        if target.cost:
            target.busy = at = max(at, target.busy) + target.cost
        self.call(at, self._deliver, target, host, data)

    def _deliver(self, target: Host, host: Host, data: bytes) -> None:
        if not target.up:
            return
        if target.frozen > self.now:
            self.call(target.frozen, self._deliver, target, host, data)
            return
        self.delivered += 1
        arrival = Arrival(host.address, data, host.index + 1)
        target.core.arrived(self.now * target.rate, arrival)
        self.acted(target)

    def _saw(self, host: Host, node: bytes, evidence: Evidence) -> None:
        if host.up:
            host.core.saw(self.clock(host), node, evidence)
            self.acted(host)

    # Faults

    def move(self, host: Host, address: str) -> None:
        """Give a process another address: what is said to the one it had is lost."""
        del self.at[host.address]
        self.at[address], host.address = host, address
        host.core.moved(self.clock(host), (address,))
        self.acted(host)

    def crash(self, host: Host, *, silent: bool = True) -> None:
        """End a process: its machine vanishes, or the system says that it is gone."""
        host.up, host.silent = False, silent
        if silent:
            return
        node = host.core.me().node_id
        for index in sorted(host.peers):
            peer = self.hosts[index]
            if peer.up and host.index in peer.peers:
                self.call(self.now + REFUSAL_TIME, self._saw, peer, node, Evidence.LOST)
