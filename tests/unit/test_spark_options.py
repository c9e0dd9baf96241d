"""Options of the Spark source: read, refused with the near name, and the schema that they make."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._ranges.form import lease_name
from meshmsg.spark._source.elsewhere import _SAID
from meshmsg.spark._source.holding import RUN
from meshmsg.spark._source.options import (
    _OPTIONS,
    MARK_SIZE,
    OPTION_NAMES,
    MeshOptions,
    Moments,
    columns_asked,
    source_options,
)
from meshmsg.spark._source.schema import COLUMNS
from tests.support.sparked import URL, A, B, options

ROOT_OF_WRONG = [
    ("endpoints", " , ", "is empty"),
    ("endpoints", "tcp://a:1,tcp://a:1", "names something twice"),
    ("columns", "value,ofset", "did you mean offset?"),
    ("columns", "value,value", "twice"),
    ("includeHeaders", "yes", "it is true or false"),
    ("startingOffsets", "newest", "it is earliest, latest, or JSON"),
    ("startingOffsets", "{}", "it is earliest, latest, or JSON"),
    ("startingOffsets", '{"x": 1}', "32 hex digits"),
    ("startingOffsets", f'{{"{A}": 1, "{A}": 2}}', f"has '{A}' twice"),
    ("startingOffsetsByTimestamp", f'{{"{A}": 1, "{A}": 1}}', f"has '{A}' twice"),
    ("startingOffsets", f'{{"{A}": 0}}', "a number from 1 on"),
    ("startingOffsets", f'{{"{A}": true}}', "a number from 1 on"),
    ("startingOffsets", f'{{"{A}": "1"}}', "a number from 1 on"),
    ("maxOffsetsPerTrigger", "0", "1 to 9,223,372,036,854,775,807"),
    ("maxOffsetsPerTrigger", "1.5", "whole number"),
    ("maxOffsetsPerTrigger", "9" * 30, "whole number"),
    ("maxBytesPerTrigger", "8x", "bytes, such as"),
    ("batchBytes", "100", "4,096 to 1,073,741,824"),
    ("minPartitions", "100001", "1 to 100,000"),
    ("maxTriggerDelay", "0", "above 0"),
    ("groupTtl", "8d", "to 604,800 s"),
    ("fetchTimeout", "soon", "it is a time such as"),
    ("failOnDataLoss", "", "it is true or false"),
    ("groupId", " ", "is empty"),
    ("groupId", "my group", "1 to 53 of A-Z"),
    ("groupId", ".g", "no dot in front"),
    ("groupId", "g" * 54, "1 to 53 of A-Z"),
    ("groupIdPrefix", "g" * 37, "1 to 36 of A-Z"),
    ("startingTimestamp", "yesterday", "milliseconds since 1970, or a time with its zone"),
    ("startingTimestamp", "2026-11-28T09:30:00", "a time with its zone"),
    ("startingTimestamp", "1969-11-28T09:30:00Z", "milliseconds since 1970"),
    ("startingTimestamp", "9" * 18, "milliseconds since 1970"),
    ("startingTimestamp", "-5", "milliseconds since 1970"),
    ("startingOffsetsByTimestamp", "5", "it is JSON such as"),
    ("startingOffsetsByTimestamp", '{"x": 5}', "it is JSON such as"),
    ("startingOffsetsByTimestamp", f'{{"{A}": true}}', "milliseconds since 1970"),
    ("delivery", "exactly_once", "at_least_once or at_most_once"),
    ("retireAfter", "never", "it is a time such as"),
    ("fetchRetries", "1001", "0 to 1,000"),
    ("fetchRetryInterval", "0", "above 0"),
    ("assign", '["x"]', "32 hex digits each, with commas between"),
    ("assign", f"{A},{A}", "names something twice"),
    ("retireAfter", "1d", "is of spools that a mesh finds"),
]


@pytest.mark.parametrize(("name", "value", "why"), ROOT_OF_WRONG)
def test_what_an_option_cannot_be_is_said_with_its_name(name: str, value: str, why: str) -> None:
    """And with what it can be."""
    with pytest.raises(mm.UsageError) as raised:
        options(**{name: value})
    assert f"option {name} " in str(raised.value)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
        ("startingoffset", "startingOffsets"),
        ("endpoint", "endpoints"),
        ("failondataloss2", "failOnDataLoss"),
    ],
)
def test_an_unknown_option_is_refused_with_the_near_name(word: str, near: str) -> None:
    """Kafka ignores it; a limit that is misspelled would be none."""
    with pytest.raises(mm.UsageError, match=f"{word} is none .* did you mean {near}"):
        options(**{word: 1})


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("kafka.bootstrap.servers", "say endpoints"),
        ("kafka.security.protocol", "security says what protects"),
        ("kafkaConsumer.pollTimeoutMs", "say fetchTimeout"),
        ("onProducerLost", "failOnDataLoss says what becomes"),
        ("producerTimeout", "say fetchTimeout for tasks"),
        ("pushdown", "subscribe, assign"),
    ],
)
def test_who_looks_for_an_option_of_another_source_is_told_what_to_use(
    word: str, advice: str
) -> None:
    """And the page for those who come from Kafka says the same of it."""
    with pytest.raises(mm.UsageError, match=f"option {word} is none .*{advice}"):
        options(**{word: 1})
    page = Path(__file__).parents[2] / "docs/guide/spark-from-kafka.md"
    assert f"`{word}`" in page.read_text(encoding="utf-8")


def test_what_is_said_of_options_elsewhere_names_options_that_are_there() -> None:
    """None of which is misspelled."""
    for word, said in _SAID.items():
        assert word not in map(str.lower, OPTION_NAMES)
        named = re.findall(r"[a-z]+[A-Z]\w+", said)
        assert set(named) <= set(OPTION_NAMES), said


def test_a_name_that_is_near_nothing_gets_no_advice() -> None:
    """A wrong advice is worse than none."""
    with pytest.raises(mm.UsageError) as raised:
        options(zzzzzzzz=1)
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    "value", ["1795858200250", " 2026-11-28T09:30:00.25Z ", "2026-11-28T10:30:00.250+01:00"]
)
def test_a_time_is_milliseconds_or_says_its_zone(value: str) -> None:
    """Of all spools, or of some."""
    time = 1_795_858_200_250_000
    assert options(startingTimestamp=value).starting == Moments("startingTimestamp", time, {})
    each = options(startingOffsetsByTimestamp=json.dumps({A: value})).starting
    assert each == Moments("startingOffsetsByTimestamp", None, {A: time})


def test_two_beginnings_are_one_too_many() -> None:
    """None is taken before the other without a word."""
    with pytest.raises(mm.UsageError, match="startingOffsets and startingTimestamp are there"):
        options(startingOffsets="earliest", startingTimestamp="5")
    with pytest.raises(mm.UsageError, match="endingTimestamp is not one of readStream"):
        options(endingTimestamp="5")


MESH = {"mesh.cluster": "etl", "mesh.seeds": "10.0.0.5:7450,b:7450", "mesh.service": "orders"}


def test_a_mesh_stands_in_place_of_endpoints() -> None:
    """With what it needs; the rest has defaults."""
    found = source_options({name.lower(): value for name, value in MESH.items()}, stream=False)
    assert found.endpoints == ()
    assert found.mesh == MeshOptions("etl", "orders", ("10.0.0.5:7450", "b:7450"))
    more = {"mesh.secretFile": "/s", "mesh.bind": "tcp://*:7450", "mesh.minProducers": "3"}
    mesh = source_options({**MESH, **more}, stream=True).mesh
    assert mesh is not None
    assert mesh[3:] == ("/s", "tcp://*:7450", 3)


@pytest.mark.parametrize(
    ("seeds", "why"),
    [
        ("h:1,junk", "option mesh.seeds: a seed is 'junk'"),
        ("dns://name", "option mesh.seeds: a seed is 'dns://name', and such a one is as dns://"),
    ],
)
def test_seeds_of_a_mesh_are_looked_at_as_the_options_are_read(seeds: str, why: str) -> None:
    """Not only once the driver joins; other kinds than addresses stay as they are written."""
    with pytest.raises(mm.UsageError, match=why):
        source_options({**MESH, "mesh.seeds": seeds}, stream=True)
    several = "dns://nodes.example.com:7450, dir:///mnt/nodes"
    mesh = source_options({**MESH, "mesh.seeds": several}, stream=True).mesh
    assert mesh is not None
    assert mesh.seeds == ("dns://nodes.example.com:7450", "dir:///mnt/nodes")


@pytest.mark.parametrize("missing", MESH)
def test_what_a_mesh_needs_is_said(missing: str) -> None:
    """By its name."""
    given = {name: value for name, value in MESH.items() if name != missing}
    with pytest.raises(mm.UsageError, match=f"option {missing} is missing"):
        source_options(given, stream=True)


def test_a_mesh_and_endpoints_are_one_too_many() -> None:
    """Neither would be left out without a word."""
    with pytest.raises(mm.UsageError, match=r"endpoints and mesh\.\* are there"):
        options(endpoints=URL, **MESH)
    with pytest.raises(mm.UsageError, match=r"mesh.cluster is not one of delivery"):
        source_options({**MESH, "delivery": "at_most_once"}, stream=True)


def test_case_does_not_matter_as_spark_hands_them_over_in_lower_case() -> None:
    """As of any option of Spark."""
    found = source_options({name.lower(): "1" for name in ("ENDPOINTS", "retainBatches")}, stream=1)  # type: ignore[arg-type]
    assert (found.endpoints, found.retain) == (("1",), 1)


def test_without_endpoints_there_is_no_source() -> None:
    """`load(PATH)` is one, too."""
    with pytest.raises(mm.UsageError, match="option endpoints is missing"):
        source_options({}, stream=True)
    assert source_options({"path": URL}, stream=False).endpoints == (URL,)
    with pytest.raises(mm.UsageError, match=r"endpoints and load\(PATH\) are there"):
        source_options({"path": URL, "endpoints": URL}, stream=False)


@pytest.mark.parametrize(
    ("value", "seconds"), [("10", 10.0), ("500ms", 0.5), ("1.5 s", 1.5), ("15m", 900), ("2h", 7200)]
)
def test_times_have_units(value: str, seconds: float) -> None:
    """Seconds without one."""
    assert options(fetchTimeout=value).fetch_timeout == seconds


@pytest.mark.parametrize(("value", "size"), [("65536", 65536), ("64k", 65536), ("8MB", 2**23)])
def test_sizes_have_units(value: str, size: int) -> None:
    """Bytes without one."""
    assert options(maxBytesPerTrigger=value).max_bytes == size


def test_a_stream_begins_with_what_comes_and_a_batch_with_what_is_there() -> None:
    """As Kafka's source does."""
    assert options().starting == "latest"
    assert options(stream=False).starting == "earliest"


@pytest.mark.parametrize(
    ("stream", "name", "value"),
    [
        (False, "maxOffsetsPerTrigger", 1),
        (False, "groupId", "g"),
        (True, "endingOffsets", "latest"),
        (True, "liveWindow", "1s"),
    ],
)
def test_an_option_of_another_kind_of_reader_is_refused(
    stream: bool, name: str, value: object
) -> None:
    """It would do nothing, and be thought to."""
    with pytest.raises(mm.UsageError, match=f"option {name} is not one of"):
        options(stream=stream, **{name: value})


def test_at_most_once_is_a_stream_without_places() -> None:
    """Nothing of it can be read twice."""
    assert options(delivery="at-most-once").live
    with pytest.raises(mm.UsageError, match="of readStream only"):
        options(stream=False, delivery="at_most_once")
    with pytest.raises(mm.UsageError, match="startingOffsets is not one of"):
        options(delivery="at_most_once", startingOffsets="latest")


def test_limits_that_exclude_each_other_are_refused() -> None:
    """Such a query would never have a batch but by its delay."""
    with pytest.raises(mm.UsageError, match="the first is not above the second"):
        options(minOffsetsPerTrigger=5, maxOffsetsPerTrigger=4)
    assert options(minOffsetsPerTrigger=4, maxOffsetsPerTrigger=4).min_rows == 4


@pytest.mark.parametrize(
    ("starting", "ending", "said"),
    [
        (("startingTimestamp", 2000), ("endingTimestamp", 1999), "is 1970-01-01T00:00:02"),
        (("startingTimestamp", 2000), ("endingTimestamp", 2000), ""),
        (("startingTimestamp", 2000), ("endingOffsets", {A: 1}), ""),
        (("startingTimestamp", 2000), ("endingOffsetsByTimestamp", {A: 1000}), f"for {A}: the"),
        (
            ("startingOffsetsByTimestamp", {A: 5, B: 7}),
            ("endingOffsetsByTimestamp", {A: 6, B: 6}),
            f"endingOffsetsByTimestamp is .* for {B}: the first is not above the second",
        ),
    ],
)
def test_a_read_that_ends_before_it_begins_is_refused(
    starting: tuple[str, object], ending: tuple[str, object], said: str
) -> None:
    """It would find no row, and say nothing. What numbers say is looked at as it is planned."""
    given = {
        name: json.dumps(value) if isinstance(value, dict) else value
        for name, value in (starting, ending)
    }
    if not said:
        assert options(stream=False, **given)
        return
    with pytest.raises(mm.UsageError, match=said):
        options(stream=False, **given)


def test_a_group_has_a_name_that_leases_can_have() -> None:
    """With what tells its run, and what is drawn for it: the longest ones are just that long."""
    longest, prefix = options(groupId="g" * 53).group, options(groupIdPrefix="g" * 36).group_prefix
    assert longest is not None
    assert lease_name((longest + RUN).encode())
    assert not lease_name((longest + "g" + RUN).encode())
    assert prefix is not None
    assert len(prefix) + 1 + 2 * MARK_SIZE == len(longest)
    with pytest.raises(mm.UsageError, match="groupId and groupIdPrefix are there"):
        options(groupId="g", groupIdPrefix="g")


def test_topics_are_named_or_matched() -> None:
    """Not both, and not by what is no regular expression."""
    assert options(subscribe="a, b").topics == ("a", "b")
    assert options(subscribePattern="a.*").pattern == "a.*"
    with pytest.raises(mm.UsageError, match="one of them is enough"):
        options(subscribe="a", subscribePattern="a")
    with pytest.raises(mm.UsageError, match=r"subscribePattern is '\(', no regular expression"):
        options(subscribePattern="(")


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ({}, "key value topic producer epoch offset timestamp"),
        ({"includeHeaders": "true"}, "key value topic producer epoch offset timestamp headers"),
        ({"columns": "offset, value"}, "offset value"),
        ({"columns": "value", "includeMeta": "TRUE"}, "value endpoint"),
        ({"columns": "headers,value", "includeHeaders": "true"}, "headers value"),
        (
            {"columns": "value", "includeHeaders": "true", "includeMeta": "true"},
            "value headers endpoint",
        ),
    ],
)
def test_the_columns_are_those_that_are_asked_for_in_their_order(
    given: dict[str, str], columns: str
) -> None:
    """In the schema and in the reader alike."""
    assert " ".join(columns_asked(given)) == columns
    assert " ".join(options(**given).columns) == columns


def test_no_option_is_for_a_secret() -> None:
    """Options stand in plans and logs; one is the path of a file."""
    words = ("key", "password", "secret", "token", "certificate")
    found = [name for name in OPTION_NAMES if any(word in name.lower() for word in words)]
    assert found == ["mesh.secretFile"]


def test_every_option_and_column_is_documented() -> None:
    """In docs/spark.md, as it is spelled; and no option is documented that is not there."""
    page = (Path(__file__).parents[2] / "docs/spark.md").read_text(encoding="utf-8")
    table = page.partition("## Options")[2].partition("\n## ")[0]
    firsts = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = {name for first in firsts for name in re.findall(r"`([\w.]+)`", first)}
    assert named | {"liveWindow"} == set(OPTION_NAMES)
    assert "`liveWindow`" in page
    for reader, kind, other in ("spark.read", "stream", "batch"), ("readStream", "batch", "stream"):
        (refused,) = re.findall(rf"`{reader}` refuses([^.]*)\.", table)
        readers = {name: one.readers for name, one in _OPTIONS.items()}
        only = {name for name, those in readers.items() if kind in those and other not in those}
        assert set(re.findall(r"`(\w+)`", refused)) == only
    assert [name for name in COLUMNS if f"| `{name}` |" not in page] == []
