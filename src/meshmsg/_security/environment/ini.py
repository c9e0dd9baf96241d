"""A file of policies: an INI file with a section for sockets that bind, and one for those that
connect.

Not here: what a section may say (mechanisms.py). Law: what is wrong is told with the file and the
section, or the line; nothing that stands in the file is quoted but names; nothing is made plain
that does not say so.
"""

from __future__ import annotations

import os
from typing import Any

from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._security.allow import Rule
from meshmsg._security.environment.mechanisms import MECHANISMS
from meshmsg._security.files.believed import not_believed
from meshmsg._security.files.safe import read_file
from meshmsg._security.policy import Policy, Profile

SECTIONS = ("bind", "connect")
_NO_SECTION = "\0"
"""configparser has a section whose values are those of all others; here it has no name."""


class Unsaid(Policy):
    """The policy of a section that is not there: no endpoint is protected so, and none is plain."""

    __slots__ = ("_why",)

    _why: str

    def __init__(self, file: str, section: str) -> None:
        self._put(Rule())
        object.__setattr__(
            self,
            "_why",
            f"{file} has no section [{section}], which would say what protects a socket that does "
            f"that first; write it (mechanism = none, if nothing), or give the socket security=",
        )

    def _refusal(self, url: str, *, binds: bool, insecure: bool) -> str:
        return self._why

    def _protect(self, handle: int, opts: Any) -> None:
        """Never asked to: it refuses every endpoint."""


def read_profile(path: str) -> Profile:
    """Read such a file.

    Raises:
        UsageError: It cannot be read, or what stands in it is wrong: which file, which section.
    """
    found = _sections(path)
    if not found:
        raise UsageError(f"{path} is empty: it has the sections [bind], [connect] or both")
    folder = os.path.dirname(os.path.abspath(path))
    policies = {
        name: _policy(f"{path}, [{name}]", folder, found[name])
        if name in found
        else Unsaid(path, name)
        for name in SECTIONS
    }
    return Profile(**policies)


def _sections(path: str) -> dict[str, dict[str, str]]:
    from configparser import ConfigParser, Error  # costs more than all of meshmsg's policies

    try:
        content = read_file(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    if isinstance(content, str):
        raise UsageError(f"{path}{content}")
    if why := not_believed(path, content[1]):
        raise UsageError(f"{path} says what protects sockets, and {why}")
    parser = ConfigParser(interpolation=None, default_section=_NO_SECTION)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(content[0].decode("utf-8", "surrogateescape"))
    except Error as error:
        raise UsageError(
            f"{path}{_line_of(error)}: {_WRONG.get(type(error).__name__, _LINE)}"
        ) from None
    for name in parser.sections():
        if name not in SECTIONS:
            raise UsageError(
                f"{path}: [{_shown(name)}] is no section of it: there are [bind] and [connect]"
            )
    return {name: dict(parser.items(name)) for name in parser.sections()}


_LINE = "neither a section in brackets nor NAME = VALUE"
_WRONG = {
    "MissingSectionHeaderError": "something stands in front of the first section",
    "DuplicateSectionError": "the section is there twice",
    "DuplicateOptionError": "the name is there twice in its section",
}


def _line_of(error: Any) -> str:
    """Say where, if the error knows; its own words quote the line."""
    lines = [getattr(error, "lineno", None), *(at for at, _ in getattr(error, "errors", ()))]
    return next((f", line {line}" for line in lines if line), "")


def _shown(name: str) -> str:
    """Return a name that somebody wrote, in one line whatever is in it."""
    return name if name.isprintable() else ascii(name)[1:-1]


def _policy(where: str, folder: str, given: dict[str, str]) -> Policy:
    name = given.pop("mechanism", "")
    if name not in MECHANISMS:
        said = f"mechanism is {name!r}; it" if name else "no mechanism = is there; it"
        raise UsageError(f"{where}: {said} is one of {', '.join(sorted(MECHANISMS))}")
    mechanism = MECHANISMS[name]
    for key, value in given.items():
        if key not in mechanism.arguments:
            known = ", ".join(mechanism.arguments) or "nothing else"
            raise UsageError(f"{where}: {_shown(key)} is nothing that {name} has; it has {known}")
        if not value.strip():
            raise UsageError(f"{where}: {key} is empty")
        if "\0" in value:
            raise UsageError(f"{where}: {key} has an octet 0, as no path and no name has")
    try:
        arguments = {key: mechanism.arguments[key](folder, value) for key, value in given.items()}
        return mechanism.make(**arguments)
    except (MeshError, OSError, TypeError, ValueError) as error:  # the last: of 5000 digits, say
        raise UsageError(f"{where}: {error}") from error
