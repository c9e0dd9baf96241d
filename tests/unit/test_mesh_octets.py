"""The octets of the mesh: records, statements, rumours."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh.limits import (
    ENDPOINTS_MAX,
    META_ITEMS_MAX,
    META_MAX,
    NAME_MAX,
    RECORD_MAX,
    SERVICE_NAME_MAX,
    SERVICES_MAX,
    WEIGHT_MAX,
)
from meshmsg._mesh.octets import (
    SIGNATURE,
    STATEMENT_SIZE,
    MalformedError,
    Rumour,
    Statement,
    check_name,
    cluster_tag,
    node_id_of,
    record_octets,
    rumour_octets,
    rumours_of,
    signed_of,
    statement_of,
    statement_raw,
    version_of,
)
from meshmsg._mesh.told import Record, Service
from tests.support.mesh_nodes import SERVICE, record, signed_octets

NAMES = st.text(
    st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=SERVICE_NAME_MAX // 4
)
SERVICES = st.builds(
    Service,
    NAMES,
    st.sampled_from(["push", "pull", "rep"]),
    st.sampled_from(["zmtp", "sp"]),
    st.lists(NAMES.map("tcp://{}:1".format), max_size=2).map(tuple),
    st.lists(st.tuples(NAMES, st.text(max_size=20)), max_size=2).map(tuple),
    st.integers(0, WEIGHT_MAX),
    st.binary(max_size=40),
)
U32S = st.integers(0, 2**32 - 1)


@given(
    st.lists(SERVICES, max_size=2).map(tuple), NAMES, U32S, U32S, st.integers(0, 2**64 - 1), NAMES
)
def test_a_record_is_read_as_it_was_written(
    services: tuple[Service, ...], name: str, incarnation: int, seq: int, epoch: int, zone: str
) -> None:
    """Each part of it, and its id is that of its key and its start."""
    said = replace(
        record(1),
        name=name,
        zone=zone,
        services=services,
        incarnation=incarnation,
        seq=seq,
        boot_epoch=epoch,
    )
    try:
        data = record_octets(said)
    except MalformedError:
        return  # beyond a limit of octets: that it is one, another test says
    got = signed_of(data + bytes(SIGNATURE))
    expected = replace(said, node_id=node_id_of(said.sign_key, epoch), signature=bytes(SIGNATURE))
    assert got.record == expected
    assert version_of(got.raw) == (got.handle, incarnation, seq)


@given(st.binary(max_size=400))
def test_arbitrary_octets_are_malformed_or_a_record_and_nothing_else(data: bytes) -> None:
    """No other error comes out."""
    for read in (signed_of, version_of, lambda raw: statement_of(Rumour.SUSPECT, raw)):
        try:
            read(data)
        except MalformedError:
            pass


@given(st.data())
def test_a_record_with_some_octets_changed_is_malformed_or_the_record_of_these_octets(
    data: st.DataObject,
) -> None:
    """What is read says exactly what stands there: no two forms of one record."""
    raw = bytearray(signed_octets(1, services=(SERVICE,)))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        got = signed_of(bytes(raw))
    except MalformedError:
        return
    assert record_octets(got.record) == bytes(raw[:-SIGNATURE])


def test_a_record_that_is_cut_anywhere_is_malformed() -> None:
    """And one with octets behind it, too."""
    raw = signed_octets(1, services=(SERVICE,))
    for size in range(len(raw)):
        with pytest.raises(MalformedError):
            signed_of(raw[:size])
    with pytest.raises(MalformedError):
        signed_of(raw + b"\0")


def test_the_octets_of_a_record_are_these() -> None:
    """A golden vector: other releases read it."""
    said = Record(
        node_id=b"",
        name="a",
        cluster="c",
        boot_epoch=1,
        incarnation=2,
        seq=3,
        sign_key=bytes(range(32)),
        addresses=("tcp://h:1",),
        host="h",
        zone="z",
        services=(Service("s", "pull", "sp", ("tcp://h:2",), (("m", "v"),), 5, b"k"),),
    )
    expected = (
        "01" + bytes(range(32)).hex() + "0000000000000001" + "00000002" + "00000003"
        "0163" "0161" "0168" "017a"
        "01" "09" + b"tcp://h:1".hex() + "01" "0173" "04" + b"pull".hex() + "02" + b"sp".hex()
        + "01" "09" + b"tcp://h:2".hex() + "01" "016d" "000176" "0005" "016b"
    )  # fmt: skip
    assert record_octets(said).hex() == expected
    assert node_id_of(bytes(range(32)), 1).hex() == "08e65fa116fd4e812abb49292db3adf3"
    assert cluster_tag("etl").hex() == "508c4044"


@pytest.mark.parametrize(
    "name", ["a\0b", "a\nb", "../a", "a/b", "a\\b", ".", "..", "", "\x7f", "\u202e"]
)
def test_a_name_that_is_part_of_a_path_or_cannot_be_printed_is_refused(name: str) -> None:
    """Written or read."""
    with pytest.raises(MalformedError):
        check_name(name, NAME_MAX, "the name")
    with pytest.raises(MalformedError):
        record_octets(record(1, name=name))
    with pytest.raises(MalformedError):
        record_octets(record(1, services=(replace(SERVICE, name=name),)))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"name": "x" * NAME_MAX}, {"name": "x" * (NAME_MAX + 1)}),
        ({"zone": "x" * NAME_MAX}, {"zone": "x" * (NAME_MAX + 1)}),
        (
            {"addresses": ("tcp://a:1",) * ENDPOINTS_MAX},
            {"addresses": ("tcp://a:1",) * (ENDPOINTS_MAX + 1)},
        ),
        (
            {"services": (Service("a", "b", "c", ()),) * SERVICES_MAX},
            {"services": (Service("a", "b", "c", ()),) * (SERVICES_MAX + 1)},
        ),
        ({"incarnation": 2**32 - 1}, {"incarnation": 2**32}),
        ({"seq": 2**32 - 1}, {"seq": 2**32}),
        ({"boot_epoch": 2**64 - 1}, {"boot_epoch": 2**64}),
    ],
)
def test_a_record_at_its_limit_is_written_and_beyond_it_is_refused(
    good: dict[str, object], bad: dict[str, object]
) -> None:
    """Each limit of a record."""
    assert record_octets(record(1, **good))
    with pytest.raises(MalformedError):
        record_octets(record(1, **bad))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"name": "x" * SERVICE_NAME_MAX}, {"name": "x" * (SERVICE_NAME_MAX + 1)}),
        ({"weight": WEIGHT_MAX}, {"weight": WEIGHT_MAX + 1}),
        ({"weight": 0}, {"weight": -1}),
        (
            {"meta": (("a", "x" * (META_MAX - 1)),)},
            {"meta": (("a", "x" * META_MAX),)},
        ),
        (
            {"meta": (("", ""),) * META_ITEMS_MAX},
            {"meta": (("", ""),) * (META_ITEMS_MAX + 1)},
        ),
        ({"meta": (("x" * 255, ""),)}, {"meta": (("x" * 256, ""),)}),
        ({"endpoints": ("tcp://a:1",)}, {"endpoints": ("a:1",)}),
    ],
)
def test_a_service_at_its_limit_is_written_and_beyond_it_is_refused(
    good: dict[str, object], bad: dict[str, object]
) -> None:
    """Each limit of a service."""
    assert record_octets(record(1, services=(replace(SERVICE, **good),)))  # type: ignore[arg-type]
    with pytest.raises(MalformedError):
        record_octets(record(1, services=(replace(SERVICE, **bad),)))  # type: ignore[arg-type]


def test_a_record_of_more_than_a_datagram_is_refused() -> None:
    """Every part is within its limit, all of it is not."""
    big = replace(SERVICE, meta=(("a", "x" * 255),))
    with pytest.raises(MalformedError, match=str(RECORD_MAX)):
        record_octets(record(1, services=(big,) * 4))
    with pytest.raises(MalformedError, match=str(RECORD_MAX)):
        signed_of(bytes(RECORD_MAX + 1))


def test_a_name_that_is_no_utf_8_is_refused() -> None:
    """A lone surrogate."""
    with pytest.raises(MalformedError, match="UTF-8"):
        record_octets(record(1, name="\ud800"))


@given(st.binary(min_size=8, max_size=8), U32S, st.binary(min_size=8, max_size=8))
def test_a_statement_is_read_as_it_was_written(subject: bytes, incarnation: int, by: bytes) -> None:
    """And has one size."""
    said = Statement(Rumour.SUSPECT, subject, incarnation, by, bytes(SIGNATURE))
    raw = statement_raw(said)
    assert len(raw) == STATEMENT_SIZE
    assert statement_of(Rumour.SUSPECT, raw) == said


@given(st.lists(st.tuples(st.sampled_from(list(Rumour)), st.binary(max_size=RECORD_MAX))))
def test_rumours_are_read_as_they_were_written(rumours: list[tuple[Rumour, bytes]]) -> None:
    """Behind something else."""
    data = b"front" + b"".join(rumour_octets(kind, body) for kind, body in rumours)
    assert list(rumours_of(data, 5)) == rumours


@given(st.binary(max_size=200))
def test_arbitrary_octets_as_rumours_are_malformed_or_end_where_the_message_ends(
    data: bytes,
) -> None:
    """No other error comes out, and no octet is left over."""
    try:
        found = list(rumours_of(data, 0))
    except MalformedError:
        return
    assert b"".join(rumour_octets(kind, body) for kind, body in found) == data


def test_clusters_have_tags_of_their_own() -> None:
    """Four octets."""
    assert len({cluster_tag(f"cluster-{i}") for i in range(100)}) == 100
    assert len(cluster_tag("a")) == 4


def test_texts_that_records_of_one_mesh_share_are_in_memory_once() -> None:
    """Of ten thousand members that is some megabytes."""
    one, two = (signed_of(signed_octets(n, zone="zone-a", services=(SERVICE,))) for n in (1, 2))
    first, second = one.record, two.record
    assert first.cluster is second.cluster
    assert first.zone is second.zone
    for name in ("name", "role", "wire"):
        assert getattr(first.services[0], name) is getattr(second.services[0], name)
    assert not hasattr(first, "__dict__")
