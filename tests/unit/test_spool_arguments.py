"""What a spool refuses: by the name of the argument, its value and its limit; and folders that are
none.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.spooled import SEGMENT, small

NO_NUMBERS = ("7", b"7", 7.0, [7], True, {})
WRONG_WORDS = ("", "Disk", b"disk", 1, None, True, ["disk"])
WHOLE = {"segment_bytes": SEGMENT, "max_bytes": 2 * SEGMENT, "max_messages": 1}
"""Arguments that are whole numbers, and the least they may be."""


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_whole_number_is_a_type_error(tmp_path: Path, name: str, value: Any) -> None:
    """That has the argument's name and its value."""
    given: dict[str, Any] = {name: value}
    with pytest.raises(TypeError, match=re.escape(f"{name} is {value!r}")):
        mm.Spool(tmp_path / "s", **given)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("name", WHOLE)
def test_a_number_below_its_least_is_refused_and_the_least_is_not(
    tmp_path: Path, name: str
) -> None:
    """Limit - 1, limit; and far beyond."""
    least = WHOLE[name]
    for value in (least - 1, 0, -1, 2**63, 2**80):
        given: dict[str, Any] = {name: value}
        with pytest.raises(mm.UsageError, match=f"{name} is {value:,}; it is {least:,} "):
            mm.Spool(tmp_path / "s", **given)
    given = {name: least}
    with mm.Spool(tmp_path / "s", **given) as spool:
        assert spool.append(b"x") == 1


def test_segments_have_a_size_that_limits_allow(tmp_path: Path) -> None:
    """Up to a file's largest; and all files have room for two of them."""
    with pytest.raises(mm.UsageError, match=f"segment_bytes is .* to {2**39:,}"):
        mm.Spool(tmp_path / "s", segment_bytes=2**39 + 1)
    with pytest.raises(mm.UsageError, match=r"max_bytes is 399,999; .* 400,000 and more"):
        mm.Spool(tmp_path / "s", segment_bytes=200_000, max_bytes=399_999)
    with mm.Spool(tmp_path / "s", segment_bytes=200_000, max_bytes=400_000) as spool:
        assert spool.append(bytes(150_000)) == 1


@pytest.mark.parametrize("name", ["durability", "overflow", "on_corruption"])
@pytest.mark.parametrize("value", WRONG_WORDS, ids=repr)
def test_what_is_no_choice_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    """And what can be chosen is listed."""
    if (name, value) == ("durability", "disk"):
        return
    given: dict[str, Any] = {name: value}
    with pytest.raises(mm.UsageError, match=re.escape(f"{name} is {value!r}; it is one of '")):
        mm.Spool(tmp_path / "s", **given)


@pytest.mark.parametrize("value", [*NO_NUMBERS[:2], None, True, [1.0]], ids=repr)
def test_seconds_are_a_number(tmp_path: Path, value: Any) -> None:
    """Of `sync_every`."""
    with pytest.raises(TypeError, match=re.escape(f"sync_every is {value!r}")):
        mm.Spool(tmp_path / "s", sync_every=value)


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 2**20 + 1])
def test_seconds_have_limits(tmp_path: Path, value: float) -> None:
    """Above 0, up to twelve days."""
    with pytest.raises(mm.UsageError, match=re.escape(f"sync_every is {value!r}")):
        mm.Spool(tmp_path / "s", sync_every=value)


@pytest.mark.parametrize("value", [1, 0, None, "yes"], ids=repr)
def test_remote_is_true_or_false(tmp_path: Path, value: Any) -> None:
    """Nothing that is like it."""
    with pytest.raises(TypeError, match=f"remote is {value!r}"):
        mm.Spool(tmp_path / "s", remote=value)


@pytest.mark.parametrize("value", [None, 7, ["s"], 1.0], ids=repr)
def test_a_path_is_a_path(value: Any) -> None:
    """None of a number: it is no descriptor."""
    with pytest.raises(TypeError, match=re.escape(f"path is {value!r}")):
        mm.Spool(value)


@pytest.mark.parametrize("value", ["", "a\0b"])
def test_a_path_names_a_folder(value: str) -> None:
    """Not the beginning of what was said."""
    with pytest.raises(mm.UsageError, match=re.escape(f"path is {value!r}")):
        mm.Spool(value)


@pytest.mark.parametrize("form", [str, os.fsencode, Path, lambda path: f"{path}/"])
def test_a_path_may_be_of_any_kind(tmp_path: Path, form: Any) -> None:
    """Text, bytes, a Path; with octets that are no text, too."""
    path = tmp_path / os.fsdecode(b"sp\xff ool")
    with mm.Spool(form(path)) as spool:
        assert spool.append(b"x") == 1
        assert isinstance(spool.path, str)
    assert (path / "META").exists()


def test_where_no_spool_can_be_is_told(tmp_path: Path) -> None:
    """The folder above is not there, a file is in its place, its name is too long."""
    (tmp_path / "file").write_text("mine")
    for path in (
        tmp_path / "none/s",
        tmp_path / "file",
        tmp_path / "file/s",
        tmp_path / ("x" * 300),
    ):
        with pytest.raises(mm.SpoolError, match=re.escape(str(path))) as caught:
            mm.Spool(path)
        assert caught.value.code != 0
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(os.getuid() == 0, reason="root may do all")
def test_a_folder_that_is_not_permitted_is_told(tmp_path: Path) -> None:
    """Neither made in it, nor opened."""
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(mm.SpoolError, match=re.escape(str(tmp_path))):
            mm.Spool(tmp_path / "s")
        with pytest.raises(mm.SpoolError, match=re.escape(str(tmp_path))):
            mm.Spool(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_a_spool_is_for_its_user_alone(tmp_path: Path) -> None:
    """Messages may be secret: nobody else reads the folder."""
    with small(tmp_path / "s") as spool:
        spool.append(b"secret")
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0


def test_wrong_arguments_of_calls_are_told(tmp_path: Path) -> None:
    """By their names; nothing was put, and it goes on."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        calls: dict[str, Any] = {"trim": spool.trim, "reader": spool.reader, "seek": reader.seek}
        for name, call in calls.items():
            for value in NO_NUMBERS if name == "reader" else (*NO_NUMBERS, None):
                words = name == "trim" and isinstance(value, str)  # it takes some
                kind = mm.UsageError if words else TypeError
                with pytest.raises(kind, match=re.escape(f"seq is {value!r}")):
                    call(value)
            for number in (-1, 2**62, 2**70):
                with pytest.raises(mm.UsageError, match=f"seq is {number:,}"):
                    call(number)
        with pytest.raises(mm.UsageError, match="seq is 0; it is 1 and more"):
            reader.seek(0)
        for value in NO_NUMBERS:
            with pytest.raises(TypeError, match=re.escape(f"max_messages is {value!r}")):
                reader.read(value)
        with pytest.raises(mm.UsageError, match="max_messages is 0; it is 1 and more"):
            reader.read(0)
        one: Any = b"a body"
        for wrong in (one, "text", bytearray(one)):
            with pytest.raises(TypeError, match="for a single one use append"):
                spool.append_many(wrong)
        with pytest.raises(TypeError, match="not iterable"):
            spool.append_many(one[0])
        assert spool.info().last_seq == 0


def test_wrong_timeouts_are_told(tmp_path: Path) -> None:
    """Of each call that waits: no number, or below 0."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        calls: list[Any] = [
            lambda timeout: spool.append(b"x", timeout=timeout),
            lambda timeout: spool.append_many([b"x"], timeout=timeout),
            lambda timeout: spool.append_many([], timeout=timeout),
            lambda timeout: spool.flush(timeout=timeout),
            lambda timeout: reader.read(timeout=timeout),
        ]
        for call in calls:
            for no_number in ("1", b"1", [1], {}):
                with pytest.raises(TypeError, match=re.escape(f"timeout is {no_number!r}")):
                    call(no_number)
            for number in (-1, -0.001, float("nan")):
                with pytest.raises(ValueError, match=f"timeout is {number!r}"):
                    call(number)
        assert spool.info().last_seq == 0
        for timeout in (0, 0.0, 1e-9, 1e300, float("inf"), None):
            spool.append(b"x", timeout=timeout, wait=False)
            spool.append_many([b"x"], timeout=timeout, wait=False)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"key": 7}, TypeError, "key is bytes or text, not int"),
        ({"headers": [("a", "b")]}, TypeError, "headers is a mapping"),
        ({"headers": {7: "b"}}, TypeError, "name of a header is text"),
        ({"headers": {"": "b"}}, mm.UsageError, "has 1 to 255"),
        ({"headers": {"a": 7}}, TypeError, "header 'a' is bytes or text"),
        ({"headers": {"a": "x" * 20_000}}, mm.TooLargeError, "16,384"),
        ({"key": b"x" * 20_000}, mm.TooLargeError, "16,384"),
        ({"ttl": "7"}, TypeError, "ttl is '7'"),
        ({"ttl": 0}, mm.UsageError, "ttl is 0"),
        ({"timestamp": -1}, mm.UsageError, "timestamp is -1"),
        ({"confirm": True}, TypeError, "no argument 'confirm'"),
        ({"keys": b"x"}, TypeError, "no argument 'keys'"),
    ],
)
def test_what_cannot_go_with_a_message_is_told(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    """As where it is sent; nothing was put."""
    with small(tmp_path / "s") as spool:
        for call in (
            lambda: spool.append(b"x", **options),
            lambda: spool.append_many([b"x"], **options),
        ):
            with pytest.raises(error, match=words):
                call()
        assert spool.info().last_seq == 0
