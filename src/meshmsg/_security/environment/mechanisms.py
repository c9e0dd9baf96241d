"""What a section of the file may say, by mechanism: the arguments of its policy, as text.

Not here: sections (ini.py). Law: a path is relative to the folder of the file it stands in; a new
mechanism is a row of the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from meshmsg._binding.errors import UsageError
from meshmsg._security.allow import ANYBODY, Allowed
from meshmsg._security.curve import Curve
from meshmsg._security.files.places import place_of
from meshmsg._security.files.safe import read_file, unsafe
from meshmsg._security.keys import SecretKey
from meshmsg._security.local import Local
from meshmsg._security.plain import Plain
from meshmsg._security.policy import NONE, Policy
from meshmsg._security.public_keys import is_key
from meshmsg._security.tls import Secret, Tls

Argument = Callable[[str, str], object]
"""Makes an argument of a policy of the folder of the file, and what stands in it."""


@dataclass(frozen=True)
class Mechanism:
    """How a policy is made: of which arguments, by which call."""

    make: Callable[..., Policy]
    arguments: Mapping[str, Argument]


def path(folder: str, value: str) -> str:
    """One path."""
    place = os.path.join(folder, value)
    if not os.path.lexists(place):
        place_of(value, "it")
    return place


def paths(folder: str, value: str) -> list[str]:
    """A path a line."""
    return [path(folder, line.strip()) for line in value.splitlines() if line.strip()]


def word(folder: str, value: str) -> str:
    """As it stands."""
    return value


def public_key(folder: str, value: str) -> str:
    """A key, or the path of its file."""
    return value if is_key(value) else path(folder, value)


def allowed(folder: str, value: str) -> Allowed:
    """The word for anybody, or the path of a file or a folder."""
    return ANYBODY if value == "anybody" else path(folder, value)


def password(folder: str, value: str) -> SecretKey:
    """The first line of a file that others cannot read."""
    place = path(folder, value)
    if not os.path.lexists(place):
        raise UsageError(
            "password is the path of the file that has it (beside this one), and that is not there"
        )
    found = read_file(place)
    wrong = found if isinstance(found, str) else unsafe(place, found[1], "a password")
    if wrong or isinstance(found, str):
        raise UsageError(f"{place}{wrong}")
    return SecretKey(found[0].partition(b"\n")[0].rstrip(b"\r").decode("utf-8", "replace"))


def signers(folder: str, value: str) -> str:
    """The word for those of the system, or the path of a file."""
    return value if value == "system" else path(folder, value)


def words(folder: str, value: str) -> list[str]:
    """A word a line."""
    return [line.strip() for line in value.splitlines() if line.strip()]


def ids(folder: str, value: str) -> list[int | str]:
    """A user or a group a line: its number, or its name."""
    return [int(one) if one.isdecimal() else one for one in words(folder, value)]


_TLS: dict[str, Argument] = {
    "cert": path,
    "key": path,
    "ca": signers,
    "allow": allowed,
    "clients": word,
    "names": words,
    "crl": path,
    "min_version": word,
}
MECHANISMS: dict[str, Mechanism] = {
    "none": Mechanism(lambda: NONE, {}),
    "curve": Mechanism(Curve, {"key": paths, "server": public_key, "allow": allowed}),
    "tls": Mechanism(Tls, _TLS),
    "secret": Mechanism(Secret, {"path": path}),
    "local": Mechanism(Local, {"uids": ids, "gids": ids}),
    "plain": Mechanism(Plain, {"user": word, "password": password, "allow": allowed}),
}
"""By the word after `mechanism =`."""
