"""Only what pyproject.toml cannot say: the cffi extension and its abi3 tag, what a built one has
not (debug information, a path of the builder's Python), that its files are compiled side by side,
and a word to who has no compiler, or a Python that it is not for."""

import os
import shlex
import shutil
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

KEEPS_SYMBOLS = os.environ.get("MESHMSG_SANITIZE") or os.environ.get("MESHMSG_DEBUG")


def missing() -> str:
    """Say what a build needs and this machine has not."""
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(command[0]):
        return f"a C compiler ({command[0]} is not there)"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python (Python.h is not there)"
    return ""


def need_compiler() -> None:
    """Stop with one line, before anything is copied or compiled."""
    what = missing()
    if what:
        raise SystemExit(f"meshmsg needs {what}: apt-get install gcc python3-dev; or use a wheel")


def side_by_side(compile_all: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Return what compiles each source for itself, as many at once as there are processors:
    `--parallel` is for several extensions, and this is one of some hundred files."""

    def compile_each(sources: list[str], **words: Any) -> list[str]:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            made = pool.map(lambda source: compile_all([source], **words), sources)
            return [each for objects in made for each in objects]

    return compile_each


class Build(build):
    """As always, if there is a compiler."""

    def run(self) -> None:
        """Look for it first."""
        need_compiler()
        super().run()


class BuildExtension(build_ext):
    """As always, without what is of this machine only."""

    def run(self) -> None:
        """Look for a compiler first."""
        need_compiler()
        super().run()

    def build_extension(self, ext: Any) -> None:
        """Link without the path of this Python's library, which is not linked to; and, unless it is
        for work in the source tree, without symbols that nothing reads at run time."""
        own = f"-Wl,-rpath,{sysconfig.get_config_var('LIBDIR')}"
        self.compiler.linker_so = [word for word in self.compiler.linker_so if word != own]
        if not self.inplace and not KEEPS_SYMBOLS:
            ext.extra_link_args = [*ext.extra_link_args, "-Wl,--strip-all"]
        self.compiler.compile = side_by_side(self.compiler.compile)
        super().build_extension(ext)


if sysconfig.get_config_var("Py_GIL_DISABLED"):  # before anything else refuses its limited API
    raise SystemExit(
        "meshmsg needs a Python with the GIL, and this one is a free-threaded build (as "
        "python3.13t): use python3.13, say"
    )
setup(
    cffi_modules=["csrc/cffi_build.py:ffi"],
    cmdclass={"build": Build, "build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
