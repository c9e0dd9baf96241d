"""What a sync socket promises besides moving messages: errors, limits, overflow, closing, looking
in."""

from __future__ import annotations

import pickle
import select
import threading
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.errors import CLASSES
from tests.support.mm import ffi, lib
from tests.support.pairs import WAIT_S, joined, of_its_own, told

UP = "tcp://127.0.0.1:0"


def test_every_code_of_the_core_has_a_class_and_only_these() -> None:
    """The error table is complete."""
    names = set(ffi.typeof("mm_err").relements) - {"MM_OK"}
    assert set(CLASSES) == names


def test_the_enums_are_those_of_the_core() -> None:
    """Reason and EventKind name every C value."""
    for enum, prefix, python in (
        ("mm_reason", "MM_REASON_", mm.Reason),
        ("mm_event_kind", "MM_EVENT_", mm.EventKind),
    ):
        c = {
            n.removeprefix(prefix): v
            for n, v in ffi.typeof(enum).relements.items()
            if n != "MM_REASON_COUNT"
        }
        assert c == {member.name: member.value for member in python}


@pytest.mark.parametrize(
    "builtin",
    [
        ("TimedOutError", TimeoutError),
        ("WouldBlockError", BlockingIOError),
        ("AddressError", OSError),
        ("PeerError", ConnectionError),
        ("TooLargeError", ValueError),
        ("ResourceError", OSError),
    ],
)
def test_errors_are_builtins_too(builtin: tuple[str, type[Exception]]) -> None:
    """And keep their code and text."""
    error = getattr(mm, builtin[0])("what", code=-2, address="tcp://x:1")
    assert isinstance(error, builtin[1])
    assert (str(error), error.code, error.address) == ("what", -2, "tcp://x:1")


def test_push_with_no_peer_blocks_then_times_out() -> None:
    """The error says who waited, where, for how long."""
    with (
        mm.Push(bind=UP) as push,
        pytest.raises(mm.TimedOutError, match=r"within 0\.02 s \(Push bound to tcp.*0 peers"),
    ):
        push.send(b"x", timeout=0.02)


def test_a_timeout_names_the_last_connection_error() -> None:
    """A typo in a port is not silence."""
    with mm.Push(bind=of_its_own()) as push:
        nobody = push.endpoint
    with mm.Pull(connect=nobody) as pull:
        told(pull, "refused")
        with pytest.raises(mm.TimedOutError, match="refused"):
            pull.recv(timeout=0.01)


def test_nothing_there_now_is_would_block() -> None:
    """timeout=0 never waits."""
    with mm.Pull(bind=UP) as pull, pytest.raises(mm.WouldBlockError):
        pull.recv(timeout=0)


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_a_timeout_that_is_none_is_refused(bad: float) -> None:
    """Negative and NaN are mistakes."""
    with mm.Pull(bind=UP) as pull, pytest.raises(ValueError, match="timeout"):
        pull.recv(timeout=bad)


@pytest.mark.parametrize("bad", ["text", 7, None, [b"x"], {"a": 1}])
def test_what_is_not_bytes_is_refused_with_a_hint(bad: Any) -> None:
    """str says .encode()."""
    with (
        joined(mm.Push, mm.Pull) as (push, _),
        pytest.raises(TypeError, match="encode" if isinstance(bad, str) else "bytes"),
    ):
        push.send(bad)


@pytest.mark.parametrize(
    "data", [b"abc", bytearray(b"abc"), memoryview(b"abc"), memoryview(b"xabcx")[1:4]]
)
def test_anything_with_a_buffer_is_sent(data: Any) -> None:
    """Without a detour over bytes."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(data)
        assert pull.recv(timeout=WAIT_S) == b"abc"


def test_a_message_over_the_limit_is_refused_here_and_nothing_is_lost() -> None:
    """The error names size and limit."""
    with joined(mm.Push, mm.Pull, message_size_max=100) as (push, pull):
        with pytest.raises(mm.TooLargeError, match="101 bytes.*100 bytes") as refused:
            push.send(b"x" * 101)
        assert (refused.value.size, refused.value.limit) == (101, 100)
        with pytest.raises(mm.TooLargeError) as many:
            push.send_many([b"a", b"b", b"x" * 101, b"c"])
        assert vars(many.value)["sent"] == 2
        assert vars(many.value)["unsent"] == [b"x" * 101, b"c"]
        assert pull.recv_many(10, timeout=WAIT_S)[0] == b"a"


def test_send_many_out_of_time_says_what_it_kept() -> None:
    """Nothing taken from a generator is lost without a word."""
    with joined(mm.Push, mm.Pull, send_queue_messages=10, recv_queue_messages=10) as (push, pull):
        with pytest.raises(mm.TimedOutError) as late:
            push.send_many((b"%d" % i + b"x" * 100_000 for i in range(500)), timeout=0.3)
        sent, unsent = late.value.sent, late.value.unsent
        assert unsent
        assert unsent[0].startswith(b"%d" % sent)
        got = 0
        while got < sent:
            got += len(pull.recv_many(100, timeout=WAIT_S))
        assert got == sent


@pytest.mark.parametrize(
    ("overflow", "error"), [("error", mm.WouldBlockError), ("block", mm.TimedOutError)]
)
def test_a_full_queue_does_what_overflow_says(overflow: Any, error: type[Exception]) -> None:
    """Raises now, or after its time."""
    with joined(
        mm.Push, mm.Pull, overflow=overflow, send_queue_messages=1, recv_queue_messages=1
    ) as (push, _):
        with pytest.raises(error):
            for _ in range(2000):
                push.send(b"x" * 100_000, timeout=0.05)
        assert push.stats().dropped == 0


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest"])
def test_drops_are_counted_and_told(overflow: Any) -> None:
    """sent = received + dropped + queued, exactly."""
    with (
        mm.Pub(bind=UP, overflow=overflow, send_queue_messages=5) as pub,
        mm.Sub(connect=pub.endpoint, topics="", recv_queue_messages=5) as sub,
    ):
        pub.wait_for_subscribers("x", timeout=WAIT_S)
        for i in range(400):
            pub.send(b"%d" % i + b"x" * 50_000)
        dropped = pub.stats().dropped_overflow
        assert dropped > 0
        got = 0
        while got + pub.stats().dropped_overflow < 400:
            got += len(sub.recv_many(100, timeout=WAIT_S))
        assert got == 400 - pub.stats().dropped_overflow
        assert any(event.kind is mm.EventKind.DROPPED and event.count > 0 for event in pub.events())


def test_closing_wakes_a_blocked_receive() -> None:
    """With ClosedError, in every thread."""
    pull = mm.Pull(bind=UP)
    failed: list[BaseException] = []

    def wait() -> None:
        try:
            pull.recv()
        except mm.ClosedError as error:
            failed.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    pull.close()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(failed) == 3
    pull.close()
    assert pull.closed
    with pytest.raises(mm.ClosedError):
        pull.stats()


def test_iteration_ends_when_the_socket_is_closed_and_a_break_loses_nothing() -> None:
    """Prefetched messages stay, in order, for the next receive."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"%d" % i for i in range(50)])
        push.drain(timeout=WAIT_S)
        for message in pull:
            assert message == b"0"
            break
        assert pull.recv(timeout=WAIT_S) == b"1"
        assert pull.recv_many(2, timeout=WAIT_S) == [b"2", b"3"]
        stats = pull.stats()
        assert (stats.received_messages, stats.queued_in_messages) == (4, 46)
        closer = threading.Timer(0, pull.close)
        rest = []
        for message in pull:
            rest.append(int(message))
            if len(rest) == 46:
                closer.start()
        closer.join()
        assert rest == list(range(4, 50))


def test_fileno_is_level_triggered_even_over_prefetched_messages() -> None:
    """Readable exactly while a receive would find something."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"1", b"2", b"3"])
        push.drain(timeout=WAIT_S)
        assert next(iter(pull)) == b"1"
        fd = pull.fileno()
        assert fd == pull.fileno()
        for wanted in (b"2", b"3"):
            assert select.select([fd], [], [], WAIT_S)[0] == [fd]
            assert pull.recv(timeout=0) == wanted
        assert select.select([fd], [], [], 0)[0] == []
        push.send(b"4")
        assert select.select([fd], [], [], WAIT_S)[0] == [fd]
        assert pull.recv(timeout=0) == b"4"
        assert select.select([fd], [], [], 0)[0] == []


def test_a_socket_is_not_pickled() -> None:
    """With a hint what to pass instead."""
    with mm.Push(bind=UP) as push, pytest.raises(TypeError, match="endpoint"):
        pickle.dumps(push)


def test_a_message_pickles_as_plain_bytes() -> None:
    """Its metadata is of this process."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"x")
        assert type(pickle.loads(pickle.dumps(pull.recv(timeout=WAIT_S)))) is bytes


def test_binding_outside_loopback_wants_to_be_asked_for() -> None:
    """InsecureBindError, a UsageError; insecure=True allows it."""
    with pytest.raises(mm.InsecureBindError, match="shortest: mm.Secret.*insecure=True"):
        mm.Pull(bind="tcp://*:0")
    with mm.Pull(bind="tcp://*:0", insecure=True) as pull:
        assert pull.endpoint.startswith("tcp://[::]:") or pull.endpoint.startswith("tcp://0.0.0.0:")


@pytest.mark.parametrize(
    "url", ["", "x", "tcp://", "udp://x:1", "tcp://127.0.0.1:99999", "tcp://256.0.0.1:1", "a\0b"]
)
def test_a_bad_endpoint_is_an_address_error_that_names_it(url: str) -> None:
    """And the socket that was to be opened is closed again."""
    with pytest.raises(mm.AddressError) as refused:
        mm.Pull(bind=url)
    assert refused.value.address == url


def test_an_endpoint_in_use_is_an_address_error() -> None:
    """For every transport."""
    with mm.Pull(bind=[UP, "inproc://taken"]) as pull:
        for url in pull.endpoints:
            with pytest.raises(mm.AddressError, match="use"):
                mm.Pull(bind=url)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("overflow", "sometimes"),
        ("send_queue_messages", 0),
        ("send_queue_bytes", -1),
        ("frames_max", True),
        ("heartbeat_interval", -1),
        ("linger", float("nan")),
        ("handshake_timeout", 10**9),
        ("reconnect_max", 0.001),
    ],
)
def test_a_bad_option_names_itself_and_its_limit(option: str, value: object) -> None:
    """UsageError."""
    with pytest.raises(mm.UsageError, match=option):
        mm.Push(**{option: value})  # type: ignore[arg-type]


def test_an_unknown_option_is_a_type_error() -> None:
    """That lists the known ones."""
    with pytest.raises(TypeError, match="overflow"):
        mm.Push(owerflow="block")  # type: ignore[call-arg]


def test_what_a_role_cannot_do_is_absent() -> None:
    """Not an error at run time."""
    assert not hasattr(mm.Push, "recv")
    assert not hasattr(mm.Pull, "send")
    assert not hasattr(mm.Req, "send")
    assert not hasattr(mm.Rep, "send")
    assert not hasattr(mm.Pull, "subscribe")


def test_peers_and_repr_tell_who_is_there() -> None:
    """Role, identity, direction, queue depths."""
    with (
        mm.Router(bind=UP) as router,
        mm.Dealer(connect=router.endpoint, identity=b"bob") as dealer,
    ):
        router.wait_for_peers(timeout=WAIT_S)
        dealer.wait_for_peers(timeout=WAIT_S)
        peer = router.peers()[0]
        assert (peer.role, peer.identity, peer.outgoing, peer.zmtp_minor) == (
            "DEALER",
            b"bob",
            False,
            1,
        )
        assert dealer.peers()[0].outgoing
        assert router.endpoint in repr(router)
        assert "1 peer" in repr(router)
    assert "closed" in repr(router)


def test_an_unknown_name_is_an_error_or_a_counted_drop() -> None:
    """As the Router was told."""
    with joined(mm.Router, mm.Dealer) as (router, _), pytest.raises(mm.PeerError, match="nobody"):
        router.send(b"x", to=b"nobody")
    with mm.Router(bind=UP, on_unroutable="drop") as router:
        router.send(b"x", to=b"nobody")
        assert router.stats().dropped_no_peer == 1


def test_a_second_peer_of_the_same_name_is_refused_unless_handed_over() -> None:
    """The first keeps its place; with handover=True the newcomer takes it."""
    with mm.Router(bind=UP) as router, mm.Dealer(connect=router.endpoint, identity=b"n") as first:
        router.wait_for_peers(timeout=WAIT_S)
        with mm.Dealer(connect=router.endpoint, identity=b"n") as second:
            while not any("identity" in event.detail for event in second.events()):
                assert len(router.peers()) == 1
            router.send(b"yours", to=b"n")
            assert first.recv(timeout=WAIT_S) == b"yours"
        assert router.stats().closed[mm.Reason.IDENTITY] >= 1


def test_a_request_that_nobody_answers_times_out_and_the_next_one_works() -> None:
    """No lock-step to get stuck in; the late answer is dropped and counted."""
    with joined(mm.Rep, mm.Req) as (rep, req):
        with pytest.raises(mm.TimedOutError):
            req.request(b"one", timeout=0.05)
        late = rep.recv(timeout=WAIT_S)
        answers: list[bytes] = []
        asking = threading.Thread(
            target=lambda: answers.append(req.request(b"two", timeout=WAIT_S))
        )
        asking.start()
        second = rep.recv(timeout=WAIT_S)
        assert late.reply(b"late")
        assert second.reply(b"2")
        with pytest.raises(mm.UsageError, match="answered already"):
            second.reply(b"again")
        asking.join(WAIT_S)
        assert answers == [b"2"]
        assert req.stats().dropped_late == 1


def test_a_request_whose_peer_left_is_asked_again_or_told() -> None:
    """retries=0: PeerError, outcome unknown. retries=1: the next peer answers."""
    rep = mm.Rep(bind=UP)
    with mm.Req(connect=rep.endpoint) as req:
        failed: list[BaseException] = []

        def ask() -> None:
            try:
                req.request(b"q", timeout=WAIT_S)
            except mm.PeerError as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        rep.recv(timeout=WAIT_S)
        rep.close()
        asking.join(WAIT_S)
        assert "unknown" in str(failed[0])


def test_draining_without_a_peer_reports_what_is_left() -> None:
    """It does not raise; raise_for_loss does."""
    with joined(mm.Push, mm.Pull, recv_queue_messages=1) as (push, _):
        for _ in range(200):
            try:
                push.send(b"x" * 100_000, timeout=0.01)
            except mm.TimedOutError:
                break
        report = push.drain(timeout=0.05)
        assert report.queued + report.unconfirmed > 0
        with pytest.raises(mm.MeshError, match="queued|confirmed"):
            report.raise_for_loss()


def test_live_handles_are_counted() -> None:
    """What the leak check looks at."""
    before = lib.mm_live_handles()
    with mm.Engine() as engine, mm.Push(bind=UP, engine=engine):
        assert lib.mm_live_handles() == before + 2
    assert lib.mm_live_handles() == before


@pytest.mark.parametrize("poller", ["epoll", "poll"])
def test_both_pollers_move_messages(poller: Any) -> None:
    """The plain poll backend does all that epoll does."""
    with (
        mm.Engine(poller=poller) as engine,
        joined(mm.Push, mm.Pull, engine=engine) as (push, pull),
    ):
        for i in range(300):
            push.send(b"%d" % i, timeout=WAIT_S)
        assert [int(pull.recv(timeout=WAIT_S)) for _ in range(300)] == list(range(300))
