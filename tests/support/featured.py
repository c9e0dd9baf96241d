"""Peers of meshmsg that show other features than ours (`X-Meshmsg`, docs/wire.md), as older and
newer ones would: engines of their own, that say other words.

Not here: peers that are only octets (rawpeer.py). Law: such a peer knows no less than ours, so what
it is sent although it did not show it, it would use; and that is seen in its `peers()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import meshmsg as mm
from tests.support.mm import lib

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "ready_rep.bin"
OURS = GOLDEN.read_bytes().rpartition(b"X-Meshmsg")[2][4:].decode()
"""What we show."""
SHOWN = {
    "all": OURS,
    "acks": "1 refuse stop ack",
    "headers": "1 refuse stop meta",
    "older": "1 refuse stop",
    "newer": "2 metadata acks ack2 xmeta",
    "foreign": "",
}
"""What peers show, by names for tests; a foreign one has no such property."""
SHOWN_ON_THE_WIRE = {**SHOWN, "cut": f"9 {'w' * 57} acks-of-another-kind"}
"""And more than is read of it: 63 octets, which end behind "ack"."""


def acks(features: str) -> bool:
    """Whether a peer that shows them acknowledges."""
    return "ack" in features.split()


def takes_meta(features: str) -> bool:
    """Whether one takes key, headers and times."""
    return "meta" in features.split()


@contextmanager
def saying(features: str) -> Iterator[mm.Engine]:
    """Open an engine whose sockets show these features."""
    with mm.Engine() as engine:
        say(engine, features)
        yield engine


def say(engine: mm.Engine, features: str) -> None:
    """Have the sockets of an engine show these features from now on."""
    assert lib.mm_test_features(engine._handle, features.encode()) == lib.MM_OK
