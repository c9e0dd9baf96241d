"""Compiles and runs the C unit tests, each under the address and undefined-behaviour sanitizers.

A shared library of the core is what every test program and every replay of a fuzzer's corpus links.
It is compiled once per session, side by side, or is made of what MESHMSG_ASAN_OBJECTS has: the
objects of the same build of the package (`make test`). Not here: the tests (tests/c, tests/fuzz).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "c"
CC = os.environ.get("CC") or shutil.which("cc") or ""
FLAGS = [
    *["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread", "-fPIC"],
    *["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"],
    *[f"-I{ROOT / name}" for name in ("csrc", "csrc/include", "tests/c")],
]
CORE = sorted(path for path in (ROOT / "csrc").rglob("*.c") if path.parent.name != "binding")
FAKE = TESTS / "fake.c"
BUILT = os.environ.get("MESHMSG_ASAN_OBJECTS")
PROGRAMS = sorted(TESTS.glob("test_*.c"))
FUZZ = ROOT / "tests" / "fuzz"

pytestmark = pytest.mark.skipif(not CC, reason="no C compiler on this machine")


RUN_S = float(os.environ.get("MESHMSG_C_SECONDS", "600"))
"""Seconds that a program may take; `make crash`, which turns each bit of a spool, says more."""


def run(args: list[str | Path], timeout: float = RUN_S) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it said; a sanitized pytest's preloads are not for it."""
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(
        args, capture_output=True, text=True, timeout=timeout, check=False, env=env
    )


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of the core, compiled with the sanitizers, and of the fake socket."""
    folder = tmp_path_factory.mktemp("core")

    def compiled(source: Path) -> Path:
        target = folder / ("_".join(source.parts[-3:]) + ".o")
        done = run([CC, *FLAGS, "-c", source, "-o", target])
        assert done.returncode == 0, done.stderr
        return target

    if BUILT:
        objects = [Path(BUILT) / one.relative_to(ROOT).with_suffix(".o") for one in CORE]
        objects.append(compiled(FAKE))
    else:
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            objects = list(pool.map(compiled, [*CORE, FAKE]))
    library = folder / "libcore.so"
    done = run([CC, *FLAGS, "-shared", *objects, "-o", library])
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="session", autouse=True)
def certificates(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make certificates for the programs that need some, where they can be made."""
    if importlib.util.find_spec("cryptography") is not None:
        from tests.support.certificates import write

        folder = tmp_path_factory.mktemp("certificates")
        write(folder)
        os.environ["TLS_CERTIFICATES"] = str(folder)


def linked(sources: list[Path], core: Path, binary: Path) -> Path:
    """Return a program of these sources and the core."""
    built = run([CC, *FLAGS, *sources, core, f"-Wl,-rpath,{core.parent}", "-o", binary])
    assert built.returncode == 0, built.stderr
    return binary


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_c_program_ends_without_a_failed_check_or_a_sanitizer_report(
    program: Path, core: Path, tmp_path: Path
) -> None:
    """Each C program checks one file's rules; the sanitizers check its memory."""
    done = run([linked([program], core, tmp_path / program.stem)])
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_c_test_function_is_run_by_its_program(program: Path) -> None:
    """A test that main forgets cannot fail."""
    text = program.read_text(encoding="utf-8")
    main = text[text.index("\nmain(void)") :]
    defined = re.findall(r"^(test_\w+)\(", text, re.MULTILINE)
    assert defined
    assert [name for name in defined if not re.search(rf"\b{name}\b", main)] == []


@pytest.mark.parametrize(
    "name",
    [
        *("reader", "hello", "sp", "handshake", "curve", "plain", "tls", "delivery", "meta"),
        *("spool", "cursor", "blocks", "replay", "replayed"),
    ],
)
def test_the_corpus_of_a_fuzzer_is_harmless(name: str, core: Path, tmp_path: Path) -> None:
    """Every input, whole and in pieces, gives the same and breaks nothing."""
    inputs = sorted((FUZZ / "corpus" / name).iterdir())
    assert len(inputs) >= 5
    sources = [FUZZ / "fuzz_main.c", FUZZ / f"fuzz_{name}.c"]
    done = run([linked(sources, core, tmp_path / "replay"), *inputs])
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(inputs)} inputs\n"
