"""Describes the extension module to cffi: the cdef is cut out of the headers, in order.

MESHMSG_SANITIZE=address,undefined or thread builds with that sanitizer; MESHMSG_DEBUG=1 without
optimisation; both look at the state machines after each change (MMI_CHECKED). Not here: any
declaration; the headers of csrc/include are the one source of truth.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from cffi import FFI

CSRC = Path(__file__).resolve().parent
ROOT = CSRC.parent
BEGIN, END = "/* cdef:begin */", "/* cdef:end */"
HEADERS = (
    "meshmsg_codes.h",
    "meshmsg.h",
    "meshmsg_binding.h",
    "meshmsg_testing.h",
    "meshmsg_spool.h",
    "meshmsg_cursor.h",
    "meshmsg_feed.h",
)
"""Each includes the one before it."""
EXPORTED = re.compile(r"^MM_API ", re.MULTILINE)
"""A macro, and for a library of C only."""


def cdef_of(header: str) -> str:
    """Return the text between the markers of a header."""
    _, begin, rest = (CSRC / "include" / header).read_text(encoding="utf-8").partition(BEGIN)
    text, end, _ = rest.partition(END)
    if not begin or not end:
        raise RuntimeError(f"{header}: markers {BEGIN} and {END} are missing")
    if re.search(r"^\s*#", text, re.MULTILINE):
        raise RuntimeError(f"{header}: a preprocessor line stands inside the cdef markers")
    return EXPORTED.sub("", text)


def cdef() -> str:
    """Return what the extension module is to know."""
    return "".join(map(cdef_of, HEADERS))


def files(pattern: str) -> list[str]:
    """Return the C files, relative to the project, in a stable order."""
    return sorted(os.path.relpath(path, ROOT) for path in CSRC.rglob(pattern))


def compile_args() -> list[str]:
    """Return the compiler's arguments for this build."""
    args = ["-std=c11", "-D_GNU_SOURCE"]
    if not os.environ.get("MESHMSG_SANITIZE"):  # the C tests link what was built with sanitizers
        args += ["-fvisibility=hidden"]
    args += ["-Wall", "-Wextra", "-pthread"]
    args += ["-O0", "-g"] if os.environ.get("MESHMSG_DEBUG") else ["-O2", "-g1"]
    if os.environ.get("MESHMSG_DEBUG") or os.environ.get("MESHMSG_SANITIZE"):
        args += ["-DMMI_CHECKED"]
    if os.environ.get("MESHMSG_WERROR"):
        # cffi's own generated file is not ours to keep free of these.
        args += ["-Werror", "-Wno-error=unused-parameter", "-Wno-error=sign-compare"]
    sanitize = os.environ.get("MESHMSG_SANITIZE")
    if sanitize:
        args += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
    return args


def link_args() -> list[str]:
    """Return the linker's arguments for this build."""
    sanitize = os.environ.get("MESHMSG_SANITIZE")
    # glibc before 2.34 has dlopen in a library of its own; elsewhere this one is empty.
    return ["-pthread", "-ldl"] + ([f"-fsanitize={sanitize}"] if sanitize else [])


ffi = FFI()
ffi.cdef(cdef())
ffi.set_source(
    "meshmsg._mm",
    f'#include "{HEADERS[-1]}"',
    sources=files("*.c"),
    depends=files("*.h"),
    include_dirs=[os.path.relpath(CSRC / "include", ROOT), os.path.relpath(CSRC, ROOT)],
    extra_compile_args=compile_args(),
    extra_link_args=link_args(),
)
