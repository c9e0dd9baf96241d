"""docs/guide/replay-groups-retention.md and coming-from-kafka.md do what they say: their programs
run as they stand there, and print what they are to show.

Not here: what is promised of all that (test_replay.py, test_groups.py, test_spool_keep.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.guided import Guide, printed_by

SAYS: dict[str, dict[str, list[str]]] = {
    "replay-groups-retention.md": {
        "1. Kept by who publishes": [
            "came before it did: 1 degrees to 100 degrees",
            "their numbers: 1 to 100",
        ],
        "2. To go on where one was": ["goes on with: 5"],
        "3. Groups": ["billed: 20 | shipped so far: 12", "each was shipped once: True"],
        "4. Back to an earlier place": [
            "first: order 1, order 2, order 3, order 4, order 5",
            "again: order 4, order 5",
        ],
        "5. What is kept, and for how long": [
            "the first that is there is not the first: True",
            "within its limit: True",
        ],
        "6. The last value": ["as it comes: ['18', '21']"],
        "7. Readers elsewhere": ["can be read: 1 to 1000", "read: 400"],
        "8. What no member can do": [
            "nonsense: attempts, 3 times, by billing",
            "again: order.new nonsense",
        ],
        "9. What to store as an offset": [
            "goes on with: second life 0",
            "begins anew: another log, or that message was removed",
        ],
    },
    "coming-from-kafka.md": {"A consumer, and its group": ["consumed up to: 6"]},
}
"""What the only program of each section prints."""
ALL = [(page, title) for page, titles in SAYS.items() for title in titles]


@pytest.mark.parametrize(("page", "title"), ALL)
def test_a_program_runs_as_it_stands_there(page: str, title: str, tmp_path: Path) -> None:
    """In an empty folder; it ends by itself."""
    [(_, program)] = Guide(page).programs(title)
    assert printed_by(program, tmp_path) == SAYS[page][title]


@pytest.mark.parametrize("page", SAYS)
def test_every_program_is_in_this_test_and_links_lead_somewhere(page: str) -> None:
    """None is on the page that is not run."""
    guide = Guide(page)
    assert len(guide.programs()) == len(SAYS[page])
    guide.check_links()
