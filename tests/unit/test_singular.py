"""One of a thing is told as one: no text says "1 messages".

Not here: the same of a work queue (test_workqueue) and of handshakes (test_ends_told).
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg._hints.plural import counted, plural
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"


@pytest.mark.parametrize(("number", "text"), [(0, "0 peers"), (1, "1 peer"), (2, "2 peers")])
def test_a_number_has_its_word(number: int, text: str) -> None:
    """One alone is in the singular."""
    assert counted(number, "peer") == text
    assert plural(number, "was", "were") == ("was" if number == 1 else "were")


def test_a_message_too_large_is_told_in_the_singular() -> None:
    """The limits and the message: bytes and frames."""
    with mm.Push(bind=UP, message_size_max=1, frames_max=1) as push:
        with pytest.raises(mm.TooLargeError) as failed:
            push.send_frames([b"", b"x" * 2], timeout=0)
        assert str(failed.value).startswith(
            "a message of 2 bytes in 2 frames; this Push takes 1 byte (message_size_max) in "
            "1 frame (frames_max)"
        )


def test_a_peer_that_breaks_a_limit_of_one_is_told_in_the_singular() -> None:
    """A message of two frames where one is the limit; a topic too many."""
    with mm.Pull(bind=UP, frames_max=1) as pull, RawPeer(pull.endpoint) as peer:
        peer.shake(b"PUSH").send(ref.message(b"a", b"b"))
        wait_until(lambda: pull.stats().closed.get(mm.Reason.FRAME_COUNT))
        assert "a message of more than 1 frame (frames_max)" in [e.detail for e in pull.events()]
    with mm.Pub(bind=UP, subscriptions_max=1) as pub:
        with mm.Sub(connect=pub.endpoint, topics=["a", "b"]):
            wait_until(lambda: pub.stats().closed.get(mm.Reason.SUBSCRIPTIONS))
        assert any("over 1 subscription or" in event.detail for event in pub.events())


def test_a_command_of_one_octet_is_told_in_the_singular() -> None:
    """As a peer hears it, in a handshake and after it."""
    with mm.Pull(bind=UP) as pull:
        with RawPeer(pull.endpoint) as peer:
            peer.shake(b"PUSH")
            peer.send(b"\x04\x01\x05")
            wait_until(lambda: pull.stats().closed.get(mm.Reason.COMMAND))
        assert "a malformed command of 1 byte" in [event.detail for event in pull.events()]


def test_a_batch_and_a_closing_socket_count_one_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the repr of a batch, and in the log."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull:
        push.send(b"x", timeout=WAIT_S)
        assert repr(pull.recv_batch(timeout=WAIT_S)) == "<MessageBatch of 1 message, 1 byte>"
        for _ in range(2):
            push.send(b"x", timeout=WAIT_S)
        wait_until(lambda: pull.stats().parsed_messages == 3)
        assert next(iter(pull)) == b"x"
        with caplog.at_level("INFO", logger="meshmsg"):
            pull.close()
            wait_until(lambda: "Pull closed with 1 message received and not taken" in caplog.text)


def test_a_wait_for_one_peer_says_one() -> None:
    """When its time is up."""
    with mm.Push(bind=UP) as push:
        with pytest.raises(mm.WouldBlockError, match="0 of 1 peer "):
            push.wait_for_peers(timeout=0)
