"""What `make install-c` installs: a C program, a C++ program and those of the docs build against it
and run, and it exports what meshmsg.h declares, no more and no less.

Not here: what the functions do (tests/c).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from csrc import cffi_build
from tests.tidy import headers

ROOT = Path(__file__).resolve().parents[1]
CC = os.environ.get("CC") or shutil.which("cc") or ""
CXX = shutil.which("g++")
C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
CXX_FLAGS = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SAYS = [
    "job: wash",
    "job: dry",
    "job: fold",
    "asked: how are you?",
    "answered: fine",
    "nobody else asks: the time is up",
    "left unsent: 0",
]

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("make", "pkg-config", "nm"))) or not CC,
    reason="make, pkg-config, nm or a C compiler is not on this machine",
)


def run(*command: str | Path, **env: str) -> str:
    """Run a command that must succeed and be silent on stderr; return what it printed."""
    outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}  # of the make that runs the tests
    own = {**{name: value for name, value in os.environ.items() if name not in outer}, **env}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=own, timeout=900)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    assert done.stderr == ""
    return done.stdout


@dataclass
class Installed:
    """The library below a folder that stands for /."""

    root: Path
    objects: Path

    @property
    def lib(self) -> Path:
        """Where its libraries are."""
        return self.root / "opt/mesh/lib"

    def flags(self) -> list[str]:
        """What pkg-config says of it."""
        return run(
            *("pkg-config", "--cflags", "--libs", "meshmsg"),
            PKG_CONFIG_PATH=str(self.lib / "pkgconfig"),
            PKG_CONFIG_SYSROOT_DIR=str(self.root),
        ).split()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build it, without any Python, and install it."""
    folder = tmp_path_factory.mktemp("c")
    built = Installed(folder / "root", folder / "build")
    where = [f"BUILD={built.objects}", f"DESTDIR={built.root}", "PREFIX=/opt/mesh"]
    run("make", "-s", "-j2", "install-c", *where, "PYTHON=false", "PIP=false", f"CC={CC}")
    return built


def test_every_c_example_is_in_this_test() -> None:
    """A new one must say here what it prints."""
    assert [path.name for path in (ROOT / "examples/c").iterdir()] == ["hello.c"]


def test_the_example_compiles_by_pkg_config_and_says_what_it_shows(
    installed: Installed, tmp_path: Path
) -> None:
    """Against the shared library, and against the static one."""
    source = ROOT / "examples/c/hello.c"
    version = re.findall(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    wanted = [f"meshmsg {version[0]}", *SAYS]
    run(CC, *C_FLAGS, source, *installed.flags(), "-o", tmp_path / "shared")
    own = {"LD_LIBRARY_PATH": str(installed.lib)}
    assert run(tmp_path / "shared", **own).splitlines() == wanted
    static = [installed.lib / "libmeshmsg.a", "-pthread", "-ldl", "-o", tmp_path / "static"]
    run(CC, *C_FLAGS, f"-I{installed.root / 'opt/mesh/include'}", source, *static)
    assert run(tmp_path / "static").splitlines() == wanted


def test_the_program_of_the_docs_runs(installed: Installed, tmp_path: Path) -> None:
    """As it stands in docs/c.md."""
    [program] = re.findall(r"```c\n(.*?)```", (ROOT / "docs/c.md").read_text(), re.DOTALL)
    (tmp_path / "page.c").write_text(program)
    run(CC, *C_FLAGS, tmp_path / "page.c", *installed.flags(), "-o", tmp_path / "page")
    assert run(tmp_path / "page", LD_LIBRARY_PATH=str(installed.lib)) == "1.0842\n"


@pytest.mark.skipif(not CXX, reason="g++ is not on this machine")
def test_the_header_is_fit_for_cxx(installed: Installed, tmp_path: Path) -> None:
    """It compiles without a warning, and its names are those of C."""
    source = tmp_path / "program.cc"
    source.write_text(
        "#include <meshmsg.h>\n#include <cstdio>\n"
        "int main() {\n    mm_handle engine = 0;\n"
        "    if (mm_engine_open(0, &engine) != MM_OK) { return 1; }\n"
        '    std::printf("%d", mm_engine_close(engine, 0, nullptr));\n    return 0;\n}\n'
    )
    run(str(CXX), *CXX_FLAGS, source, *installed.flags(), "-o", tmp_path / "program")
    assert run(tmp_path / "program", LD_LIBRARY_PATH=str(installed.lib)) == "0"


def test_exactly_the_functions_of_the_public_header_are_exported(installed: Installed) -> None:
    """Nothing of the binding, of simulation or of the inside of the core."""
    listed = run("nm", "-D", "--defined-only", installed.lib / "libmeshmsg.so")
    exported = {line.split()[-1] for line in listed.splitlines()}
    header = (installed.root / "opt/mesh/include/meshmsg.h").read_text()
    assert exported == set(headers.functions(header))


def test_what_is_installed_is_what_c_programs_expect(installed: Installed) -> None:
    """A name with a number for the loader, a link for the linker, and both kinds: no more."""
    files = {str(p.relative_to(installed.root)) for p in installed.root.rglob("*") if p.is_file()}
    assert files == {
        "opt/mesh/include/meshmsg.h",
        "opt/mesh/include/meshmsg_codes.h",
        "opt/mesh/lib/libmeshmsg.a",
        "opt/mesh/lib/libmeshmsg.so",
        "opt/mesh/lib/libmeshmsg.so.0",
        "opt/mesh/lib/pkgconfig/meshmsg.pc",
    }
    assert os.readlink(installed.lib / "libmeshmsg.so") == "libmeshmsg.so.0"
    needs = {name for rule in installed.objects.rglob("*.d") for name in rule.read_text().split()}
    assert any(name.endswith("meshmsg_binding.h") for name in needs)
    assert not [name for name in needs if name.endswith("Python.h")]


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not on this machine")
def test_the_loader_looks_for_the_number_and_for_libc_alone(installed: Installed) -> None:
    """The SONAME that docs/c.md promises; and no library that a C program has not anyway."""
    told = run("readelf", "--wide", "--dynamic", installed.lib / "libmeshmsg.so")
    assert re.findall(r"SONAME.*\[(.*)\]", told) == ["libmeshmsg.so.0"]
    needed = re.findall(r"NEEDED.*\[(.*)\]", told)
    assert [name for name in needed if not re.match(r"lib(c|pthread)\.|ld-linux", name)] == []


def test_the_library_is_compiled_as_the_extension_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one is tested and measured with, the other has."""
    for name in ("MESHMSG_DEBUG", "MESHMSG_WERROR", "MESHMSG_SANITIZE"):
        monkeypatch.delenv(name, raising=False)
    [flags] = re.findall(r"^CORE_FLAGS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert flags.split() == cffi_build.compile_args()
