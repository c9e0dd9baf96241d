"""A node whose machine gets another address notices it by itself, and has others tell it where it
is now.

Not here: what others see, and who of them is believed (test_mesh_addresses.py); machines whose
addresses change (tests/fault/test_faults_moved.py, test_mesh_crowd.py).
"""

from __future__ import annotations

import errno
import os
import socket

import pytest

from meshmsg.mesh._place import OBSERVERS_MAX, Place, is_here
from tests.support.meshes import WAIT_S, eventually, node

OLD, NEW = "10.0.0.5", "10.0.0.6"


def seen(place: Place, ip: str, *several: int) -> bool:
    """Have these observers see it there; tell whether the last of them was news."""
    return [place.seen_at(f"tcp://{ip}:50000", bytes([one])) for one in several][-1]


def test_an_address_that_is_gone_is_told_once_and_who_saw_it_counts_no_more() -> None:
    """However many they were: the next one is believed."""
    own = {OLD}
    place = Place("tcp://0.0.0.0:7450", "auto", own=own.__contains__)
    assert not place.vanished(), "nobody has seen it"
    seen(place, OLD, *range(OBSERVERS_MAX))
    assert not place.vanished()
    own.clear()
    assert [place.vanished(), place.vanished()] == [True, False]
    assert place.addresses == (f"tcp://{OLD}:7450",), "until anybody sees it elsewhere"
    assert seen(place, NEW, 1)
    assert place.addresses == (f"tcp://{NEW}:7450",)


def test_an_address_that_comes_back_may_vanish_again() -> None:
    """As it does where a cable is loose."""
    own = {OLD}
    place = Place("tcp://0.0.0.0:7450", "auto", own=own.__contains__)
    seen(place, OLD, 1)
    for _ in range(3):
        own.clear()
        assert place.vanished()
        own.add(OLD)
        assert not place.vanished(), "nobody has seen it there again"
        assert not seen(place, OLD, 1), "it is no news"


def test_an_address_that_was_never_of_this_machine_says_nothing() -> None:
    """Others see that of a router: behind NAT."""
    place = Place("tcp://0.0.0.0:7450", "auto", own=set[str]().__contains__)
    seen(place, OLD, 1, 2, 3)
    assert not place.vanished()
    assert not seen(place, NEW, 1), "most count, as ever"


@pytest.mark.parametrize("advertise", ["auto", "tcp://10.0.0.9:1"])
def test_an_address_that_was_said_is_not_looked_for(advertise: str) -> None:
    """By `bind`, or by `advertise`."""
    bound = f"tcp://{OLD if advertise == 'auto' else '0.0.0.0'}:7450"
    place = Place(bound, advertise, own=set[str]().__contains__)
    seen(place, OLD, 1)
    assert not place.vanished()


def test_the_system_says_which_addresses_are_of_this_machine() -> None:
    """192.0.2.1 is nobody's."""
    assert is_here("127.0.0.1")
    assert not is_here("192.0.2.1")
    assert not is_here("2001:db8::1")


def test_a_system_that_cannot_be_asked_has_lost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it has no descriptor left."""

    def fails(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket, "socket", fails)
    assert is_here("192.0.2.1")


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_node_whose_address_is_gone_makes_its_connections_anew(
    monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    """Those there are would be dead; others see the new ones, and it is the same node to them."""
    everywhere = {"bind": "tcp://0.0.0.0:0", "insecure": True, "transport": transport}
    with node("b", transport=transport) as b, node("a", b.endpoint, **everywhere) as a:
        a.wait_for(count=2, timeout=WAIT_S)
        eventually(lambda: a._driver.place.addresses)
        link, place = a._driver.link, a._driver.place
        (before,) = eventually(lambda: [made for made in link._open.values() if made.up])
        observers = place._seen
        place._seen.update((bytes([one]), "127.0.0.1") for one in range(OBSERVERS_MAX))
        monkeypatch.setattr(place, "_own", lambda ip: False)
        after = lambda: [made for made in link._open.values() if made.up and made is not before]  # noqa: E731
        eventually(after)
        assert before not in link._open.values()
        eventually(lambda: 0 < len(observers) < OBSERVERS_MAX)
        assert [one.record.node_id for one in b.wait_for(count=2, timeout=WAIT_S)] == [
            b.node_id,
            a.node_id,
        ]
