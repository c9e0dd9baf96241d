"""The command line of the bench."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

import meshmsg

from .base.need import BenchError
from .base.rooms import COMMAND, ONLY_IN_A_CHECKOUT, room_with
from .commands import (
    backlogs,
    beside,
    many,
    meshes,
    rate,
    report,
    rest,
    run,
    slow,
    sources,
    speed,
    spools,
    surveys,
    workers,
)
from .commands.args import check_base

OF_A_CHECKOUT = ("targets", "micro")
"""Commands whose room an installed meshmsg does not have."""


def parser() -> argparse.ArgumentParser:
    """All commands that are here."""
    top = argparse.ArgumentParser(
        prog=COMMAND,
        description="Measure meshmsg beside others, interleaved, sender and receiver apart.",
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    of_a_checkout = [room_with("targets", name) for name in OF_A_CHECKOUT]
    for module in (
        speed,
        rate,
        many,
        surveys,
        workers,
        meshes,
        beside,
        slow,
        rest,
        spools,
        backlogs,
        sources,
        run,
        *filter(None, of_a_checkout),
        report,
    ):
        module.add_commands(commands)
    if not all(of_a_checkout):
        top.epilog = f"What is about meshmsg itself ({', '.join(OF_A_CHECKOUT)}) and what it is "
        top.epilog += f"measured beside {ONLY_IN_A_CHECKOUT}."
    return top


def check_here(arguments: Sequence[str]) -> None:
    """Refuse a command whose room is not here."""
    if arguments and arguments[0] in OF_A_CHECKOUT and room_with("targets", "targets") is None:
        raise BenchError(f"{arguments[0]} {ONLY_IN_A_CHECKOUT} {arguments[0]}")


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    try:
        check_here(arguments)
        chosen = parser().parse_args(arguments)
        check_base(chosen)
        status: int = chosen.run(chosen)
    except (BenchError, meshmsg.MeshError) as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def stopped(number: int, _: object) -> None:
    """End in order when told to: brokers and folders of a measurement go with it."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup stays
            signal.signal(number, stopped)
    sys.exit(main(sys.argv[1:]))
