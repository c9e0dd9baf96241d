"""`meshmsg spool`: its arguments, and what is printed.

Not here: what is done (spools.py, spool_export.py). Law: as in program.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from meshmsg._binding.errors import UsageError
from meshmsg._cli import spool_export, spools
from meshmsg._cli.codes import Code
from meshmsg._cli.showing import printable
from meshmsg._cli.spool_removed import Removed
from meshmsg._hints.plural import counted
from meshmsg._spool.arguments import TOMBSTONE_AGE
from meshmsg._spool.message import SpoolGap
from meshmsg._spool.starts import Begin, begin_of

Given = argparse.Namespace
if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
TAIL = 10
"""Messages that `tail` prints, if nothing else is said."""
_STARTS = "a number, earliest, latest, last:100, or since:5m, of the last five minutes (s, m, h, d)"


def add(commands: Commands) -> None:
    """Add the commands below `spool`."""
    for name, words, run in (
        ("ls", "list its segment files", _ls),
        ("info", "tell what it is", _info),
        ("verify", "read every message, and tell what is harmed: exit code 1 then", _verify),
        ("tail", "print the last messages", _tail),
        ("export", "write messages as JSON lines, or as Parquet", _export),
        ("trim", "remove segment files that have no number above SEQ", _trim),
        ("compact", "keep the last message of each key only, in all but its last file", _compact),
        ("cursors", "list its cursors, and how many messages each is not done with", _cursors),
        ("seek", "go to a message with a cursor, back or forth", _seek),
    ):
        _add_one(commands, name, words, run)


def _add_one(commands: Commands, name: str, words: str, run: Callable[[Given], Code]) -> None:
    command = commands.add_parser(name, help=words, description=words)
    command.add_argument("path", metavar="PATH", help="the folder of the spool")
    command.add_argument(
        "--remote", action="store_true", help="also on a file system of another machine"
    )
    if name != "export":
        command.add_argument("--json", action="store_true", help="as JSON")
    if name == "tail":
        which = command.add_mutually_exclusive_group()
        which.add_argument("-n", type=int, metavar="N", help=f"how many (default: {TAIL})")
        _add_begin(which)
        command.add_argument("-f", "--follow", action="store_true", help="and those that come")
    elif name == "trim":
        command.add_argument(
            "seq",
            metavar="SEQ",
            help="the last one not needed any more; or what is in front of last:100, since:5m, "
            "of the last five minutes (s, m, h, d), and such",
        )
    elif name == "compact":
        command.add_argument(
            "--tombstone-age",
            type=float,
            default=TOMBSTONE_AGE,
            metavar="SECONDS",
            help="from the compaction that took what a tombstone deletes, to its own end "
            f"(default: {TOMBSTONE_AGE:,.0f})",
        )
    elif name == "seek":
        command.add_argument("name", metavar="NAME", help="the cursor")
        command.add_argument(
            "start",
            metavar="START",
            help=f"the message that is next: {_STARTS}",
        )
    elif name == "export":
        command.add_argument(
            "file",
            metavar="FILE",
            nargs="?",
            help="where to (default, and -: standard output); Parquet if its name ends in "
            f"{spool_export.PARQUET}, else JSON lines: {', '.join(spool_export.LINES)}",
        )
        _add_begin(command.add_mutually_exclusive_group())
        command.add_argument(
            "--to",
            "--last",
            dest="last",
            metavar="END",
            help="end with this number; or in front of since:1h, last:10 and such",
        )
    command.set_defaults(run=run)


def _add_begin(which: argparse._ActionsContainer) -> None:
    """Add where it begins."""
    which.add_argument(
        "--from", "--first", dest="first", metavar="START", help=f"begin with: {_STARTS}"
    )
    which.add_argument(
        "--since", metavar="TIME", help="begin with what was put in that time: 90s, 5m, 2h, 7d"
    )


def _ls(given: Given) -> Code:
    rows = spools.listed(given.path, given.remote)
    if given.json:
        print(json.dumps(rows, indent=2))
        return Code.OK
    print(f"{'file':24}  {'first':>12}  {'last':>12}  {'bytes':>14}")
    for row in rows:
        print(f"{row['file']}  {row['first']:>12}  {row['last']:>12}  {row['bytes']:>14,}")
    return Code.OK


def _print(told: spools.Told, as_json: bool) -> None:
    if as_json:
        print(json.dumps(told, indent=2))
        return
    for name, value in told.items():
        if isinstance(value, dict):
            _print({f"{name}.{key}": inner for key, inner in value.items()}, False)
        else:
            print(printable(f"{name}: {value}"))


def _info(given: Given) -> Code:
    _print(spools.informed(given.path, given.remote), given.json)
    return Code.OK


def _verify(given: Given) -> Code:
    told = spools.verified(given.path, given.remote)
    harmed = told["harmed"]
    assert isinstance(harmed, list)
    if given.json:
        print(json.dumps(told, indent=2))
    else:
        for one in harmed:
            print(printable(f"harmed: {one['first']} to {one['last']}"))
        count = told["messages"]
        assert isinstance(count, int)
        print(f"{counted(count, 'message')} read and right")
        if told["compacted"]:
            print(f"{told['compacted']:,} of its numbers were compacted")
    return Code.FAILED if harmed else Code.OK


def _tail(given: Given) -> Code:
    count = TAIL if given.n is None else given.n
    if count < 1:
        raise UsageError(f"-n is {count}; it is 1 and more")
    begin = spools.begin_at(given.first, given.since) or Begin("last", count)
    removed = Removed(begin.kind == "seq")
    harmed = False
    for one in spools.tail(given.path, given.remote, begin, given.follow, removed):
        text = json.dumps(spool_export.row_of(one)) if given.json else spools.line_of(one)
        print(text, flush=given.follow)
        harmed = harmed or isinstance(one, SpoolGap)
    if removed.named and removed.last is not None:
        _tell_of_nothing("printed", removed.last, begin.value)
    return Code.FAILED if harmed or removed.any else Code.OK


def _tell_of_nothing(done: str, end: int, first: int) -> None:
    """Tell of a begin that is behind all messages."""
    if end < first:
        said = f"the spool ends at {end}, and it was to begin with {first}"
        print(f"nothing is {done}: {said}", file=sys.stderr)


def _export(given: Given) -> Code:
    part = spools.part_of(given.first, given.since, given.last)
    to = spool_export.file_of(given.file)
    gaps: list[SpoolGap] = []
    count = lost = 0
    with spools.seen(given.path, given.remote) as view:
        first, last = part.numbers(view)
        removed = Removed(part.named, last)
        removed(spools.gone_of(part, first, last), True)
        read = spools.exported(view, first, last, removed)
        if to is None:
            count, lost = spool_export.write_lines(read, sys.stdout)
        elif to.endswith(spool_export.PARQUET):
            rows = spools.batches(view, first, last, gaps, removed)
            count = spool_export.write_parquet(rows, to)
        else:
            with open(to, "w", encoding="utf-8") as file:
                count, lost = spool_export.write_lines(read, file)
        end = view.info().last_seq
    if part.named and not count:
        _tell_of_nothing("written", end, first)
    for gap in gaps:
        print(f"harmed, and not written: {gap.first} to {gap.last}", file=sys.stderr)
    if to is not None:
        print(printable(f"{to}: {counted(count, 'message')}"))
    return Code.FAILED if gaps or lost or removed.any else Code.OK


def _trim(given: Given) -> Code:
    _print(spools.trim(given.path, given.remote, given.seq), given.json)
    return Code.OK


def _compact(given: Given) -> Code:
    _print(spools.compacted(given.path, given.remote, given.tombstone_age), given.json)
    return Code.OK


def _cursors(given: Given) -> Code:
    rows = spools.cursors(given.path, given.remote)
    if given.json:
        print(json.dumps(rows, indent=2))
        return Code.OK
    width = max([len(str(row["name"])) for row in rows] + [len("name")])
    print(f"{'name':{width}}  {'floor':>12}  {'lag':>12}")
    for row in rows:
        harmed = row["floor"] is None
        floor, lag = ("harmed", "") if harmed else (row["floor"], row["lag"])
        print(f"{row['name']:{width}}  {floor:>12}  {lag:>12}".rstrip())
    return Code.OK


def _seek(given: Given) -> Code:
    start = spools.start_of(given.start)
    begin_of("START", start)
    _print(spools.seek(given.path, given.remote, given.name, start), given.json)
    return Code.OK
