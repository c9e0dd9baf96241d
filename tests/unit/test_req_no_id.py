"""A broker that strips what is in front of an answer: its client is told what to do about it.

Not here: other causes of a request without a reply (test_causes.py).
"""

from __future__ import annotations

import threading

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until
from tests.unit.test_dead_letters import UP

WORDS = "without the id of its request: who answers must send back all frames in front of the empty"


def test_an_answer_without_its_id_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """In the error of the request, and in the log."""
    with mm.Router(bind=UP) as broker, mm.Req(connect=broker.endpoint) as client:

        def answer() -> None:
            asked = broker.recv_frames(timeout=WAIT_S)
            broker.send_frames([asked[0], b"", b"OK"])

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(mm.TimedOutError, match=WORDS):
            client.request(b"hello", timeout=1)
        answering.join(WAIT_S)
        assert client.stats().dropped_malformed == 1
        wait_until(lambda: WORDS in caplog.text)
