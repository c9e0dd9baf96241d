"""Who may come in by a function: on a thread of the engine's, or on the loop of an asyncio socket.

Not here: lists (test_allow_lists.py), what the core does with answers (tests/c/test_applicants.c).
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._socket import door
from tests.support.pairs import WAIT_S, of_its_own, wait_until

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")


def is_told(socket: Any, reason: mm.Reason, words: str) -> bool:
    """Whether an event says so."""
    return any(e.reason is reason and words in e.detail for e in socket.events())


def errors_in(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """What the log was told with an error."""
    return [one for one in caplog.records if one.name == "meshmsg" and one.exc_info]


@contextmanager
def asked(function: Any) -> Iterator[tuple[mm.Pull, mm.Push, mm.KeyPair]]:
    """A server that calls this, and somebody who wants to come in; its keys."""
    server, client = mm.keygen(), mm.keygen()
    policy = mm.Curve(key=server, allow=function)
    with (
        mm.Pull(bind=of_its_own(), security=policy) as pull,
        mm.Push(
            connect=pull.endpoint,
            security=mm.Curve(server=server, key=client),
            reconnect_max=0.2,
        ) as push,
    ):
        yield pull, push, client


def test_who_is_allowed_is_known_by_its_user_id_and_seen_as_it_is() -> None:
    """The function gets what was proved, and what the peer says of itself; on no thread of ours."""
    seen: list[Any] = []

    def allow(who: mm.Applicant) -> mm.Allow:
        seen.append((who, threading.current_thread().name))
        return mm.Allow("alice")

    with asked(allow) as (pull, push, client):
        push.send(b"hi")
        assert pull.recv(timeout=WAIT_S) == b"hi"
        assert pull.peers()[0].user_id == "alice"
        [(who, thread)] = seen
        assert (who.mechanism, who.key, who.endpoint) == ("CURVE", client.public, pull.endpoint)
        assert who.address.startswith("tcp://127.")
        assert who.properties["Socket-Type"] == b"PUSH"
        assert thread == "meshmsg-allow"


def test_who_is_denied_is_told_so_and_who_is_to_come_later_is_not() -> None:
    """Each with the words at this side."""
    with asked(lambda _: mm.Deny("not after midnight")) as (pull, push, _):
        wait_until(lambda: is_told(pull, mm.Reason.NOT_ALLOWED, "not after midnight"))
        wait_until(lambda: is_told(push, mm.Reason.ERROR_COMMAND, "") or push.stats().closed)
    answers = [mm.Later("the database is away"), mm.Allow()]
    with asked(lambda _: answers.pop(0)) as (pull, push, client):
        wait_until(lambda: is_told(pull, mm.Reason.NOT_ALLOWED, "later: the database is away"))
        push.wait_for_peers(timeout=WAIT_S)
        assert pull.peers()[0].user_id == client.public


@pytest.mark.parametrize("kind", [mm.Deny, mm.Later])
def test_a_reason_is_one_line_whatever_a_peer_has_said(
    kind: type[mm.Deny] | type[mm.Later], caplog: pytest.LogCaptureFixture
) -> None:
    """Its words may be in it: neither the log nor a terminal is to obey them."""
    reason = "no x\n2026-01-01 root\x1b[31m\r\x7f\x9b\u2028\ud800\0."
    shown = "no x 2026-01-01 root [31m      ."
    with asked(lambda _: kind(reason)) as (pull, _, _):
        wait_until(lambda: is_told(pull, mm.Reason.NOT_ALLOWED, shown))
        wait_until(lambda: shown in caplog.text)
    told = [text for text in caplog.messages if "root" in text]
    assert all(text.isprintable() for text in told)


class Silent:
    """It has no text."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __str__(self) -> str:
        raise self.error


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [ValueError("secret"), SystemExit()])
@pytest.mark.parametrize("kind", [mm.Deny, mm.Later])
def test_a_reason_without_a_text_is_later_at_once(
    kind: Any, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as an error of the function is, and does not wait until its time is over."""
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    answers = [kind(Silent(error)), mm.Allow("alice")]
    with asked(lambda _: answers.pop(0)) as (pull, push, _):
        push.wait_for_peers(timeout=WAIT_S)
        words = f"later: why it may not come in raised {type(error).__name__}"
        assert [e.detail for e in pull.events() if e.reason is mm.Reason.NOT_ALLOWED] == [words]
        assert not [e for e in pull.events() if e.reason is mm.Reason.ALLOW_TIMEOUT]


@pytest.mark.parametrize("said", [None, True, "alice"])
def test_what_is_no_answer_lets_nobody_in(said: object, caplog: pytest.LogCaptureFixture) -> None:
    """It is told in the log, and the peer may try again."""
    with asked(lambda _: said) as (pull, _, _):
        wait_until(lambda: is_told(pull, mm.Reason.NOT_ALLOWED, "later: allow= gave"))
        wait_until(lambda: "no Allow, Deny, Later" in caplog.text)
        assert not pull.peers()


def test_a_function_that_raises_lets_nobody_in_and_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error is whole in the log, but not each of many in a second."""
    monkeypatch.setattr(door, "time", SimpleNamespace(monotonic=lambda: 100.0))
    answers: list[Any] = [KeyError("alice"), SystemExit(), mm.Allow("alice")]

    def allow(_: mm.Applicant) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    with asked(allow) as (pull, push, _):
        push.wait_for_peers(timeout=WAIT_S)
        words = [e.detail for e in pull.events() if e.reason is mm.Reason.NOT_ALLOWED]
        assert words == [
            "later: allow= raised KeyError: 'alice'",
            "later: allow= raised SystemExit: ",
        ]
        wait_until(lambda: errors_in(caplog))
    [told] = errors_in(caplog)
    assert "allow= raised an error, for Applicant(mechanism='CURVE'" in told.getMessage()
    assert "in allow\n    raise answer\nKeyError: 'alice'" in caplog.text


def test_a_coroutine_function_that_raises_is_whole_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As one that is called on a thread."""
    server = mm.keygen()
    answers: list[Any] = [KeyError("alice"), None]

    async def allow(_: mm.Applicant) -> mm.Allow:
        if error := answers.pop(0):
            raise error
        return mm.Allow()

    async def run() -> None:
        policy, called = mm.Curve(key=server, allow=allow), mm.Curve(server=server)
        async with (
            meshmsg.aio.Pull(bind=of_its_own(), security=policy) as pull,
            meshmsg.aio.Push(connect=pull.endpoint, security=called, reconnect_max=0.2) as push,
        ):
            await push.wait_for_peers(timeout=WAIT_S)

    asyncio.run(run())
    wait_until(lambda: errors_in(caplog))
    assert "in allow\n    raise error\nKeyError: 'alice'" in caplog.text


def test_a_coroutine_function_is_awaited_on_the_loop_of_the_socket() -> None:
    """And a plain one is called there; an error is Later as well."""
    server = mm.keygen()

    async def run() -> None:
        loop = asyncio.get_running_loop()

        async def slowly(who: mm.Applicant) -> mm.Allow:
            await asyncio.sleep(0)
            assert asyncio.get_running_loop() is loop
            return mm.Allow("slow")

        def at_once(who: mm.Applicant) -> mm.Allow:
            assert asyncio.get_running_loop() is loop
            return mm.Allow("quick")

        for function, name in ((slowly, "slow"), (at_once, "quick")):
            policy = mm.Curve(key=server, allow=function)
            async with meshmsg.aio.Pull(bind=of_its_own(), security=policy) as pull:
                called = mm.Curve(server=server)
                async with meshmsg.aio.Push(connect=pull.endpoint, security=called) as push:
                    await push.send(b"hi", timeout=WAIT_S)
                    assert await pull.recv(timeout=WAIT_S) == b"hi"
                    assert pull.peers()[0].user_id == name

    asyncio.run(run())


def test_a_socket_for_threads_takes_no_coroutine_function() -> None:
    """It has no loop."""

    async def allow(who: mm.Applicant) -> mm.Allow:
        return mm.Allow()

    with pytest.raises(mm.UsageError, match="is a coroutine function"):
        mm.Pull(bind=of_its_own(), security=mm.Curve(key=mm.keygen(), allow=allow))


def test_the_thread_is_there_while_sockets_need_it() -> None:
    """And another one for those that come after."""

    def there() -> int:
        return sum(thread.name == "meshmsg-allow" for thread in threading.enumerate())

    policy = mm.Curve(key=mm.keygen(), allow=lambda _: mm.Allow())
    for _ in range(2):
        pulls = [mm.Pull(bind=of_its_own(), security=policy) for _ in range(2)]
        assert there() == 1
        pulls[0].close()
        assert there() == 1
        pulls[1].close()
        wait_until(lambda: not there())
    engine = mm.Engine()
    pull = mm.Pull(bind=of_its_own(), engine=engine, security=policy)
    engine.close()
    wait_until(lambda: not there())
    pull.close()


def test_a_function_that_does_not_return_holds_back_no_look_at_a_file(tmp_path: Path) -> None:
    """Of another socket of the engine: who is taken off its file is out meanwhile."""
    gate, called = threading.Event(), threading.Event()

    def allow(_: mm.Applicant) -> mm.Allow:
        called.set()
        gate.wait(WAIT_S)
        return mm.Allow()

    server, client = mm.keygen(), mm.keygen()
    (tmp_path / "file").write_text(f"{client.public} alice\n")
    policy = mm.Curve(key=server, allow=tmp_path / "file")
    with (
        mm.Pull(bind=of_its_own(), security=policy) as pull,
        mm.Push(connect=pull.endpoint, security=mm.Curve(server=server, key=client)) as push,
        asked(allow),
    ):
        push.wait_for_peers(timeout=WAIT_S)
        assert called.wait(WAIT_S)
        (tmp_path / "new").write_text("")
        (tmp_path / "new").replace(tmp_path / "file")
        wait_until(lambda: is_told(pull, mm.Reason.REVOKED, ""))
        assert not gate.is_set()
        gate.set()


def test_without_a_thread_for_files_a_socket_is_refused_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread for questions had begun: it ends, and closes its descriptor once."""
    (tmp_path / "file").write_text("")
    start, closed = threading.Thread.start, list[int]()

    def refuse(self: threading.Thread) -> None:
        if self.name == "meshmsg-files":
            raise RuntimeError("can't start new thread")
        start(self)

    def close(fd: int) -> None:
        closed.append(fd)
        os.close(fd)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(door, "os", SimpleNamespace(close=close, dup=os.dup))
    policy = mm.Curve(key=mm.keygen(), allow=tmp_path / "file")
    with pytest.raises(mm.ResourceError, match="can't start new thread"):
        mm.Pull(bind=of_its_own(), security=policy)
    wait_until(lambda: "meshmsg-allow" not in [one.name for one in threading.enumerate()])
    assert len(closed) == 1
