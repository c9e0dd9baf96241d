"""What the members of a large mesh take of the memory of one node."""

from __future__ import annotations

import pytest

from meshmsg._mesh.limits import META_ITEMS_MAX, RECORD_MAX
from meshmsg._mesh.octets import MalformedError
from meshmsg._mesh.told import Service

from .memory import SERVICE, raw_record, table_mib, table_octets
from .sizes import large
from .targets import LARGEST_KIB, MEMORY_MIB

TEN_THOUSAND = 10_000
FEW = 30


@pytest.mark.parametrize("services", [(), (SERVICE,)], ids=["none", "one"])
@pytest.mark.parametrize("members", [2_000, large(TEN_THOUSAND)])
def test_ten_thousand_members_take_little_memory(
    members: int, services: tuple[Service, ...]
) -> None:
    """Of nodes that offer nothing, and of those that offer one service."""
    assert table_mib(members, services) * TEN_THOUSAND / members <= MEMORY_MIB


def largest(number: int) -> bytes:
    """A record of as many and as small parts as there may be: metadata first, then services."""
    names = [chr(0xE0 + index // 26) + chr(97 + index % 26) for index in range(META_ITEMS_MAX)]
    full = Service("n", "r", "w", (), tuple((name, "") for name in names))
    bare = Service("n", "r", "w", ())
    services: list[Service] = []
    raw = raw_record(number)
    for made in (full, bare):
        try:
            while True:
                raw = raw_record(number, [*services, made])
                services.append(made)
        except MalformedError:
            continue
    return raw


def test_a_record_that_is_made_to_be_large_in_memory_is_bounded() -> None:
    """Of names that no two parts share."""
    raws = [largest(number) for number in range(FEW)]
    assert max(map(len, raws)) > RECORD_MAX - 16
    assert table_octets(raws) / FEW / 1024 <= LARGEST_KIB
