"""What is asked of a server of ranges, and answered, as octets: each comes back, none that is
wrong is taken; and the page that draws them.

Not here: what is done for it (test_ranges.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._ranges import form
from meshmsg._spool.arguments import SEQ_MAX

PAGE = Path(__file__).resolve().parents[2] / "docs" / "wire.md"
NUMBERS = st.integers(0, 2**64 - 1)
NAMES = st.from_regex(r"\A[A-Za-z0-9_-][A-Za-z0-9._-]{0,57}\Z")
REQUESTS = st.builds(
    form.Request,
    op=st.sampled_from(form.Op),
    uuid=st.binary(min_size=16, max_size=16),
    epoch=st.integers(0, 2**32 - 1),
    a=NUMBERS | st.integers(0, 10),
    b=NUMBERS | st.integers(0, 10),
    c=NUMBERS,
    holder=st.binary(min_size=16, max_size=16),
    name=st.just("") | NAMES,
)
GOOD = form.request_octets(form.Request(form.Op.LEASE, a=5, b=1000, name="job"))


def taken(octets: bytes) -> form.Request | None:
    """Return the request, or None where it is refused."""
    try:
        return form.request_of(octets)
    except form.NotAsked:
        return None


@given(REQUESTS)
def test_a_request_comes_back_or_is_refused(request: form.Request) -> None:
    """As a whole: nothing of it is another."""
    octets = form.request_octets(request)
    assert len(octets) <= form.REQUEST_MAX
    assert taken(octets) in (None, request)


@given(st.binary(max_size=200))
def test_any_octets_are_a_request_or_are_refused(octets: bytes) -> None:
    """By its own error, and by no other."""
    for data in (octets, GOOD[:6] + octets, GOOD + octets):
        request = taken(data)
        assert request is None or form.request_octets(request) == data


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_request_with_another_octet_is_another_or_none(at: int, by: int) -> None:
    """And never what it was."""
    octets = bytearray(GOOD)
    octets[at] ^= by
    request = taken(bytes(octets))
    assert request is None or request != form.request_of(GOOD)


def test_a_request_is_whole_or_none() -> None:
    """Cut at each octet, and with more behind it."""
    for size in range(form.REQUEST_HEAD + 1):
        assert taken(GOOD[:size]) is None
    assert taken(GOOD + b"!") is None
    assert taken(GOOD + b"x" * form.NAME_MAX) is None
    long = form.Request(form.Op.TRIM, a=1, name="x" * form.NAME_MAX)
    assert taken(form.request_octets(long)) == long


@pytest.mark.parametrize(
    ("request_", "taken_"),
    [
        (form.Request(form.Op.READ, a=1, b=1, c=1), True),
        (form.Request(form.Op.READ, a=0, b=1, c=1), False),
        (form.Request(form.Op.READ, a=2, b=1, c=1), False),
        (form.Request(form.Op.READ, a=1, b=1, c=0), False),
        (form.Request(form.Op.READ, a=1, b=SEQ_MAX - 1, c=1), True),
        (form.Request(form.Op.READ, a=1, b=SEQ_MAX, c=1), False),
        (form.Request(form.Op.READ, a=1, b=2, c=1, name="a"), False),
        (form.Request(form.Op.INFO, name="a"), False),
        (form.Request(form.Op.LEASE, a=1, b=1), False),
        (form.Request(form.Op.LEASE, a=1, b=form.TTL_MS_MAX, name="a"), True),
        (form.Request(form.Op.LEASE, a=1, b=form.TTL_MS_MAX + 1, name="a"), False),
        (form.Request(form.Op.LEASE, a=1, b=0, name="a"), False),
        (form.Request(form.Op.LEASE, a=0, b=1, name="a"), False),
        (form.Request(form.Op.RELEASE), False),
        (form.Request(form.Op.TRIM, a=SEQ_MAX - 1), True),
        (form.Request(form.Op.TRIM, a=SEQ_MAX), False),
        (form.Request(form.Op.TRIM, a=1, name=".a"), False),
        (form.Request(form.Op.TRIM, a=1, name="ä"), False),
    ],
)
def test_limits_of_what_is_asked(request_: form.Request, taken_: bool) -> None:
    """At each limit, and beyond it."""
    assert (taken(form.request_octets(request_)) is not None) == taken_


@given(
    st.builds(
        form.Answer,
        status=st.sampled_from(form.Status),
        uuid=st.binary(min_size=16, max_size=16),
        epoch=st.integers(0, 2**32 - 1),
        first_seq=st.integers(1, SEQ_MAX - 1),
        stable_seq=st.integers(1, SEQ_MAX),
        a=st.integers(0, SEQ_MAX),
        b=st.integers(0, SEQ_MAX),
    )
)
def test_an_answer_comes_back(answer: form.Answer) -> None:
    """Whatever stands behind its head."""
    octets = form.answer_octets(answer)
    assert len(octets) == form.ANSWER_HEAD
    assert form.answer_of(octets + b"more") == answer
    at = form.ANSWER_A
    assert int.from_bytes(octets[at : at + 8], "little") == answer.a


@given(st.binary(max_size=100))
def test_any_octets_are_an_answer_or_none(octets: bytes) -> None:
    """By its own error, and by no other."""
    good = form.answer_octets(form.Answer(form.Status.DONE, bytes(16), 1, 1, 1))
    for data in (octets, good[:6] + octets, good[:30] + octets):
        try:
            answer = form.answer_of(data)
        except form.NotAnswered:
            continue
        assert form.answer_octets(answer) == data[: form.ANSWER_HEAD]


def test_the_page_has_what_the_code_has() -> None:
    """Each kind of request and answer, by its number, and the sizes."""
    page = PAGE.read_text(encoding="utf-8")
    _, found, text = page.partition("## Ranges")
    assert found
    for one in (*form.Op, *form.Status, *form.Busy):
        assert f"| {one.value} | {one.name} |" in text
    for number in (form.REQUEST_HEAD, form.NAME_MAX, form.ANSWER_HEAD, form.TTL_MS_MAX):
        assert f"{number:,}" in text
