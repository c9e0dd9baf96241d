"""A spool that another process writes, to be read: its files are looked at, and nothing is changed.

Not here: a spool that is open (spool.py). Law: nothing is shown that a crash may take back.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any, Literal

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import SpoolChangedError, SpoolError
from meshmsg._spool.arguments import (
    Folder,
    Producer,
    choice,
    flag,
    folder,
    folder_of,
    is_gone,
    producer_of,
    whole,
)
from meshmsg._spool.cursor import SpoolCursorInfo, names_of
from meshmsg._spool.held import Held
from meshmsg._spool.reader import SpoolReader, read
from meshmsg._spool.starts import find
from meshmsg._spool.told import SpoolInfo, info_of


class SpoolView(Held):
    """Reads a spool that another process may write, at that moment and from then on.

    It takes no lock, and never writes to the folder. What it shows is proved to be on the disk, at
    each `durability`: by what was written later, by the state that its writer keeps, or by the end
    of a spool that was closed. So the last messages are seen a second later at most, and what a
    crash of the machine may take back never is. Files may go and come meanwhile.

    It keeps to the spool that it was opened with. Once another one is in its place, or a copy,
    each call raises SpoolChangedError, also one that waits: open another view.

    Args:
        path: The folder.
        on_corruption: As of `Spool`: "fail": reading what is harmed raises SpoolCorruptError;
            "gap": a `SpoolGap` is read in its place.
        remote: Also on a file system of another machine. What is written there may be seen late.

    Raises:
        SpoolError: There is no spool, or it cannot be read: not permitted, of a later version, in a
            folder that every user of this machine may write to, on another machine.
        UsageError, TypeError: An argument is wrong.
    """

    _known: tuple[bytes, int] = b"", 0
    """Which spool it is, and the last life of it that was seen."""
    _opens = lib.mm_spool_view_reader_open
    _young = lib.mm_spool_view_since

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        on_corruption: Literal["fail", "gap"] = "fail",
        remote: bool = False,
    ) -> None:
        gaps = choice("on_corruption", on_corruption, ("fail", "gap")) == "gap"
        super().__init__(folder(path), gaps)
        before: Folder | None = None
        while self._pointer is None or before != self._folder:
            before = self._folder = folder_of(self._place)
            self._open(flag("remote", remote))
            self._folder = folder_of(self._place)
        told = self._told()
        self._known = bytes(told.uuid), int(told.epoch)

    def _open(self, remote: int) -> None:
        out = ffi.new("mm_spool_view **")
        rc = int(lib.mm_spool_view_open(os.fsencode(self._place), remote, out))
        if self._pointer is not None:
            lib.mm_spool_view_close(self._pointer)
            self._pointer = None
        self._raise_for(rc, "opening it")
        self._pointer = out[0]

    def reader(self, seq: int | None = None) -> SpoolReader:
        """Return a reader that begins with that number; None: with the first that is there.

        A read that waits looks at the files 50 times a second. Thread-safe: yes.

        Args:
            seq: A number, 1 and more. It may be one that is yet to come.

        Returns:
            The reader, which is for one thread at a time.

        Raises:
            ClosedError: The view was closed.
        """
        return SpoolReader(self, self.info().first_seq if seq is None else whole("seq", seq, 1))

    read = read
    find = find

    def info(self) -> SpoolInfo:
        """Look what it is at this moment, as far as its files say.

        Thread-safe: yes.

        Returns:
            A snapshot. `last_seq`, `written_seq` and `durable_seq` are the last number that is
            shown; what is of the process that writes (`appended`, `dropped_oldest`,
            `dropped_newest`, syncs, `failed`) is 0, and its limits and who waits there None.

        Raises:
            SpoolChangedError: Another spool is in its place, or a copy of it.
            SpoolError: It is not there any more, or cannot be read.
            ClosedError: The view was closed.
        """
        return info_of(self._inspected())

    def last_origin(self, producer: Producer) -> int | None:
        """Tell the last number that a producer put, as far as its files say: where it goes on.

        It reads the file of the producers, and the messages behind what that tells of: one segment
        file at most. If that file is lost, it reads all from the first message with an origin on.
        Thread-safe: yes.

        Args:
            producer: As in an `origin` of `Spool.append`.

        Returns:
            The number. None: nothing is known of it, as of `Spool.last_origin`.

        Raises:
            SpoolError: The files cannot be read.
            ClosedError: The view was closed.
            UsageError, TypeError: It is no producer.
        """
        octets = ffi.from_buffer("uint8_t[]", producer_of(producer))
        number = ffi.new("uint64_t *")
        with self._in_use() as pointer:
            rc = int(lib.mm_spool_view_last_origin(pointer, octets, number))
        self._raise_for(rc, "looking for a producer")
        return int(number[0]) if rc else None

    def _in_use(self) -> AbstractContextManager[Any]:
        held = super()._in_use()
        if self._pointer is not None:
            self._check_folder()
        return held

    def _check_folder(self) -> None:
        """Raise if the folder is not the one that was opened."""
        gone = is_gone(self._place, self._folder)
        if not gone:
            return
        if folder_of(self._place) is None:
            raise self._lost(gone)
        out = ffi.new("mm_spool_view **")
        self._raise_for(
            int(lib.mm_spool_view_open(os.fsencode(self._place), True, out)),
            "the folder was replaced: looking at the one that is there now",
        )
        there = ffi.new("mm_spool_info *")
        rc = int(lib.mm_spool_view_inspect(out[0], there))
        lib.mm_spool_view_close(out[0])
        self._raise_for(rc, "the folder was replaced: looking at the one that is there now")
        raise self._changed(there)

    def _lost(self, gone: str) -> SpoolError:
        return SpoolError(f"{self.path}: {gone}", code=lib.MM_ENOENT)

    def _still(self) -> None:
        self._inspected()

    def _changed(self, there: Any) -> SpoolChangedError:
        """Say what is there in its place."""
        uuid, epoch = bytes(there.uuid), int(there.epoch)
        known, last = self._known
        here = f"{self.path}: it is the spool {uuid.hex()} in life {epoch}, and was "
        here += f"in life {last}: a copy is in its place" if uuid == known else f"{known.hex()}"
        return SpoolChangedError(
            f"{here}; its numbers may mean other messages: open another view",
            uuid=uuid.hex(),
            epoch=epoch,
        )

    def _told(self) -> Any:
        out = ffi.new("mm_spool_info *")
        with self._in_use() as pointer:
            self._raise_for(int(lib.mm_spool_view_inspect(pointer, out)), "looking at it")
        return out

    def _inspected(self) -> Any:
        out = self._told()
        uuid, epoch = bytes(out.uuid), int(out.epoch)
        known, last = self._known
        if uuid != known or epoch < last:  # in the same folder
            raise self._changed(out)
        self._known = known, epoch
        try:
            out.bytes = _bytes_of(self._place)
        except FileNotFoundError:
            self._check_folder()
            raise
        return out

    def cursors(self) -> list[SpoolCursorInfo]:
        """List its cursors, in the order of their names, as they were saved last.

        Each is saved about once a second while it changes. None is said to be further than what is
        shown. Thread-safe: yes.

        Returns:
            The name, the floor and the lag of each.

        Raises:
            SpoolError: They cannot be read.
            ClosedError: The view was closed.
        """
        names = names_of(self, lib.mm_spool_view_cursor_names)
        self.info()  # and what the view shows now
        return [info for name in names if (info := self._told_of(name)) is not None]

    def _told_of(self, name: str) -> SpoolCursorInfo | None:
        """Look at one; None: it was removed meanwhile."""
        out = ffi.new("mm_spool_cursor_info *")
        with self._in_use() as pointer:
            rc = int(lib.mm_spool_view_cursor(pointer, name.encode(), out))
        if rc == lib.MM_ENOENT:
            return None
        if rc == lib.MM_EPROTO:
            return SpoolCursorInfo(name, None, None)
        self._raise_for(rc, f"looking at the cursor {name!r}")
        return SpoolCursorInfo(name, int(out.floor), int(out.left))

    def close(self) -> None:
        """Close it and its readers. Again: nothing.

        Thread-safe: yes; calls that wait meanwhile raise ClosedError, also one that this thread is
        in, if a signal's function closes it.
        """
        self._end()

    def _free(self, pointer: Any) -> tuple[int, int]:
        self._let_go()
        lib.mm_spool_view_close(pointer)
        return lib.MM_OK, lib.MM_OK

    @staticmethod
    def _abandon(pointer: Any) -> None:
        """A thread of the parent may have been in it: it stays as it is."""

    def __del__(self) -> None:
        if self._pointer is not None:
            self.close()


def _bytes_of(path: str) -> int:
    """Return the bytes of its segment files; those that go meanwhile have none."""
    total = 0
    for entry in os.scandir(path):
        if entry.name.endswith(".seg") and entry.name[0].isdigit():
            try:
                total += entry.stat().st_size
            except FileNotFoundError:
                continue
    return total
