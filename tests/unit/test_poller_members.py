"""Pollers that wait until something can be sent, or for descriptors beside sockets."""

from __future__ import annotations

import errno
import os
import socket as std
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.forked import in_child, refused
from tests.support.pairs import WAIT_S, joined, wait_until
from tests.support.room import UP, all_there, room
from tests.support.stalled import PATIENCE_S

BODY = bytes(100_000)
FEW: dict[str, Any] = {"send_queue_messages": 2, "recv_queue_messages": 2}


def fill(sender: Any) -> int:
    """Send until nothing more is taken; how many were."""
    for count in range(10_000):
        try:
            sender.send(BODY, timeout=0)
        except mm.WouldBlockError:
            return count
    raise AssertionError("it never blocked")


@pytest.fixture
def ends() -> Iterator[tuple[std.socket, std.socket]]:
    """A pair of sockets of the standard library."""
    one, two = std.socketpair()
    one.setblocking(False)
    two.setblocking(False)
    with one, two:
        yield one, two


@pytest.mark.parametrize(
    ("sends", "receives"), [(mm.Push, mm.Pull), (mm.Dealer, mm.Dealer), (mm.Pair, mm.Pair)]
)
@pytest.mark.parametrize("transport", ["tcp", "inproc"])
def test_a_sender_is_told_of_while_it_takes_a_message(
    sends: Any, receives: Any, transport: str
) -> None:
    """Not without a peer, not while its queue is full, again when there is room."""
    url = "tcp://127.0.0.1:0" if transport == "tcp" else "inproc://room"
    with sends(bind=url, **FEW) as sender, mm.Poller[Any]() as poller:
        poller.add(sender, readable=False, writable=True)
        assert poller.poll(0) == []
        with receives(connect=sender.endpoint, **FEW) as receiver:
            assert poller.poll(timeout=WAIT_S) == [sender]
            wait_until(lambda: fill(sender) == 0 and poller.poll(0) == [])
            receiving = threading.Thread(
                target=lambda: [receiver.recv(timeout=WAIT_S) for _ in range(3)]
            )
            receiving.start()
            ready = poller.poll(WAIT_S)
            receiving.join()
            assert (ready, ready.readable, ready.writable) == ([sender], [], [sender])
            assert poller.poll(0) == [sender]


def test_a_result_tells_what_each_is_ready_for() -> None:
    """Both at once, one of both, and only what was asked for."""
    with (
        joined(mm.Pair, mm.Pair) as (ann, bob),
        joined(mm.Push, mm.Pull) as (push, pull),
        mm.Poller[Any]([pull]) as poller,
    ):
        poller.add(ann, writable=True)
        ready = poller.poll(WAIT_S)
        assert (ready.readable, ready.writable) == ([], [ann])
        bob.send(b"x")
        push.send(b"y")
        wait_until(lambda: sorted(map(id, poller.poll(0).readable)) == sorted(map(id, (ann, pull))))
        assert poller.poll(0).writable == [ann]
        assert [one.recv(timeout=0) for one in poller.poll(0)] != []
        poller.add(ann)  # in place of what was asked before
        wait_until(lambda: poller.poll(0) == [])
        poller.add(ann, readable=False, writable=True)
        bob.send(b"z")
        bob.drain(timeout=WAIT_S)
        assert (poller.poll(0).readable, poller.poll(0).writable) == ([], [ann])


def test_what_can_be_received_only_is_a_plain_list_and_tells_it_too() -> None:
    """`for socket in poller.poll()` needs to know nothing more."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller([pull]) as poller:
        assert (poller.poll(0), poller.poll(0).readable, poller.poll(0).writable) == ([], [], [])
        push.send(b"x")
        ready = poller.poll(WAIT_S)
        assert isinstance(ready, list)
        assert (ready, ready.readable, ready.writable) == ([pull], [pull], [])


@pytest.mark.parametrize("beside", [False, True], ids=["sockets", "descriptors too"])
def test_a_closed_sender_is_told_of_once_and_as_both(beside: bool) -> None:
    """So that the next call on it, whichever it is, says so."""
    with mm.Push(bind="inproc://a") as push, mm.Pull(bind="inproc://b") as pull:
        inner, outer = os.pipe()
        poller = mm.Poller[Any]([pull, inner] if beside else [pull])
        poller.add(push, writable=True, readable=False)
        closing = threading.Thread(target=push.close)
        closing.start()
        ready = poller.poll(WAIT_S)
        closing.join()
        assert (ready, ready.readable, ready.writable) == ([push], [push], [push])
        assert poller.poll(0) == []
        poller.close()
        os.close(inner)
        os.close(outer)


def test_a_descriptor_is_told_of_as_long_as_it_is_ready(
    ends: tuple[std.socket, std.socket],
) -> None:
    """By number or as what has a fileno(), to read, to write, or both."""
    one, two = ends
    with mm.Poller[Any]([one]) as poller:
        assert poller.poll(0) == []
        two.send(b"x")
        for _ in range(2):
            assert poller.poll(WAIT_S) == [one]
        poller.add(one, writable=True)
        ready = poller.poll()
        assert (ready.readable, ready.writable) == ([one], [one])
        assert one.recv(10) == b"x"
        ready = poller.poll()
        assert (ready, ready.readable, ready.writable) == ([one], [], [one])
        poller.add(one, readable=True)
        assert poller.poll(0.001) == []
        poller.remove(one)
        poller.add(one.fileno())
        two.send(b"y")
        assert poller.poll(WAIT_S) == [one.fileno()]
        assert repr(poller) == f"<meshmsg.Poller of 1: descriptor {one.fileno()} readable>"
        poller.remove(one.fileno())
        poller.remove(one.fileno())
        with pytest.raises(mm.UsageError, match="nothing to wait for"):
            poller.poll(0)


def test_a_descriptor_whose_other_end_is_gone_is_ready() -> None:
    """For whatever was asked: the next call on it says so."""
    inner, outer = os.pipe()
    os.close(inner)
    with mm.Poller[Any]() as poller:
        poller.add(outer, readable=False, writable=True)
        ready = poller.poll(WAIT_S)
        assert (ready.readable, ready.writable) == ([], [outer])
    os.close(outer)


@pytest.mark.parametrize("first", ["socket", "descriptor"])
def test_sockets_and_descriptors_wake_the_same_thread(
    first: str, ends: tuple[std.socket, std.socket]
) -> None:
    """Each alone, both together; whichever was added first."""
    one, two = ends
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller[Any]() as poller:
        for member in (pull, one) if first == "socket" else (one, pull):
            poller.add(member)
        acts: list[tuple[Callable[[], object], Any, Callable[[], object]]] = [
            (lambda: push.send(b"1"), pull, lambda: pull.recv(timeout=0)),
            (lambda: two.send(b"2"), one, lambda: one.recv(10)),
        ]
        for act, member, take in acts * 3:
            acting = threading.Thread(target=act)
            acting.start()
            assert poller.poll() == [member]
            acting.join()
            assert poller.poll(0) == [member]
            take()
            assert poller.poll(0) == []
        push.send(b"1")
        push.drain(timeout=WAIT_S)
        two.send(b"2")
        assert poller.poll(0) == [pull, one]


def test_members_may_be_added_while_a_thread_waits_for_descriptors(
    ends: tuple[std.socket, std.socket],
) -> None:
    """A socket and a descriptor; a second thread is refused meanwhile."""
    inner, outer = os.pipe()
    one, two = ends
    two.send(b"x")
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller[Any]([inner]) as poller:
        push.send(b"x")
        push.drain(timeout=WAIT_S)
        for member in (pull, one):
            found: list[Any] = []
            waiting = threading.Thread(target=lambda found=found: found.append(poller.poll(WAIT_S)))
            waiting.start()

            def refused() -> bool:
                try:
                    poller.poll(0)
                except mm.UsageError as error:
                    return "another thread" in str(error)
                return False

            wait_until(refused)
            poller.add(member)
            waiting.join()
            assert found == [[member]]
            poller.remove(member)
    os.close(inner)
    os.close(outer)


@pytest.mark.parametrize("of", ["sockets too", "descriptors only"])
def test_closing_a_poller_wakes_who_waits_for_descriptors(of: str) -> None:
    """It leaves no descriptor behind (the test's frame looks)."""
    inner, outer = os.pipe()
    with mm.Pull(bind="inproc://a") as pull:
        poller = mm.Poller[Any]([inner, pull] if of == "sockets too" else [inner])
        closing = threading.Thread(target=poller.close)
        with pytest.raises(mm.ClosedError, match="this Poller was closed"):
            closing.start()
            poller.poll()
        closing.join()
        for call in (poller.poll, lambda: poller.add(inner)):
            with pytest.raises(mm.ClosedError, match="this Poller was closed"):
                call()
        poller.remove(inner)
        poller.close()
    os.close(inner)
    os.close(outer)


def test_the_engine_s_end_is_told_beside_descriptors() -> None:
    """Its sockets are told of; the descriptors are waited for on."""
    inner, outer = os.pipe()
    with mm.Engine() as engine:
        pull = mm.Pull(engine=engine)
        poller = mm.Poller[Any]([pull, inner])
        closing = threading.Thread(target=engine.close)
        closing.start()
        assert poller.poll(WAIT_S) == [pull]
        closing.join()
    os.write(outer, b"x")
    assert poller.poll(WAIT_S) == [inner]
    poller.close()
    os.close(inner)
    os.close(outer)


def test_what_cannot_be_waited_for_says_why(tmp_path: Path) -> None:
    """And the poller is as it was."""
    (tmp_path / "file").write_text("x")
    with mm.Poller[Any]() as poller, mm.Push() as push, mm.Pull() as pull:
        with pytest.raises(mm.UsageError, match=r"recv\(\); add\(socket, writable=True\)"):
            poller.add(push)
        with pytest.raises(mm.UsageError, match="nothing to wait for"):
            poller.add(pull, readable=False)
        with pytest.raises(mm.UsageError, match="nothing to wait for"):
            poller.add(0, readable=False)
        for kind in (mm.Router, mm.XPub, mm.Pub):
            with kind() as socket, pytest.raises(mm.UsageError, match="depends on the message"):
                poller.add(socket, writable=True)
        for kind in (mm.Pull, mm.Rep, mm.Req, mm.Surveyor):
            with kind() as socket, pytest.raises(mm.UsageError):
                poller.add(socket, readable=False, writable=True)
        with (tmp_path / "file").open() as file, pytest.raises(mm.UsageError, match="regular"):
            poller.add(file)
        for bad in (-1, 10**6, True, "x", None):
            with pytest.raises(mm.UsageError):
                poller.add(bad)
        with pytest.raises(mm.UsageError, match="no sockets"):
            poller.poll(0)


def test_simulated_sockets_are_not_mixed_with_descriptors() -> None:
    """Their time is not that of the system."""
    inner, outer = os.pipe()
    with SimWorld(seed=1) as world, world.engine() as engine, mm.Pull(engine=engine) as pull:
        for members in ((pull, inner), (inner, pull)):
            with mm.Poller[Any]([members[0]]) as poller:
                with pytest.raises(mm.UsageError, match="simulated sockets"):
                    poller.add(members[1])
                assert poller.poll(0) == []
    os.close(inner)
    os.close(outer)


def test_a_forked_child_is_told_so_where_there_are_only_descriptors() -> None:
    """The parent's epoll is not waited for twice."""
    inner, outer = os.pipe()
    with mm.Poller[Any]([inner]) as poller:
        assert in_child(lambda: refused(lambda: poller.poll(0)))
        os.write(outer, b"x")
        assert poller.poll(WAIT_S) == [inner]
    os.close(inner)
    os.close(outer)


def test_repr_names_what_is_waited_for() -> None:
    """Some of them, and how many more there are."""
    with joined(mm.Pair, mm.Pair) as (ann, bob), mm.Poller[Any]() as poller:
        assert repr(poller) == "<meshmsg.Poller of 0: nothing>"
        poller.add(ann, writable=True)
        poller.add(bob, readable=False, writable=True)
        text = repr(poller)
        assert f"{ann!r} both" in text
        assert f"{bob!r} writable" in text
        pulls = [mm.Pull() for _ in range(4)]
        for pull in pulls:
            poller.add(pull)
        assert repr(poller).startswith("<meshmsg.Poller of 6: ")
        assert repr(poller).endswith("readable, 2 more>")
        for pull in pulls:
            pull.close()


@pytest.mark.parametrize("ends", [("Push", "Pull"), ("Dealer", "Dealer"), ("Pair", "Pair"),
                                  ("Bus", "Bus"), ("XSub", "XPub")])  # fmt: skip
def test_what_is_told_of_as_writable_takes_a_message_without_waiting(ends: tuple[str, str]) -> None:
    """Simulated: up to the last message that finds room, and again when the peer has read."""
    options: dict[str, Any] = {"overflow": "block", "send_queue_messages": 3}
    with room() as r:
        taker = r.open(ends[1], engine=r.hub, bind=UP, recv_queue_messages=3)
        sender = r.open(ends[0], connect=taker.endpoint, **options)
        sender.wait_for_peers(timeout=PATIENCE_S)
        with mm.Poller() as poller:
            poller.add(sender, readable=False, writable=True)
            for _ in range(5):
                sent = 0
                while poller.poll(0.01):
                    sender.send(b"m" * 1024, timeout=0)
                    sent += 1
                assert sent > 3
                assert len(all_there(taker)) == sent


@pytest.mark.parametrize("call", ["select.epoll", "os.eventfd", "os.dup"])
@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOMEM])
def test_no_descriptor_to_wait_with_is_an_error_of_ours(
    call: str, code: int, ends: tuple[std.socket, std.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what could not be done; once there is one, the same call does it."""

    def none_left(*_: Any) -> int:
        raise OSError(code, os.strerror(code))

    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, mm.Poller[Any]([pull]) as poller:
        with monkeypatch.context() as patch:
            patch.setattr(f"meshmsg._sync.polling.descriptors.{call}", none_left)
            with pytest.raises(mm.ResourceError, match="^waiting for descriptors: ") as caught:
                poller.add(ends[0])
            assert caught.value.errno == code
        assert poller.poll(0) == []
        poller.add(ends[0])
        ends[1].send(b"x")
        assert poller.poll(timeout=WAIT_S) == [ends[0]]


class Edged:
    """As a socket of pyzmq: its descriptor tells of changes only."""

    __module__ = "zmq.sugar.socket"

    def fileno(self) -> int:
        """One that could be waited for."""
        return 0


def test_a_socket_of_pyzmq_is_refused_with_what_to_do() -> None:
    """What came while nobody looked would stay there, and nobody would be told."""

    class Own(Edged):
        """As users make them."""

    with mm.Poller[Any]() as poller:
        for member in (Edged(), Own()):
            with pytest.raises(mm.UsageError, match=r"thread of its own.*zmq\.Poller.*fileno"):
                poller.add(member)


def test_a_descriptor_that_cannot_be_waited_for_says_why(tmp_path: Path) -> None:
    """A file is always ready; one that is not open is just that."""
    with mm.Poller[Any]() as poller, (tmp_path / "file").open("wb") as file:
        with pytest.raises(mm.UsageError, match="it is a regular file or a directory, which is"):
            poller.add(file)
        with pytest.raises(mm.UsageError, match="Bad file descriptor$"):
            poller.add(999_999)


def test_what_other_pollers_take_and_give_is_told() -> None:
    """`add(socket, POLLIN)`, and `dict(poller.poll())`."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller[Any]() as poller:
        with pytest.raises(TypeError, match=r"said by name: add\(socket, readable=True, writable"):
            poller.add(pull, 1)  # type: ignore[arg-type]
        poller.add(pull)
        push.send(b"x")
        found = poller.poll(timeout=WAIT_S)
        with pytest.raises(TypeError, match="a list of what is ready, not pairs"):
            dict(found)
        assert found == [pull]
