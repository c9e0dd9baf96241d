"""Forward: the proxy between two sockets, each pair it knows, and what it counts."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

import meshmsg
from meshmsg.patterns import Flow, Forward
from tests.support import refcodec as ref
from tests.support.pairs import wait_until
from tests.support.rawpeer import RawPeer

LOOPBACK = "tcp://127.0.0.1:0"
PATIENCE = 60.0  # seconds until a test gives up


def test_requests_reach_servers_behind_it_and_replies_come_back() -> None:
    """Router in front, Dealer behind: two clients and one server that do not know each other."""
    front, back = meshmsg.Router(bind=LOOPBACK), meshmsg.Dealer(bind=LOOPBACK)
    with (
        Forward(front, back) as forward,
        meshmsg.Rep(connect=back.endpoint) as server,
        meshmsg.Req(connect=front.endpoint) as one,
        meshmsg.Req(connect=front.endpoint) as two,
    ):

        def serve() -> None:
            for _ in range(4):
                request = server.recv(timeout=PATIENCE)
                assert request.reply(b"re: " + request)

        thread = threading.Thread(target=serve)
        thread.start()
        for client in (one, two, one, two):
            name = b"1" if client is one else b"2"
            assert client.request(name, timeout=PATIENCE) == b"re: " + name
        thread.join(PATIENCE)
    assert (forward.onward, forward.backward) == (Flow(4, 0, 0), Flow(4, 0, 0))


def test_publications_pass_and_subscriptions_travel_back() -> None:
    """XSub in front, XPub behind: the publisher hears of a subscription made on the other side."""
    front, back = meshmsg.XSub(bind=LOOPBACK), meshmsg.XPub(bind=LOOPBACK)
    with (
        Forward(front, back) as forward,
        meshmsg.Pub(connect=front.endpoint) as pub,
        meshmsg.Sub(connect=back.endpoint, topics=["fx."]) as sub,
    ):
        pub.wait_for_subscribers("fx.eur", timeout=PATIENCE)
        pub.send(b"unwanted", topic="bonds")
        pub.send(b"101.3", topic="fx.eur")
        message = sub.recv(timeout=PATIENCE)
        assert (message, message.topic) == (b"101.3", "fx.eur")
    assert forward.onward == Flow(1, 0, 0)
    assert forward.backward.forwarded in (1, 2)  # the subscription, and its end if there was time


def test_jobs_pass_one_way_in_order() -> None:
    """Pull in front, Push behind; nothing goes back."""
    front, back = meshmsg.Pull(bind=LOOPBACK), meshmsg.Push(bind=LOOPBACK)
    jobs = [b"job %d" % number for number in range(500)]
    with (
        Forward(front, back) as forward,
        meshmsg.Push(connect=front.endpoint) as push,
        meshmsg.Pull(connect=back.endpoint) as pull,
    ):
        assert push.send_many(jobs, timeout=PATIENCE) == 500
        assert [bytes(pull.recv(timeout=PATIENCE)) for _ in jobs] == jobs
    assert (forward.onward, forward.backward) == (Flow(500, 0, 0), Flow(0, 0, 0))


def test_multipart_messages_pass_whole() -> None:
    """Frames are neither joined nor lost, empty ones included."""
    front, back = meshmsg.Pull(bind=LOOPBACK), meshmsg.Push(bind=LOOPBACK)
    with (
        Forward(front, back),
        meshmsg.Push(connect=front.endpoint) as push,
        meshmsg.Pull(connect=back.endpoint) as pull,
    ):
        push.send_frames([b"", b"a", b"", b"b" * 100_000], timeout=PATIENCE)
        assert pull.recv_frames(timeout=PATIENCE) == [b"", b"a", b"", b"b" * 100_000]


def fill(push: meshmsg.Push, job: bytes) -> int:
    """Send until it blocks; how many were accepted."""
    for accepted in range(1000):
        try:
            push.send(job, timeout=0.3)
        except meshmsg.TimedOutError:
            return accepted
    raise AssertionError("it never blocked")


def test_a_slow_side_slows_the_other_down() -> None:
    """Bounded: with nobody behind it, the sender blocks after some messages and loses none."""
    front = meshmsg.Pull(bind=LOOPBACK, recv_queue_messages=5)
    back = meshmsg.Push(bind=LOOPBACK, send_queue_messages=5)
    job = b"x" * 1_000_000  # larger than what the kernel would hide
    with (
        Forward(front, back),
        meshmsg.Push(connect=front.endpoint, send_queue_messages=5) as push,
    ):
        accepted = fill(push, job)
        assert 0 < accepted < 100
        with meshmsg.Pull(connect=back.endpoint) as pull:
            for _ in range(accepted):
                assert pull.recv(timeout=PATIENCE) == job


def test_a_reply_to_a_client_that_is_gone_is_counted() -> None:
    """The Router refuses it: that shows in `refused`, and the next client is served."""
    front, back = meshmsg.Router(bind=LOOPBACK), meshmsg.Dealer(bind=LOOPBACK)
    with Forward(front, back) as forward, meshmsg.Dealer(connect=back.endpoint) as server:
        with meshmsg.Dealer(connect=front.endpoint, identity=b"gone") as client:
            client.send(b"question", timeout=PATIENCE)
            asked = server.recv_frames(timeout=PATIENCE)
        while front.peers():
            threading.Event().wait(0.01)
        server.send_frames([*asked[:-1], b"too late"], timeout=PATIENCE)
        with meshmsg.Dealer(connect=front.endpoint, identity=b"here") as client:
            client.send(b"question", timeout=PATIENCE)
            asked = server.recv_frames(timeout=PATIENCE)
            server.send_frames([*asked[:-1], b"answer"], timeout=PATIENCE)
            assert client.recv(timeout=PATIENCE) == b"answer"
    assert forward.backward == Flow(1, 1, 0)


def test_closing_is_prompt_closes_both_and_may_be_repeated() -> None:
    """Threads that wait for messages end; the sockets are closed with it."""
    front, back = meshmsg.Pull(bind=LOOPBACK), meshmsg.Push(bind=LOOPBACK)
    forward = Forward(front, back)
    forward.close()
    forward.close()
    assert front.closed
    assert back.closed
    assert forward.onward == Flow(0, 0, 0)


def test_pairs_that_make_no_sense_are_refused() -> None:
    """The error names the pairs that do, and leaves the sockets open."""
    with meshmsg.Pull(bind=LOOPBACK) as pull, meshmsg.Dealer(bind=LOOPBACK) as dealer:
        with pytest.raises(meshmsg.UsageError, match="from Pull to Dealer; pairs are Router"):
            Forward(pull, dealer)
        assert not pull.closed
        assert not dealer.closed


def test_a_forward_that_comes_late_passes_on_the_topics_of_all_subscribers() -> None:
    """70,000 topics of ten Subs wait for it, more than were ever queued; all of them pass."""
    many, each = 10, 7_000
    with (
        meshmsg.Pub(bind=LOOPBACK, subscriptions_max=many * each) as pub,
        meshmsg.XPub(bind=LOOPBACK) as back,
        ExitStack() as stack,
    ):
        for who in range(many):
            topics = [f"{who}.{number}." for number in range(each)]
            stack.enter_context(meshmsg.Sub(connect=back.endpoint, topics=topics))
        wait_until(lambda: sum(peer.subscriptions for peer in back.peers()) == many * each)
        with Forward(meshmsg.XSub(connect=pub.endpoint), back):
            wait_until(lambda: [peer.subscriptions for peer in pub.peers()] == [many * each])


def test_polite_subscribers_are_served_beside_two_that_flap() -> None:
    """Two peers alternate SUBSCRIBE and CANCEL without end; the others' topics get upstream."""
    front, back = meshmsg.XSub(bind=LOOPBACK), meshmsg.XPub(bind=LOOPBACK)
    over = threading.Event()

    def flap(peer: RawPeer, who: int) -> None:
        topics = [b"%d.%d" % (who, number) for number in range(100)]
        here = b"".join(ref.subscription(True, topic) for topic in topics)
        gone = b"".join(ref.subscription(False, topic) for topic in topics)
        while not over.is_set():
            peer.send((here + gone) * 10)

    with (
        Forward(front, back),
        meshmsg.Pub(connect=front.endpoint) as pub,
        RawPeer(back.endpoint).shake(b"SUB") as one,
        RawPeer(back.endpoint).shake(b"SUB") as two,
        ExitStack() as stack,
    ):
        threads = [threading.Thread(target=flap, args=pair) for pair in ((one, 1), (two, 2))]
        for thread in threads:
            thread.start()
        try:
            for number in range(5):
                topic = f"polite {number}"
                sub = stack.enter_context(meshmsg.Sub(connect=back.endpoint, topics=topic))
                pub.wait_for_subscribers(topic, timeout=PATIENCE)
                pub.send(b"there", topic=topic)
                assert sub.recv(timeout=PATIENCE) == b"there"
        finally:
            over.set()
            for thread in threads:
                thread.join(PATIENCE)
