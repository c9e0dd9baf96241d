"""Each server of a service is replaced by a new one, while requests come, and none is lost.

Run it: python examples/mesh_rolling_restart.py
"""

import signal
import subprocess
import sys

import meshmsg as mm
from meshmsg.mesh import Mesh

SERVERS = 3
REQUESTS = 100
"""Between two restarts."""


def serve(name: str, seed: str) -> None:
    """Answer until SIGTERM; then what has come, and leave."""
    with (
        mm.Rep(bind="tcp://127.0.0.1:0") as rep,
        Mesh(cluster="example", name=name, seeds=seed) as mesh,
    ):
        signal.signal(signal.SIGTERM, lambda *_: rep.stop_receiving())
        mesh.announce("upper", rep)
        for request in rep:
            request.reply(request.upper())
        rep.drain(timeout=10).raise_for_loss()


def main() -> None:
    """Ask all the time, and restart one server after the other."""
    with Mesh(cluster="example", name="client") as mesh, mesh.connect("upper", mm.Req) as req:

        def start(name: str) -> subprocess.Popen[bytes]:
            with mesh.watch("upper") as watch:
                server = subprocess.Popen([sys.executable, __file__, name, mesh.endpoint])
                while watch.next(120).member.record.name != name:
                    pass
            return server

        def ask() -> int:
            words = [f"{name}-{number}".encode() for number in range(REQUESTS)]
            answers = [req.request(word, timeout=5, retries=5) for word in words]
            return sum(a == word.upper() for a, word in zip(answers, words, strict=True))

        name = "first"
        servers = [start(f"old-{number}") for number in range(SERVERS)]
        right = ask()
        for number, old in enumerate(servers[:]):
            name = f"new-{number}"
            servers.append(start(name))
            old.terminate()
            right += ask()
            assert old.wait(60) == 0
        names = sorted(member.record.name for member in mesh.services()["upper"])
        print(f"{SERVERS} servers were restarted, now: {', '.join(names)}")
        print(f"{REQUESTS * (SERVERS + 1)} requests, answered: {right}")
        for server in servers[SERVERS:]:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve(*sys.argv[1:])
    else:
        main()
