"""The numbers in docs/semantics.md are those of the core: defaults, fixed limits, policies.

The page is read here, so that a number that changes in one place only is found.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._socket.options import SocketOptions
from tests.support.mm import ffi, lib

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "Mi": 1 << 20, "GiB": 1 << 30, "ms": 1, "s": 1000}
ROLES = ["Push", "Pull", "Pub", "Sub", "XPub", "XSub", "Req", "Rep", "Dealer", "Router", "Pair"]


def constants() -> dict[str, int]:
    """The limits of the core, computed from their C expressions."""
    text = (ROOT / "csrc" / "base" / "limits.h").read_text(encoding="utf-8")
    found = {}
    for name, value in re.findall(r"^\s+(MMI_\w+) = ([\d *]+)", text, re.MULTILINE):
        product = 1
        for factor in value.split("*"):
            product *= int(factor)
        found[name] = product
    return found


LIMITS = constants()


def number(text: str) -> int:
    """Read "1,000", "16 MiB", "10 s" (in ms)."""
    found = re.match(r"([\d,.]+)(?: (KiB|MiB|Mi|GiB|ms|s)\b)?", text.strip())
    assert found, text
    value = float(found.group(1).replace(",", ""))
    return round(value * UNITS.get(found.group(2) or "", 1))


def rows() -> list[tuple[str, int, str]]:
    """Each option of the table of defaults: its name, its default, its constant."""
    table = PAGE.partition("| option | default | constant |")[2].partition("\n\n")[0]
    found: list[tuple[str, int, str]] = []
    for line in table.splitlines()[2:]:
        names, defaults, constant = (cell.strip() for cell in line.strip("|").split("|"))
        options = [o for o in re.findall(r"\w+", names) if o in SocketOptions.__annotations__]
        values = re.split(r", (?=\d+ ?m?s\b)", defaults.replace(", and 16 MiB of topics", ""))
        named = re.findall(r"MMI_\w+", constant)
        for place, option in enumerate(options):
            at = min(place, len(values) - 1)
            found.append((option, number(values[at]), named[min(place, len(named) - 1)]))
    return found


ROWS = rows()


def defaults(role: str) -> object:
    """What the core opens a role's socket with."""
    opts = ffi.new("mm_socket_opts *")
    assert lib.mm_socket_defaults(getattr(lib, f"MM_{role.upper()}"), opts) == 0
    return opts


def field_of(option: str) -> str:
    """The name an option has in C."""
    fields = {name for name, _ in ffi.typeof("mm_socket_opts").fields}
    return option if option in fields else f"{option}_ms"


def test_every_option_with_a_number_stands_in_the_table() -> None:
    """Only the choices, and on_event, have no number as their default."""
    words = {"overflow", "no_peer", "require", "insecure", "spin", "security", "on_event"}
    assert {row[0] for row in ROWS} == set(SocketOptions.__annotations__) - words


@pytest.mark.parametrize(("option", "default", "constant"), ROWS, ids=lambda v: str(v))
def test_a_documented_default_is_the_core_s(option: str, default: int, constant: str) -> None:
    """For every role, and equal to the constant named beside it."""
    assert LIMITS[constant] == default
    for role in ROLES:
        assert getattr(defaults(role), field_of(option)) == default, role


@pytest.mark.parametrize(
    ("policy", "roles"),
    re.findall(
        r'`"(block|error|drop_newest)"` \(([^)]*)\)',
        PAGE.replace("\n", " ").partition("`overflow=` is by default")[2],
    ),
)
def test_a_documented_overflow_policy_is_the_role_s_default(policy: str, roles: str) -> None:
    """Claim: "block" (Push, Dealer, ...), "error" (Router), "drop_newest" (Pub, XPub)."""
    wanted = getattr(lib, f"MM_OVERFLOW_{policy.upper()}")
    for role in roles.split(", "):
        assert getattr(defaults(role), "overflow") == wanted  # noqa: B009


FIXED = PAGE.partition("\nFixed, ")[2].partition("| constant |\n")[2].partition("\n\n")[0]
MENTIONED = [
    (name, limit) for limit, name in re.findall(r"\| ([^|]+) \| (MMI_\w+) \|$", FIXED, re.MULTILINE)
]


def test_every_row_of_the_fixed_limits_is_read_and_every_limit_stands_somewhere() -> None:
    """Each constant of the core, in one of the tables or in the text."""
    assert len(MENTIONED) == len(FIXED.splitlines()) - 1
    assert set(LIMITS) == set(re.findall(r"MMI_\w+", PAGE))


@pytest.mark.parametrize(("name", "words"), MENTIONED)
def test_a_fixed_limit_has_the_documented_number(name: str, words: str) -> None:
    """The number in its row."""
    value = number(words)
    unit = {"_DS": 100}.get(name[-3:], 1)  # a time is read as milliseconds
    assert LIMITS[name] * unit == value


def test_the_limit_of_engines_is_real() -> None:
    """Claim: "256 engines a process": one more is a ResourceError, and one less makes room."""
    engines: list[mm.Engine] = []
    try:
        with pytest.raises(mm.ResourceError):
            for _ in range(LIMITS["MMI_ENGINES_MAX"] + 1):
                engines.append(mm.Engine())
        assert LIMITS["MMI_ENGINES_MAX"] - len(engines) <= 1  # the default one may be open
        engines.pop().close()
        engines.append(mm.Engine())
    finally:
        for engine in engines:
            engine.close(timeout=0)
