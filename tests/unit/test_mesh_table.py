"""What a node keeps of others: the table, suspicions, rumours, signatures."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh.limits import MESSAGE_MAX, RUMOURS_MAX, Times
from meshmsg._mesh.octets import Rumour, Signed, Statement, signed_of
from meshmsg._mesh.rumours import Rumours
from meshmsg._mesh.signing import Ed25519Signer, ed25519_verify
from meshmsg._mesh.table import (
    HERE,
    PROVEN_TURN,
    Row,
    Suspicion,
    Table,
    observers,
    version_digest,
)
from meshmsg._mesh.told import State
from tests.support.mesh_nodes import record, signed_octets

TIMES = Times()
STATES = [State.ALIVE, State.SUSPECT, State.UNREACHABLE, State.LEFT, State.FORGOTTEN]


def signed(number: int, **changes: object) -> Signed:
    """A record of that node."""
    return signed_of(signed_octets(number, **changes))


def filled(count: int, seed: int = 1) -> Table:
    """So many members, all alive."""
    table = Table(Random(seed))
    for number in range(1, count + 1):
        one = signed(number)
        table.add(Row(one, State.ALIVE, 0.0, one.handle))
    return table


def digests_of(table: Table) -> tuple[int, list[int]]:
    """What they should be, counted anew."""
    whole, buckets = 0, [0] * 256
    for row in table.rows.values():
        if row.state != State.FORGOTTEN:
            version = version_digest(row.signed, row.state)
            whole ^= version
            buckets[row.signed.handle[0]] ^= version & 0xFFFF_FFFF
    return whole, buckets


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from([*STATES, None, "new"])), max_size=30))
def test_digests_counts_and_names_are_those_of_the_rows_whatever_is_done(
    steps: list[tuple[int, object]],
) -> None:
    """Adding, changing, replacing and removing in any order."""
    table, seq = Table(Random(1)), 1
    for number, what in steps:
        name = f"name-{number % 2}"
        row = table.rows.get(record(number).node_id[:8])
        if row is None:
            table.add(Row(signed(number, name=name), State.ALIVE, 0.0, b""))
        elif what is None:
            table.remove(row)
        elif what == "new":
            seq += 1
            table.replace(row, signed(number, name=f"name-{seq % 3}", seq=seq))
        else:
            table.change(row, what, 1.0, b"")  # type: ignore[arg-type]
        rows = list(table.rows.values())
        assert (table.digest, table.buckets) == digests_of(table)
        assert table.here == sum(row.state in HERE for row in rows)
        assert table.known == len(rows)
        assert set(table.absent) == {r.signed.handle for r in rows if r.state not in HERE}
        for name in ("name-0", "name-1", "name-2"):
            named = {row.signed.handle for row in table.named(name)}
            assert named == {r.signed.handle for r in rows if r.signed.record.name == name}


def test_each_member_is_probed_once_a_round() -> None:
    """In another order each time."""
    table = filled(20)
    rounds = []
    for _ in range(4):
        found = [table.next_probed() for _ in range(20)]
        rounds.append([row.signed.handle for row in found if row is not None])
    assert all(set(one) == set(table.rows) for one in rounds[1:])
    assert rounds[1] != rounds[2] != rounds[3]


def test_nobody_is_probed_who_is_not_there() -> None:
    """And nobody at all when nobody is."""
    table = filled(5)
    for row in table.rows.values():
        table.change(row, State.UNREACHABLE, 1.0, b"")
    assert table.next_probed() is None
    assert table.some(3) == []
    assert Table(Random(1)).next_probed() is None


def test_members_that_are_picked_are_distinct_alive_and_not_the_one_that_is_left_out() -> None:
    """Helpers of a probe."""
    table = filled(10)
    rows = list(table.rows.values())
    table.change(rows[0], State.SUSPECT, 1.0, b"")
    for _ in range(50):
        found = table.some(3, rows[1].signed.handle)
        assert len({row.signed.handle for row in found}) == len(found) == 3
        assert rows[0] not in found
        assert rows[1] not in found


def proven(table: Table, count: int) -> set[bytes]:
    """Have so many answer; return who."""
    rows = list(table.rows.values())[:count]
    for row in rows:
        table.heard(row, 1.0)
        table.heard(row, 2.0)
    return {row.signed.handle for row in rows}


def test_who_answered_once_is_probed_often_whatever_is_told_of_beside() -> None:
    """Five of five hundred: each has a turn in five times `PROVEN_TURN`, and all others do, too."""
    table = filled(500)
    wanted = proven(table, 5)
    found = [row.signed.handle for _ in range(700) if (row := table.next_probed())]
    for at in range(0, 600, 20):
        assert wanted <= set(found[at : at + 10 * PROVEN_TURN])
    assert len(set(found)) == 500


def test_half_of_those_who_are_picked_answered_once() -> None:
    """So that news reaches them; the other half are of all."""
    table = filled(500)
    wanted = proven(table, 20)
    found = [row.signed.handle for _ in range(400) for row in table.some(3)]
    share = sum(handle in wanted for handle in found) / len(found)
    assert 0.4 <= share <= 0.6
    assert len(set(found)) > 250


def test_who_answered_once_and_is_gone_is_neither_probed_nor_picked_till_it_is_back() -> None:
    """Nor is it there twice, then."""
    table = filled(6)
    (gone,) = proven(table, 1)
    row = table.rows[gone]
    for _ in range(3):
        table.change(row, State.UNREACHABLE, 3.0, b"")
        for _ in range(30):
            assert table.next_probed() is not row
            assert row not in table.some(2)
        table.change(row, State.ALIVE, 4.0, b"")
    found = [table.next_probed() for _ in range(12 * PROVEN_TURN)]
    assert row in found
    assert table._proven == [gone]


def test_a_member_takes_at_most_200_octets_beside_its_record() -> None:
    """Row, table, order and names; the record itself is there before."""
    records = [signed(number) for number in range(1, 2001)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    table = Table(Random(1))
    for one in records:
        table.add(Row(one, State.ALIVE, 0.0, one.handle))
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert taken / len(records) <= 200


def suspicion(accusers: int, kind: Rumour = Rumour.SUSPECT) -> Suspicion:
    """One that began at 10 s."""
    found = Suspicion(1, 10.0)
    for number in range(accusers):
        found.add(Statement(kind, b"subject.", 1, b"by-%05d" % number, b""))
    return found


def test_a_suspicion_ends_sooner_the_more_accuse_and_never_before_its_minimum() -> None:
    """Three are as good as eight."""
    ends = []
    for accusers in (1, 2, 3, 8):
        one = suspicion(accusers)
        one.set_deadline(TIMES, 1000)
        ends.append(one.deadline - 10.0)
    assert ends[0] > ends[1] > ends[2] == ends[3]
    assert ends[0] == pytest.approx(TIMES.suspicion * 3 * TIMES.suspicion_max)
    assert ends[2] == pytest.approx(TIMES.suspicion * 3)


def test_an_accuser_counts_once_and_its_refusal_once() -> None:
    """Whatever it repeats."""
    one = suspicion(1)
    for _ in range(3):
        one.add(Statement(Rumour.REFUSED, b"subject.", 1, b"by-00000", b""))
    assert len(one.accusers) == one.refused == 1


def test_so_many_observers_are_enough_as_there_are_others() -> None:
    """In a small mesh fewer than three."""
    assert [observers(TIMES, members) for members in (1, 2, 3, 4, 5, 1000)] == [1, 1, 1, 2, 3, 3]


def test_a_rumour_is_passed_on_as_often_as_was_said() -> None:
    """And then no more."""
    rumours = Rumours()
    rumours.add(Rumour.SUSPECT, b"a", b"b", b"body")
    assert [len(rumours.pick(1000, 3)) for _ in range(4)] == [1, 1, 1, 0]
    assert len(rumours) == 0


def test_rumours_that_were_passed_on_least_come_first() -> None:
    """What is new is passed on before what is known to many."""
    rumours = Rumours()
    rumours.add(Rumour.SUSPECT, b"old", b"", b"1" * 90)
    rumours.pick(100, 9)
    rumours.add(Rumour.SUSPECT, b"new", b"", b"2" * 90)
    assert [data[3:4] for data in rumours.pick(100, 9)] == [b"2"]
    assert [data[3:4] for data in rumours.pick(200, 9)] == [b"2", b"1"] or len(rumours) == 2


def test_a_newer_rumour_takes_the_place_of_the_older_one() -> None:
    """Of the same matter."""
    rumours = Rumours()
    rumours.add(Rumour.RECORD, b"a", b"a", b"old")
    rumours.pick(1000, 9)
    rumours.add(Rumour.RECORD, b"a", b"a", b"new")
    assert [data[3:] for data in rumours.pick(1000, 9)] == [b"new"]
    rumours.drop(b"a")
    assert len(rumours) == 0


def test_no_more_rumours_wait_than_the_limit() -> None:
    """One that was passed on most often goes."""
    rumours = Rumours()
    rumours.add(Rumour.SUSPECT, b"first", b"", b"first")
    rumours.pick(1000, 9)
    for number in range(RUMOURS_MAX):
        rumours.add(Rumour.SUSPECT, b"%d" % number, b"", b"x")
    assert len(rumours) == RUMOURS_MAX
    rumours.drop(b"first")
    assert len(rumours) == RUMOURS_MAX


@given(st.lists(st.integers(0, 300), max_size=40), st.integers(0, MESSAGE_MAX))
def test_what_is_picked_fits(sizes: list[int], room: int) -> None:
    """Never more octets than there is room."""
    rumours = Rumours()
    for number, size in enumerate(sizes):
        rumours.add(Rumour.RECORD, b"%d" % number, b"", bytes(size))
    for _ in range(5):
        assert sum(map(len, rumours.pick(room, 3))) <= room


def test_a_signature_is_good_for_its_key_and_its_octets_only() -> None:
    """And what is no key or no signature is none."""
    signer, other = Ed25519Signer(b"1" * 32), Ed25519Signer(b"2" * 32)
    signature = signer.sign(b"data")
    assert ed25519_verify(signer.key, b"data", signature)
    assert not ed25519_verify(other.key, b"data", signature)
    assert not ed25519_verify(signer.key, b"Data", signature)
    assert not ed25519_verify(signer.key, b"data", signature[:-1])
    assert not ed25519_verify(b"short", b"data", signature)


def test_a_signer_shows_nothing_of_its_private_key_and_refuses_one_of_another_size() -> None:
    """Neither by repr nor by an error."""
    assert b"1" * 8 not in repr(Ed25519Signer(b"1" * 32)).encode()
    assert "31" * 8 not in repr(Ed25519Signer(b"1" * 32))
    with pytest.raises(ValueError, match="31 octets, not 32"):
        Ed25519Signer(b"1" * 31)
