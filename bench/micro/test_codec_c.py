"""Micro-benchmarks of what only C can reach: both writers and the tree of topics (codec.c).

Not here: what Python can call (test_codec.py). Law: as in test_micro.py; without a compiler these
are skipped.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.tools import compiler

HERE = Path(__file__).resolve().parent
CSRC = HERE.parents[1] / "csrc"
FLAGS = ("-std=gnu11", "-O2", "-shared", "-fPIC", "-pthread")
COUNT = 1000
HEADS = {("zmtp", 64): 2, ("zmtp", 1024): 9, ("zmtp", 16384): 9}
"""Octets in front of a body; SP always has 8."""
SP_HEAD = 8


@pytest.fixture(scope="session")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The loops, built with the library's own flags of optimisation."""
    cc = compiler()
    if cc is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("micro") / "codec.so"
    below = [path for name in ("base", "crypto", "wire") for path in CSRC.glob(f"{name}/**/*.c")]
    sources = [HERE / "codec.c", *sorted(below)]
    include = [f"-I{CSRC}", f"-I{CSRC / 'include'}"]
    command = [cc, *FLAGS, *include, *map(str, sources), "-o", str(made)]
    subprocess.run(command, check=True, timeout=120)
    loaded = ctypes.CDLL(str(made))
    loaded.micro_write.restype = ctypes.c_size_t
    loaded.micro_match.restype = ctypes.c_uint32
    return loaded


@pytest.mark.parametrize("size", [64, 1024, 16384])
@pytest.mark.parametrize("wire", ["zmtp", "sp"])
@pytest.mark.benchmark(group="codec")
def test_the_writer_encodes_messages(benchmark: Any, codec: Any, wire: str, size: int) -> None:
    """1,000 messages, head and body, end to end."""
    body = b"x" * size
    octets = size + HEADS.get((wire, size), SP_HEAD)
    out = ctypes.create_string_buffer(octets * COUNT)
    length = ctypes.c_size_t(size)
    assert benchmark(codec.micro_write, wire == "sp", body, length, COUNT, out) == octets
    assert out.raw == out.raw[: octets - size] + body + out.raw[:octets] * (COUNT - 1)


@pytest.mark.parametrize("topics", [1, 1000, 100_000])
@pytest.mark.benchmark(group="subscriptions")
def test_the_tree_of_topics_is_searched(benchmark: Any, codec: Any, topics: int) -> None:
    """1,000 times the same text, of which one topic is a prefix."""
    text = f"news.{topics - 1}.today".encode()
    assert codec.micro_topics(topics) == 0
    try:
        found = benchmark(codec.micro_match, text, ctypes.c_size_t(len(text)), COUNT)
        assert found == COUNT
    finally:
        codec.micro_no_topics()
