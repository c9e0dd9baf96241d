"""Micro-benchmarks of how a range of a spool may leave: a file in the system's memory, over TCP on
loopback (sending.c).

Not here: what a SpoolServer does besides. Law: as in test_micro.py; without a compiler, or where a
system has no MSG_ZEROCOPY, these are skipped. `extra_info` has what each thread used.
"""

from __future__ import annotations

import ctypes
import errno
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.tools import compiler

HERE = Path(__file__).resolve().parent
CSRC = HERE.parents[1] / "csrc"
FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Werror", "-O2", "-shared", "-fPIC", "-pthread")
WAYS = (
    *("read", "checked", "mapped", "mapped-checked", "sendfile"),
    *("read-pinned", "mapped-pinned"),
)
"""As in sending.c; pinned: by MSG_ZEROCOPY."""
PIECES = (64 * 1024, 256 * 1024, 1024 * 1024)
FILE_BYTES = 16 * 1024 * 1024 + 4096
"""Of the file; no multiple of a piece, so that one is cut."""
TOTAL = 4 * FILE_BYTES
NS_A_S, BYTES_A_GB = 1e9, 1e9


class Sender:
    """What was built, and a file."""

    def __init__(self, built: Any, path: Path) -> None:
        self._built, self._path = built, str(path).encode()
        self.octets = path.read_bytes()

    def send(self, way: str, piece: int, checks: bool = False) -> list[int]:
        """Send it four times; what was told."""
        told = (ctypes.c_int64 * 4)()
        sizes = ctypes.c_size_t(piece), ctypes.c_uint64(TOTAL)
        came = self._built.micro_send(WAYS.index(way), self._path, *sizes, int(checks), told)
        if -came in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOPROTOOPT):
            pytest.skip("this system has no MSG_ZEROCOPY")
        assert came == TOTAL, came
        return list(told)

    def crc(self, octets: bytes) -> int:
        """CRC-32C."""
        found: int = self._built.mmi_crc32c(0, octets, ctypes.c_size_t(len(octets)))
        return found


@pytest.fixture(scope="session")
def sender(tmp_path_factory: pytest.TempPathFactory) -> Sender:
    """The loops, and what they send."""
    cc = compiler()
    if cc is None or sys.platform != "linux":
        pytest.skip("there is no C compiler, or no Linux")
    folder = tmp_path_factory.mktemp("sending")
    made, path = folder / "sending.so", folder / "file"
    sources = [HERE / "sending.c", CSRC / "spool" / "crc32c.c"]
    include = [f"-I{CSRC}", f"-I{CSRC / 'include'}"]
    subprocess.run(
        [cc, *FLAGS, *include, *map(str, sources), "-o", str(made)], check=True, timeout=120
    )
    path.write_bytes(random.Random(1).randbytes(FILE_BYTES))
    loaded = ctypes.CDLL(str(made))
    loaded.micro_send.restype = ctypes.c_int64
    loaded.mmi_crc32c.restype = ctypes.c_uint32
    return Sender(loaded, path)


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.benchmark(group="sending")
def test_a_file_goes_out(benchmark: Any, sender: Sender, way: str, piece: int) -> None:
    """64 MiB; each octet arrives in its place."""
    assert sender.send(way, piece, checks=True)[3] == sender.crc(sender.octets * 4)
    told: list[list[int]] = []
    benchmark(lambda: told.append(sender.send(way, piece)))
    for at, end in enumerate(("sender", "receiver")):
        used = sorted(one[at] for one in told)[len(told) // 2]
        benchmark.extra_info[f"{end}_cpu_s_per_gb"] = used / NS_A_S / (TOTAL / BYTES_A_GB)
    benchmark.extra_info["copied_ppm"] = told[-1][2]
