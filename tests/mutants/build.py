"""Builds the C core of one tree, file by file, so that a changed file costs seconds.

Two builds stand side by side: the core with sanitizers, for the C test programs, and the extension
module, for pytest; both note which blocks run, if they are asked to (trace.c). Not here: what is
changed (mutate.py), what is run (run.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CC = os.environ.get("CC") or shutil.which("gcc") or "cc"
COMMON = ["-std=c11", "-D_GNU_SOURCE", "-fPIC", "-pthread", "-MMD"]
WARNED = ["-Wall", "-Wextra", "-Werror"]
"""As the core is always built: a change that this refuses is noticed before any test."""
TRACED = ["-g", "-O0", "-fsanitize-coverage=trace-pc"]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
PLAIN = ["-fvisibility=hidden"]
LIBRARIES = {"sanitized": "libcore.so", "plain": "src/meshmsg/_mm.abi3.so"}
TRACE = Path("tests/mutants/trace.c")
TREE_PARTS = ("csrc", "src", "tests", "patterns", "spark_integration", "bench", "examples", "docs")
TREE_FILES = (
    "pyproject.toml",
    "setup.py",
    "README.md",
    "Makefile",
    "MANIFEST.in",
    "LICENSE",
    "CHANGELOG.md",
)


class BuildError(Exception):
    """The changed file does not compile."""


def _run(args: list[str], cwd: Path) -> None:
    done = subprocess.run(args, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(done.stderr[-2000:])


class Tree:
    """A copy of the checkout that may be changed, with what was built of it."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Copy and build everything once."""
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in TREE_PARTS:
            ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.o")
            shutil.copytree(root / name, folder / name, symlinks=True, ignore=ignore)
        for name in TREE_FILES:
            shutil.copy(root / name, folder / name)
        self.objects = {"sanitized": folder / "sanitized", "plain": folder / "plain"}
        for path in self.objects.values():
            path.mkdir()
        _run([sys.executable, "-c", _EMIT], folder)
        core = sorted(path.relative_to(folder) for path in (folder / "csrc").rglob("*.c"))
        self.core = [path for path in core if path.parts[1] != "binding"]
        self.native = [path for path in core if path.parts[1] == "binding"]
        sources = [*self.core, *self.native, Path("_mm.c"), TRACE, Path("tests/c/fake.c")]
        self.programs = sorted(path.stem for path in (folder / "tests/c").glob("test_*.c"))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(self._compile, sources))
            self.link()
            list(pool.map(self._program, self.programs))

    def text(self, path: str) -> str:
        """Return a file of the tree."""
        return (self.folder / path).read_text(encoding="utf-8")

    def replace(self, path: str, text: str) -> None:
        """Change a file, compile what depends on it, link.

        Raises:
            BuildError: It does not compile.
        """
        (self.folder / path).write_text(text, encoding="utf-8")
        dependents = self._dependents(path)
        if not dependents:
            raise RuntimeError(f"nothing was built of {path}")
        for kind, source in dependents:
            self._compile(source, kind)
        self.link()

    def link(self) -> None:
        """Link both builds."""
        for kind, target in LIBRARIES.items():
            flags = SANITIZED if kind == "sanitized" else []
            objects = sorted(map(str, self.objects[kind].glob("*.o")))
            _run([CC, "-shared", *flags, *objects, "-pthread", "-o", target], self.folder)

    def _kinds(self, source: Path) -> list[str]:
        if source.parts[1:2] == ("c",):
            return ["sanitized"]
        return ["plain"] if source in self.native or source.name == "_mm.c" else [*self.objects]

    def _compile(self, source: Path, kind: str = "") -> None:
        for build in [kind] if kind else self._kinds(source):
            flags = SANITIZED if build == "sanitized" else PLAIN
            flags = flags if source == TRACE else [*TRACED, *flags]
            flags = flags if source.name == "_mm.c" else [*WARNED, *flags]
            paths = ["csrc", "csrc/include", "tests/c", sysconfig.get_paths()["include"]]
            target = self.objects[build] / ("_".join(source.parts)[:-2] + ".o")
            includes = [f"-I{path}" for path in paths]
            _run(
                [CC, *COMMON, *flags, *includes, "-c", str(source), "-o", str(target)], self.folder
            )

    def _program(self, name: str) -> None:
        flags = [*COMMON, "-g", "-O1", *SANITIZED, "-Icsrc", "-Icsrc/include", "-Itests/c"]
        where = ["-L.", "-lcore", f"-Wl,-rpath,{self.folder}"]
        _run([CC, *flags, f"tests/c/{name}.c", *where, "-o", f"sanitized/{name}"], self.folder)

    def _dependents(self, path: str) -> list[tuple[str, Path]]:
        """Which files to compile again, in which builds, when this one changes."""
        found = []
        for kind, folder in self.objects.items():
            for rule in sorted(folder.glob("*.d")):
                names = sources_of(rule.read_text())
                if path in names and rule.with_suffix(".o").exists():
                    found.append((kind, Path(names[0])))
        return found


def sources_of(rule: str) -> list[str]:
    """Return the files that a rule for make names, the compiled one first."""
    return rule.partition(":")[2].replace("\\\n", " ").split()


_EMIT = (
    "import sys; sys.path.insert(0, 'csrc'); import cffi_build;cffi_build.ffi.emit_c_code('_mm.c')"
)
