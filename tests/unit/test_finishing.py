"""Push.finish(): whoever receives learns that there is no more, when all is done and not before;
for threads and asyncio.

Not here: what hostile peers make of it (tests/hostile/test_hostile_ends.py), connections that are
cut (tests/sim/test_finishing_worlds.py).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zmq

import meshmsg as mm
from tests.interop.zmqside import zmq_socket
from tests.support.pairs import WAIT_S, endpoint_for, of_its_own, wait_until
from tests.support.patterned import Kit

ONCE, LEAST = {"delivery": "at_most_once"}, {"delivery": "at_least_once"}
BOTH = pytest.mark.parametrize("delivery", [ONCE, LEAST], ids=["once", "least"])


def bodies(count: int) -> list[bytes]:
    """Some messages, each different."""
    return [b"%d" % n for n in range(count)]


@BOTH
@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_iterations_end_when_all_is_done(
    kit: Kit, transport: str, short_path: Path, delivery: dict[str, str]
) -> None:
    """Of several receivers, one of which comes late; they have all that was sent, once each."""
    url = endpoint_for(transport, short_path)
    with kit.socket("Push", bind=url, **delivery) as push, ThreadPoolExecutor(3) as pool:
        pulls = [kit.socket("Pull", connect=push.endpoint) for _ in range(3)]
        reading = [pool.submit(lambda one=one: [bytes(m) for m in one]) for one in pulls]
        push.wait_for_peers(3, timeout=WAIT_S)
        push.send_many(bodies(1000), timeout=WAIT_S)
        push.finish()
        push.wait_for_finished(3, timeout=WAIT_S)
        got = [body for one in reading for body in one.result(WAIT_S)]
        assert sorted(got, key=int) == bodies(1000)
        assert all(peer.finished for peer in push.peers())
        with kit.socket("Pull", connect=push.endpoint) as late:
            assert list(late) == []
            assert [peer.finished for peer in late.peers()] == [True]
            assert late.stats().finished_peers == 1
        push.wait_for_finished(4, timeout=WAIT_S)
        assert push.stats().finished_peers == 4
        for pull in pulls:
            pull.close()


def test_receiving_says_so_in_its_own_error(kit: Kit) -> None:
    """In every way there is to receive, as often as it is asked, and with time-outs, too."""
    with (
        kit.socket("Push", bind=of_its_own()) as push,
        kit.socket("Pull", connect=push.endpoint) as pull,
    ):
        push.send(b"only", timeout=WAIT_S)
        push.finish()
        assert bytes(pull.recv(timeout=WAIT_S)) == b"only"
        push.wait_for_finished(1, timeout=WAIT_S)
        wait_until(lambda: pull.stats().finished_peers)
        for call in (
            lambda: pull.recv(),
            lambda: pull.recv(timeout=0),
            lambda: pull.recv(timeout=WAIT_S),
            lambda: pull.recv_many(),
            lambda: pull.recv_many(timeout=0),
            lambda: pull.recv_frames(),
            lambda: pull.recv_batch(timeout=WAIT_S),
        ):
            with pytest.raises(mm.EndOfStreamError, match="there is no more") as told:
                call()
            assert isinstance(told.value, EOFError)
        assert list(pull) == []


def test_nothing_is_sent_behind_the_end(kit: Kit) -> None:
    """By any send; and what was sent before goes out."""
    with kit.socket("Push", bind=of_its_own(), **LEAST) as push:
        push.send(b"before")
        push.finish()
        push.finish()
        for call in (
            lambda: push.send(b"x"),
            lambda: push.send(b"x", timeout=0),
            lambda: push.send(bytearray(b"x"), key=b"k"),
            lambda: push.send(b"x", confirm=True),
            lambda: push.send(bytes(1 << 20)),
            lambda: push.send_frames([b"x", b"y"]),
            lambda: push.send_many([b"x"] * 100),
        ):
            with pytest.raises(mm.UsageError, match=r"finish\(\) of this Push was called"):
                call()
        with kit.socket("Pull", connect=push.endpoint) as pull:
            assert [bytes(m) for m in pull] == [b"before"]


def test_a_send_that_waits_for_room_ends_when_it_is_finished(kit: Kit) -> None:
    """With the same error, at once."""
    with kit.socket("Push", bind=of_its_own()) as push, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(push.send, b"nobody is there")
        wait_until(lambda: not waiting.done())
        push.finish()
        with pytest.raises(mm.UsageError, match="nothing more is sent"):
            waiting.result(WAIT_S)


def test_nobody_is_told_while_somebody_has_not_acknowledged(kit: Kit) -> None:
    """Not who has done all, either: what the other one has may come back."""
    with (
        kit.socket("Push", bind=of_its_own(), routing="least_loaded", **LEAST) as push,
        mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as slow,
        mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as quick,
    ):
        push.wait_for_peers(2, timeout=WAIT_S)
        push.send_many([b"a", b"b"], timeout=WAIT_S)
        had, done = slow.recv(timeout=WAIT_S), quick.recv(timeout=WAIT_S)
        push.finish()
        assert done.ack()
        wait_until(lambda: push.stats().acked_messages == 1)
        with pytest.raises(mm.TimedOutError, match="0 queued and 1 unacknowledged, 0 of 1 peer"):
            push.wait_for_finished(1, timeout=0.01)
        with pytest.raises(mm.WouldBlockError, match="not finished"):
            push.wait_for_finished(timeout=0)
        assert had.nack()
        again = quick.recv(timeout=WAIT_S)
        assert (bytes(again), again.attempt) == (bytes(had), 2)
        with pytest.raises(mm.TimedOutError):
            slow.recv(timeout=0.01)
        assert again.ack()
        for pull in (slow, quick):
            with pytest.raises(mm.EndOfStreamError):
                pull.recv(timeout=WAIT_S)
        push.wait_for_finished(2, timeout=WAIT_S)


def test_what_a_lost_peer_had_is_done_first(kit: Kit) -> None:
    """The end comes behind what it left to others."""
    with kit.socket("Push", bind=of_its_own(), **LEAST) as push:
        with kit.socket("Pull", connect=push.endpoint) as lost:
            push.send_many(bodies(10), timeout=WAIT_S)
            lost.recv(timeout=WAIT_S)
            push.finish()
        with kit.socket("Pull", connect=push.endpoint) as pull:
            assert sorted(bytes(m) for m in pull) == bodies(10)
        push.wait_for_finished(1, timeout=WAIT_S)


def test_what_expires_or_is_given_up_does_not_hold_the_end_up(kit: Kit) -> None:
    """A dead letter is done with, too."""
    options = {"max_attempts": 1, "dead_letter": "keep", **LEAST}
    with kit.socket("Push", bind=of_its_own(), **options) as push:
        push.send(b"too late", ttl=0.01)
        push.finish()
        push.wait_for_finished(timeout=WAIT_S)
        assert [letter.reason for letter in push.dead_letters()] == ["expired"]
    with (
        kit.socket("Push", bind=of_its_own(), **options) as push,
        mm.Pull(connect=push.endpoint, ack="manual") as pull,
    ):
        push.send(b"nobody can", timeout=WAIT_S)
        push.finish()
        assert pull.recv(timeout=WAIT_S).nack()
        push.wait_for_finished(1, timeout=WAIT_S)
        assert [letter.reason for letter in push.dead_letters()] == ["attempts"]


def test_the_end_is_that_of_all_who_send(kit: Kit) -> None:
    """Each that is dialed, also one that is not there yet; and whoever dials in."""
    late = of_its_own().replace(":0", ":7")
    with kit.socket("Push", bind=of_its_own()) as one, ThreadPoolExecutor(1) as pool:
        with kit.socket("Pull", connect=[one.endpoint, late], bind=of_its_own()) as pull:
            reading = pool.submit(lambda: sorted(bytes(m) for m in pull))
            one.send(b"one", timeout=WAIT_S)
            one.finish()
            one.wait_for_finished(1, timeout=WAIT_S)
            with kit.socket("Push", connect=pull.endpoint) as guest:
                guest.send(b"guest", timeout=WAIT_S)
                with kit.socket("Push", bind=late) as two:
                    two.send(b"two", timeout=WAIT_S)
                    two.finish()
                    two.wait_for_finished(1, timeout=WAIT_S)
                    assert not reading.done()
                    guest.finish()
                    assert reading.result(WAIT_S) == [b"guest", b"one", b"two"]


def test_who_finished_and_is_gone_has_finished(kit: Kit) -> None:
    """The end is known, also when it is asked for behind the end of the connection."""
    with kit.socket("Pull", bind=of_its_own()) as pull:
        with kit.socket("Push", connect=pull.endpoint) as push:
            pull.wait_for_peers(timeout=WAIT_S)
            push.send(b"last", timeout=WAIT_S)
            push.finish()
            push.wait_for_finished(1, timeout=WAIT_S)
        wait_until(lambda: not pull.peers())
        assert [bytes(m) for m in pull] == [b"last"]
        with kit.socket("Push", connect=pull.endpoint) as other:
            other.send(b"more", timeout=WAIT_S)
            pull.wait_for_peers(timeout=WAIT_S)  # who is not here yet has said nothing
            assert bytes(pull.recv(timeout=WAIT_S)) == b"more"
            with pytest.raises(mm.TimedOutError):
                pull.recv(timeout=0.01)
        with pytest.raises(mm.EndOfStreamError):  # nobody is there who has not said so
            pull.recv(timeout=WAIT_S)


def test_a_sender_that_comes_back_begins_anew(kit: Kit) -> None:
    """At the same address: what it sends is received, until it has finished, too."""
    url = of_its_own().replace(":0", ":8")
    with kit.socket("Pull", connect=url) as pull:
        for body in (b"first", b"second"):
            with kit.socket("Push", bind=url) as push:
                push.send(body, timeout=WAIT_S)
                assert bytes(pull.recv(timeout=WAIT_S)) == body
                push.finish()
                push.wait_for_finished(1, timeout=WAIT_S)
                with pytest.raises(mm.EndOfStreamError):
                    pull.recv(timeout=WAIT_S)


def test_waiting_before_it_is_finished_is_refused(kit: Kit) -> None:
    """It would wait for ever; and a closed socket says that it is closed."""
    push = kit.socket("Push", bind=of_its_own())
    with pytest.raises(mm.UsageError, match=r"before finish\(\) would wait for ever"):
        push.wait_for_finished(timeout=WAIT_S)
    with pytest.raises(mm.UsageError, match="count"):
        push.wait_for_finished(-1)
    push.close()
    for call in (push.finish, push.wait_for_finished):
        with pytest.raises(mm.ClosedError):
            call()


def test_it_says_how_many_were_told_and_that_nobody_was(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """Receivers of a Push that began anew are on the way back: it cannot know of them."""
    caplog.set_level("INFO", logger="meshmsg")
    with kit.socket("Push", bind="tcp://127.0.0.1:0", **LEAST) as push:
        push.finish()
        assert push.wait_for_finished(timeout=WAIT_S) == 0
        assert "nobody was there to be told" in caplog.text
        with pytest.raises(mm.TimedOutError, match="0 of 1 peer told"):
            push.wait_for_finished(1, timeout=0.01)
        with kit.socket("Pull", connect=push.endpoint) as late:
            assert push.wait_for_finished(1, timeout=WAIT_S) == 1
            assert list(late) == []
        caplog.clear()
        assert push.wait_for_finished(timeout=WAIT_S) == 1
        assert "nobody" not in caplog.text


def test_what_it_waits_for_is_said(kit: Kit) -> None:
    """Without a number: those that are here."""
    with (
        kit.socket("Push", bind="tcp://127.0.0.1:0", **LEAST) as push,
        kit.socket("Pull", connect=push.endpoint, ack="manual") as pull,
    ):
        push.send(b"x", timeout=WAIT_S)
        message = pull.recv(timeout=WAIT_S)
        push.finish()
        with pytest.raises(mm.TimedOutError, match="1 unacknowledged, 1 peer here not told"):
            push.wait_for_finished(timeout=0.01)
        message.ack()
        assert push.wait_for_finished(timeout=WAIT_S) == 1


def test_finishing_and_closing_at_once_still_tells(kit: Kit) -> None:
    """Where nothing is left to be acknowledged: closing writes what is to be said."""
    with kit.socket("Pull", bind=of_its_own()) as pull:
        with kit.socket("Push", connect=pull.endpoint) as push:
            push.wait_for_peers(timeout=WAIT_S)
            push.send_many(bodies(100), timeout=WAIT_S)
            push.finish()
        assert [bytes(m) for m in pull] == bodies(100)


def test_other_roles_have_no_finish() -> None:
    """And say who has it."""
    with mm.Dealer(bind=of_its_own()) as dealer:
        with pytest.raises(AttributeError, match="who has 'finish': Push"):
            dealer.finish()  # type: ignore[attr-defined]


def test_pyzmq_is_not_told_and_keeps_its_connection() -> None:
    """It would not know the word."""
    with mm.Push(bind=of_its_own(), **LEAST) as push, zmq_socket(zmq.PULL) as other:  # type: ignore[arg-type]
        other.connect(push.endpoint)
        push.send(b"x", timeout=WAIT_S)
        push.finish()
        push.wait_for_finished(timeout=WAIT_S)
        assert other.recv() == b"x"
        assert (push.stats().finished_peers, push.stats().disconnects) == (0, 0)


def test_a_poller_and_a_descriptor_tell_of_the_end() -> None:
    """Who looks before it receives is not left waiting."""
    with mm.Push(bind=of_its_own()) as push, mm.Pull(connect=push.endpoint) as pull:
        poller = mm.Poller([pull])
        push.wait_for_peers(timeout=WAIT_S)
        assert poller.poll(0) == []
        push.finish()
        assert poller.poll(WAIT_S) == [pull]
        with pytest.raises(mm.EndOfStreamError):
            pull.recv(timeout=0)


def test_threads_that_share_a_pull_all_end() -> None:
    """The end is told to each of them."""
    with mm.Push(bind=of_its_own(), **LEAST) as push, mm.Pull(connect=push.endpoint) as pull:  # type: ignore[arg-type]
        counts: list[int] = []
        threads = [
            threading.Thread(target=lambda: counts.append(sum(1 for _ in pull))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        push.send_many(bodies(2000), timeout=WAIT_S)
        push.finish()
        for thread in threads:
            thread.join(WAIT_S)
        assert sum(counts) == 2000


def test_an_endpoint_that_is_given_up_is_not_waited_for(kit: Kit) -> None:
    """Though nobody ever answered there, and somebody waits in a receive."""
    nobody = of_its_own().replace(":0", ":5")
    with kit.socket("Push", bind=of_its_own()) as push, ThreadPoolExecutor(1) as pool:
        with kit.socket("Pull", connect=[push.endpoint, nobody]) as pull:
            reading = pool.submit(lambda: [bytes(m) for m in pull])
            push.send(b"all", timeout=WAIT_S)
            push.finish()
            push.wait_for_finished(1, timeout=WAIT_S)
            wait_until(lambda: pull.stats().finished_peers and pull.stats().received_messages)
            assert not reading.done()
            pull.disconnect(nobody)
            assert reading.result(WAIT_S) == [b"all"]


@BOTH
@pytest.mark.parametrize("transport", ["tcp", "inproc"])
@pytest.mark.parametrize("first", ["finish", "stop", "both at once"])
def test_who_has_finished_owes_no_answer_to_who_stops(
    kit: Kit, first: str, transport: str, short_path: Path, delivery: dict[str, str]
) -> None:
    """Behind a loop that ended nothing is said to be on its way, however finish and stop meet."""
    url = endpoint_for(transport, short_path)
    for _ in range(20):  # how they meet is a matter of luck
        with (
            kit.socket("Push", bind=url, **delivery) as push,
            kit.socket("Pull", connect=push.endpoint) as pull,
            ThreadPoolExecutor(3) as pool,
        ):
            push.wait_for_peers(1, timeout=WAIT_S)
            push.send(b"x", timeout=WAIT_S)
            assert bytes(pull.recv(timeout=WAIT_S)) == b"x"
            if first == "stop":
                pull.stop_receiving()
            reading = pool.submit(lambda: list(pull))
            finishing = pool.submit(push.finish)
            if first == "both at once":
                pool.submit(pull.stop_receiving).result(WAIT_S)
            finishing.result(WAIT_S)
            assert reading.result(WAIT_S) == []
            report = pull.stop_receiving()
            assert [peer.state for peer in report.peers] == ["stopped"]
            report.raise_for_loss()
