"""The commands, their arguments, and what is printed.

Not here: what they do. Law: what is asked for goes to standard output; what is wrong goes to
standard error, in one sentence, with an exit code of codes.py.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import meshmsg
from meshmsg._binding.core import lib
from meshmsg._binding.errors import MeshError, ResourceError, UsageError
from meshmsg._cli import doctor, lists, making, mesh_program, showing, spool_program
from meshmsg._cli.certificates import DAYS
from meshmsg._cli.codes import Code
from meshmsg._security.curve import Curve
from meshmsg._security.environment.ini import read_profile
from meshmsg._security.policy import Policy, Profile
from meshmsg._security.public_keys import is_key

PROGRAM = "meshmsg"
Given = argparse.Namespace
if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
KEY_MARK = "z85:"
"""Put before keys that begin as options do, as one of 85 does."""
TIMEOUT_S, TIMEOUT_MAX_S = 5.0, 3600
"""Seconds of an attempt of the doctor's to connect."""
_INTERRUPTED = 130
"""As shells have it for SIGINT."""
_PIPE_BROKEN = 141
"""Likewise for SIGPIPE: whoever read what is printed has left."""


def parser() -> argparse.ArgumentParser:
    """All commands."""
    top = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Keys for meshmsg, who may come in, why a connection works or not, "
        "spools, and nodes of a mesh.",
        epilog="docs/cli.md has examples and the exit codes.",
    )
    top.add_argument("--version", action="version", version=f"{PROGRAM} {meshmsg.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _add_keygen(commands)
    keys = commands.add_parser("keys", help="show keys; say who may come in")
    _add_keys(keys.add_subparsers(metavar="COMMAND", required=True))
    _add_doctor(commands)
    spool = commands.add_parser("spool", help="look at a spool, and take from it")
    spool_program.add(spool.add_subparsers(metavar="COMMAND", required=True))
    mesh = commands.add_parser("mesh", help="ask a node of a mesh")
    mesh_program.add(mesh.add_subparsers(metavar="COMMAND", required=True))
    return top


def _add_keygen(commands: Commands) -> None:
    words = "make keys: files that begin with NAME; what is there is not replaced"
    command = commands.add_parser("keygen", help=words, description=words)
    command.add_argument("name", metavar="NAME", help="path of the files, without their ending")
    kinds = command.add_mutually_exclusive_group()
    kinds.add_argument(
        "--curve", action="store_true", help="a pair for CURVE: NAME.key, NAME.key_secret (default)"
    )
    kinds.add_argument("--secret", action="store_true", help="a shared secret: NAME.secret")
    kinds.add_argument(
        "--tls",
        action="store_true",
        help="a certificate that signs itself, and its private key: NAME.crt, NAME.pem",
    )
    command.add_argument(
        "--host",
        action="append",
        metavar="HOST",
        help="of --tls: a name or an IP that it is for; may be repeated (default: localhost)",
    )
    command.add_argument(
        "--days", type=int, metavar="N", help=f"of --tls: days it is good for (default: {DAYS})"
    )
    command.set_defaults(run=_keygen)


def _keygen(given: Given) -> Code:
    if not given.tls and (given.host or given.days is not None):
        raise UsageError("--host and --days are of --tls")
    if given.secret:
        lines = making.make_secret(given.name)
    elif given.tls:
        days = DAYS if given.days is None else given.days
        lines = making.make_tls(given.name, given.host or ["localhost"], days)
    else:
        lines = making.make_curve(given.name)
    print("\n".join(lines))
    return Code.OK


def _add_keys(commands: Commands) -> None:
    words = "tell what is in a file or folder of keys; what is secret is not shown"
    show = commands.add_parser("show", help=words, description=words)
    show.add_argument("places", nargs="+", metavar="FILE|FOLDER")
    show.add_argument("--json", action="store_true", help="as one object of JSON")
    show.set_defaults(run=_show)
    words = "let somebody in"
    allow = commands.add_parser("allow", help=words, description=words)
    words = "let somebody in no more; who is connected by that key is disconnected"
    remove = commands.add_parser("remove", help=words, description=words)
    or_user = ", or a user id, all of whose keys are meant"
    for command, more in ((allow, ""), (remove, or_user)):
        command.add_argument("list", metavar="LIST", help="the file or folder that allow= names")
        command.add_argument(
            "key",
            metavar="KEY",
            type=_key,
            help="in Z85, a pin (sha256//...), the path of a .key file or of a certificate" + more,
        )
    allow.add_argument(
        "user",
        metavar="USER",
        nargs="?",
        help="what it is known by, by this key as well as by others it has (default: the name of "
        "that file, which has no other key, or the key)",
    )
    allow.set_defaults(run=lambda given: _said(lists.allow(given.list, given.key, given.user)))
    remove.set_defaults(run=lambda given: _said(lists.remove(given.list, given.key)))


def _key(text: str) -> str:
    return text.removeprefix(KEY_MARK)


def _said(words: str) -> Code:
    print(showing.printable(words))
    return Code.OK


def _show(given: Given) -> Code:
    told: dict[str, showing.Told] = {}
    code = Code.OK
    for place in given.places:
        try:
            told[place] = showing.show(place)
        except (MeshError, OSError) as error:  # what is in the others is shown all the same
            print(f"{PROGRAM}: {_words(error)}", file=sys.stderr)
            code = max(code, _code_of(error))
    if given.json:
        print(json.dumps(told, indent=2))
    else:
        for place, what in told.items():
            print("\n".join(showing.lines_of(place, what)))
    return code


def _add_doctor(commands: Commands) -> None:
    words = "find out why a socket can be connected to, or why not"
    command = commands.add_parser("doctor", help=words, description=words)
    command.add_argument("url", metavar="URL", help="what a program would connect to")
    command.add_argument(
        "--server", metavar="KEY", type=_key, help="for CURVE: the server's key, or its .key file"
    )
    command.add_argument("--key", metavar="FILE", help="for CURVE: our own .key_secret file")
    command.add_argument(
        "--security",
        metavar="FILE",
        help="in place of those: a file as MESHMSG_SECURITY names one; its [connect] counts",
    )
    command.add_argument(
        "--role",
        choices=doctor.ROLES,
        metavar="ROLE",
        help="what to be (default: what talks to it and is given no messages); messages that it "
        f"is given are lost: {', '.join(doctor.ROLES)}",
    )
    command.add_argument(
        "--timeout", type=float, default=TIMEOUT_S, metavar="S", help="seconds for each attempt"
    )
    command.add_argument("--json", action="store_true", help="as one object of JSON")
    command.set_defaults(run=_doctor)


def _doctor(given: Given) -> Code:
    if not 0 < given.timeout <= TIMEOUT_MAX_S:
        raise UsageError(
            f"--timeout is {given.timeout:g}; it is more than 0, up to {TIMEOUT_MAX_S}"
        )
    if given.key and not given.server:
        raise UsageError("--key FILE goes with --server KEY, the public key of the server")
    if given.security and (given.server or given.key):
        raise UsageError("--security FILE stands in place of --server and --key")
    security: Policy | Profile | None = None
    if given.security:
        security = read_profile(given.security)
    elif given.server or given.key:
        security = Curve(server=given.server, key=given.key)
    report = doctor.examine(given.url, security, given.role, given.timeout)
    if given.json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        print("\n".join(report.lines()))
    return report.code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    Args:
        arguments: Without the program's name; None is what the process was given.
    """
    logging.getLogger("meshmsg").addHandler(logging.NullHandler())  # what is said is printed here
    words = sys.argv[1:] if arguments is None else arguments
    marked = [KEY_MARK + word if word.startswith("-") and is_key(word) else word for word in words]
    try:
        given = parser().parse_args(marked)
        run: Callable[[Given], Code] = given.run
        code = int(run(given))
        sys.stdout.flush()  # whoever reads it may have left
        return code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (MeshError, OSError) as error:
        if isinstance(error, BrokenPipeError) and not isinstance(error, MeshError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
            return _PIPE_BROKEN
        print(f"{PROGRAM}: {_words(error)}", file=sys.stderr)
        return int(_code_of(error))


def _code_of(error: Exception) -> Code:
    if isinstance(error, ResourceError) and error.code == lib.MM_ENOTSUP:
        return Code.MISSING
    return Code.USAGE if isinstance(error, UsageError) else Code.FAILED


def _words(error: Exception) -> str:
    """What went wrong; of an error of the system, without its number."""
    if isinstance(error, OSError) and not isinstance(error, MeshError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return showing.printable(f"{where}{error.strerror}")
    return showing.printable(str(error))
