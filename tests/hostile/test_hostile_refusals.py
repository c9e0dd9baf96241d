"""What a peer can do with refusals: to requests and surveys that are not its own, malformed, twice,
without end."""

from __future__ import annotations

import struct
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meshmsg as mm
from tests.hostile.test_hostile_roles import pong
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
NUMBERS = st.sampled_from([b"\x80\0\0\1", b"\0\0\0\1", b"", b"\x80\0\0", b"\xff" * 5])
WORDS = st.sampled_from([b"REFUSED", b"", b"REFUSE", b"refused", b"REFUSED\0", b"\0"])
REASONS = st.lists(st.sampled_from([b"", b"\xff\xfe", b"r" * 1024, b"r" * 1025]), max_size=3)


def question(peer: RawPeer) -> bytes:
    """Return the id of what our side asks next."""
    while (frame := peer.frame())[0] & 4:
        continue
    number = frame[1]
    assert peer.frame()[1] == b""
    peer.frame()
    return number


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.none() | NUMBERS, WORDS, REASONS), max_size=8))
@pytest.mark.parametrize("role", ["Req", "Surveyor"])
def test_whatever_looks_like_a_refusal_the_books_balance(
    role: str, said: list[tuple[bytes | None, bytes, list[bytes]]]
) -> None:
    """And each request and survey ends once, with the first of what counts."""
    with getattr(mm, role)(bind=UP) as ours:
        wire = b"REP" if role == "Req" else b"RESPONDENT"
        with RawPeer(ours.endpoint).shake(wire) as peer:
            outcome: list[Any] = []

            def ask() -> None:
                try:
                    outcome.append(ours.request(b"q", timeout=WAIT_S))
                except mm.RefusedError as error:
                    outcome.append(error)

            ours.wait_for_peers(timeout=WAIT_S)
            thread = threading.Thread(target=ask)
            survey = None
            if role == "Req":
                thread.start()
            else:
                survey = ours.survey(b"q", deadline=WAIT_S)
            number = question(peer)
            for other, word, reasons in said:
                peer.send(ref.message(number if other is None else other, word, *reasons))
            peer.send(ref.message(number, b"REFUSED", b"in the end"))
            pong(peer)
            if survey is None:
                thread.join(WAIT_S)
                assert len(outcome) == 1
            else:
                assert len(list(survey)) + len(survey.declined) == 1
                assert survey.missing == ()
            stats = ours.stats()
            assert stats.parsed_messages == len(said) + 1
            assert stats.parsed_messages == stats.received_messages + stats.dropped
            assert (stats.received_messages, stats.queued_in_messages) == (1, 0)
            assert stats.peers == 1


@pytest.mark.parametrize("role", ["Req", "Surveyor"])
def test_a_flood_of_refusals_of_nothing_costs_nothing(role: str) -> None:
    """10,000 of ids nobody gave out; each is counted as late."""
    wire = b"REP" if role == "Req" else b"RESPONDENT"
    with getattr(mm, role)(bind=UP) as ours, RawPeer(ours.endpoint).shake(wire) as peer:
        flood = b"".join(ref.refusal(0x80000000 + i, b"r" * 100) for i in range(500))
        peer.send(flood)
        pong(peer, b"warm")
        before = live_bytes()
        for _ in range(19):
            peer.send(flood)
        pong(peer)
        assert ours.stats().dropped_late == 10_000
        assert live_bytes() - before < 2 << 20


def test_a_peer_cannot_refuse_what_another_was_asked() -> None:
    """It may guess ids; whoever was asked still answers."""
    with mm.Req(bind=UP) as req:
        with (
            RawPeer(req.endpoint).shake(b"REP") as good,
            RawPeer(req.endpoint).shake(b"REP") as bad,
        ):
            req.wait_for_peers(2, timeout=WAIT_S)
            outcome: list[Any] = []
            threads = [
                threading.Thread(target=lambda: outcome.append(req.request(b"q", timeout=WAIT_S)))
                for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            mine, other = question(good), question(bad)
            bad.send(ref.refusal(struct.unpack(">I", mine)[0], b"not mine"))
            pong(bad)
            for peer, number in ((good, mine), (bad, other)):
                peer.send(ref.message(number, b"", b"answer"))
            for thread in threads:
                thread.join(WAIT_S)
            assert outcome == [b"answer"] * 2
            assert req.stats().dropped_malformed == 1
