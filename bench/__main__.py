"""The command line of the bench."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

import meshmsg

from ._args import check_base
from ._many import add_commands as add_many
from ._micro import add_commands as add_micro
from ._need import BenchError
from ._rate import add_commands as add_rate
from ._report_command import add_commands as add_report
from ._run import add_commands as add_run
from ._speed import add_commands as add_speed
from ._surveys import add_commands as add_surveys
from ._targets import add_commands as add_targets


def parser() -> argparse.ArgumentParser:
    """All commands."""
    top = argparse.ArgumentParser(
        prog="python -m meshmsg.bench",
        description="Measure meshmsg beside others, interleaved, sender and receiver apart.",
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for add in (
        add_speed,
        add_rate,
        add_many,
        add_surveys,
        add_run,
        add_targets,
        add_micro,
        add_report,
    ):
        add(commands)
    return top


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    chosen = parser().parse_args(arguments)
    try:
        check_base(chosen)
        status: int = chosen.run(chosen)
    except (BenchError, meshmsg.MeshError) as error:
        print(f"python -m meshmsg.bench: {error}", file=sys.stderr)
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
