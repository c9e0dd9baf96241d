"""The attempts of a request on a clock of their own; and a deadline over all of them, sync and
asyncio."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._roles.attempts import Attempts
from meshmsg.testing import SimWorld
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
LATE = mm.TimedOutError("late", code=-2)
GONE = mm.PeerError("gone", code=-14)
MODES = pytest.mark.parametrize("mode", ["sync", "asyncio"])


def asked(
    timeout: float | None, retries: int, deadline: float | None, *ends: mm.MeshError
) -> tuple[list[float | None], mm.MeshError | None]:
    """Make attempts that end so, each in its whole time (a lost peer: in a second); what each may
    take, and the error in the end."""
    now, given = 100.0, []
    attempts = Attempts(timeout, retries, deadline, now)
    with mm.Req() as req:
        for error in ends:
            given.append(attempts.begin(now))
            now += 1.0 if error is GONE else given[-1] or 0.0
            try:
                attempts.next(req, error, True, now)
            except mm.MeshError as final:
                return given, final
    return given, None


def test_without_retries_the_first_error_is_the_last() -> None:
    """In the words of one attempt."""
    given, error = asked(0.5, 0, None, LATE)
    assert given == [0.5]
    assert str(error).startswith("no reply within 0.5 s (Req")
    given, error = asked(None, 0, None, GONE)
    assert given == [None]
    assert "retries=0 are used up" in str(error)


def test_each_attempt_has_its_time_and_the_error_counts_them() -> None:
    """Without a deadline, no other time is told."""
    given, error = asked(0.1, 3, None, *[LATE] * 9)
    assert given == [0.1] * 4
    assert str(error).startswith("no reply to 4 attempts of 0.1 s each (Req")


def test_a_deadline_cuts_the_last_attempt_and_there_is_no_other() -> None:
    """Though retries are left."""
    given, error = asked(1.0, 99, 2.5, *[LATE] * 9)
    assert given == [1.0, 1.0, 0.5]
    assert str(error).startswith("no reply to 3 attempts of 1.0 s each within 2.5 s (Req")
    given, error = asked(None, 99, 2.5, *[LATE] * 9)
    assert given == [2.5]
    assert str(error).startswith("no reply within 2.5 s (Req")


def test_a_lost_peer_uses_up_a_retry_and_leaves_the_rest_of_the_time() -> None:
    """The error says whether retries or the deadline are over."""
    given, error = asked(None, 99, 2.5, *[GONE] * 9)
    assert given == [2.5, 1.5, 0.5]
    assert isinstance(error, mm.PeerError)
    assert "the deadline of 2.5 s is over" in str(error)
    given, error = asked(None, 1, 2.5, *[GONE] * 9)
    assert given == [2.5, 1.5]
    assert "retries=1 are used up" in str(error)


def test_what_became_of_each_attempt_is_told_when_it_is_not_the_same() -> None:
    """One that was sent may have been carried out, though the last one found no peer."""
    attempts = Attempts(1.0, 3, None, 0.0)
    with mm.Req() as req:
        for error, was_sent in [(GONE, True), (LATE, True), (LATE, False)]:
            attempts.begin(0.0)
            attempts.next(req, error, was_sent, 1.0)
        attempts.begin(0.0)
        with pytest.raises(mm.TimedOutError) as failed:
            attempts.next(req, LATE, False, 1.0)
        assert str(failed.value).startswith(
            "no reply to 4 attempts of 1.0 s each; 1 lost with its peer and may have been done, "
            "1 sent but not answered and may have been done, 2 never sent (Req"
        )
        attempts = Attempts(1.0, 1, None, 0.0)
        attempts.begin(0.0)
        attempts.next(req, LATE, False, 1.0)
        attempts.begin(0.0)
        with pytest.raises(mm.PeerError, match=r"; 1 lost .* may have been done, 1 never sent\)$"):
            attempts.next(req, GONE, True, 1.0)
        attempts = Attempts(0.1, 1, None, 0.0)
        attempts.begin(0.0)
        attempts.next(req, LATE, False, 1.0)
        attempts.begin(0.0)
        with pytest.raises(mm.TimedOutError, match=r"^no peer for a request in 2 attempts of 0\.1"):
            attempts.next(req, LATE, False, 1.0)


@MODES
def test_a_request_whose_peer_went_away_and_nobody_came_says_so(mode: str) -> None:
    """It was sent once, so it may have been done, though the last attempt found nobody."""

    def serve(rep: mm.Rep) -> None:
        rep.recv(timeout=WAIT_S)
        rep.close()

    with mm.Rep(bind=UP) as rep, ThreadPoolExecutor() as pool:
        serving = pool.submit(serve, rep)

        async def ask() -> None:
            async with aio.Req(connect=rep.endpoint) as req:
                await req.wait_for_peers(timeout=WAIT_S)  # the deadline is not for that
                await req.request(b"q", timeout=WAIT_S, retries=1, deadline=1.0)

        with pytest.raises(
            mm.TimedOutError, match="^no reply to 2 attempts .* within 1.0 s; 1 lost"
        ):
            if mode == "asyncio":
                asyncio.run(ask())
            else:
                with mm.Req(connect=rep.endpoint) as req:
                    req.wait_for_peers(timeout=WAIT_S)
                    req.request(b"q", timeout=WAIT_S, retries=1, deadline=1.0)
        serving.result()


def test_a_refusal_ends_all_attempts() -> None:
    """As it is."""
    refused = mm.RefusedError("no", code=-21, reason="no")
    assert asked(1.0, 99, None, LATE, refused) == ([1.0, 1.0], refused)


@MODES
@pytest.mark.parametrize("deadline", [0, -1, math.nan, True, "1", 0.0])
@pytest.mark.parametrize("call", ["request", "request_frames"])
def test_what_is_no_deadline_is_refused(mode: str, deadline: Any, call: str) -> None:
    """Before anything is sent."""

    async def main() -> None:
        req: Any = (mm if mode == "sync" else aio).Req()
        with pytest.raises(mm.UsageError, match="deadline is .* seconds, above 0, or None"):
            found = getattr(req, call)([b"q"] if "frames" in call else b"q", deadline=deadline)
            await found
        req.close()

    asyncio.run(main())


def test_a_deadline_runs_on_the_clock_of_the_engine() -> None:
    """Over sending, waiting and asking again."""
    with SimWorld(1) as world:
        router = mm.Router(bind=UP, engine=world.engine())
        req = mm.Req(connect=router.endpoint, engine=world.engine())
        req.wait_for_peers(timeout=WAIT_S)
        before = world.now
        with pytest.raises(mm.TimedOutError, match=r"to 4 attempts of 2 s each within 7 s \(Req"):
            req.request(b"q", timeout=2, retries=9, deadline=7)
        assert world.now - before == pytest.approx(7, abs=0.05)
        assert len({router.recv_frames(timeout=1)[1] for _ in range(4)}) == 4
        router.close()
        while req.peers():
            world.run(0.1)
        before = world.now
        with pytest.raises(mm.TimedOutError, match=r"no peer for a request within 3 s"):
            req.request(b"q", deadline=3)
        assert world.now - before == pytest.approx(3, abs=0.05)
        with pytest.raises(mm.TimedOutError, match=r"request in 2 attempts of 2 s each \(Req"):
            req.request(b"q", timeout=2, retries=1, deadline=math.inf)
        req.close()


def test_what_waiting_for_room_took_is_not_there_for_the_answer() -> None:
    """`timeout` is of the whole attempt, sending included."""
    with SimWorld(1) as world:
        req = mm.Req(bind=UP, engine=world.engine())
        router = mm.Router(engine=world.engine(), reconnect_min=3.0, reconnect_max=3.0)
        router.connect(req.endpoint)
        world.partition(req._engine, router._engine, 3)
        before = world.now
        with pytest.raises(mm.TimedOutError):
            req.request(b"q", timeout=4)
        assert world.now - before == pytest.approx(4, abs=0.05)
        assert router.recv_frames(timeout=1)[-1] == b"q"
        req.close()
        router.close()


@MODES
def test_a_deadline_holds_where_no_time_out_does(mode: str) -> None:
    """A server that is silent, and one attempt."""

    async def main() -> None:
        with mm.Router(bind=UP) as router:
            req: Any = (mm if mode == "sync" else aio).Req(connect=router.endpoint)
            with pytest.raises(mm.TimedOutError, match=r"no reply within 0\.2 s|no peer"):
                await req.request(b"q", deadline=0.2)
            attempts = r"((to|in) \d attempts of 0\.05 s each )?"  # one, if the machine is slow
            with pytest.raises(mm.TimedOutError, match=rf"^no .* {attempts}within 0\.12 s"):
                await req.request(b"q", timeout=0.05, retries=1000, deadline=0.12)
            req.close()

    asyncio.run(main())


@MODES
@pytest.mark.parametrize("options", [{}, {"retries": 2}, {"retries": 2, "deadline": 1}])
@pytest.mark.parametrize("call", ["request", "request_frames"])
def test_who_does_not_wait_is_told_so_and_nothing_is_asked_again(
    mode: str, options: dict[str, Any], call: str
) -> None:
    """timeout=0: whether nobody is there to be asked, or nobody has answered."""

    async def main() -> None:
        with mm.Router() as router:
            req: Any = (mm if mode == "sync" else aio).Req(bind=UP)
            question = [b"q"] if "frames" in call else b"q"
            for why in ("no peer for a request now", "no reply now"):
                with pytest.raises(mm.WouldBlockError, match=why):
                    await getattr(req, call)(question, timeout=0, **options)
                if not req.peers():
                    router.connect(req.endpoint)
                while not req.peers():
                    await asyncio.sleep(0)
            assert router.recv_frames(timeout=WAIT_S)[-1] == b"q"
            assert req.stats().sent_messages == 1
            req.close()

    asyncio.run(main())
