"""Peers that are C programs of bench/c, built on the spot when a compiler and headers are there."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.task import Task
from ..base.tools import compiler, first_words, package_version
from ..peers.seam import TRANSPORTS, Peer
from .compile import build, has_header


@dataclass
class Program(Peer):
    """A rival in C."""

    name: str = ""
    source: str = ""
    header: str = ""
    """What must be there besides a compiler."""
    libraries: tuple[str, ...] = ()
    in_python: bool = False
    transports: tuple[str, ...] = TRANSPORTS
    kinds: tuple[str, ...] = ("thr", "lat", "rate")
    connections_max: int = 1000
    options: tuple[str, ...] = ()
    offers: bool = False
    package_config: str = ""
    """What pkg-config calls its library, where the library does not tell its own release."""

    def missing(self) -> str | None:
        """Whether it can be built."""
        if compiler() is None:
            return "there is no C compiler"
        if self.header and not has_header(self.header):
            return f"the C header {self.header} is not there"
        return None

    def version(self) -> str:
        """Of the library as the program tells it, of its package, and of the compiler."""
        told = [package_version(self.package_config), first_words(self._program(), "version")]
        return ", ".join(filter(None, told))

    def _program(self) -> str:
        return str(build(self.source, self.libraries))

    def command(self, *tasks: Task) -> list[str]:
        """The program with its task."""
        self.check_sending(*tasks)
        task = tasks[0]
        end = "both" if len(tasks) > 1 else "receiver" if task.receives else "sender"
        told = {
            "kind": task.kind,
            "end": end,
            "url": task.url,
            "size": task.size,
            "count": task.count,
            "warm": task.warm,
            "seed": task.seed,
            "rate": task.rate,
            "burst": task.burst,
            "number": task.number,
            "ends": task.ends,
            "connections": task.connections,
            "offset_ns": task.offset_ns,
            "blocking": int(tasks[-1].blocking),
        }
        return [self._program(), *(f"{key}={value}" for key, value in told.items()), *self.options]


def raw(name: str, kinds: tuple[str, ...], *options: str) -> Program:
    """A variant of the raw stream."""
    tcp_ipc = ("tcp", "ipc")
    return Program(
        name, "raw.c", transports=tcp_ipc, kinds=kinds, connections_max=1, options=options
    )


PROGRAMS = (
    Program("libzmq-c", "libzmq.c", "zmq.h", ("zmq",), offers=True),
    Program(
        "nanomsg",
        "nanomsg.c",
        "nanomsg/nn.h",
        ("nanomsg",),
        kinds=("thr", "lat", "rate", "survey"),
        offers=True,
        package_config="nanomsg",
    ),
    raw("raw-c", ("thr", "lat", "rate"), "write=262144"),
    raw("raw-c-64k", ("thr",), "write=65536"),
    raw("raw-c-8k", ("thr",), "write=8192"),
    raw("raw-c-each", ("thr",), "write=0"),
    raw("raw-c-spin", ("lat",), "write=0", "spin=1"),
    Program(
        "openssl-c",
        "openssl.c",
        "openssl/ssl.h",
        ("ssl", "crypto"),
        transports=("tcp",),
        kinds=("thr",),
        connections_max=1,
        options=("write=16384",),
    ),
    Program("libsodium-c", "sodium.c", libraries=("dl",), transports=("tcp",), kinds=("thr",)),
    Program("raw-c-epoll", "raw_epoll.c", transports=("tcp", "ipc"), kinds=("survey",)),
)
