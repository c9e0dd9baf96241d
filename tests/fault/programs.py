"""The programs the fault tests run as processes of their own. Usage: python -m
tests.fault.programs NAME ARGS.

Law: each says on stdout how far it is, a line at a time, so that the test never has to guess.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import sys
import threading

import meshmsg as mm
from meshmsg import aio
from tests.support.forked import in_child
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"


def say(text: str) -> None:
    """Tell the test."""
    print(text, flush=True)


def pull(endpoint: str) -> None:
    """Receive for ever; say each hundredth message."""
    with mm.Pull(connect=endpoint, heartbeat_interval=0.2, heartbeat_timeout=1.0) as socket:
        socket.wait_for_peers(timeout=WAIT_S)
        while all(peer.rtt is None for peer in socket.peers()):  # it knows that we beat
            with contextlib.suppress(mm.TimedOutError):
                socket.wait_for_peers(2, timeout=0.02)
        say("ready")
        for count, _ in enumerate(socket):
            if count % 100 == 0:
                say(f"got {count}")


def blocked(what: str) -> None:
    """Block in a call until SIGINT; say that KeyboardInterrupt came."""
    # Who starts the suite in the background of a shell has SIGINT ignored, and so do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if what == "recv":
            with mm.Pull(bind=UP) as socket:
                say("ready")
                socket.recv()
        elif what == "send":
            with mm.Push(bind=UP) as push:
                say("ready")
                push.send(b"x")
        elif what == "poll":
            with mm.Pull(bind=UP) as socket, mm.Poller([socket]) as poller:
                say("ready")
                poller.poll()
        elif what == "peers":
            with mm.Push(bind=UP) as push:
                say("ready")
                push.wait_for_peers()
        else:
            asyncio.run(blocked_in_a_loop())
    except KeyboardInterrupt:
        say("interrupted")


async def blocked_in_a_loop() -> None:
    """The same under asyncio."""
    async with aio.Pull(bind=UP) as socket:
        say("ready")
        await socket.recv()


def leave(how: str) -> None:
    """End with live sockets, in several ways."""
    socket = mm.Pull(bind=UP)
    push = mm.Push(connect=socket.endpoint)
    push.wait_for_peers(timeout=WAIT_S)
    globals()["kept"] = (socket, push)
    if how == "thread":
        threading.Thread(
            target=lambda: contextlib.suppress(mm.MeshError).__enter__() or list(socket),
            daemon=True,
        ).start()
    elif how == "stalled":
        for _ in range(200):
            with contextlib.suppress(mm.TimedOutError):
                push.send(b"x" * 100_000, timeout=0.001)
    elif how == "_exit":
        say("leaving")
        os._exit(0)
    say("leaving")


def fork() -> None:
    """Fork with live sockets: the child is told, can open its own, and harms nobody."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull_socket:
        push.wait_for_peers(timeout=WAIT_S)
        stop = threading.Event()

        def busy() -> None:
            while not stop.is_set():
                with contextlib.suppress(mm.TimedOutError):
                    push.send(b"from the parent", timeout=0.1)

        sender = threading.Thread(target=busy)
        sender.start()
        for _ in range(20):
            assert in_child(lambda: child(push))
            assert pull_socket.recv(timeout=WAIT_S) == b"from the parent"
        stop.set()
        sender.join()
        assert len(push.peers()) == 1
        assert push.stats().disconnects == 0
    say("fine")


def child(inherited: mm.Push) -> bool:
    """Whether everything is as it should be in a forked child."""
    try:
        inherited.send(b"x")
    except mm.ForkedError as error:
        told = "fork" in str(error)
    else:
        told = False
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull_socket:
        push.send(b"mine", timeout=WAIT_S)
        return told and pull_socket.recv(timeout=WAIT_S) == b"mine"


def few_descriptors() -> None:
    """Run out of descriptors while peers connect; those who were there do not notice; then go
    on."""
    with (
        mm.Engine() as other,
        mm.Pull(bind=UP) as socket,
        mm.Push(connect=socket.endpoint, engine=other) as first,
    ):
        first.wait_for_peers(timeout=WAIT_S)
        with contextlib.suppress(mm.TimedOutError):
            socket.recv(
                timeout=0.001
            )  # a blocked thread needs a descriptor to sleep on: have it now
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        late = [mm.Push(engine=other) for _ in range(8)]
        used = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 3, hard))
        try:
            for push in late:
                push.connect(socket.endpoint)
            first.send(b"still here", timeout=WAIT_S)
            assert socket.recv(timeout=WAIT_S) == b"still here"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        socket.wait_for_peers(9, timeout=WAIT_S)
        say(" ".join(event.kind.name for event in socket.events()))
        for push in late:
            push.close()
    say("fine")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
