"""The rules of the house hold, and each rule is shown to fail on a bad sample."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg
from meshmsg import aio
from tests.tidy import circles, headers, prose, rules

ROOT = Path(__file__).resolve().parents[1]
Rule = Callable[[str, str], list[str]]


def files(folder: str, *suffixes: str) -> list[Path]:
    """Return the files of a folder, links not followed."""
    found = []
    for where, folders, names in os.walk(ROOT / folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        found += [Path(where) / name for name in names if name.endswith(suffixes)]
    return sorted(path for path in found if not path.is_symlink())


C = files("csrc", ".c", ".h")
C_TESTS = [*files("tests", ".c", ".h"), *files("examples", ".c")]
LIBRARY = [*files("src", ".py"), *files("patterns", ".py"), *files("spark_integration", ".py")]
OUTSIDE = [
    *files("bench", ".py"),
    *files("examples", ".py"),
    ROOT / "setup.py",
    ROOT / "csrc/cffi_build.py",
]
TESTS = files("tests", ".py")
DECISIONS = files("docs/adr", ".md")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *files("docs/guide", ".md")]
CHANGES = ROOT / "CHANGELOG.md"
CHANGED = [*PAGES, *DECISIONS, CHANGES]
TOLD = [p for p in TESTS if p.parent.name != "tidy" and p != Path(__file__)]
"""All but what has samples of what is refused."""


def complaints(rule: Rule, paths: list[Path], base: Path = ROOT) -> list[str]:
    """Apply a rule to files."""
    return [c for p in paths for c in rule(str(p.relative_to(base)), p.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("rule", "paths", "base"),
    [
        (rules.wrong_includes, C, ROOT / "csrc"),
        (rules.system_includes, C, ROOT / "csrc"),
        (rules.asks_which_wire, C, ROOT / "csrc"),
        (rules.named_schemes, C, ROOT / "csrc"),
        (rules.asks_which_role, C, ROOT / "csrc"),
        (rules.asks_which_role, files("src", ".py"), ROOT),
        (rules.called_by_name, C, ROOT / "csrc"),
        (rules.counts_drops, C, ROOT / "csrc"),
        (rules.long_c, C, ROOT),
        (rules.long_c, C_TESTS, ROOT),
        (rules.missing_header, [*C, *C_TESTS], ROOT),
        (rules.long_python, [*LIBRARY, *OUTSIDE, *TESTS], ROOT),
        (rules.undocumented, [*LIBRARY, *TESTS], ROOT),
        (rules.banned_names, [*C, *LIBRARY, *OUTSIDE], ROOT),
        (rules.unfinished, [*C, *LIBRARY, *OUTSIDE], ROOT),
        (rules.retired_words, [*C, *C_TESTS, *LIBRARY, *OUTSIDE, *TOLD, *CHANGED], ROOT),
        (prose.named_decisions, [*C, *C_TESTS, *LIBRARY, *OUTSIDE, *TOLD, *PAGES], ROOT),
        (prose.long_sentences, CHANGED, ROOT),
        (prose.long_lines, CHANGED, ROOT),
        (rules.banned_calls, [*LIBRARY, *OUTSIDE], ROOT),
        (rules.sleeps, TESTS, ROOT),
        (rules.private_imports, [p for p in LIBRARY if "src" not in p.parts], ROOT),
        (rules.imports_extension, files("src", ".py"), ROOT),
        (rules.wrong_rooms, files("src", ".py"), ROOT),
        (rules.impure_cdef, files("csrc/include", ".h"), ROOT),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_a_rule_holds(rule: Rule, paths: list[Path], base: Path) -> None:
    """No file breaks it."""
    assert paths
    assert complaints(rule, paths, base) == []


@pytest.mark.parametrize(
    ("rule", "path", "bad"),
    [
        (rules.wrong_includes, "wire/x.c", '#include "link/link.h"\n'),
        (rules.wrong_includes, "wire/x.c", '#include "plat/plat.h"\n'),
        (rules.wrong_includes, "crypto/x.c", '#include "plat/library.h"\n'),
        (rules.wrong_includes, "link/x.c", '#include "ends/ends.h"\n'),
        (rules.wrong_includes, "other/x.c", ""),
        (rules.system_includes, "engine/x.c", "#include <sys/socket.h>\n"),
        (rules.system_includes, "crypto/x.c", "#include <dlfcn.h>\n"),
        (rules.asks_which_wire, "link/x.c", "n = mmi_command_put_ping(out, 0, NULL, 0);\n"),
        (rules.asks_which_wire, "engine/x.c", '#include "wire/zmtp/frame.h"\n'),
        (rules.asks_which_wire, "sched/x.c", "if (link->wire->id == 2) {\n"),
        (rules.asks_which_wire, "api/x.c", "if (link->wire == &mmi_wire_sp) {\n"),
        (rules.named_schemes, "link/x.c", "if (scheme == MMI_IPC) {\n"),
        (rules.named_schemes, "wire/url.c", 'return memcmp(text, "tcp", 3) == 0;\n'),
        (rules.named_schemes, "api/x.c", '/* tcp */ strncmp(url, "ipc://", 6)\n'),
        (rules.named_schemes, "ends/x.c", "mmi_inproc_pending(l);\n"),
        (rules.named_schemes, "sched/x.c", "setsockopt(s, IPPROTO_TCP, TCP_NODELAY, 1);\n"),
        (rules.asks_which_role, "api/x.c", "if (role == MM_XPUB) {\n"),
        (rules.asks_which_role, "src/meshmsg/_socket/x.py", "if role == lib.MM_REQ:\n"),
        (rules.asks_which_role, "src/meshmsg/_roles/x.py", "    if self._role == lib.MM_SUB:\n"),
        (rules.called_by_name, "binding/x.c", 'PyObject_CallMethod(owner, "_keep", NULL);\n'),
        (rules.called_by_name, "binding/x.c", "PyObject_CallMethodObjArgs(a, name, NULL);\n"),
        (rules.called_by_name, "binding/stream.c", 'PyObject_GetAttrString(f(a), "peer")\n'),
        (rules.called_by_name, "binding/x.c", 'PyObject_HasAttrString(((t *)a)->b, "recv");\n'),
        (rules.counts_drops, "role/x.c", "p->dropped++;\n"),
        (rules.counts_drops, "link/x.c", "link->pipe.dropped += count;\n"),
        (rules.long_c, "x.c", "x" * 111),
        (rules.long_c, "x.c", "void\nf(void)\n{\n" + ";\n" * 80 + "}\n"),
        (rules.long_c, "x.c", "\n" * 501),
        (rules.missing_header, "x.c", "int x;\n"),
        (rules.long_python, "x.py", "def f():\n" + "    pass\n" * 80),
        (rules.long_python, "x.py", "\n" * 501),
        (rules.undocumented, "x.py", '"""x"""\nclass A:\n    pass\n'),
        (rules.undocumented, "x.py", "x = 1\n"),
        (rules.banned_names, "x.py", "class SocketManager: ..."),
        (rules.unfinished, "x.py", "raise NotImplementedError('later')"),
        (rules.retired_words, "x.c", "mmi_pack_put(p);"),
        (rules.retired_words, "x.c", "/* a queue that lags */"),
        (rules.retired_words, "x.py", "teller.hurry()"),
        (rules.retired_words, "x.py", "# a queue that lags"),
        (prose.named_decisions, "x.c", "/* as ADR 999 says */"),
        (prose.named_decisions, "x.c", "/* docs/adr" + ": of locks */"),
        (prose.long_sentences, "x.md", "A word " + "and one more " * 10),
        (prose.long_sentences, "x.md", "* An item\n  " + "and more " * 15),
        (prose.long_sentences, "x.md", "Code `a. B`, [a link](c. D), e.g. this, " + "more " * 26),
        (prose.long_lines, "x.md", "one two " * 16),
        (prose.long_lines, "x.md", "* one\n\n    " + "of the same item " * 8),
        (rules.banned_calls, "x.py", "import pickle"),
        (rules.banned_calls, "x.py", "eval('1')"),
        (rules.sleeps, "x.py", "import time\ntime.sleep(1)"),
        (rules.private_imports, "x.py", "from meshmsg._binding.core import lib"),
        (rules.imports_extension, "src/meshmsg/_socket/x.py", "from meshmsg._mm import lib"),
        (rules.imports_extension, "src/meshmsg/_socket/x.py", "from meshmsg import _mm"),
        (rules.wrong_rooms, "src/meshmsg/_binding/x.py", "from meshmsg._socket.base import X"),
        (rules.wrong_rooms, "src/meshmsg/aio/x.py", "from meshmsg._sync.roles import Push"),
        (rules.impure_cdef, "x.h", "/* cdef:begin */\n#define X\n/* cdef:end */"),
        (rules.impure_cdef, "x.h", "/* cdef:begin */\nextern int x;\n/* cdef:end */"),
    ],
)
def test_a_rule_notices_a_bad_sample(rule: Rule, path: str, bad: str) -> None:
    """A rule that cannot fail checks nothing."""
    assert rule(path, bad)


@pytest.mark.parametrize(
    "text",
    [
        "Ten words. " + "This is a sentence of ten words, as are all. " * 4,
        "* An item " + "of many words " * 6 + "\n* and another " + "of many words " * 6,
        "# " + "A title " * 20,
        "| " + "a row of a table " * 20 + "|",
        "```\n" + "code " * 40 + "\n```",
        "Text:\n\n    " + "code " * 40 + "\n\n    " + "code " * 40,
        "`" + "code " * 20 + "`, `" + "code " * 20 + "`",
        "[A link](https://example.org/" + "x" * 120 + ")",
    ],
)
def test_prose_that_is_short_and_what_is_no_prose_is_let_through(text: str) -> None:
    """Code, tables, titles and addresses are neither wrapped nor counted."""
    wrapped = "\n".join(textwrap.wrap(text)) if text.startswith(("Ten", "*", "`c")) else text
    assert prose.long_sentences("x.md", text) == []
    assert prose.long_lines("x.md", wrapped) == []


def test_most_files_are_small() -> None:
    """The median is at most 200 lines."""
    for group in (C, LIBRARY, TESTS):
        assert statistics.median(len(p.read_text().splitlines()) for p in group) <= 200


def test_no_folder_of_the_library_is_crowded() -> None:
    """So that what is in it is seen at a glance; a sample of too many is noticed."""
    assert rules.crowded([str(p.relative_to(ROOT)) for p in files("src", ".py")]) == []
    assert rules.crowded([f"src/meshmsg/x{i}.py" for i in range(rules.FOLDER_FILES_MAX + 1)])


def test_a_public_class_is_made_of_few() -> None:
    """Sync and asyncio; a sample that is made of too many is noticed."""
    public = [getattr(module, name) for module in (meshmsg, aio) for name in module.__all__]
    kinds = [thing for thing in public if isinstance(thing, type)]
    assert [c for kind in kinds for c in rules.deep(kind)] == []
    tall: type = object
    for i in range(rules.MRO_MAX + 1):
        tall = type(f"Floor{i}", (tall,), {"__module__": "meshmsg.sample"})
    assert rules.deep(tall)


TEST_RATIO_MIN = 1.0
"""Lines of test for a line of code."""


def test_there_is_enough_test_for_the_code() -> None:
    """At least as much, in lines."""

    def lines(paths: list[Path]) -> int:
        return sum(len(p.read_text().splitlines()) for p in paths)

    code = lines([*(p for p in C if p.suffix == ".c"), *LIBRARY])
    assert lines([*TESTS, *C_TESTS]) >= code * TEST_RATIO_MIN


def test_no_c_file_is_dead() -> None:
    """Every header is included by something."""
    text = "\n".join(p.read_text() for p in [*C, *C_TESTS])
    for header in (p for p in C if p.suffix == ".h"):
        name = str(header.relative_to(ROOT / "csrc")).removeprefix("include/")
        assert f'"{name}"' in text, f"{name} is included nowhere"


def test_what_a_room_says_is_private_no_other_includes() -> None:
    """As `link/inside.h` says; tests may look."""
    texts = {str(p.relative_to(ROOT / "csrc")): p.read_text() for p in C}
    assert rules.private_includes(texts) == []
    mine = {"link/inside.h": "/*\n * Private to link/.\n */\n"}
    include = '#include "link/inside.h"\n'
    assert rules.private_includes({**mine, "link/x.c": include}) == []
    assert len(rules.private_includes({**mine, "ends/x.c": include})) == 1


def test_the_files_of_c_call_no_floor_above_them_and_none_that_calls_back() -> None:
    """By the functions they name."""
    folder = ROOT / "csrc"
    texts = {str(p.relative_to(folder)): p.read_text() for p in C if p.suffix == ".c"}
    graph = circles.needs(texts)
    assert circles.upward(graph, rules.FLOORS) == []
    assert circles.circles(graph) == []


def test_a_circle_and_a_call_upwards_are_noticed() -> None:
    """Of files that call each other, also by way of a third; names in comments are no calls."""
    graph = circles.needs(
        {
            "base/a.c": "void\nmmi_a(int x)\n{\n    mmi_b();\n}\n",
            "base/b.c": "void\nmmi_b(void)\n{\n    mmi_c();\n}\n",
            "api/c.c": "void\nmmi_c(void)\n{\n    mmi_a(1);\n}\n",
            "api/d.c": "/* mmi_c */ void\nmmi_d(void)\n{\n}\n",
        }
    )
    assert circles.circles(graph) == [["api/c.c", "base/a.c", "base/b.c"]]
    assert circles.upward(graph, {"base": 0, "api": 1}) == [("base/b.c", "api/c.c")]
    assert graph["api/d.c"] == set()


def test_no_module_imports_one_that_imports_it() -> None:
    """In the library, the patterns and the bench; for types as well."""
    folders = {"patterns": "patterns", "spark_integration": "spark", "bench": "bench"}
    own = files("src", ".py", ".pyi")
    texts = {str(p.relative_to(ROOT / "src")): p.read_text() for p in own}
    for folder, name in folders.items():
        for path in files(folder, ".py"):
            inside = path.relative_to(ROOT / folder)
            texts[f"meshmsg/{name}/{inside}"] = path.read_text()
    assert circles.circles(circles.imports(texts)) == []


def test_a_circle_of_imports_is_noticed() -> None:
    """Also by way of a third, of a package's module, and where it is for types alone."""
    graph = circles.imports(
        {
            "m/__init__.py": "from m._low.a import A\n",
            "m/_low/__init__.py": "",
            "m/_low/a.py": "from m._low import b\n",
            "m/_low/b.py": "import m._low.c\n",
            "m/_low/c.py": "if TYPE_CHECKING:\n    from m._low.a import A\n",
            "m/_low/d.py": "from m import _built\nfrom m._low.a import A\n",
            "m/_built.pyi": "",
        }
    )
    assert circles.circles(graph) == [["m._low.a", "m._low.b", "m._low.c"]]
    assert graph["m._low.d"] == {"m._built", "m._low.a"}


def test_no_document_is_dead() -> None:
    """Every page is reached from README or from another page."""
    pages = files("docs", ".md")
    text = "\n".join(p.read_text() for p in [*pages, ROOT / "README.md"])
    for page in pages:
        assert f"{page.name})" in text or f"{page.parent.name}/{page.name}" in text, page


def test_each_link_of_a_page_leads_somewhere() -> None:
    """To a file, and to a title in it; bad samples are noticed."""
    pages = {str(p): p.read_text() for p in [*PAGES, *DECISIONS, CHANGES]}
    assert [c for path, text in pages.items() for c in prose.dead_links(path, text)] == []
    here = str(ROOT / "docs" / "x.md")
    assert prose.dead_links(here, "# One `two`\n[a](tour.md#topics) [b](#one-two)") == []
    assert len(prose.dead_links(here, "[a](none.md) [b](tour.md#none) [c](#none)")) == 3


def test_each_page_that_code_names_is_there() -> None:
    """In comments, docstrings and the Makefile."""
    named = {
        (name, str(path.relative_to(ROOT)))
        for path in [*C, *C_TESTS, *LIBRARY, *OUTSIDE, *TESTS, ROOT / "Makefile"]
        for name in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text())
    }
    assert named
    assert [(name, where) for name, where in sorted(named) if not (ROOT / name).exists()] == []


def test_the_list_of_decisions_is_true() -> None:
    """Each page once, by its number and title; a page begins with what was decided."""
    listed = re.findall(
        r"^(\d+)\. \[(.*)\]\((\S+)\)", (ROOT / "docs/adr/README.md").read_text(), re.MULTILINE
    )
    found = []
    for page in DECISIONS:
        if page.name == "README.md":
            continue
        title, _, body = page.read_text().partition("\n\n")
        number, text = title.removeprefix("# ").split(". ", 1)
        assert page.name.startswith(f"{int(number):04}-"), page.name
        first, second = (body + "\n\n").split("\n\n")[:2]
        superseded = first.startswith(("*Superseded by [", "*Changed by ["))
        assert (second if superseded else first).startswith("**Decision.**"), page.name
        found.append((number, text, page.name))
    assert listed == found
    assert [number for number, _, _ in listed] == [str(i + 1) for i in range(len(listed))]


def test_the_links_are_what_the_design_says() -> None:
    """meshmsg.patterns, meshmsg.spark and meshmsg.bench are committed links."""
    for name, to in [("patterns", "patterns"), ("spark", "spark_integration"), ("bench", "bench")]:
        link = ROOT / "src" / "meshmsg" / name
        assert link.is_symlink()
        assert os.readlink(link) == f"../../{to}"


def test_every_limit_is_documented() -> None:
    """Each constant of limits.h stands in docs/semantics.md."""
    constants = re.findall(
        r"^\s+(MMI_\w+) =", (ROOT / "csrc/base/limits.h").read_text(), re.MULTILINE
    )
    semantics = (ROOT / "docs/semantics.md").read_text()
    assert [name for name in constants if name not in semantics] == []


def test_every_reason_is_documented() -> None:
    """Each mm_reason stands in docs/wire.md."""
    header = (ROOT / "csrc/include/meshmsg_codes.h").read_text()
    reasons = [r for r in re.findall(r"MM_REASON_(\w+)", header) if r != "COUNT"]
    wire = (ROOT / "docs/wire.md").read_text()
    assert [name for name in reasons if name not in wire] == []


def test_each_header_declares_what_is_used_by_those_it_is_for() -> None:
    """C programs the public one, Python the binding's, tests the last; and nothing is left over."""
    folder = ROOT / "csrc" / "include"
    codes, public, binding, testing = (
        (folder / f"meshmsg{end}.h").read_text() for end in ("_codes", "", "_binding", "_testing")
    )
    own = [*(p for p in C if p.parent != folder), *files("src", ".py")]
    theirs = [*C_TESTS, *TESTS, *files("bench", ".py")]
    core, outside = [p.read_text() for p in own], [p.read_text() for p in theirs]
    assert headers.unused(codes + public, core + outside) == []
    assert headers.unused(binding, core) == []
    assert headers.unused(testing, core + outside) == []
    assert all(headers.functions(public).values())
    assert headers.functions(codes) == {}
    assert not any([*headers.functions(binding).values(), *headers.functions(testing).values()])


def test_what_nobody_uses_of_a_header_is_noticed() -> None:
    """A definition is no use, and neither is a comment."""
    header = "MM_API int mm_a(int x);\nvoid mm_b(void);\nenum { MM_C = 1, MM_D };\n#define MM_E\n"
    assert headers.functions(header) == {"mm_a": True, "mm_b": False}
    code = ["int\nmm_a(int x)\n{\n    return MM_C; /* mm_b MM_D */\n}\n"]
    assert headers.unused(header, code) == ["MM_D", "mm_a", "mm_b"]


def test_importing_the_library_imports_little() -> None:
    """No asyncio, no pyspark, no patterns, no thread."""
    code = (
        "import sys, threading, meshmsg; "
        "names = ('asyncio', 'pyspark', 'meshmsg.patterns', 'meshmsg.aio', 'numpy'); "
        "bad = [m for m in names if m in sys.modules]; "
        "assert not bad, bad; assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


README_LINES_MAX = 90


def test_the_readme_is_short() -> None:
    """What it is, speed, code, two commands, roles, links: the rest is in docs."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES_MAX


@pytest.mark.parametrize(
    "page", ["README.md", "docs/tour.md", "docs/events.md", "docs/patterns.md"]
)
def test_the_programs_of_a_page_run(page: str) -> None:
    """Its Python blocks run as they stand; what is a part of a program is marked `py`."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], check=True, timeout=600, capture_output=True)


@pytest.mark.parametrize(
    "target",
    [
        "demo",
        "test",
        "check",
        "asan",
        "tsan",
        "fuzz",
        "crash",
        "mutants",
        "bench",
        "install-c",
        "clean",
    ],
)
def test_the_makefile_has_its_targets(target: str) -> None:
    """What README and the house promise can be made."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
