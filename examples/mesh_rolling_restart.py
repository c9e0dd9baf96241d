"""Each server of a service is replaced by a new one, while requests come, and none is lost.

A server that gets SIGTERM first has the clients send it no more, then answers what has come, then
leaves. A request that is not answered at the first try is counted, and asked again.

Run it: python examples/mesh_rolling_restart.py
"""

import itertools
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import meshmsg as mm
from meshmsg.mesh import Mesh

SERVERS = 3
CLIENTS = 4


def serve(name: str, seed: str) -> None:
    """Answer until SIGTERM; then what has come, and leave."""
    with (
        mm.Rep(bind="tcp://127.0.0.1:0") as rep,
        Mesh(cluster="example", name=name, seeds=seed) as mesh,
    ):
        signal.signal(signal.SIGTERM, lambda *_: rep.stop_receiving())
        mesh.announce("upper", rep)
        for request in rep:  # it ends when each client has said that it has sent its last
            request.reply(request.upper())
        report = rep.drain(timeout=10)
        if report.queued or report.unconfirmed:  # who had its answer and left leaves it in doubt
            raise SystemExit(f"not all answers are out: {report}")


def main() -> None:
    """Ask all the time, and restart one server after the other."""
    asked: list[bool] = []
    failed: list[str] = []
    over = threading.Event()
    with Mesh(cluster="example", name="client") as mesh, mesh.connect("upper", mm.Req) as req:

        def ask_on(name: str) -> None:
            """Ask until all servers are new ones, and note each answer and each failed try."""
            for number in itertools.count():
                if over.is_set():
                    break
                word = f"{name}-{number}".encode()
                try:
                    answer = req.request(word, timeout=5)
                except (mm.TimedOutError, mm.PeerError) as error:
                    failed.append(f"{word.decode()}: {error}")
                    answer = req.request(word, timeout=5, retries=5)
                asked.append(answer == word.upper())

        def start(name: str) -> subprocess.Popen[bytes]:
            with mesh.watch("upper") as watch:
                server = subprocess.Popen([sys.executable, __file__, name, mesh.endpoint])
                while watch.next(120).member.record.name != name:
                    pass
            return server

        servers = [start(f"old-{number}") for number in range(SERVERS)]
        with ThreadPoolExecutor(CLIENTS) as threads:
            clients = [threads.submit(ask_on, name) for name in "abcd"[:CLIENTS]]
            for number, old in enumerate(servers[:]):
                servers.append(start(f"new-{number}"))
                old.terminate()
                assert old.wait(60) == 0
            over.set()
            for client in clients:
                client.result()
        names = sorted(member.record.name for member in mesh.services()["upper"])
        print(f"{SERVERS} servers were restarted, now: {', '.join(names)}")
        print(f"{len(asked)} requests, all answered: {all(asked)}, asked again: {len(failed)}")
        print("".join(f"{words}\n" for words in failed), end="")
        for server in servers[SERVERS:]:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve(*sys.argv[1:])
    else:
        main()
