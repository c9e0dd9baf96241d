"""A spool in any order of calls against a plain model: hypothesis draws the calls, and each does
what the model says or raises what it says. It is closed or killed between, and a view looks on.

Not here: kills of real processes (tests/crash), crashes of the machine (tests/c).
"""

from __future__ import annotations

import shutil
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

import meshmsg as mm
from tests.support.pairs import wait_until
from tests.support.spooled import SEGMENT, segments
from tests.support.spoollives import SpoolLives, copy_of
from tests.support.spoolmodel import Mark, seen, upto

SIZES = (0, 10, 3_000, 20_000)
KEYS = (b"", b"x", b"y")
NAMES = ("a", "b")
LONG_S = 3_600.0
names, numbers = st.sampled_from(NAMES), st.integers(0, 400)


class Spools(SpoolLives):
    """One spool after another over the same messages, its cursors, readers and leases, and a view.

    The model: what was kept is read, in order, as it was put, until something may remove it; a
    cursor is done with what it was told, and with nothing else but what is gone.
    """

    # ---- putting

    @rule(size=st.sampled_from(SIZES), key=st.sampled_from(KEYS), wait=st.booleans())
    def append(self, size: int, key: bytes, wait: bool) -> None:
        """Put one."""
        body = self.bodies(1, size)
        timeout = 0 if self.overflow == "block" else None
        before = self.spool.info()
        try:
            number = self.spool.append(body[0], wait=wait, timeout=timeout, key=key)
        except (mm.SpoolFullError, mm.WouldBlockError) as error:
            self.refused(error, key, body)
            return
        assert (number is None) <= (self.overflow == "drop_newest")
        if number is not None:
            assert number == self.model.last + 1
            self.did_put(key, body, wait)
        after = self.spool.info()
        assert after.dropped_newest - before.dropped_newest == (number is None)
        if self.overflow == "drop_oldest" and self.keeps in ("messages", "bytes"):
            self.model.may_go = max(self.model.may_go, after.first_seq - 1)
            went = after.first_seq - before.first_seq
            assert after.dropped_oldest - before.dropped_oldest == went

    @rule(
        size=st.sampled_from(SIZES), key=st.sampled_from(KEYS), count=st.integers(0, 30),
        way=st.sampled_from(["list", "generator", "array"]), wait=st.booleans(),
    )  # fmt: skip
    def append_many(self, size: int, key: bytes, count: int, way: str, wait: bool) -> None:
        """Put a run."""
        bodies = self.bodies(count, size)
        options: dict[str, Any] = {"wait": wait, "key": key}
        options["timeout"] = 0 if self.overflow == "block" else None
        try:
            if way == "array":
                got = self.spool.append_batch(pa.array(bodies, pa.binary()), **options)
            else:
                source = bodies if way == "list" else (one for one in bodies)
                got = self.spool.append_many(source, **options)
        except (mm.SpoolFullError, mm.WouldBlockError) as error:
            self.refused(error, key, bodies)
            return
        assert (len(got) < count) <= (self.overflow == "drop_newest")
        if got:
            assert got.start == self.model.last + 1
            self.did_put(key, bodies[: len(got)], wait)
        if self.overflow == "drop_oldest" and self.keeps in ("messages", "bytes"):
            self.model.may_go = max(self.model.may_go, self.spool.info().first_seq - 1)

    @rule()
    def append_too_much(self) -> None:
        """What no file has room for is refused, and nothing was put."""
        with pytest.raises(mm.TooLargeError):
            self.spool.append(bytes(SEGMENT))

    @rule()
    def flush(self) -> None:
        """Have all on the disk."""
        self.spool.flush()
        self.model.sure = self.model.last

    # ---- reading

    @rule(number=numbers, most=st.sampled_from([1, 7, 1_000]))
    def read(self, number: int, most: int) -> None:
        """Read from a number on, as a table."""
        number = 1 + number % (self.model.last + 2)
        try:
            batch = self.spool.read(number, max_messages=most)
        except mm.SpoolTrimmedError as error:
            self.see_trimmed(error, number)
            return
        assert batch.gaps == ()
        self.model.read(number, batch.messages, None)
        assert len(batch) <= most

    @rule(number=st.none() | numbers, name=st.none() | names)
    def open_reader(self, number: int | None, name: str | None) -> None:
        """A reader of the spool, or of what a cursor is not done with."""
        if self.reader is not None:
            self.reader[0].close()
        if name in self.cursors:
            reader = self.cursors[name].reader()
            self.reader = reader, self.model.marks[name], reader.seq
            return
        at = None if number is None else 1 + number % (self.model.last + 2)
        reader = self.spool.reader(at)
        assert at in (None, reader.seq)
        self.reader = reader, None, reader.seq

    @rule(most=st.sampled_from([1, 7, 1_000]), way=st.sampled_from(["read", "batch", "iterate"]))
    def read_on(self, most: int, way: str) -> None:
        """Read on with it."""
        if self.reader is None:
            return
        reader, mark, at = self.reader
        skipped = None if mark is None else set(mark.done)
        found: list[Any] = []
        try:
            if way == "read":
                found = reader.read(most)
            elif way == "batch":
                found = reader.read_batch(most).messages
            else:
                found = list(reader)
        except mm.SpoolTrimmedError as error:
            self.see_trimmed(error, at)
            reader.seek(error.first)
            self.reader = reader, mark, error.first
            return
        self.see()
        fits = {"read": most, "batch": None, "iterate": None if mark else len(found) + 1}[way]
        left_out = None if skipped is None else skipped | set(range(1, self.model.first))
        at = self.model.read(at, found, fits, left_out if found == [] else skipped)
        self.reader = reader, mark, at

    @rule(number=numbers)
    def seek_reader(self, number: int) -> None:
        """Go on elsewhere."""
        if self.reader is None or self.reader[1] is not None:
            return
        at = 1 + number % (self.model.last + 2)
        self.reader[0].seek(at)
        self.reader = self.reader[0], None, at

    # ---- cursors

    def one_that_is_open(self, name: str) -> str:
        """That cursor, or the other one; if there is none, it is opened."""
        if not self.cursors:
            self.open_cursor(name, "earliest")
        return name if name in self.cursors else next(iter(self.cursors))

    @rule(name=names, start=st.sampled_from(["earliest", "latest"]) | numbers)
    def open_cursor(self, name: str, start: str | int) -> None:
        """Open or make one."""
        self.see()
        model, is_new = self.model, name not in self.model.marks
        begins: Any = 1 + start % (model.last + 3) if isinstance(start, int) else start
        at = {"earliest": model.first, "latest": model.last + 1}.get(begins, begins)
        try:
            cursor = self.spool.cursor(name, begins)
        except mm.UsageError:
            assert is_new
            assert at > model.last + 1
            return
        except mm.SpoolTrimmedError as error:
            assert is_new
            self.see_trimmed(error, at)
            return
        if is_new:
            assert at <= model.last + 1
            self.see()
            if begins == "earliest":
                at = cursor.floor + 1
            model.marks[name] = Mark(set(range(1, at)))
            model.marks[name].save()
            model.sure = max(model.sure, at - 1)
        if name in self.cursors:
            self.close_cursor(name)  # another one has it
        self.cursors[name] = cursor

    @rule(name=names, number=numbers, how=st.sampled_from(["one", "up to", "range"]))
    def done(self, name: str, number: int, how: str) -> None:
        """Say that some are done; what cannot be read yet is not."""
        name = self.one_that_is_open(name)
        cursor, number = self.cursors[name], 1 + number % (self.model.last + 2)
        did = {
            "one": {number},
            "up to": set(range(1, number + 1)),
            "range": set(range(max(number - 5, 1), number + 1)),
        }[how]
        try:
            if how == "one":
                cursor.done(number)
            elif how == "up to":
                cursor.done_up_to(number)
            else:
                cursor.done_range(min(did), number)
        except mm.UsageError:
            assert number > self.model.sure
            return
        assert number <= self.model.last
        self.model.sure = max(self.model.sure, number)
        self.model.marks[name].done |= did

    @rule(name=names, number=numbers)
    def seek_cursor(self, name: str, number: int) -> None:
        """Go back or forth: it is saved."""
        name = self.one_that_is_open(name)
        number = 1 + number % (self.model.last + 3)
        try:
            self.cursors[name].seek(number)
        except mm.UsageError:
            assert number > self.model.last + 1
            return
        except mm.SpoolTrimmedError as error:
            self.see_trimmed(error, number)
            return
        assert number <= self.model.last + 1
        mark = self.model.marks[name]
        mark.done.clear()
        mark.done |= set(range(1, number))
        self.saved(name)

    @rule(name=names, close=st.booleans())
    def save(self, name: str, close: bool) -> None:
        """Have it on the disk."""
        name = self.one_that_is_open(name)
        if close:
            self.close_cursor(name)
        else:
            self.cursors[name].save()
            self.saved(name)

    @rule(name=names)
    def delete_cursor(self, name: str) -> None:
        """Remove it, unless it is open, or is none."""
        if name in self.cursors:
            with pytest.raises(mm.UsageError):
                self.spool.delete_cursor(name)
        elif name not in self.model.marks:
            with pytest.raises(mm.SpoolError):
                self.spool.delete_cursor(name)
        else:
            self.spool.delete_cursor(name)
            del self.model.marks[name]

    # ---- what goes

    @rule(number=numbers)
    def trim(self, number: int) -> None:
        """Files go that have nothing above, the last one by the rule of its own."""
        number = number % (self.model.last + 3)
        held = min(self.model.leases.values(), default=number + 1) - 1
        upto = min(number, held)
        bases = [int(file.stem) for file in segments(self.path)]
        self.model.may_go = max(self.model.may_go, min(upto, self.model.last))
        went = self.spool.trim(number)
        least = max((base for base in bases if base <= upto + 1), default=1)
        assert self.spool.info().first_seq >= min(least, bases[-1])
        if self.keeps != "age":
            assert went >= sum(base <= upto + 1 for base in bases[1:])

    @rule(name=names, number=numbers)
    def lease(self, name: str, number: int) -> None:
        """Hold what is there from a number on."""
        number = 1 + number % (self.model.last + 3)
        try:
            held = self.spool.lease(name, number, LONG_S)
        except mm.SpoolTrimmedError as error:
            self.see_trimmed(error, number)
            return
        self.model.leases[name], self.held[name] = number, held

    @rule(name=names)
    def release(self, name: str) -> None:
        """Hold no longer."""
        if name in self.model.leases:  # not had once more: "drop_oldest" may have taken of it
            del self.model.leases[name]
            assert self.held.pop(name).release()

    @rule()
    def compact(self) -> None:
        """Of each key the last stays, in what is sealed."""
        did = self.spool.compact()
        sealed = int(segments(self.path)[-1].stem) - 1
        before = len(self.model.compacted)
        there = {one.seq for one in self.all_of_it()}
        clean = self.spool.info().clean_seq
        self.model.see_compaction(there, sealed, clean, tombs=self.tombs)
        if self.keeps not in ("acked", "age"):
            assert did.messages == len(self.model.compacted) - before

    @precondition(lambda self: self.keeps in ("acked", "age"))
    @rule()
    def let_it_go(self) -> None:
        """What may go by itself does, at some time."""
        if self.model.leases:
            return
        if self.keeps == "acked" and "a" in self.cursors:
            self.save("a", False)
        mark = self.model.marks.get("a", Mark(set()))
        floor = self.model.last if self.keeps == "age" else upto(mark.saved)
        bases = [int(file.stem) for file in segments(self.path)]
        least = max((base for base in bases if base <= floor + 1), default=0)
        wait_until(lambda: self.spool.info().first_seq >= least)

    # ---- lives

    @rule()
    def kill(self) -> None:
        """The process is gone at that moment; another one goes on with what it left."""
        self.lives += 1
        to = self.root / str(self.lives)
        copy_of(self.path, to)
        self.view.close()
        self.spool.close()
        self.forget()
        shutil.rmtree(self.path)
        self.path = to
        self.open(killed=True)
        self.open_view()
        self.see()
        assert {one.name for one in self.spool.cursors()} == set(self.model.marks)
        for name, mark in self.model.marks.items():
            with self.spool.cursor(name) as cursor:
                said = seen(cursor, self.model.last)
            self.see()
            assert mark.saved <= said.done <= mark.done | self.model.gone()
            mark.done = said.done
            mark.save()

    @rule()
    def open_twice(self) -> None:
        """Nobody else gets it meanwhile."""
        with pytest.raises(mm.SpoolLockedError, match="process"):
            mm.Spool(self.path, **self.options)

    @rule(most=st.sampled_from([1, 7, 1_000]))
    def look_beside(self, most: int) -> None:
        """The view reads what is there, no further than it was put."""
        try:
            found = self.shown.read(most)
        except mm.SpoolTrimmedError as error:
            self.see_trimmed(error, self.shown_next)
            self.shown.seek(error.first)
            self.shown_next = error.first
            return
        self.shown_next = self.model.read(self.shown_next, found, 0)
        info = self.view.info()
        assert self.shown_next - 1 <= info.last_seq <= self.model.last


TestSpools = Spools.TestCase
TestSpools.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


def test_a_lease_of_which_messages_went_is_released_all_the_same() -> None:
    """As the machine found it: "drop_oldest" takes what is leased. Then the rest may go, too."""
    spools = Spools()
    spools.begin(level="os", keeps="bytes", overflow="drop_oldest", tombs=False)
    for count in (7, 6):
        spools.append_many(count=count, key=b"", size=20_000, wait=False, way="list")
        if count == 7:
            spools.lease(name="a", number=0)
    with pytest.raises(mm.SpoolTrimmedError):
        spools.held["a"].renew(LONG_S)
    spools.release(name="a")
    spools.trim(spools.model.last)
    spools.it_is_the_model()
    spools.teardown()
