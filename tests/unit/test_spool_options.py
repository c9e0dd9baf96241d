"""What `append` and `append_many` say of a message beside its body: all that a record can say.

Not here: key, headers and times (test_spool.py), what a Push or Pub makes of it
(test_spool_options_sent.py). The tests that take a spool are run for asyncio as well
(test_aio_spool_same.py).
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import lib, native
from meshmsg._spool.puts import PRIORITY_MAX
from tests.support.spooled import small

Call = Callable[..., Any]


def read(spool: Any) -> list[Any]:
    """Return its messages."""
    with spool.reader() as reader:
        return list(reader)


def both(spool: Any) -> list[Call]:
    """Return the calls that put."""
    return [spool.append, lambda data, **options: spool.append_many([data], **options)]


@pytest.mark.parametrize("topic", ["order.eu", b"order.eu", "\u00fc", b"\xff", "x" * 5000])
def test_a_topic_is_the_first_of_two_frames(tmp_path: Path, topic: Any) -> None:
    """As of a message that a Pub put; also in a batch, and of an empty body."""
    octets = topic if isinstance(topic, bytes) else topic.encode()
    with small(tmp_path / "s") as spool:
        for put in both(spool):
            put(b"body", topic=topic, key="k")
            put(b"", topic=topic)
        spool.append_many([b"1", b"", b"333"], topic=topic)
        for one in (*read(spool), *spool.read(1).messages):
            assert one.frames == (octets, bytes(one))
            assert one.topic == octets.decode("utf-8", "surrogateescape")
        assert [bytes(one) for one in read(spool)] == [
            b"body",
            b"",
            b"body",
            b"",
            b"1",
            b"",
            b"333",
        ]
        assert [one.key for one in read(spool)[:3]] == [b"k", None, b"k"]


@pytest.mark.parametrize("topic", [None, "", b""], ids=repr)
def test_an_empty_topic_is_none(tmp_path: Path, topic: Any) -> None:
    """As of a Pub."""
    with small(tmp_path / "s") as spool:
        for put in both(spool):
            put(b"body", topic=topic)
        assert [(one.frames, one.topic) for one in read(spool)] == [((b"body",), "")] * 2


def test_what_has_a_topic_may_have_an_origin(tmp_path: Path) -> None:
    """It is put once, and many of them are numbered."""
    with small(tmp_path / "s") as spool:
        assert spool.append(b"a", topic="t", origin=("orders", 1)) == 1
        assert isinstance(spool.append(b"a", topic="t", origin=("orders", 1)), mm.SpoolRepeat)
        bodies = [b"a", b"b", b"c"]
        assert spool.append_many(bodies, topic="t", origin=("orders", 1)) == range(2, 4)
        assert [(one.topic, bytes(one)) for one in read(spool)] == [
            ("t", b"a"),
            ("t", b"b"),
            ("t", b"c"),
        ]
        assert spool.last_origin("orders") == 3


def test_a_message_expires_at_a_time(tmp_path: Path) -> None:
    """Which a copy of it has as well; a reader of the spool gets it all the same."""
    at = 1_000_000_000.5
    with small(tmp_path / "s") as spool:
        for put in both(spool):
            put(b"x", expires=at)
            put(b"x", expires=at, timestamp=5.0, key="k")
        [one, two, *more] = read(spool)
        assert (one.expires, one.timestamp > at, one.key) == (at, True, None)
        assert (two.expires, two.timestamp, two.key) == (at, 5.0, b"k")
        assert [each.expires for each in more] == [at, at]
        spool.append(bytes(two), key=two.key, timestamp=two.timestamp, expires=two.expires)
        assert read(spool)[-1].expires == at


def test_what_is_for_later_or_urgent_is_read_at_once(tmp_path: Path) -> None:
    """In the order of the numbers: who reads a spool by itself does not wait."""
    with small(tmp_path / "s") as spool:
        for put in both(spool):
            put(b"later", delay=3600, topic="t", key="k")
            put(b"then", at=time.time() + 3600, expires=time.time() + 7200)
            put(b"urgent", priority=PRIORITY_MAX)
            put(b"over", at=1.0)
        assert [bytes(one) for one in read(spool)] == [b"later", b"then", b"urgent", b"over"] * 2
        assert (read(spool)[0].topic, read(spool)[0].key) == ("t", b"k")
        with spool.cursor("one") as cursor:
            assert len(list(cursor.reader())) == 8


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"topic": 7}, TypeError, "a topic is str or bytes"),
    ({"topic": "\ud800"}, mm.UsageError, "a topic is text that is no UTF-8"),
    ({"expires": "soon"}, TypeError, "expires is 'soon'"),
    ({"expires": True}, TypeError, "expires is True"),
    ({"expires": 0}, mm.UsageError, "expires is 0"),
    ({"expires": -1.0}, mm.UsageError, "expires is -1.0"),
    ({"expires": float("nan")}, mm.UsageError, "expires is nan"),
    ({"expires": 1.0, "ttl": 5}, mm.UsageError, "ttl and expires say the same"),
    ({"delay": -0.001}, mm.UsageError, "delay is -0.001"),
    ({"delay": 2_000_000.1}, mm.UsageError, "from 0 to 2,000,000"),
    ({"delay": "1"}, TypeError, "delay is '1'"),
    ({"delay": 1, "at": 1.0}, mm.UsageError, "delay and at say the same"),
    ({"at": True}, TypeError, "at is True; it is a time"),
    ({"at": "x"}, TypeError, "at is 'x'; it is a time"),
    ({"at": float("nan")}, mm.UsageError, "at is nan"),
    ({"at": 1e12}, mm.UsageError, "the limit is 2,000,000 s"),
    ({"priority": -1}, mm.UsageError, "priority is -1; it is 0 to 9"),
    ({"priority": PRIORITY_MAX + 1}, mm.UsageError, "priority is 10; it is 0 to 9"),
    ({"priority": 1.0}, TypeError, "priority is 1.0; it is a whole number"),
    ({"priority": True}, TypeError, "priority is True"),
    ({"delay": 10, "ttl": 5}, mm.UsageError, "ttl is 5 s, and the message is to go at"),
    ({"delay": 10, "expires": 5.0}, mm.UsageError, "expires is 5.0, and the message is to go at"),
    ({"topic": "t", "colour": 1}, TypeError, "there is no argument 'colour'"),
    ({"topic": "t", "key": 1}, TypeError, "key is bytes or text"),
]


@pytest.mark.parametrize(("options", "error", "said"), WRONG, ids=lambda one: str(one)[:40])
def test_what_cannot_be_said_is_refused(
    tmp_path: Path, options: Any, error: Any, said: str
) -> None:
    """With its name and its value; nothing is put."""
    with small(tmp_path / "s") as spool:
        for put in both(spool):
            with pytest.raises(error, match=re.escape(said)):
                put(b"x", **options)
        assert spool.info().last_seq == 0


@pytest.mark.parametrize("priority", [0, 1, PRIORITY_MAX, None])
def test_each_level_is_taken(tmp_path: Path, priority: Any) -> None:
    """From the lowest to the highest."""
    with small(tmp_path / "s") as spool:
        for put in both(spool):
            put(b"x", priority=priority)
        assert spool.info().last_seq == 2


def test_a_topic_that_is_too_large_is_told(tmp_path: Path) -> None:
    """With what there is room for; those before it are put."""
    with small(tmp_path / "s") as spool:
        with pytest.raises(mm.TooLargeError) as raised:
            spool.append_many([b"1", b"2" * 60_000, b"3"], topic="t" * 10_000)
        assert (raised.value.sent, raised.value.size) == (1, 70_000)  # type: ignore[attr-defined]
        spool.flush()
        assert len(read(spool)) == 1


@pytest.mark.parametrize("plan", [(b"", 0, PRIORITY_MAX + 1, 0), (b"", 0, 0, 2), (b"x", 0, 0, 0)])
def test_the_core_refuses_what_is_no_plan(
    tmp_path: Path, plan: tuple[bytes, int, int, int]
) -> None:
    """A priority that there is not, a topic that is longer than what it is of, no note."""
    with mm.Spool(tmp_path / "s") as spool:
        told = [0]
        given = (spool._address, [b"x"], 0, told, plan)
        assert native.spool_append(*given, 0, 0, 0) == (lib.MM_EINVAL, 0, 0, 0)
        assert native.spool_put(*given) == (lib.MM_EINVAL, 0, 0, 0)
        for wrong in (plan[:3], [*plan], ("", 0, 0, 0)):
            with pytest.raises(TypeError):
                native.spool_put(*given[:4], wrong)
        assert told == [0]
        assert spool.info().last_seq == 0


def test_all_options_are_told() -> None:
    """In the docstring of each call, and of what lists them."""
    names = set(mm.SpoolOptions.__annotations__) - set(mm.MessageOptions.__annotations__)
    assert names == {"topic", "expires", "delay", "at", "priority"}
    told = inspect.getdoc(mm.SpoolOptions) or ""
    called = inspect.getdoc(mm.Spool.append) or ""
    for name in names:
        assert f"{name}:" in told
        assert f"`{name}`" in called
