"""Messages of syncs that are compressed on the way."""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh.limits import SYNC_MAX
from meshmsg._mesh.messages import HEAD, Kind
from meshmsg._mesh.octets import MalformedError, Rumour, cluster_tag, rumour_octets
from meshmsg._mesh.packing import PACKED_FROM, RAW, packed, unpacked
from tests.support.mesh_nodes import answers, arrival, core, handle, signed_octets


def head(kind: Kind) -> bytes:
    """Of a message of node 1."""
    return HEAD.pack(1, kind, cluster_tag("test"), handle(1))


def squeezed(body: bytes, kind: int = Kind.RECORDS) -> bytes:
    """A compressed message, whatever is in it."""
    made = zlib.compressobj(9, zlib.DEFLATED, RAW)
    return head(Kind.PACKED) + bytes((kind,)) + made.compress(body) + made.flush()


def records(*numbers: int) -> bytes:
    """What a sync brings."""
    return b"".join(rumour_octets(Rumour.RECORD, signed_octets(number)) for number in numbers)


@pytest.mark.parametrize("kind", [Kind.RECORDS, Kind.VERSIONS])
def test_a_message_is_the_same_after_its_way_and_shorter_on_it(kind: Kind) -> None:
    """A third of a record is what all have in common."""
    data = head(kind) + records(*range(1, 50))
    sent = packed(data)
    assert sent[1] == Kind.PACKED
    assert len(sent) < 0.8 * len(data)
    assert unpacked(sent) == (kind, data)


def test_what_does_not_get_shorter_is_sent_as_it_is() -> None:
    """Nor is it tried with what is short."""
    for data in (head(Kind.RECORDS) + os.urandom(500), head(Kind.RECORDS) + bytes(200)):
        assert len(data) != PACKED_FROM
        assert packed(data) is data


@given(st.binary(max_size=200))
def test_arbitrary_octets_are_malformed_or_a_message(data: bytes) -> None:
    """Nothing else comes of them."""
    try:
        kind, whole = unpacked(head(Kind.PACKED) + data)
    except MalformedError:
        return
    assert whole[1] == kind
    assert len(whole) <= SYNC_MAX


@pytest.mark.parametrize(
    "wrong",
    [
        head(Kind.PACKED),
        squeezed(bytes(10), Kind.PACKED),
        squeezed(bytes(10), Kind.PING),
        squeezed(bytes(10), 99),
        squeezed(bytes(SYNC_MAX - HEAD.size + 1)),
        squeezed(bytes(50 * SYNC_MAX)),
        squeezed(bytes(1000))[:-1],
        squeezed(bytes(1000)) + b"x",
    ],
    ids=["empty", "twice", "a probe", "no kind", "one too many", "a bomb", "cut", "more behind"],
)
def test_what_is_not_sent_so_is_malformed(wrong: bytes) -> None:
    """Before it is larger than any message, and counted by who gets it."""
    assert len(wrong) < SYNC_MAX
    with pytest.raises(MalformedError):
        unpacked(wrong)
    node = core()
    node.arrived(0.0, arrival(wrong))
    assert node.here.counts["malformed message"] == 1


def test_the_largest_message_is_taken() -> None:
    """All of it."""
    data = head(Kind.RECORDS) + bytes(SYNC_MAX - HEAD.size)
    assert unpacked(packed(data)) == (Kind.RECORDS, data)


def test_a_node_takes_records_that_were_compressed_and_sends_its_own_so() -> None:
    """As a sync has them."""
    node = core()
    node.arrived(1.0, arrival(packed(head(Kind.RECORDS) + records(*range(1, 20)))))
    assert len(node.here.table.rows) == 19
    wanted = b"".join(handle(number) for number in range(1, 20))
    node.take()
    node.arrived(1.0, arrival(head(Kind.WANT) + wanted))
    (answer,) = answers(node)
    kind, data = unpacked(answer.data)
    assert kind == Kind.RECORDS
    assert data.endswith(records(*range(1, 20)))


def test_a_compressed_datagram_is_not_read() -> None:
    """An answer is not larger than its question, which is as long as it was on the way."""
    node = core()
    node.arrived(1.0, arrival(packed(head(Kind.RECORDS) + records(*range(1, 20))), reply=0))
    assert not node.here.table.rows
