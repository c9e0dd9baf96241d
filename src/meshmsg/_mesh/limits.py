"""Every limit of the mesh, and every time that it keeps, with its unit.

Not here: why the times are what they are (docs/adr/0126). Law: what a peer can make grow has a
limit here.
"""

from __future__ import annotations

from dataclasses import dataclass

RECORD_MAX = 1_200
"""Octets of a signed record, so that one datagram takes it."""
MESSAGE_MAX = 1_400
"""Octets of a message that is not of a sync."""
SYNC_MAX = 65_536
"""Octets of one message of a sync."""
SYNC_TOTAL_MAX = 4 * 1024 * 1024
"""Octets of records that one sync sends."""
SYNC_PER_SECOND = float(SYNC_TOTAL_MAX)
"""Octets of records that a node sends in a second of all its syncs."""
SYNCS_MAX = 16
"""Syncs that a node answers at once."""
NAME_MAX = 128
"""Octets of the name of a node, of its host and of its zone."""
CLUSTER_MAX = 64
"""Octets of the name of a cluster."""
SERVICE_NAME_MAX = 64
"""Octets of the name of a service."""
SERVICES_MAX = 32
"""Services of a node."""
ENDPOINTS_MAX = 4
"""Endpoints of a service, and addresses of a node."""
ENDPOINT_MAX = 255
"""Octets of an endpoint."""
META_MAX = 256
"""Octets of the names and values of the metadata of a service."""
META_ITEMS_MAX = 64
"""Names in the metadata of a service."""
WEIGHT = 1
"""Of a service of which nothing else is said."""
WEIGHT_MAX = 65_535
KEY_MAX = 128
"""Octets of the public key of a service."""
MEMBERS_MAX = 20_000
"""Nodes that are known at once."""
MEMBERS_KEPT_FREE = 1_024
"""Of these the last, which are for nodes that come themselves: others are not told of any more."""
UNHEARD_MAX = 10_000
"""Nodes that one source told of and that never answered this one, known at once."""
UNHEARD_FEW = 16
"""The same, of a source that takes one of the last places."""
FORGOTTEN_MAX = 1_024
"""Nodes that are forgotten and still dialled now and then."""
SEEDS_MAX = 1_024
"""Addresses where nodes may be."""
RUMOURS_MAX = 4_096
"""Rumours that wait to be passed on."""
CONFIRMERS_MAX = 8
"""Statements that are kept of one suspicion."""
RELAYS_MAX = 256
"""Probes that a node makes for others at once."""
EVIDENCE_MAX = 1_024
"""Members that are probed at once, as connections to them ended, in `Times.evidence`."""
LOOKS_MAX = 64
"""Members that are asked a last time at once."""
CHECKS_MAX = 1_024
"""Members that wait to be probed out of their turn."""
WARNINGS_MAX = 1_024
"""Members that one sync has warned that they are held unreachable."""
SOURCES_MAX = 1_024
"""Sources of new members whose rate is kept."""
NEW_BURST = 4_096
"""New members that one source may tell of at once."""
NEW_PER_SECOND = 1_024.0
"""New members a second that one source may tell of."""
JUMP_MAX = 1_000
"""How far above what is known a rumour may put an incarnation."""
EVENTS_MAX = 65_536
"""Events that wait to be taken; beyond, the oldest is dropped and counted."""
FOREIGN_MAX = 64
"""Words of nodes of other clusters that wait to be taken; the oldest go first."""
ALL_TOLD = 16
"""Members of a mesh so small that each round of rumours goes to all of them."""


@dataclass(frozen=True)
class Times:
    """What the protocol waits for, in seconds, and its counts."""

    period: float = 0.3
    """Between two probes."""
    direct: float = 0.2
    """For the answer to a direct probe."""
    patience: float = 3.0
    """How many times longer than answers take one is waited for, if that is more than `direct`."""
    indirect: float = 0.25
    """For an answer by way of others."""
    evidence: float = 1.0
    """Between two probes of a member that ends of connections begin; others wait for a turn."""
    helpers: int = 3
    """Members that probe for another."""
    confirmers: int = 3
    """Distinct members that shorten a suspicion to its minimum."""
    suspicion: float = 0.8
    """Of a suspicion at least, for each factor of ten in the number of members."""
    suspicion_max: float = 4.0
    """How many times longer a suspicion is that nobody confirms."""
    checkers: float = 8.0
    """How many members probe a suspect out of its turn, on average."""
    gossip: float = 0.2
    """Between two rounds that pass rumours on."""
    gossip_few: float = 0.02
    """The same in a mesh so small that each round goes to all: `ALL_TOLD`."""
    fanout: int = 3
    """Members that one round goes to."""
    retransmit: int = 4
    """How often a rumour is passed on, for each factor of ten in the number of members."""
    health_max: int = 8
    """How many times longer the times are at most, for a node that is slow itself."""
    recovery: float = 0.5
    """What an answer in time takes back of that; each one that is missing is 1."""
    sync_restless: float = 0.5
    """Between two syncs until two peers agree with us."""
    sync_idle: float = 30.0
    """Between two syncs afterwards, times the logarithm of the number of members over 32."""
    heal: float = 10.0
    """Between two rounds of tries to reach who is unreachable or forgotten, or a seed."""
    beside: float = 0.04
    """Between two handfuls of seeds that are tried side by side, as long as nobody answers."""
    join: float = 0.5
    """Between two tries of the seeds as long as nobody is known."""
    join_max: float = 8.0
    """The longest of these; each is 1.5 times the last."""
    forget: float = 600.0
    """From unreachable to forgotten."""
    forget_unheard: float = 60.0
    """The same, for one that never answered."""
    left_kept: float = 600.0
    """How long it is remembered that a node left."""
    forgotten_kept: float = 86_400.0
    """How long a forgotten node is still dialled now and then."""
    fresh: float = 1.0
    """What was heard of a node this long ago still refutes a rumour."""
    frozen: float = 0.5
    """How late a tick must be for this process to have been frozen."""
    behind: float = 60.0
    """How long a node that others speak to, and nobody answers, takes that for its own fault."""
    behind_max: float = 600.0
    """The same, as long as answers come that are late."""
    again: float = 0.05
    """Between two looks whether it is still so."""
    refute: float = 0.1
    """Between two refutations."""
