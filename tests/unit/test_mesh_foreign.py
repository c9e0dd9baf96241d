"""Nodes of other clusters that speak to this one: who is heard, who is answered, what is kept."""

from __future__ import annotations

import pytest

from meshmsg._mesh.limits import FOREIGN_MAX
from meshmsg._mesh.messages import DIGEST, HEAD, Kind
from meshmsg._mesh.octets import Rumour, cluster_tag, rumour_octets
from meshmsg._mesh.told import Answer, Stranger
from meshmsg.mesh._finding.strangers import CLUSTERS_MAX, Strangers, answers_for
from meshmsg.mesh._finding.unreached import AGAIN_S, Attempts, Tried, Unreached
from tests.support.mesh_nodes import arrival, core, exchange, handle, signed_octets

URL = "tcp://10.0.0.1:7450"


def hello(number: int, cluster: str, *, raw: bytes = b"") -> bytes:
    """How that node begins a sync."""
    head = HEAD.pack(1, Kind.HELLO, cluster_tag(cluster), handle(number))
    body = raw or signed_octets(number, cluster=cluster)
    return head + bytes(DIGEST.size) + rumour_octets(Rumour.RECORD, body)


def test_who_dials_and_who_is_dialed_learn_of_each_others_cluster() -> None:
    """Neither takes the other for a member; it ends with one answer."""
    a, b = core(1, cluster="a"), core(2, cluster="b")
    b.seeds(0.0, [URL])
    b.tick(0.0)
    assert exchange(0.0, a, b) == 2
    assert [(one.name, one.cluster) for one in a.strangers()] == [("node-2", "b")]
    assert [(one.name, one.cluster) for one in b.strangers()] == [("node-1", "a")]
    assert a.strangers() == []
    assert len(a.members()) == len(b.members()) == 1


def test_a_datagram_of_another_cluster_gets_no_word() -> None:
    """Its source may be anybody's."""
    node = core()
    node.arrived(0.0, arrival(hello(1, "b"), reply=0))
    node.arrived(0.0, arrival(hello(1, "b"), reply=-1))
    assert node.take() == []
    assert node.strangers() == []


@pytest.mark.parametrize(
    "data",
    [
        hello(1, "b")[:-80],
        hello(1, "b", raw=signed_octets(2, cluster="b")),
        hello(1, "b", raw=signed_octets(1, cluster="c")),
        hello(1, "b", raw=b"junk"),
        hello(1, "b")[: HEAD.size + DIGEST.size],
    ],
    ids=["short", "of another node", "of another cluster", "junk", "none"],
)
def test_a_record_that_does_not_fit_its_message_is_nothing(data: bytes) -> None:
    """It is counted."""
    node = core()
    node.arrived(0.0, arrival(data))
    assert node.take() == []
    assert node.strangers() == []
    assert node.here.counts["message of another cluster"] == 1


def test_who_speaks_again_and_again_is_kept_a_few_times() -> None:
    """And answered each time, by one message."""
    node = core()
    for _ in range(FOREIGN_MAX + 5):
        node.arrived(0.0, arrival(hello(1, "b")))
    assert len(node.strangers()) == FOREIGN_MAX
    out = node.take()
    assert len(out) == FOREIGN_MAX + 5
    assert all(isinstance(one, Answer) and one.data[1] == Kind.NEWS for one in out)


def test_one_warning_an_hour_for_each_cluster_of_a_few() -> None:
    """By the name of who came last."""
    met = Strangers("a")
    one = Stranger("x", "b", "10.0.0.9:4", 1)
    words = "node 'x' of 10.0.0.9:4 came for the cluster 'b', not 'a'"
    assert met.came(0.0, [one, one]) == [f"{words}; see mesh.explain"]
    assert met.came(AGAIN_S - 1, [one]) == []
    assert len(met.came(AGAIN_S, [one])) == 1
    assert met.lines() == (words,)
    many = [Stranger("x", f"c{i}", "10.0.0.9:4", 1) for i in range(CLUSTERS_MAX + 1)]
    assert len(met.came(AGAIN_S, many)) == CLUSTERS_MAX + 1
    assert len(met.lines()) == CLUSTERS_MAX


def test_a_seed_of_another_cluster_is_told_by_name() -> None:
    """Not if another of its addresses is of use."""
    wrong = Attempts(0, "", answers_for("b", "a"))
    both = (URL, "tcp://10.0.0.2:7450")
    seed, tried = Tried("Dns('x', 1)", Attempts(0, ""), both), {both[0]: wrong}
    (words,) = Unreached().look(0.0, [seed], tried.get)
    assert words == "seed Dns('x', 1) answers for the cluster 'b', not 'a'; see mesh.explain"
    tried[both[1]] = Attempts(0, "")
    assert Unreached().look(0.0, [seed], tried.get) == []
