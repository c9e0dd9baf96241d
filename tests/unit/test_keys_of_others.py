"""Keys in `allow=` that nobody who comes can have: of certificates for CURVE, of CURVE for TLS.

Not here: `AllowList` and files of keys, which may serve both (test_allow_lists.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.certs import alone

pytestmark = pytest.mark.skipif(
    not (mm.has("tls") and mm.has("curve")), reason="no libsodium, or no OpenSSL 3 here"
)
FORMS: list[Callable[[Any], Any]] = [
    lambda key: [key],
    lambda key: iter([key]),
    lambda key: {key: "alice"},
    lambda key: [mm.keygen().public, key],
]


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """A key in each form."""
    cert = alone(tmp_path, "server")
    pair = mm.keygen(tmp_path / "alice")
    return {"pin": cert.pin, "cert": cert.cert, "pair": pair, "file": tmp_path / "alice.key"}


@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize(("what", "words"), [("pin", "a pin"), ("cert", "a certificate")])
def test_a_pin_is_no_key_of_curve(given: dict[str, Any], what: str, words: str, form: int) -> None:
    """The error says whose it is, and what CURVE has."""
    with pytest.raises(mm.UsageError, match=f"{words}, which is for mm.Tls.*CURVE has keys"):
        mm.Curve(key=mm.keygen(), allow=FORMS[form](given[what]))


@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize(("what", "words"), [("pair", "a KeyPair"), ("file", "a key")])
def test_a_key_of_curve_is_no_pin(
    given: dict[str, Any], tmp_path: Path, what: str, words: str, form: int
) -> None:
    """The same, the other way round."""
    server = alone(tmp_path, "other")
    with pytest.raises(mm.UsageError, match=f"{words} of CURVE, which is for mm.Curve"):
        mm.Tls(**server.files, allow=FORMS[form](given[what]))


def test_one_key_by_itself_is_looked_at_too(given: dict[str, Any], tmp_path: Path) -> None:
    """As it may stand for a list of one."""
    with pytest.raises(mm.UsageError, match="a pin, which is for mm.Tls"):
        mm.Curve(key=mm.keygen(), allow=given["pin"])
    with pytest.raises(mm.UsageError, match="a KeyPair of CURVE"):
        mm.Tls(**alone(tmp_path, "other").files, allow=given["pair"])


def test_a_folder_of_keys_is_none_of_pins(given: dict[str, Any], tmp_path: Path) -> None:
    """Its files are keys of CURVE: it would let in nobody."""
    other = tmp_path / "other"
    other.mkdir()
    for folder in (tmp_path, str(tmp_path), other):
        with pytest.raises(mm.UsageError, match=r"a folder, which has \.key files of CURVE"):
            mm.Tls(**alone(tmp_path, "another").files, allow=folder)
    mm.Curve(key=mm.keygen(), allow=other)


def test_a_list_may_serve_both(given: dict[str, Any], tmp_path: Path) -> None:
    """Who is let in to either."""
    both: Iterable[Any] | Mapping[Any, str] = [given["pin"], given["pair"]]
    allowed = mm.AllowList(both)
    mm.Curve(key=mm.keygen(), allow=allowed)
    mm.Tls(**alone(tmp_path, "other").files, allow=allowed)
    assert len(allowed) == 2
