"""What a program is told when it ends: what is lost is said with its number, what is not is not.

Each program runs as a process of its own.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.programs import running
from tests.support.rawpeer import RawPeer

ROOT = Path(__file__).resolve().parents[2]
UP = "tcp://127.0.0.1:0"


def ends(code: str, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; its exit code is 0 unless that is not asked for."""
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", textwrap.dedent(code), *args],
        timeout=WAIT_S,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


UNSENT = """
    import sys, meshmsg as mm
    kept = mm.Push(connect=sys.argv[1], send_queue_messages=100)
    kept.wait_for_peers(timeout=60)
    sent = 0
    try:
        while True:
            kept.send(bytes(500_000), timeout=0)
            sent += 1
    except mm.WouldBlockError:
        print(kept.stats().queued_out_messages)
"""


def listener() -> tuple[mm.Pull, str]:
    """A Pull that takes one message and reads no more."""
    pull = mm.Pull(bind=UP, recv_queue_messages=1, recv_queue_bytes=1)
    return pull, pull.endpoint


def test_what_is_still_queued_at_exit_is_said_with_its_number() -> None:
    """Claim: "what is still queued then is lost, and a RuntimeWarning says how much"."""
    pull, endpoint = listener()
    with pull:
        done = ends(UNSENT, endpoint)
        told = re.search(r"RuntimeWarning: meshmsg: (\d+) messages were still queued", done.stderr)
        assert told, done.stderr
        assert 0 < int(told.group(1)) <= int(done.stdout)
        assert "call drain()" in done.stderr


def test_what_was_drained_is_not_complained_of() -> None:
    """A quiet end: nothing on stderr but the unclosed socket."""
    with mm.Pull(bind=UP) as pull:
        done = ends(
            """
            import sys, meshmsg as mm
            with mm.Push(connect=sys.argv[1]) as push:
                push.send_many([b"x"] * 500, timeout=60)
                push.drain(timeout=60).raise_for_loss()
            """,
            pull.endpoint,
        )
        assert done.stderr == ""
        found: list[bytes] = []
        while len(found) < 500:
            found += pull.recv_many(timeout=WAIT_S)


def test_what_was_sent_right_before_the_end_arrives_without_a_drain() -> None:
    """Claim: "At exit the engines get one second": enough for what a reading peer can take."""
    with mm.Pull(bind=UP) as pull:
        code = """
            import sys, meshmsg as mm
            push = mm.Push(connect=sys.argv[1])
            push.send_many([b"%d" % i for i in range(900)], timeout=60)
            """
        assert "still queued" not in ends(code, pull.endpoint).stderr
        found: list[bytes] = []
        while len(found) < 900:
            found += pull.recv_many(timeout=WAIT_S)
        assert found == [b"%d" % i for i in range(900)]


def test_an_unclosed_socket_is_a_resource_warning_when_it_is_collected() -> None:
    """And names itself, so that it can be found."""
    done = ends("import meshmsg as mm; mm.Push(bind='inproc://lost'); print('on')")
    assert "ResourceWarning: unclosed <meshmsg.Push bound to inproc://lost" in done.stderr


@pytest.mark.parametrize("how", ["raise SystemExit(7)", "sys.exit(7)", "os._exit(7)", "1/0"])
def test_the_exit_code_is_the_program_s_own(how: str) -> None:
    """Live sockets, a thread in recv and queued messages change nothing about it."""
    code = f"""
        import os, sys, threading, meshmsg as mm
        pull = mm.Pull(bind={UP!r})
        push = mm.Push(connect=pull.endpoint)
        push.send(b"x", timeout=60)
        threading.Thread(target=lambda: list(pull), daemon=True).start()
        {how}
        """
    assert ends(code, check=False).returncode == (1 if "/" in how else 7)


def test_a_forked_child_ends_without_touching_its_parent_s_connections() -> None:
    """Its exit runs the same hooks; the parent's peer notices nothing."""
    with mm.Pull(bind=UP) as pull:
        code = """
            import os, signal, sys, meshmsg as mm
            push = mm.Push(connect=sys.argv[1])
            push.send(b"before", timeout=60)
            for _ in range(5):
                child = os.fork()
                if child == 0:
                    signal.alarm(60)
                    sys.exit(repr(push).startswith("<meshmsg.Push of process") - 1)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            push.send(b"after", timeout=60)
            push.drain(timeout=60).raise_for_loss()
            """
        ends(code, pull.endpoint)
        assert [pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"before", b"after"]
        assert pull.stats().accepts == 1


def test_a_peer_that_never_reads_does_not_keep_a_program_from_ending() -> None:
    """Bounded by the second the engines get, and the loss is said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.settimeout(WAIT_S)
        command = [sys.executable, "-c", textwrap.dedent(UNSENT), endpoint]
        told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with running(command, **told) as program, RawPeer.of(server.accept()[0]) as peer:
            peer.send(ref.greeting() + ref.ready(b"PULL"))
            _, errors = program.communicate(timeout=WAIT_S)
        assert program.returncode == 0
        assert "messages were still queued as their socket ended" in errors


def test_the_default_engine_of_a_process_is_its_own(tmp_path: Path) -> None:
    """After a fork the child opens another; both go on working and both end."""
    done = ends(
        """
        import os, signal, sys, meshmsg as mm
        with mm.Push(bind="tcp://127.0.0.1:0") as push, mm.Pull(connect=push.endpoint) as pull:
            child = os.fork()
            signal.alarm(0 if child else 60)
            with mm.Push(bind="tcp://127.0.0.1:0") as a, mm.Pull(connect=a.endpoint) as b:
                a.send(b"x", timeout=60)
                assert b.recv(timeout=60) == b"x"
            if child == 0:
                sys.exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            push.send(b"y", timeout=60)
            assert pull.recv(timeout=60) == b"y"
        print("fine", os.getpid())
        """
    )
    assert done.stdout.split()[0] == "fine"
    assert int(done.stdout.split()[1]) != os.getpid()
