"""Seeds as text: each kind, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg.mesh import parse_seed
from meshmsg.mesh._finding.asking import seeds_of
from meshmsg.mesh._finding.text import EXAMPLES, seed_of
from tests.support.meshes import eventually, node


@pytest.mark.parametrize(
    ("text", "seed"),
    [
        ("dns://nodes.example.com:7450", "Dns('nodes.example.com', 7450)"),
        ("srv://_meshmsg._tcp.example.com", "DnsSrv('_meshmsg._tcp.example.com')"),
        ("dir:///mnt/shared/nodes", "SharedDir('/mnt/shared/nodes')"),
        ("beacon://", "Beacon(group='239.192.74.50', port=7450, interface='')"),
        ("beacon://239.1.2.3:99", "Beacon(group='239.1.2.3', port=99, interface='')"),
    ],
)
def test_each_kind_has_its_text(text: str, seed: str) -> None:
    """It becomes the seed that Python would have made."""
    (found,) = seeds_of([text])
    assert repr(found) == seed


def test_addresses_beside_them_are_one_seed() -> None:
    """In whatever order; each with a scheme or without."""
    found = seeds_of(["dir:///a", "10.0.0.5:7450", "dir:///b", "tls+tcp://h:2"])
    assert [type(one).__name__ for one in found] == ["Static", "SharedDir", "SharedDir"]
    assert repr(found[0]) == "Static(['tcp://10.0.0.5:7450', 'tcp://h:2'])"
    assert seed_of("tcp://h:1") is None
    assert seed_of("h:1") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file:///a", "it is an address such as tcp://10.0.0.5:7450, or dns://"),
        ("dns://name", r"such a one is as dns://.*:7450: 'name' has no port"),
        ("dns://name:70000", "such a one is as dns://.*port is 70000"),
        ("dns://:7450", "has no port behind a colon|name"),
        ("srv://", "such a one is as srv://"),
        ("dir://here", "'here' is no path from / on"),
        ("beacon://10.0.0.1:5", "such a one is as beacon://: group is"),
        ("junk", "a seed is 'junk'"),
    ],
)
def test_what_is_none_is_said_in_words(text: str, why: str) -> None:
    """With what it would be."""
    with pytest.raises(mm.UsageError, match=why):
        seeds_of([text])


def test_a_program_can_look_at_one() -> None:
    """An address is a seed, too."""
    assert repr(parse_seed("h:1")) == "Static(['tcp://h:1'])"
    assert repr(parse_seed("dir:///a")) == "SharedDir('/a')"
    with pytest.raises(mm.UsageError, match="a seed is 'junk'"):
        parse_seed("junk")


def test_examples_are_seeds() -> None:
    """Those that an error names."""
    for text in EXAMPLES.values():
        assert seed_of(text) is not None


def test_nodes_find_each_other_by_the_text_of_a_folder(tmp_path: Path) -> None:
    """As one that is told it by an option does."""
    where = f"dir://{tmp_path}/nodes"
    with node("a", seeds=where) as a, node("b", seeds=[where]) as b:
        eventually(lambda: len(a.members()) == len(b.members()) == 2)
