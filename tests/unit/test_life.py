"""The life of a socket and of an engine: endpoints come and go, and after the end everything says
so."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._roles.batches import batch_of
from meshmsg._socket.endpoints import noted
from tests.support.forked import Child
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, joined, of_its_own, wait_until

UP = "tcp://127.0.0.1:0"
ROLES = [
    *("Push", "Pull", "Pub", "Sub", "XPub", "XSub", "Req", "Rep", "Dealer", "Router", "Pair"),
    *("Surveyor", "Respondent", "Bus"),
]


def test_bind_returns_the_endpoint_with_its_port() -> None:
    """endpoint is the last one bound, endpoints are all."""
    with mm.Pull() as pull:
        assert (pull.endpoint, pull.endpoints) == ("", ())
        first = pull.bind(UP)
        second = pull.bind("tcp://127.0.0.1:*")
        assert first.startswith("tcp://127.0.0.1:")
        assert not first.endswith(":0")
        assert pull.endpoint == second
        assert pull.endpoints == (first, second)


@pytest.mark.parametrize("as_bound", [True, False])
def test_unbinding_takes_the_endpoint_as_bound_or_as_asked_for(as_bound: bool) -> None:
    """Afterwards it is not listed, nobody listens, and a second time is an error."""
    with mm.Pull() as pull:
        url = of_its_own()
        bound = pull.bind(url)
        pull.unbind(bound if as_bound else url)
        assert pull.endpoints == ()
        assert pull.stats().listeners == 0
        with pytest.raises(mm.AddressError, match="not bound here"):
            pull.unbind(bound)
        pull.bind(bound)


def test_who_is_connected_stays_when_the_listener_goes() -> None:
    """unbind ends no connection."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.unbind(push.endpoint)
        push.send(b"still here")
        assert pull.recv(timeout=WAIT_S) == b"still here"


def test_disconnecting_ends_the_connection_for_good() -> None:
    """And is told in repr; a second time is an error."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        assert push.endpoint in repr(pull)
        pull.disconnect(push.endpoint)
        while push.peers():
            push.wait_for_peers(0)
        assert pull.stats().dialers == 0
        assert push.endpoint not in repr(pull)
        with pytest.raises(mm.AddressError, match="not connected to"):
            pull.disconnect(push.endpoint)


def test_a_thread_leaves_an_endpoint_before_the_call_that_connected_it_is_over() -> None:
    """It is not listed for ever by the call that returns last; so in the mesh, with its thread."""
    with mm.Pull(bind=UP) as pull, mm.Push() as push:

        def connect() -> int:
            code: int = lib.mm_connect(push._handle, pull.endpoint.encode())
            push.wait_for_peers(1, timeout=WAIT_S)
            assert pull.endpoint in repr(push)
            push.disconnect(pull.endpoint)
            return code

        assert noted(push, pull.endpoint, connect) == 0
        assert pull.endpoint not in repr(push)


def test_one_socket_has_many_endpoints() -> None:
    """Given as a list, on both sides, mixed transports."""
    ends = [UP, "inproc://many-ends", "tcp://localhost:0"]
    with mm.Pull(bind=ends) as pull, mm.Push(connect=list(pull.endpoints)) as push:
        push.wait_for_peers(3, timeout=WAIT_S)
        push.send_many([b"%d" % i for i in range(9)])
        assert sorted(pull.recv(timeout=WAIT_S) for _ in range(9)) == [b"%d" % i for i in range(9)]
        assert len({peer.endpoint for peer in pull.peers()}) == 3


def test_a_socket_that_could_not_be_opened_leaves_nothing() -> None:
    """The good endpoint is free again."""
    before = lib.mm_live_handles()
    with mm.Pull(bind=of_its_own()) as pull:
        endpoint = pull.endpoint
    with pytest.raises(mm.AddressError):
        mm.Pull(bind=[endpoint, "tcp://nothing"])
    with pytest.raises(TypeError):
        mm.Sub(bind=endpoint, topics=[5])  # type: ignore[list-item]
    assert lib.mm_live_handles() <= before + 1  # the default engine
    with mm.Pull(bind=endpoint):
        pass


CALLS: dict[str, list[Any]] = {
    "recv": [],
    "recv_many": [],
    "recv_batch": [],
    "recv_frames": [],
    "fileno": [],
    "dead_letters": [],
    "peers": [],
    "stats": [],
    "events": [],
    "watch": [],
    "send": [b"x"],
    "send_many": [[b"x"]],
    "send_batch": [batch_of([mm.Message(b"x")])],
    "send_frames": [[b"x", b"y"]],
    "drain": [],
    "wait_for_peers": [],
    "wait_for_subscribers": ["t"],
    "subscribers": ["t"],
    "subscribe": ["t"],
    "unsubscribe": ["t"],
    "bind": ["inproc://closed"],
    "connect": ["inproc://closed"],
    "unbind": ["inproc://closed"],
    "disconnect": ["inproc://closed"],
    "request": [b"q"],
    "request_frames": [[b"q", b"r"]],
    "survey": [b"q"],
    "survey_frames": [[b"q", b"r"]],
    "stop_receiving": [],
    "wait_for_subscribed": [],
    "finish": [],
    "wait_for_finished": [],
    "groups": [],
    "retained": ["t"],
    "seek_group": ["g", "earliest"],
    "forget_group": ["g"],
}


@pytest.mark.parametrize("end", ["socket", "engine"])
@pytest.mark.parametrize("role", ROLES)
def test_after_the_end_every_call_says_so(role: str, end: str) -> None:
    """ClosedError from each method there is, whether the socket or its engine was closed."""
    engine = mm.Engine()
    socket = getattr(mm, role)(engine=engine)
    if end == "socket":
        socket.close()
    else:
        engine.close()
    methods = {
        name for name in dir(socket) if not name.startswith("_") and callable(getattr(socket, name))
    }
    assert methods - {"close"} <= set(CALLS)
    for name in sorted(methods - {"close"}):
        options: dict[str, Any] = {"to": b"x"} if (role, name) == ("Router", "send") else {}
        if role == "XPub" and name.endswith("subscribe"):
            options["peer"] = 1
        with pytest.raises(mm.ClosedError, match="closed"):
            getattr(socket, name)(*CALLS[name], **options)
    assert socket.closed
    assert repr(socket) == f"<meshmsg.{role} closed>"
    socket.close()
    engine.close()


@pytest.mark.parametrize("role", ROLES)
def test_a_socket_is_neither_pickled_nor_copied(role: str) -> None:
    """The hint says what to do instead."""
    with getattr(mm, role)() as socket:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=f"a {role} cannot be pickled.*pass its endpoint"):
                attempt(socket)


@pytest.mark.parametrize("action", ["always", "error"])
def test_a_forgotten_socket_is_closed_and_warned_of(
    action: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting; even when warnings are errors, it is closed."""
    before = lib.mm_live_handles()
    with mm.Engine() as engine, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        unraisable: list[Any] = []
        monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
        mm.Push(bind="inproc://forgotten", engine=engine)
        gc.collect()
        monkeypatch.undo()
        assert lib.mm_live_handles() == before + 1
        said = [str(w.message) for w in caught] + [str(u.exc_value) for u in unraisable]
        assert any("unclosed <meshmsg.Push bound to inproc://forgotten" in text for text in said)


def test_a_closed_engine_opens_nothing() -> None:
    """The error names the engine."""
    engine = mm.Engine()
    assert engine.close() == 0
    assert engine.close() == 0
    with pytest.raises(mm.ClosedError, match="its engine was closed"):
        mm.Push(engine=engine)


def test_the_thread_of_an_engine_has_a_name() -> None:
    """Debuggers and top show it."""
    with mm.Engine() as engine, mm.Pull(bind="tcp://127.0.0.1:0", engine=engine):
        tasks = Path("/proc/self/task")
        wait_until(lambda: "meshmsg\n" in [path.read_text() for path in tasks.glob("*/comm")])


def test_closing_an_engine_wakes_whoever_waits_in_its_sockets() -> None:
    """In every thread, in every kind of wait."""
    engine = mm.Engine()
    pull, push, req = (kind(bind=UP, engine=engine) for kind in (mm.Pull, mm.Push, mm.Req))
    outcomes: list[BaseException] = []

    def wait(call: Any) -> None:
        try:
            call()
        except mm.ClosedError as error:
            outcomes.append(error)

    calls = [
        pull.recv,
        lambda: push.send(b"x"),
        lambda: req.request(b"x"),
        lambda: pull.wait_for_peers(9),
        lambda: list(pull),
    ]
    threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    engine.close()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    assert len(outcomes) == 4  # an iteration just ends


def test_an_engine_tells_what_it_could_not_send() -> None:
    """close returns how many messages are lost."""
    with mm.Engine() as engine:
        push = mm.Push(connect="tcp://127.0.0.1:9", engine=engine, linger=0)
        pull = mm.Pull(bind=UP, engine=engine, recv_queue_messages=1)
        other = mm.Push(connect=pull.endpoint, engine=engine, linger=0)
        other.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TimedOutError):
            other.send_many([b"x" * 1000] * 100_000, timeout=0.2)
        assert engine.close(timeout=0) >= 1  # of sockets closed before, the log may have told
        assert push.closed


def test_the_default_engine_is_made_once_whoever_comes_first() -> None:
    """Sockets opened by many threads at once share it."""
    before = lib.mm_live_handles()
    opened: list[mm.Push] = []
    start = threading.Barrier(8, timeout=WAIT_S)

    def open_one() -> None:
        start.wait()
        opened.append(mm.Push())

    threads = [threading.Thread(target=open_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert len({push._engine._handle for push in opened}) == 1
    assert lib.mm_live_handles() <= before + 9
    for push in opened:
        push.close()


def test_a_forked_child_has_an_engine_of_its_own() -> None:
    """And its sockets work; the parent's are told apart by process."""
    with mm.Push(bind=UP) as push:

        def work() -> bool:
            with mm.Pull(connect=push.endpoint) as pull:
                assert pull.recv(timeout=WAIT_S) == b"to the child"
            return "of process" in repr(push)

        child = Child(work)
        push.send(b"to the child", timeout=WAIT_S)
        assert child.true()
