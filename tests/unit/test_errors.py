"""Errors: sorted by what the caller can do, saying what, where, the limit and a hint."""

from __future__ import annotations

import copy
import errno
import pickle
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import error_for, raise_for, text_of, to_ms
from meshmsg._binding.errors import CLASSES
from tests.support.mm import lib
from tests.support.pairs import WAIT_S

TREE = {
    mm.UsageError: (Exception,),
    mm.InsecureBindError: (mm.UsageError,),
    mm.AddressError: (OSError,),
    mm.WouldBlockError: (BlockingIOError,),
    mm.TimedOutError: (TimeoutError,),
    mm.ClosedError: (Exception,),
    mm.EndOfStreamError: (EOFError,),
    mm.ForkedError: (Exception,),
    mm.PeerError: (ConnectionError,),
    mm.TooLargeError: (ValueError,),
    mm.ResourceError: (OSError,),
}


@pytest.mark.parametrize("kind", TREE)
def test_every_error_is_a_mesh_error_and_the_builtin_that_fits(kind: type[mm.MeshError]) -> None:
    """Code that knows nothing of meshmsg catches what it knows."""
    assert issubclass(kind, mm.MeshError)
    for other in TREE[kind]:
        assert issubclass(kind, other)


@pytest.mark.parametrize("kind", [mm.MeshError, *TREE])
def test_errors_travel_between_processes_with_all_they_know(kind: type[mm.MeshError]) -> None:
    """A worker's error is pickled on its way to whoever started it."""
    error = kind("what happened", code=-8, address="tcp://127.0.0.1:1")
    vars(error).update(sent=3, unsent=[b"x"])
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is kind
        assert str(twin) == "what happened"
        assert vars(twin) == vars(error)


def test_what_an_error_adds_has_a_value_even_when_nothing_is_known() -> None:
    """Attributes are there, not sometimes there."""
    assert (mm.MeshError().code, mm.MeshError().address, str(mm.MeshError())) == (0, "", "")
    assert (mm.TimedOutError().sent, mm.TimedOutError().unsent) == (0, [])
    assert (mm.TooLargeError(size=2, limit=1).size, mm.TooLargeError().limit) == (2, 0)
    assert (mm.PeerError(peer=b"p").peer, mm.PeerError().peer) == (b"p", b"")


@pytest.mark.parametrize("name", CLASSES)
def test_a_code_becomes_its_class_with_the_core_s_words(name: str) -> None:
    """And keeps the code."""
    code = getattr(lib, name)
    with pytest.raises(mm.MeshError) as raised:
        raise_for(code, "doing this", address="inproc://x")
    assert type(raised.value) is CLASSES[name]
    assert (raised.value.code, raised.value.address) == (code, "inproc://x")
    assert str(raised.value) == f"doing this: {text_of(code)}"


def test_success_and_unknown_codes() -> None:
    """Counts are no errors; a code from a newer core is at least a MeshError."""
    raise_for(0, "nothing")
    raise_for(7, "nothing")
    assert type(error_for(-9999, "odd")) is mm.MeshError


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [
        (None, -1),
        (0, 0),
        (0.0001, 1),
        (1, 1000),
        (1.0005, 1001),
        (1e300, 2**62),
        (float("inf"), 2**62),
    ],
)
def test_seconds_become_milliseconds_in_one_place(seconds: float | None, ms: int) -> None:
    """Rounded up: a time-out is never shorter than asked for, and never becomes "do not wait"."""
    assert to_ms(seconds) == ms


@pytest.mark.parametrize("bad", [-1, -0.001, float("nan")])
def test_what_is_no_time_is_refused_by_every_call_that_takes_one(bad: float) -> None:
    """Whether or not it would have to wait."""
    with (
        mm.Push() as push,
        mm.Pull() as pull,
        mm.Req() as req,
        mm.Pub() as pub,
        mm.Router() as router,
    ):
        calls: list[Any] = [
            lambda: push.send(b"", timeout=bad),
            lambda: push.send_many([], timeout=bad),
            lambda: push.send_frames([b""], timeout=bad),
            lambda: push.drain(timeout=bad),
            lambda: push.wait_for_peers(0, timeout=bad),
            lambda: pull.recv(timeout=bad),
            lambda: pull.recv_many(timeout=bad),
            lambda: pull.recv_frames(timeout=bad),
            lambda: req.request(b"", timeout=bad),
            lambda: pub.wait_for_subscribers(timeout=bad),
            lambda: pub.send(b"", topic="t", timeout=bad),
            lambda: router.send(b"", to=b"x", timeout=bad),
            lambda: push._engine.close(timeout=bad),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="timeout is .*seconds"):
                call()


def test_would_block_says_who_and_how_many_peers() -> None:
    """And costs no look at the events: it is for those who poll."""
    with mm.Pull(bind="inproc://errors") as pull:
        with pytest.raises(mm.WouldBlockError) as error:
            pull.recv(timeout=0)
        assert str(error.value) == "no message now (Pull bound to inproc://errors, 0 peers)"


def test_a_closed_socket_says_what_was_tried_and_what_to_do() -> None:
    """Not only "closed"."""
    pull = mm.Pull()
    pull.close()
    with pytest.raises(mm.ClosedError, match="no message: this Pull was closed; open a new one"):
        pull.recv()


def test_an_unknown_identity_names_itself_and_some_that_are_known() -> None:
    """PeerError.peer is who was meant."""
    with (
        mm.Router(bind="inproc://names") as router,
        mm.Dealer(connect="inproc://names", identity=b"anna"),
    ):
        router.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.PeerError, match=r"b'bert'.*known: \[b'anna'\]") as error:
            router.send(b"x", to=b"bert")
        assert error.value.peer == b"bert"
        assert error.value.errno == errno.EHOSTUNREACH
        assert error.value.strerror


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("tcp://127.0.0.1", "tcp://host:port"),
        ("what is this", "inproc://name"),
        ("tcp://127.0.0.1:x", "a number from 0 to 65535"),
    ],
)
def test_a_malformed_endpoint_is_told_what_endpoints_look_like(url: str, hint: str) -> None:
    """On bind and on connect."""
    for option in ("bind", "connect"):
        with pytest.raises(mm.AddressError) as error:
            mm.Pull(**{option: url})  # type: ignore[arg-type]
        assert url in str(error.value)
        assert hint in str(error.value)
        assert error.value.address == url


@pytest.mark.parametrize("bad", [5, b"tcp://127.0.0.1:0", 1.5])
def test_an_endpoint_is_a_str(bad: Any) -> None:
    """bytes are not."""
    with mm.Pull() as pull:
        for call in (pull.bind, pull.connect, pull.unbind, pull.disconnect):
            with pytest.raises(TypeError, match="an endpoint is a str like"):
                call(bad)


@pytest.mark.parametrize("bad", [5, None, 1.5, ["t"]])
def test_a_topic_is_str_or_bytes(bad: Any) -> None:
    """An int is not turned into so many zero bytes."""
    with mm.Sub() as sub, mm.Pub() as pub:
        for call in (sub.subscribe, sub.unsubscribe, pub.subscribers, pub.wait_for_subscribers):
            with pytest.raises(TypeError, match="a topic is str or bytes"):
                call(bad)
        with pytest.raises(mm.UsageError, match="not subscribed"):
            sub.unsubscribe("t")
        if isinstance(bad, int):
            with pytest.raises(TypeError, match=r"wait_for_subscribers\(count=5\)"):
                pub.wait_for_subscribers(bad)
