"""Messages of several frames, read from their spool: topic and body are told apart.

Not here: how a Pub sends them again (test_replay.py), what the files have (test_spool_harm.py).
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg._cli.codes import Code
from tests.support.spooled import small
from tests.unit.test_cli_spool import Told, run

FRAMES = [
    (b"body",),
    (b"fx.eur", b"1.08"),
    (b"", b"under an empty topic"),
    (b"deleted", b""),
    (b"", b""),
    (b"t", b"first", b"", b"last"),
    (b"\xff\xfe", b"a topic that is no text"),
    (b"long " * 60, b"body " * 60),
]


def put(path: Path, messages: Any = FRAMES) -> None:
    """Publish them into a spool, as a Pub does."""
    with (
        small(path, durability="disk") as spool,
        mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub,
    ):
        for frames in messages:
            pub.send_frames(list(frames))


def test_a_message_of_a_pub_has_its_topic_and_its_body_apart(tmp_path: Path) -> None:
    """As its subscribers get it: the topic is no part of the body."""
    with (
        small(tmp_path / "s", durability="disk") as spool,
        mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub,
    ):
        pub.send(b"1.08", topic="fx.eur", key="k", headers={"h": "v"})
        pub.send(b"no topic")
        first, second = spool.reader().read()
        assert isinstance(first, mm.SpoolMessage)
        assert isinstance(second, mm.SpoolMessage)
        assert (first, first.topic, first.frames) == (b"1.08", "fx.eur", (b"fx.eur", b"1.08"))
        assert (first.key, first.headers) == (b"k", {"h": "v"})
        assert (second, second.topic, second.frames) == (b"no topic", "", (b"no topic",))


def test_who_reads_a_table_sees_what_was_deleted_under_a_topic(tmp_path: Path) -> None:
    """A tombstone of a Pub has an empty body, whatever its topic is."""
    with (
        small(tmp_path / "s", compact=True) as spool,
        mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub,
    ):
        for body in (b"Ada", b""):
            pub.send(body, topic="customer", key="7")
        table: dict[bytes | None, bytes] = {}
        for one in spool.reader():
            assert isinstance(one, mm.SpoolMessage)
            if one:
                table[one.key] = one
            else:
                del table[one.key]
        assert table == {}


def read_by(how: str, path: Path) -> list[mm.SpoolMessage]:
    """All messages of a spool, read in one of the ways there are."""
    with small(path, durability="disk") as spool:
        found: list[Any] = []
        if how == "reader":
            found = spool.reader().read()
        elif how == "iterated":
            found = list(spool.reader())
        elif how == "batch":
            found = spool.read(1).messages
        elif how == "cursor":
            with spool.cursor("c") as cursor:
                found = list(cursor.reader())
        elif how == "view":
            spool.flush()
            with mm.SpoolView(path) as view:
                found = view.reader().read(timeout=5)
        elif how == "remote":
            with (
                mm.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server,
                mm.RemoteSpool(server.endpoint) as remote,
            ):
                info = remote.info()
                for batch in remote.read(info.first_seq, info.stable_seq):
                    found += batch.messages
        return found


@pytest.mark.parametrize("how", ["reader", "iterated", "batch", "cursor", "view", "remote"])
def test_all_frames_come_back_by_each_way_of_reading(tmp_path: Path, how: str) -> None:
    """With empty ones, and any number of them; the last is the body."""
    put(tmp_path / "s", FRAMES[:-1] if how == "view" else FRAMES)
    if how == "view":  # it shows what is proved: the state says so as the spool is closed
        put(tmp_path / "s", FRAMES[-1:])
    found = read_by(how, tmp_path / "s")
    assert [one.frames for one in found] == FRAMES
    assert [bytes(one) for one in found] == [frames[-1] for frames in FRAMES]
    wanted = [frames[0].decode("utf-8", "surrogateescape") for frames in FRAMES]
    assert [one.topic for one in found] == ["", *wanted[1:]]


def test_a_table_has_the_topic_as_a_column_of_its_own(tmp_path: Path) -> None:
    """Null where there is one frame; of more than two, what is behind the topic is end to end."""
    pa = pytest.importorskip("pyarrow")
    put(tmp_path / "s")
    with small(tmp_path / "s") as spool:
        table = pa.record_batch(spool.read(1))
    table.validate(full=True)
    assert table["topic"].to_pylist() == [None, *(frames[0] for frames in FRAMES[1:])]
    assert table["data"].to_pylist() == [b"body", *(b"".join(f[1:]) for f in FRAMES[1:])]
    assert table["topic"].null_count == 1


def test_a_table_without_a_message_of_one_frame_has_no_null(tmp_path: Path) -> None:
    """And more rows than a column has room for at first."""
    pa = pytest.importorskip("pyarrow")
    with (
        small(tmp_path / "s", durability="buffered") as spool,
        mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub,
    ):
        for number in range(600):
            pub.send(b"%d" % number, topic=f"t{number}")
        spool.flush()
        table = pa.record_batch(spool.read(1))
        table.validate(full=True)
        assert table["topic"].null_count == 0
        assert table["topic"].to_pylist() == [b"t%d" % number for number in range(600)]


def test_sizes_of_frames_count_to_the_bytes_of_a_batch(tmp_path: Path) -> None:
    """A message of empty frames is not free: a batch keeps to its limit."""
    with small(tmp_path / "s") as spool, mm.Push(spool=spool, bind="tcp://127.0.0.1:0") as push:
        for _ in range(10):
            push.send_frames([b""] * 1024)
        assert spool.read(1).nbytes == 10 * 1023
        assert len(spool.read(1, max_bytes=3 * 1023)) == 3


def test_export_and_tail_tell_the_topic(tmp_path: Path, capsys: Told) -> None:
    """JSON has every frame of a message that has more than two."""
    put(tmp_path / "s", FRAMES[:7])
    code, out, _ = run(capsys, "export", tmp_path / "s")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == Code.OK
    assert [row.get("topic") for row in rows] == [None, "fx.eur", "", "deleted", "", "t", None]
    assert rows[6]["topic_base64"] == base64.b64encode(b"\xff\xfe").decode()
    assert [row["body"] for row in rows[:6]] == [f[-1].decode() for f in FRAMES[:6]]
    whole = [row for row in rows if "frames_base64" in row]
    assert [row["seq"] for row in whole] == [6]
    assert tuple(map(base64.b64decode, whole[0]["frames_base64"])) == FRAMES[5]
    code, out, _ = run(capsys, "tail", tmp_path / "s", "-n", 6)
    assert code == Code.OK
    assert out.splitlines()[0] == "2  topic fx.eur  1.08"
    assert out.splitlines()[1] == "3  under an empty topic"


@settings(max_examples=30, deadline=None)
@given(messages=st.lists(st.lists(st.binary(max_size=200), min_size=1, max_size=8), max_size=12))
def test_whatever_frames_were_put_are_read(
    tmp_path_factory: pytest.TempPathFactory, messages: list[list[bytes]]
) -> None:
    """By objects, and by a batch that is cut anywhere."""
    path = tmp_path_factory.mktemp("frames") / "s"
    put(path, messages)
    wanted = [tuple(frames) for frames in messages]
    with small(path) as spool:
        found = [one for one in spool.reader() if isinstance(one, mm.SpoolMessage)]
        assert [one.frames for one in found] == wanted
        seq, read = 1, []
        while batch := spool.read(seq, max_messages=3, max_bytes=300).messages:
            read += [one.frames for one in batch]
            seq = batch[-1].seq + 1
        assert read == wanted
