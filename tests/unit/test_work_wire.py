"""The messages of a work queue and its workers: they survive the wire, and nonsense does not."""

from __future__ import annotations

import math
import struct

import pytest

from meshmsg.patterns.workqueue._wire import (
    DELAY_MS_MAX,
    NUMBERS_MAX,
    OLDEST,
    VERSION,
    pack_ask,
    pack_retry,
    pack_terms,
    pack_work,
    parse_ask,
    parse_header,
    parse_retry,
    parse_terms,
)


@pytest.mark.parametrize("too_many", [-1, 0, 1])
def test_a_worker_names_only_so_many_batches_in_a_frame(too_many: int) -> None:
    """It can hold far fewer; more would keep the queue busy with nonsense."""
    many = [5] * (NUMBERS_MAX + too_many)
    heard = [parse_ask(pack_ask(1, many)), parse_ask(pack_ask(1, [], (many, [])))]
    heard += [parse_ask(pack_ask(1, [], ([], many))), parse_retry(pack_retry(0.0, many))]
    assert [one is None for one in heard] == [too_many > 0] * 4


def test_a_question_survives_the_wire_and_nonsense_does_not() -> None:
    """What pack_ask packs parse_ask reads; everything else is refused, not guessed at."""
    frames = pack_ask(2, [1, 2**64 - 1])
    assert parse_ask(frames) == (2, (1, 2**64 - 1), None)
    assert parse_ask(pack_ask(0, [])) == (0, (), None)
    assert parse_ask(pack_ask(3, [7], ([8], [9, 10]))) == (3, (7,), ((8,), (9, 10)))
    bad = [[], [b"ask"], frames[:2], [*frames, b""], [b"ASK", *frames[1:]], [*frames, b"", b"1"]]
    bad += [
        [b"ask", b"\0\0\0", b""],
        [b"ask", frames[1], b"\0" * 7],
        [b"ask", frames[1], b"\0" * 9],
    ]
    assert [parse_ask(one) for one in bad] == [None] * len(bad)


def test_terms_and_retries_survive_the_wire() -> None:
    """Times go in whole milliseconds; what a later version adds to its terms is passed over."""
    assert parse_terms(pack_terms(1.2345, 7)) == (VERSION, OLDEST, 1.234, 7)
    assert parse_terms(pack_terms(None)) == (VERSION, OLDEST, None, 0)
    assert parse_terms(pack_terms(1e-9)) == (VERSION, OLDEST, 0.001, 0)  # no lease is another thing
    later = pack_terms(None)
    assert parse_terms([later[0], later[1] + b"more", b"and more"]) == (VERSION, OLDEST, None, 0)
    assert [parse_terms(bad) for bad in ([b"terms"], [b"terms", b"short"], [])] == [None] * 3
    assert parse_retry(pack_retry(0.5, [1, 2])) == (0.5, (1, 2))
    assert parse_retry(pack_retry(math.inf, [])) == (DELAY_MS_MAX / 1000, ())
    good = pack_retry(0.5, [1])
    bad = [good[:2], [*good, b""], [b"retry", b"", b""], [*good[:2], b"\0"]]
    assert [parse_retry(one) for one in bad] == [None] * 4


def test_a_batch_survives_the_wire_and_a_short_header_does_not() -> None:
    """The header of a batch has one size only."""
    kind, header, *items = pack_work(2**64 - 1, 3, 500, [b"a", b""])
    assert (kind, items) == (b"work", [b"a", b""])
    assert parse_header(header) == (2**64 - 1, 3, 500)
    assert len(header) == struct.calcsize(">QIQ")
    assert [parse_header(header[:size]) for size in range(len(header))] == [None] * len(header)
    assert parse_header(header + b"\0") is None
