"""A Poller of descriptors: in a forked child, and joined by the first one while it waits.

Not here: what it waits for (test_poller, test_poller_members).
"""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

import meshmsg as mm
from tests.support.forked import in_child, refused
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"


def test_a_forked_child_changes_nothing_of_its_parents_poller() -> None:
    """It shares the epoll: add and poll are refused there, remove and close touch nothing."""
    readable, written = os.pipe()
    with mm.Pull(bind=UP) as pull, mm.Poller([readable]) as poller:
        poller.add(pull)

        def work() -> bool:
            done = refused(lambda: poller.add(written), lambda: poller.poll(0))
            poller.remove(readable)
            poller.remove(pull)
            poller.close()
            return done

        assert in_child(work)
        os.write(written, b"x")
        assert poller.poll(WAIT_S) == [readable]
        os.read(readable, 1)
        with mm.Push(connect=pull.endpoint) as push:
            push.send(b"x", timeout=WAIT_S)
            assert poller.poll(WAIT_S) == [pull]
    os.close(readable)
    os.close(written)


def test_a_poller_that_waits_is_not_rung_by_a_child_that_closes_its_copy() -> None:
    """Else the parent's would look again and again for ever."""
    readable, written = os.pipe()
    poller = mm.Poller([readable])
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(poller.poll(WAIT_S)))
    thread.start()
    wait_until(lambda: poller._waiting)
    assert in_child(lambda: poller.close() is None)
    assert poller._descriptors is not None
    with pytest.raises(BlockingIOError):
        os.eventfd_read(poller._descriptors._wake)
    os.write(written, b"x")
    thread.join(WAIT_S)
    assert found == [readable]
    poller.close()
    os.close(readable)
    os.close(written)


def test_an_empty_poller_may_be_used_by_a_child() -> None:
    """It has nothing of the parent's."""
    poller: mm.Poller[Any] = mm.Poller()

    def work() -> bool:
        readable, written = os.pipe()
        poller.add(readable)
        os.write(written, b"x")
        return poller.poll(WAIT_S) == [readable]

    assert in_child(work)
    poller.close()


def test_the_first_descriptor_is_noticed_by_a_poll_that_waits_for_sockets() -> None:
    """As a socket is that is added then."""
    readable, written = os.pipe()
    os.write(written, b"x")
    with mm.Pull(bind=UP) as pull, mm.Poller[Any]([pull]) as poller:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(poller.poll(WAIT_S)))
        thread.start()
        wait_until(lambda: is_waiting(poller))
        poller.add(readable)
        thread.join(WAIT_S)
        assert found == [[readable]]
    os.close(readable)
    os.close(written)


def is_waiting(poller: mm.Poller[Any]) -> bool:
    """Whether a thread waits in it: a second one is refused."""
    try:
        poller.poll(0)
    except mm.UsageError:
        return True
    return False


def test_what_was_ready_for_what_is_known_after_the_list_was_changed() -> None:
    """Popped, sorted, or grown by others."""
    readable, written = os.pipe()
    os.write(written, b"x")
    poller: mm.Poller[Any] = mm.Poller([readable])
    poller.add(written, readable=False, writable=True)
    ready = poller.poll(WAIT_S)
    ready.sort(reverse=True)
    assert (ready.readable, ready.writable) == ([readable], [written])
    ready.remove(readable)
    assert (ready.readable, ready.writable) == ([], [written])
    ready.append(12345)
    assert (ready.readable, ready.writable) == ([], [written])
    poller.close()
    os.close(readable)
    os.close(written)


def test_what_is_no_descriptor_and_no_time_is_refused_by_its_name() -> None:
    """A number no descriptor has, and a text."""
    with mm.Poller[Any]() as poller:
        for number in (-1, 2**31, 2**70):
            with pytest.raises(mm.UsageError, match=f"descriptor {number} cannot be waited for"):
                poller.add(number)
        with mm.Pull() as pull:
            poller.add(pull)
            with pytest.raises(TypeError, match="timeout is '1'; seconds as a number"):
                poller.poll(timeout="1")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["register", "unregister", "modify", "sockets", "select"])
def test_names_of_other_pollers_are_absent_and_say_what_to_use(name: str) -> None:
    """As those of other sockets."""
    with mm.Poller[Any]() as poller:
        assert not hasattr(poller, name)
        assert name not in dir(poller)
        with pytest.raises(AttributeError, match=f"Poller has no '{name}'; use: "):
            getattr(poller, name)
