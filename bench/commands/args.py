"""Arguments that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ..base.need import BenchError
from ..peers.roster import PEERS, peer_named
from ..peers.seam import TRANSPORTS, Peer

COUNT_MAX = 2**40


def peer_list(text: str) -> list[Peer]:
    """Names with commas between them."""
    try:
        return [peer_named(name) for name in some_words(text)]
    except BenchError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def base_peer(text: str) -> str:
    """The name of one peer."""
    try:
        return peer_named(text).name
    except BenchError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def check_base(chosen: argparse.Namespace) -> None:
    """Refuse to compare with somebody who is not measured."""
    peers: list[Peer] = getattr(chosen, "peer", None) or []
    base: str | None = getattr(chosen, "base", None)
    if peers and base is not None and base not in [peer.name for peer in peers]:
        raise BenchError(f"--base {base} is not among the peers of --peer")


def transport_list(text: str) -> list[str]:
    """Names with commas between them."""
    names = words(text)
    unknown = [name for name in names if name not in TRANSPORTS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"{text!r}: transports are {', '.join(TRANSPORTS)}")
    return names


def words(text: str) -> list[str]:
    """What stands between commas, once each."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def some_words(text: str) -> list[str]:
    """The same, of which there is at least one."""
    found = words(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r}: at least one name is wanted")
    return found


def whole(low: int) -> Callable[[str], int]:
    """A whole number from low on; 1e6 and 1_000 are fine."""

    def read(text: str) -> int:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
        if not low <= value <= COUNT_MAX or value != int(value):
            raise argparse.ArgumentTypeError(f"{text}: it is a whole number from {low} on")
        return int(value)

    return read


def number_list(low: int) -> Callable[[str], list[int]]:
    """Whole numbers from low on, with commas between them."""

    def read(text: str) -> list[int]:
        found = [whole(low)(word) for word in words(text)]
        if not found:
            raise argparse.ArgumentTypeError("at least one number is wanted")
        return found

    return read


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: it is a number above 0")
    return value


def add_common(parser: argparse.ArgumentParser, peers: str, *, rounds: int = 5) -> None:
    """What every measuring command has."""
    parser.add_argument(
        "--peer",
        type=peer_list,
        default=peers,
        help=f"names with commas, of {', '.join(PEERS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=whole(1), default=rounds, help="besides the warm-up (default: %(default)s)"
    )
    parser.add_argument("--seed", type=whole(0), default=1, help="of the messages' contents")
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where results go, and what they are compared with."""
    parser.add_argument(
        "--base", type=base_peer, help="the peer ratios are made to (default: the first)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the results there; - is the terminal")
    parser.add_argument("--report", metavar="FILE", help="write an HTML report with charts there")


def add_transport(parser: argparse.ArgumentParser, otherwise: str = "tcp") -> None:
    """Over what."""
    parser.add_argument(
        "--transport",
        type=transport_list,
        default=otherwise,
        help="with commas, of tcp, ipc, inproc (default: %(default)s)",
    )


def add_size(parser: argparse.ArgumentParser, otherwise: str, *, least: int = 0) -> None:
    """How large."""
    parser.add_argument(
        "--size",
        type=number_list(least),
        default=otherwise,
        help="bytes a message, with commas (default: %(default)s)",
    )
