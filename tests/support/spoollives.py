"""Spools that a state machine calls, one life after another, and what is always so of them.

Not here: the calls (tests/unit/test_spool_machine.py), the model (spoolmodel.py).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import meshmsg as mm
from tests.support.spooled import SEGMENT, segments
from tests.support.spoolmodel import Mark, SpoolModel, seen, upto

KEEPS: dict[str, dict[str, Any]] = {
    "all": {},
    "messages": {"max_messages": 60},
    "bytes": {"max_bytes": 4 * SEGMENT},
    "acked": {"until_acked_by": ["a"]},
    "age": {"max_age": 0.001},
}
"""What limits it, or lets files go. By age they do at once, as each is older than that soon."""


def copy_of(folder: Path, to: Path) -> None:
    """Copy a spool that is open, as a kill at that moment leaves it.

    Cursors come first: they speak of messages, which are there before.
    """

    def there() -> list[Path]:
        found = [path for path in folder.rglob("*") if path.is_file()]
        return sorted(found, key=lambda path: (path.suffix == ".seg", path))

    while True:
        shutil.rmtree(to, ignore_errors=True)
        before = there()
        try:
            for path in before:
                target = to / path.relative_to(folder)
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.copy2(path, target)
        except FileNotFoundError:
            continue  # a file went meanwhile
        if there() == before:
            return


class SpoolLives(RuleBasedStateMachine):
    """One spool after another over the same messages; its cursors, a reader and leases; a view."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="machine-"))
        self.lives = 0
        self.copied = False
        """Whether a life before, or this one, copied something, and nothing was put since."""
        self.count = 0
        self.model = SpoolModel()
        self.cursors: dict[str, mm.SpoolCursor] = {}
        self.held: dict[str, mm.SpoolLease] = {}
        """Leases of this life, by name."""
        self.reader: tuple[Any, Mark | None, int] | None = None
        """A reader, the cursor it is of, and which number it reads next."""
        self.epoch = 0
        self.began = 0
        """The last number when this life began."""

    @initialize(
        level=st.sampled_from(["os", "disk", "buffered"]),
        keeps=st.sampled_from(sorted(KEEPS)),
        overflow=st.sampled_from(["error", "block", "drop_oldest", "drop_newest"]),
        tombs=st.booleans(),
    )
    def begin(self, level: str, keeps: str, overflow: str, tombs: bool) -> None:
        """Make it."""
        self.level, self.keeps, self.overflow, self.tombs = level, keeps, overflow, tombs
        self.options: dict[str, Any] = {
            "durability": level, "segment_bytes": SEGMENT, "overflow": overflow, **KEEPS[keeps]
        }  # fmt: skip
        if tombs:
            self.options["tombstone_age"] = 0
        self.path = self.root / "0"
        self.open(made=True)
        self.open_view()

    def open(self, *, made: bool = False, killed: bool = False) -> None:
        """Begin a life of it."""
        self.spool = mm.Spool(self.path, **self.options)
        found, info = self.spool.recovery, self.spool.info()
        assert (found.made, found.lost) == (made, None)
        assert found.unclean <= killed
        assert found.unclean or not (killed and self.model.sure > self.began)
        self.began = info.last_seq
        assert info.epoch > self.epoch
        self.epoch = info.epoch
        self.model.leases.clear()
        self.held.clear()
        self.model.cut(info.last_seq)

    def open_view(self) -> None:
        """Look at it from beside."""
        self.view = mm.SpoolView(self.path)
        self.shown = self.view.reader(1)
        self.shown_next = 1

    def forget(self) -> None:
        """What was open of a life that is over is closed."""
        for cursor in self.cursors.values():
            with pytest.raises(mm.ClosedError):
                cursor.done_up_to(1)
        self.cursors.clear()
        if self.reader is not None:
            with pytest.raises(mm.ClosedError):
                self.reader[0].read()
            self.reader = None

    @rule()
    def open_again(self) -> None:
        """Close it in order: all is kept, and the view shows it."""
        self.spool.close()
        self.forget()
        self.model.sure = self.model.last
        for mark in self.model.marks.values():
            mark.save()
        assert self.view.info().last_seq == self.model.last
        self.open()

    def close_cursor(self, name: str) -> None:
        """Close it, which saves it; a reader of it ends."""
        self.cursors.pop(name).close()
        self.saved(name)
        if self.reader is not None and self.reader[1] is self.model.marks[name]:
            with pytest.raises(mm.ClosedError):
                self.reader[0].read()
            self.reader = None

    def bodies(self, count: int, size: int) -> list[bytes]:
        """Bodies of that size; no two are the same, if they are of any."""
        self.count += count
        return [(b"%d " % (self.count + at)).ljust(size, b".")[:size] for at in range(count)]

    def did_put(self, key: bytes, bodies: list[bytes], wait: bool) -> None:
        """They were put."""
        self.model.append(key, bodies, kept=wait and self.level != "buffered")

    def refused(self, error: mm.MeshError, key: bytes, bodies: list[bytes]) -> None:
        """There was no room for all of them."""
        sent = vars(error)["sent"]
        self.did_put(key, bodies[:sent], False)
        if isinstance(error, mm.WouldBlockError):
            assert self.overflow == "block"
            return
        assert (self.overflow, self.keeps in ("messages", "bytes")) == ("error", True)
        assert sent < len(bodies)
        info = self.spool.info()
        if self.keeps == "messages":
            assert info.last_seq + 1 - info.first_seq == self.options["max_messages"]
        else:
            assert info.bytes + SEGMENT > self.options["max_bytes"]

    def see_trimmed(self, error: mm.SpoolTrimmedError, at: int) -> None:
        """What was to be read is gone."""
        self.see()
        assert at <= error.seq < error.first <= self.model.first

    def saved(self, name: str) -> None:
        """It is on the disk, and so is what it speaks of."""
        mark = self.model.marks[name]
        mark.save()
        self.model.sure = max([self.model.sure, *mark.done])

    def see(self) -> None:
        """Look at the first number, and at what it may be."""
        model, info = self.model, self.spool.info()
        if self.keeps == "age":
            model.may_go = max(model.may_go, int(segments(self.path)[-1].stem) - 1)
        if self.keeps == "acked" and "a" in model.marks:
            model.may_go = max(model.may_go, upto(model.marks["a"].done | model.gone()))
        model.see_first(info.first_seq)
        if self.overflow != "drop_oldest":
            assert info.first_seq <= min(model.leases.values(), default=info.first_seq)
        assert info.last_seq == model.last

    def all_of_it(self) -> list[Any]:
        """All that is read; what goes meanwhile is not."""
        while True:
            with self.spool.reader() as reader:
                first = reader.seq
                try:
                    found = list(reader)
                except mm.SpoolTrimmedError:
                    continue
            self.see()
            if first == self.model.first:
                return found

    @invariant()
    def it_is_the_model(self) -> None:
        """All that is there is read; each cursor says what it was told; the limits hold."""
        if not hasattr(self, "spool"):
            return
        found = self.all_of_it()
        self.model.read(self.model.first, found, len(found) + 1)
        told = {name: seen(cursor, self.model.last) for name, cursor in self.cursors.items()}
        self.see()  # of what went meanwhile
        for name, said in told.items():
            self.model.see_cursor(self.model.marks[name], said)
        info = self.spool.info()
        assert not info.failed
        assert info.durable_seq <= info.written_seq <= info.last_seq
        if self.keeps == "messages":
            assert info.last_seq + 1 - info.first_seq <= self.options["max_messages"]
        if self.keeps == "bytes":  # what was not proved is copied to another file as it is opened
            self.copied = (self.copied or self.spool.recovery.copied > 0) and not info.appended
            assert info.bytes <= self.options["max_bytes"] + SEGMENT * self.copied

    def teardown(self) -> None:
        """Once more in order; then it is gone."""
        try:
            if hasattr(self, "spool"):
                self.open_again()
                self.it_is_the_model()
                self.view.close()
                self.spool.close()
        finally:
            shutil.rmtree(self.root)
