"""When certificates end, and when that is to be told: 14 days before, and then once a day.

Not here: who looks each second (_socket/door.py), what TLS thinks of a date. Law: time is an
argument; what is no certificate has no dates, as the core says what is wrong with it.
"""

from __future__ import annotations

from typing import NamedTuple

from meshmsg._binding.core import lib
from meshmsg._hints.plural import counted
from meshmsg._security.certificates.der import (
    SEQUENCE,
    VALIDITY,
    certificates_in,
    extent,
    field_of,
    inside,
)

DAY_S = 86_400
"""Seconds of a day."""
TOLD_BEFORE_S = 14 * DAY_S
"""Seconds before the end of a certificate from which on it is told."""
AGAIN_S = DAY_S
"""Seconds until it is told again."""
WORDS_MAX = int(lib.MM_DETAIL_MAX)
"""Octets of the detail of an event."""
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18


class Validity(NamedTuple):
    """From when to when a certificate is good, in seconds since the epoch."""

    begin: float
    end: float


def validities_of(pem: bytes) -> list[Validity]:
    """Return the dates of each certificate in PEM; of what is none, nothing."""
    found: list[Validity] = []
    try:
        for der in certificates_in(pem):
            found += validity_in(der)
    except ValueError:
        return []
    return found


def validity_in(der: bytes) -> list[Validity]:
    """Return the dates of a certificate in DER; of what is none, nothing."""
    try:
        return [_validity_of(der)]
    except (ValueError, IndexError):
        return []


def _validity_of(der: bytes) -> Validity:
    dates = inside(field_of(der, VALIDITY), SEQUENCE)
    first = sum(extent(dates))
    return Validity(_time_of(dates[:first]), _time_of(dates[first:]))


def _time_of(der: bytes) -> float:
    tag = der[0]
    if tag not in (_UTC_TIME, _GENERALIZED_TIME):
        raise ValueError("the kind of a time")
    from datetime import datetime, timezone  # not for who has no certificate

    text = inside(der, tag).decode("ascii")
    if tag == _UTC_TIME:
        text = f"{'19' if text[:2] >= '50' else '20'}{text}"  # RFC 5280, 4.1.2.5.1
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()


def date_text(time: float) -> str:
    """Write a time to the minute."""
    from datetime import datetime, timezone

    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def valid_text(dates: list[Validity], now: float) -> str:
    """Write for how long they are all good, and what is wrong with that; "" without dates."""
    if not dates:
        return ""
    begin, end = max(one.begin for one in dates), min(one.end for one in dates)
    trouble = trouble_of(dates, now)
    words = f"{date_text(begin)} to {date_text(end)}"
    return f"{words}: it {trouble}" if trouble else f"{words}: {_span_text(end - now)} from now"


def _span_text(seconds: float) -> str:
    for size, word in ((DAY_S, "day"), (3600, "hour")):
        if seconds >= 2 * size:
            return counted(int(seconds // size), word)
    return counted(int(seconds // 60), "minute")


def trouble_of(dates: list[Validity], now: float) -> str:
    """Say what is or will soon be wrong with the one of them that ends first, or begins last; "" if
    nothing is."""
    if not dates:
        return ""
    end, begin = min(one.end for one in dates), max(one.begin for one in dates)
    if now >= end:
        return f"ended {_span_text(now - end)} ago, on {date_text(end)}"
    if now < begin:
        return f"is not valid before {date_text(begin)}, in {_span_text(begin - now)}"
    if end - now <= TOLD_BEFORE_S:
        return f"ends in {_span_text(end - now)}, on {date_text(end)}"
    return ""


class Expiry:
    """What is told of the certificates in one file: once a version of it, then once a day."""

    def __init__(self, what: str, place: str) -> None:
        """what: such as "the certificate"; place: the path of the file, "" if it is in none."""
        self._what, self._place = what, place
        self._dates: list[Validity] = []
        self._told_at: float | None = None

    def read(self, pem: bytes) -> None:
        """This is in the file now."""
        dates = validities_of(pem)
        if dates != self._dates:
            self._dates, self._told_at = dates, None

    def shown(self, now: float) -> tuple[str, bool]:
        """Say what it is, where, and how long it is good; and whether that is long enough."""
        place = f" {self._place}" if self._place else ""
        good = valid_text(self._dates, now)
        return f"{self._what}{place}: {good}" if good else "", not trouble_of(self._dates, now)

    def words(self, now: float) -> str:
        """Say what is wrong at this time, in no more octets than an event has; "" is nothing."""
        trouble = trouble_of(self._dates, now)
        if not trouble:
            return ""
        one = "" if len(self._dates) == 1 else f", one of {len(self._dates)},"
        place = f" {self._place}" if self._place else ""
        room = WORDS_MAX - len(f"{self._what}{one} {trouble}".encode())
        return f"{self._what}{_cut(place, room)}{one} {trouble}"

    def note(self, now: float) -> None:
        """It was told at this time, if it was not before."""
        self._told_at = now if self._told_at is None else self._told_at

    def due(self, now: float) -> str:
        """Say it if it is to be told now; then it was."""
        at = self._told_at
        if at is not None and abs(now - at) < AGAIN_S:  # a clock may be set back
            return ""
        words = self.words(now)
        self._told_at = now if words else None
        return words


def _cut(place: str, room: int) -> str:
    """Keep the end of a path, which names the file."""
    raw = place.encode("utf-8", "surrogateescape")
    if len(raw) <= room:
        return place
    return " ..." + raw[len(raw) - room + 4 :].decode("utf-8", "replace") if room > 4 else ""
