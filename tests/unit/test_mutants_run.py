"""Which tests run for a change of the C core, and when a failed one counts.

Not here: which changes are drawn (test_mutants.py), building a tree (make mutants).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.__main__ import killer
from tests.mutants.blocks import Blocks, noted, read_listing
from tests.mutants.build import Tree, sources_of
from tests.mutants.cover import Cover
from tests.mutants.mutate import Mutant
from tests.mutants.run import ENOUGH_S, FIRST_BATCH_S, GROWTH, Case, Runner, batches, worthwhile

LISTING = """\
0000000000001000 <first>:
first():
/tree/csrc/a.c:3
    1000:	push   %rbp
    1001:	call   900 <__sanitizer_cov_trace_pc>
/tree/csrc/a.c:4
    1006:	cmp    $0x0,%eax
    1009:	je     1020 <first+0x20>
    100b:	call   900 <__sanitizer_cov_trace_pc>
/tree/csrc/engine/../a.c:5 (discriminator 1)
    1010:	add    $0x1,%eax
/tree/csrc/b.h:9
    1013:	nop
0000000000001020 <second>:
second():
/tree/csrc/a.c:8
    1020:	push   %rbp
    1021:	call   900 <__sanitizer_cov_trace_pc@plt>
    1026:	ret
"""


def test_a_line_belongs_to_the_blocks_that_its_instructions_are_in() -> None:
    """A call starts a block; what a function does before its first one belongs to that."""
    assert read_listing(LISTING.splitlines(), Path("/tree")) == {
        ("csrc/a.c", 3): {0x1006},
        ("csrc/a.c", 4): {0x1006, 0x1010},
        ("csrc/a.c", 5): {0x1010},
        ("csrc/b.h", 9): {0x1010},
        ("csrc/a.c", 8): {0x1026},
    }


def test_a_line_without_code_counts_with_the_one_above() -> None:
    """An operator may stand on the second line of a long condition."""
    blocks = Blocks({("a.c", 3): {0x10}, ("a.c", 5): {0x20, 0x30}})
    assert [blocks.of_line("a.c", line) for line in (2, 3, 4, 5, 6)] == [0, 1, 1, 6, 6]
    assert blocks.of_line("b.c", 3) == 0


def test_the_notes_of_a_run_become_a_set_of_blocks() -> None:
    """The first block is the lowest bit, whatever octet notes it."""
    notes = bytearray(8)
    notes[2] = 1
    notes[7] = 200
    assert noted([2, 3, 7], notes) == 0b101
    assert noted([], notes) == 0


def test_what_an_object_was_made_of_is_read_whatever_lines_the_rule_is_broken_into() -> None:
    """A long name breaks the line at once; a change of that file must be built all the same."""
    assert sources_of("a.o: a.c \\\n b.h\n") == ["a.c", "b.h"]
    assert sources_of("/long/a.o: \\\n a.c b.h \\\n c.h\n") == ["a.c", "b.h", "c.h"]


def test_only_tests_that_run_the_line_are_chosen(tmp_path: Path) -> None:
    """Each by the blocks of the build it runs on; what was kept is read again."""
    path = tmp_path / "cover"
    Cover(path).add("test_c", [Case("test_c", 0.5, 0b01)])
    Cover(path).add("tests/x.py", [Case("tests/x.py::a", 1, 0b01), Case("tests/x.py::b", 1, 0b10)])
    plain = Blocks({("a.c", 1): {7}, ("a.c", 9): {6}})
    blocks = {"sanitized": Blocks({("a.c", 1): {5}}), "plain": plain}
    chosen = Cover(path).that_run(Mutant("a.c", 0, "+", "-", 1), blocks)
    assert [case.name for case in chosen] == ["test_c", "tests/x.py::b"]


def test_what_is_chosen_begins_with_programs_and_the_narrow_and_ends_when_it_is_enough() -> None:
    """A test that runs little besides the line is the likelier to notice; programs are all run."""
    wide = Case("x::wide", 1, 0b111)
    narrow = Case("x::narrow", 2, 0b1)
    long = Case("x::long", ENOUGH_S - 3, 0b11)
    program = Case("program", 1000, 0b111)
    assert worthwhile([wide, long, program, narrow]) == [program, narrow, wide, long]
    assert worthwhile([*[narrow] * 100, program]) == [program, *[narrow] * int(ENOUGH_S / 2)]


def test_batches_grow_and_keep_the_order() -> None:
    """Many quick tests share a start of pytest, and a long one waits for its turn."""
    cases = [Case(f"x::{i}", FIRST_BATCH_S / 2) for i in range(20)]
    found = batches(cases)
    assert [len(batch) for batch in found] == [2, 2 * GROWTH, 20 - 2 - 2 * GROWTH]
    assert [case for batch in found for case in batch] == cases
    assert batches([]) == []


TESTS = """\
from pathlib import Path
import os

def test_passes():
    assert True

def test_fails_the_first_time():
    Path("runs").open("a").write("x")
    assert Path("runs").read_text() != "x"

def test_always_fails():
    assert False

def test_sees_the_change():
    assert Path("x.c").read_text() == "a + b"

def test_dies():
    os._exit(0)
"""


class Small(Tree):
    """A folder with no more than pytest needs to run TESTS; nothing is built."""

    def __init__(self, folder: Path) -> None:
        """Make it."""
        self.folder = folder
        (folder / "tests").symlink_to(Path(__file__).resolve().parents[1])
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_x.py").write_text(TESTS)
        (folder / "x.c").write_text("a + b")

    def replace(self, path: str, text: str) -> None:
        """Write it."""
        (self.folder / path).write_text(text)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """One in a folder of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts sooner
    return Small(tmp_path)


@pytest.fixture
def runner(tree: Small) -> Runner:
    """One that runs TESTS."""
    return Runner(tree)


def cases(*names: str) -> list[Case]:
    """Tests of that file, the first the quickest."""
    return [Case(f"test_x.py::test_{name}", at / 100) for at, name in enumerate(names)]


def test_a_test_that_fails_counts_only_if_it_fails_again_alone(runner: Runner) -> None:
    """What other work on the machine made fail is told, and the rest goes on."""
    wanted = cases("fails_the_first_time", "passes", "dies")
    by, doubted = runner.first_failed(wanted)
    assert by == "test_x.py::test_dies", "its process ends with a status of success"
    assert doubted == ["test_x.py::test_fails_the_first_time"]


def test_when_all_pass_none_is_named(runner: Runner) -> None:
    """Then the change survived."""
    assert runner.first_failed(cases("passes")) == ("", [])


def test_a_test_that_is_not_there_is_an_error_of_ours(runner: Runner) -> None:
    """To leave it out in silence would let the change survive."""
    with pytest.raises(RuntimeError, match="test_gone"):
        runner.first_failed(cases("passes", "gone"))


def test_a_test_that_fails_without_the_change_as_well_is_not_what_noticed_it(tree: Small) -> None:
    """Whatever made it fail; the next one may be."""
    cover = Cover(tree.folder / "cover")
    found = [replace(case, blocks=1) for case in cases("always_fails", "sees_the_change")]
    cover.add("test_x.py", found)
    outcome = killer(
        tree, Mutant("x.c", 2, "+", "-", 1), cover, {"plain": Blocks({("x.c", 1): {8}})}
    )
    assert (outcome.killed_by, outcome.tests) == ("test_x.py::test_sees_the_change", 2)
    assert tree.text("x.c") == "a + b"
