"""asyncio sockets fail exactly as the sync ones do: same errors, same attributes, nothing lost.

Not here: who is woken when (test_aio_waiting.py).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"


def ran(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test written as a coroutine."""

    def run(**given: Any) -> None:
        asyncio.run(test(**given))  # type: ignore[arg-type]

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
    return run


@asynccontextmanager
async def stuck(**options: Any) -> AsyncIterator[aio.Push]:
    """A Push whose only peer reads nothing, filled until it takes no more."""
    async with aio.Push(bind=UP, **{"send_queue_messages": 2, **options}) as push:
        with RawPeer(push.endpoint).shake(b"PULL"):
            await push.wait_for_peers(timeout=WAIT_S)
            with pytest.raises(mm.WouldBlockError):
                while True:
                    await push.send(bytes(500_000), timeout=0)
            yield push


@ran
async def test_send_many_out_of_time_gives_back_what_it_took() -> None:
    """TimedOutError with .sent and .unsent; of a generator all that came out of it is accounted."""
    async with stuck() as push:
        taken: list[bytes] = []

        def source() -> Iterator[bytes]:
            for number in range(2000):
                taken.append(b"%d" % number + bytes(2000))
                yield taken[-1]

        with pytest.raises(mm.TimedOutError, match=r"no room for (a|another) message") as late:
            await push.send_many(source(), timeout=0.02)
        assert taken[late.value.sent :] == late.value.unsent


@ran
async def test_send_many_that_may_not_wait_is_would_block() -> None:
    """timeout=0, or overflow="error" with any time."""
    async with stuck() as push:
        with pytest.raises(mm.WouldBlockError) as now:
            await push.send_many([b"a", b"b"], timeout=0)
        assert (vars(now.value)["sent"], vars(now.value)["unsent"]) == (0, [b"a", b"b"])
    async with stuck(overflow="error") as push:
        for timeout in (0, 5, None):
            with pytest.raises(mm.WouldBlockError):
                await push.send_many([b"a"], timeout=timeout)
            with pytest.raises(mm.WouldBlockError):
                await push.send(b"a", timeout=timeout)


@ran
async def test_a_cancelled_send_many_says_how_far_it_was() -> None:
    """Its CancelledError has the two attributes as well."""
    async with stuck() as push:
        sending = asyncio.ensure_future(push.send_many([b"a", b"b", b"c"]))
        for _ in range(5):
            await asyncio.sleep(0)
        sending.cancel()
        try:
            await sending
        except asyncio.CancelledError as error:
            told = vars(error) or vars(error.__context__)  # Python 3.10 makes a new one for a task
        assert told["sent"] + len(told["unsent"]) == 3
        sent = push.stats().sent_messages
        await asyncio.sleep(0)
        assert push.stats().sent_messages == sent


@ran
async def test_a_message_over_the_limit_is_refused_in_the_middle_of_many() -> None:
    """TooLargeError names the size of that one; what was before it is sent."""
    async with (
        aio.Push(bind=UP, message_size_max=10) as push,
        aio.Pull(connect=push.endpoint) as pull,
    ):
        await push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError) as refused:
            await push.send_many([b"1", b"2", bytes(11), b"4"], timeout=WAIT_S)
        assert (refused.value.size, refused.value.limit) == (11, 10)
        assert (vars(refused.value)["sent"], vars(refused.value)["unsent"][1]) == (2, b"4")
        for call in (push.send(bytes(11)), push.send_frames([bytes(6), bytes(5)])):
            with pytest.raises(mm.TooLargeError):
                await call
        assert [await pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"1", b"2"]


@ran
async def test_a_drain_out_of_time_reports_and_does_not_raise() -> None:
    """What is queued and what is unconfirmed, as the sync one does."""
    async with stuck() as push:
        report = await push.drain(timeout=0.02)
        assert report.queued + report.unconfirmed > 0
        assert report.delivered == 0
        now = await push.drain(timeout=0)
        assert (now.queued, now.unconfirmed) == (report.queued, report.unconfirmed)


@ran
async def test_an_unknown_identity_is_a_peer_error_with_its_name() -> None:
    """For send, send_frames, and after the peer has left."""
    async with aio.Router(bind=UP) as router:
        for call in (router.send(b"x", to=b"nobody"), router.send_frames([b"nobody", b"x"])):
            with pytest.raises(mm.PeerError, match="nobody") as unknown:
                await call
            assert unknown.value.peer == b"nobody"
        with pytest.raises(mm.UsageError, match="at least one frame"):
            await router.send_frames([b"nobody"])
        with pytest.raises(TypeError, match="encode"):
            await router.send(b"x", to="nobody")  # type: ignore[arg-type]


@ran
async def test_routers_and_dealers_name_each_other() -> None:
    """The first frame of recv_frames is who sent it."""
    async with (
        aio.Router(bind=UP) as router,
        aio.Dealer(connect=router.endpoint, identity=b"anna") as dealer,
    ):
        await dealer.send_frames([b"a", b"b"], timeout=WAIT_S)
        assert await router.recv_frames(timeout=WAIT_S) == [b"anna", b"a", b"b"]
        await router.send_frames([b"anna", b"c"], timeout=WAIT_S)
        assert await dealer.recv_frames(timeout=WAIT_S) == [b"c"]


@ran
async def test_an_xpub_receives_subscriptions_and_a_verbose_one_all_of_them() -> None:
    """The first and the last of a topic; or each."""
    for verbose, wanted in ((False, [b"\x01t", b"\x00t"]), (True, [b"\x01t"] * 2 + [b"\x00t"] * 2)):
        async with aio.XPub(bind=UP, verbose=verbose) as xpub:
            with (
                RawPeer(xpub.endpoint).shake(b"SUB") as one,
                RawPeer(xpub.endpoint).shake(b"SUB") as two,
            ):
                for peer in (one, two):
                    peer.send(b"\x04\x0b\x09SUBSCRIBEt")
                await xpub.wait_for_subscribers("t", 2, timeout=WAIT_S)
                for peer in (one, two):
                    peer.send(b"\x04\x08\x06CANCELt")
                found = [bytes(await xpub.recv(timeout=WAIT_S)) for _ in wanted]
            assert found == wanted


@ran
async def test_a_socket_that_could_not_be_opened_leaves_its_endpoint_free() -> None:
    """Whatever was wrong: a topic, an endpoint, an option."""
    async with aio.Pull(bind=of_its_own()) as pull:
        taken = pull.endpoint
    for options in (
        {"topics": ["fine", 5]},
        {"topics": ["t" * 70_000]},
        {"topics": "t", "bind": [taken, "nowhere"]},
        {"linger": -1},
    ):
        with pytest.raises((TypeError, mm.MeshError)):
            aio.Sub(**{"bind": taken, **options})
        with pytest.raises((TypeError, mm.MeshError)):
            mm.Sub(**{"bind": taken, **options})
    async with aio.Sub(bind=taken, topics="t") as sub:
        assert sub.endpoint == taken


@ran
async def test_requests_fail_as_they_do_in_threads() -> None:
    """Time out, too large, closed meanwhile, no time to wait at all."""
    async with aio.Rep(bind=UP) as rep, aio.Req(connect=rep.endpoint, message_size_max=10) as req:
        await req.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TimedOutError, match="no reply"):
            await req.request(b"q", timeout=0.01)
        with pytest.raises(mm.TooLargeError):
            await req.request(bytes(11))
        with pytest.raises((mm.WouldBlockError, mm.TimedOutError)):
            await req.request(b"q", timeout=0)
        with pytest.raises(mm.UsageError, match="retries"):
            await req.request(b"q", retries=-1)
        asking = asyncio.ensure_future(req.request(b"q"))
        await asyncio.sleep(0)
        req.close()
        with pytest.raises(mm.ClosedError):
            await asking
        with pytest.raises(mm.ClosedError):
            await req.request(b"q")


@ran
async def test_every_awaiting_call_on_a_closed_socket_is_a_closed_error() -> None:
    """None of them hangs, none returns."""
    dealer, pub = aio.Dealer(bind=UP), aio.XPub(bind=UP)
    dealer.close()
    pub.close()
    for call in (
        dealer.send(b"x"),
        dealer.send_many([b"x"]),
        dealer.send_frames([b"x", b"y"]),
        dealer.recv(),
        dealer.recv_many(),
        dealer.recv_frames(),
        dealer.drain(),
        dealer.wait_for_peers(),
        pub.wait_for_subscribers("t"),
        pub.send(b"x", topic="t"),
        pub.send(b"x"),
    ):
        with pytest.raises(mm.ClosedError, match="closed"):
            await call
    assert [message async for message in dealer] == []
