"""However the bench is told to end, and whenever: nothing it started is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.benched import BENCH

PATIENCE_S = 60
SERVER = """#!{python}
import os, socket, sys
if "--version" in sys.argv:
    raise SystemExit(print("Redis server v=9.8.7 sha=0"))
host, _, port = os.environ["BENCH_TEST"].partition(":")
with socket.socket() as there:
    there.bind(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
    if os.environ["BENCH_MOMENT"] != "starting":
        there.listen()
    test = socket.create_connection((host, int(port)))  # open as long as this runs
    while True:
        there.accept()[0] if os.environ["BENCH_MOMENT"] != "starting" else test.recv(1)
"""
"""A broker that only tells the test that it is there, and may never be ready."""
CLIENT = """
import os, socket, sys, threading
class Redis:
    def __init__(self, host, port):
        host, _, port = os.environ["BENCH_TEST"].partition(":")
        self.test = socket.create_connection((host, int(port)))
    def blpop(self, *told, **more):
        threading.Event().wait()
    rpush = pipeline = blpop
"""
"""A client that never gets anything."""


def wait_for_end(one: socket.socket) -> None:
    """Wait until the process at the other end is gone; an error if it does not go."""
    one.settimeout(PATIENCE_S)
    try:
        assert one.recv(1) == b""
    except ConnectionResetError:
        pass  # it was killed


@dataclass
class Started:
    """The bench, and a connection of each process it started."""

    process: subprocess.Popen[str]
    there: list[socket.socket]

    def end(self) -> int:
        """Wait for its end; its exit status."""
        status = self.process.wait(PATIENCE_S)
        for one in self.there:
            wait_for_end(one)
        assert self.process.stderr is not None
        assert "Traceback" not in self.process.stderr.read()
        return status


def heed_signals() -> None:
    """As in a terminal, whatever the tests were started by has ignored."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def ignore_hang_up() -> None:
    """What nohup does."""
    heed_signals()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@contextmanager
def measuring(
    folder: Path, moment: str, before: Callable[[], None] = heed_signals
) -> Iterator[Started]:
    """The bench with that broker, at that moment, in a session of its own."""
    (folder / "redis-server").write_text(SERVER.format(python=sys.executable))
    (folder / "redis-server").chmod(0o700)
    (folder / "redis.py").write_text(CLIENT)
    (folder / "scratch").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        host, port = listener.getsockname()
        environment = {
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}",
            "TMPDIR": str(folder / "scratch"),
            "BENCH_TEST": f"{host}:{port}",
            "BENCH_MOMENT": moment,
        }
        command = [*BENCH, "thr", "--peer", "redis", "--transport", "tcp", "--size", "64"]
        command += ["--count", "2", "--rounds", "1"]
        with subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=before,
        ) as process:
            expected = 1 if moment == "starting" else 3  # the broker; both ends
            there = [listener.accept()[0] for _ in range(expected)]
            try:
                yield Started(process, there)
            finally:
                process.kill()
                for one in there:
                    one.close()


@pytest.mark.parametrize("moment", ["starting", "measuring"])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_it_is_told_to_end(
    tmp_path: Path, number: signal.Signals, moment: str
) -> None:
    """The broker, in a session of its own, and the ends; no folder, and no traceback."""
    with measuring(tmp_path, moment) as started:
        started.process.send_signal(number)
        assert started.end() == 128 + number
    assert os.listdir(tmp_path / "scratch") == []


def test_a_key_that_reaches_all_of_its_processes_ends_them_too(tmp_path: Path) -> None:
    """Ctrl-C on a terminal goes to the ends as well."""
    with measuring(tmp_path, "measuring") as started:
        os.killpg(started.process.pid, signal.SIGINT)
        assert started.end() == 128 + signal.SIGINT
    assert os.listdir(tmp_path / "scratch") == []


def test_a_hang_up_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under nohup: the other signal ends it."""
    with measuring(tmp_path, "measuring", ignore_hang_up) as started:
        started.process.send_signal(signal.SIGHUP)
        started.process.send_signal(signal.SIGTERM)
        assert started.end() == 128 + signal.SIGTERM


def python(text: str) -> list[str]:
    """Run some lines in a process, as signals go to the main thread; what it printed."""
    lines = "import os, signal, threading\nfrom meshmsg.bench.base.signals import held\n"
    lines += "signal.signal(signal.SIGINT, signal.default_int_handler)\n" + text  # also under nohup
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_signal_that_is_held_comes_when_the_block_ends() -> None:
    """Not in it; and who asks sees that it came."""
    assert python("""
try:
    with held() as came:
        os.kill(os.getpid(), signal.SIGINT)
        print("still here", [int(one) for one in came])
    print("never")
except KeyboardInterrupt:
    print("then")
""") == ["still here [2]", "then"]


def test_blocks_within_blocks_hold_to_the_outermost_end() -> None:
    """Once, however often it came."""
    assert python("""
try:
    with held() as outer:
        with held() as inner:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        print(len(inner), len(outer))
except KeyboardInterrupt:
    print("once")
""") == ["2 1", "once"]


def test_without_a_signal_all_is_as_before() -> None:
    """An error of the block comes out; what was ignored is ignored."""
    assert python("""
signal.signal(signal.SIGHUP, signal.SIG_IGN)
before = signal.getsignal(signal.SIGINT)
try:
    with held() as came:
        os.kill(os.getpid(), signal.SIGHUP)
        raise OSError("mine")
except OSError as error:
    print(error, came)
print(signal.getsignal(signal.SIGINT) is before, signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)
""") == ["mine []", "True True"]


def test_in_another_thread_nothing_is_held() -> None:
    """Signals do not go there."""
    assert python("""
def other():
    with held() as came:
        print(came, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
thread = threading.Thread(target=other)
thread.start()
thread.join()
""") == ["[] True"]
