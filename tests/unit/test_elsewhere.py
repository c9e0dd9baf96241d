"""Names of other libraries: they are not here, and reading or setting one says what to use.

Not here: arguments and calls of theirs (test_first_contact).
"""

from __future__ import annotations

import abc
from types import ModuleType
from unittest import mock

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._hints.words import HINTS, MODULE_HINTS, POLLER_HINTS
from meshmsg._hints.wrong_role import roles_of


@pytest.mark.parametrize("name", HINTS)
def test_a_name_of_another_library_names_what_is_used_here(name: str) -> None:
    """An AttributeError, on the class as on a socket; hasattr is false."""
    assert not hasattr(mm.Pair, name)
    with mm.Pair() as pair:
        assert name not in dir(pair)
        with pytest.raises(AttributeError, match=rf"^Pair has no '{name}'; use: ") as caught:
            getattr(pair, name)
        assert caught.value.name == name
    with pytest.raises(AttributeError, match="use: "):
        getattr(aio.Pair, name)


@pytest.mark.parametrize("name", HINTS)
def test_setting_a_name_of_another_library_says_what_is_used_here(name: str) -> None:
    """`pull.rcvtimeo = 100` would do nothing, and nobody would be told."""
    with mm.Pair() as pair:
        with pytest.raises(AttributeError, match=rf"^Pair has no '{name}'; use: "):
            setattr(pair, name, 5)
        assert name not in vars(pair)


def test_the_names_of_other_libraries_are_in_no_list_and_in_no_mock() -> None:
    """Completion offers what is there; a mock of a socket has what the socket has."""
    for kind in (mm.Push, aio.Sub):
        assert not set(HINTS) & set(dir(kind))
    assert not set(POLLER_HINTS) & set(dir(mm.Poller))
    assert {"bind", "send", "__init__"} <= set(dir(mm.Push))
    double = mock.Mock(spec=mm.Push)
    double.send(b"x")
    with pytest.raises(AttributeError):
        double.send_json({})


def test_a_subclass_has_attributes_of_its_own_and_other_bases() -> None:
    """Also of those names, when it defines them; abstract classes go with it."""

    class Worker(mm.Push, abc.ABC):
        identity = b"mine"

    with Worker() as worker:
        worker.frobs = 5  # type: ignore[attr-defined]
        worker.identity = b"yours"
        assert {"identity", "frobs"} <= set(dir(worker))
        assert "identity" in dir(Worker)


@pytest.mark.parametrize("name", ["setsockopt", "setsockopt_string", "set"])
def test_the_options_of_a_sub_are_its_topics_before_all(name: str) -> None:
    """`setsockopt(SUBSCRIBE, b"")` is what is tried."""
    with mm.Sub() as sub, pytest.raises(AttributeError, match=r"topics=.*subscribe\(topic\)"):
        getattr(sub, name)
    with mm.Push() as push, pytest.raises(AttributeError) as caught:
        getattr(push, name)
    assert "subscribe" not in str(caught.value)


@pytest.mark.parametrize("name", MODULE_HINTS)
def test_a_name_of_another_librarys_module_names_what_is_used_here(name: str) -> None:
    """Context, PUSH, NOBLOCK and the like."""
    assert not hasattr(mm, name)
    with pytest.raises(AttributeError, match=f"'meshmsg' has no attribute '{name}'; use: "):
        getattr(mm, name)


@pytest.mark.parametrize("name", roles_of(mm))
@pytest.mark.parametrize("module", [mm, aio])
def test_a_role_in_capital_letters_names_its_class(module: ModuleType, name: str) -> None:
    """As pyzmq has them: PUSH."""
    words = f"{module.__name__!r} has no attribute {name.upper()!r}; use: {module.__name__}.{name}$"
    with pytest.raises(AttributeError, match=words):
        getattr(module, name.upper())


def test_an_unknown_name_stays_unknown() -> None:
    """No hint is made up."""
    with pytest.raises(AttributeError, match=r"^module 'meshmsg' has no attribute 'frobnicate'$"):
        _ = mm.frobnicate  # type: ignore[attr-defined]
    with mm.Push() as push, pytest.raises(AttributeError, match="frobnicate"):
        _ = push.frobnicate  # type: ignore[attr-defined]
