"""Which changes of one operator are drawn, and that each is the change it says.

Not here: building and running them (make mutants).
"""

from __future__ import annotations

import pytest

from tests.mutants.mutate import Mutant, mutants_of, sample

SOURCE = """\
/* a + b == c */
#define PLUS (1 + 2)
static int
f(const char *p, int n)
{
    MMI_ASSERT(n == 1 && p != NULL);
    char *q = p + 1;   // n - 1
    if (n >= 2 && !*q) {
        return -n * 3;
    }
    return strcmp(p->text, "a == b") << 2;
}
"""


def test_operators_are_found_outside_comments_strings_directives_and_assertions() -> None:
    """Only what runs is changed; a sign, a pointer and an arrow are no operations."""
    found = [(m.line, m.old, m.new) for m in mutants_of("x.c", SOURCE)]
    assert found == [
        (7, "+", "-"),
        (8, ">=", ">"),
        (8, "&&", "||"),
        (8, "!", ""),
        (9, "*", "/"),
    ]


def test_a_mutant_changes_its_operator_and_nothing_else() -> None:
    """The rest of the file stays, to the octet."""
    for mutant in mutants_of("x.c", SOURCE):
        changed = mutant.apply(SOURCE)
        tail = SOURCE[mutant.offset + len(mutant.old) :]
        assert changed == SOURCE[: mutant.offset] + mutant.new + tail
        assert changed != SOURCE


def test_a_mutant_of_another_text_is_refused() -> None:
    """Who edits the file meanwhile is told, not given nonsense."""
    mutant = Mutant("x.c", 0, "==", "!=", 1)
    with pytest.raises(ValueError, match=r"x\.c:1"):
        mutant.apply(SOURCE)


def test_the_same_seed_draws_the_same_mutants() -> None:
    """A survivor can be named by seed and place."""
    files = {"b.c": SOURCE, "a.c": SOURCE}
    assert sample(files, 7, 4) == sample(dict(reversed(files.items())), 7, 4)
    assert sample(files, 7, 4) != sample(files, 8, 4)
    assert len(sample(files, 7, 1000)) == 10
