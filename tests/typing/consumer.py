"""What a type checker sees of the public names; checked by mypy and pyright, never run."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

import asyncio
import mmap
import sqlite3
import sys
from array import array
from collections.abc import Collection, Iterator, Reversible
from typing import Literal, Protocol

import numpy
from typing_extensions import Unpack, assert_type

import meshmsg as mm
from meshmsg import aio, tracing
from meshmsg._binding.data import Data
from meshmsg.testing import SimWorld


def sync() -> None:
    """The sync sockets."""
    push = mm.Push(bind="tcp://127.0.0.1:0", overflow="block", send_queue_messages=10, linger=0.5)
    pull = mm.Pull(connect=[push.endpoint], heartbeat_interval=None)
    mm.Push(bind="tcp://127.0.0.1:0", routing="hash").send(b"x", key="customer 7")
    mm.Push(delivery="at_least_once", require=("acks", "headers")).close()
    mm.Dealer(require="headers").close()
    assert_type(push.send_many([b"a", bytearray(b"b")]), int)
    assert_type(push.send_many([b"a"], key="k", ttl=5, headers={"a": b"b"}), int)
    assert_type(push.send_many([b"a"], confirm=False, key=b"k"), int)
    receipts = push.send_many([b"a"], confirm=True, ttl=1.5)
    assert_type(receipts, mm.Receipts)
    assert_type(push.send_batch(receipts, confirm=True, key="k"), mm.Receipts)
    assert_type(push.send_batch(receipts, timestamp=1), int)
    assert_type(push.send_frames([b"a"], confirm=True), mm.Receipt)
    assert_type(receipts[0], mm.Receipt)
    assert_type(receipts[0].seq, int | None)
    assert_type(receipts.kept, Literal["memory", "buffered", "os", "disk"])
    assert_type(receipts[1:], list[mm.Receipt])
    assert_type(list(receipts), list[mm.Receipt])
    assert_type(receipts.wait(timeout=1), None)
    assert_type(receipts.tally()["acked"], int)
    assert_type(receipts.outcomes()[0] == "expired", bool)
    mm.Dealer().send_many([b"a"], headers={"a": "b"})
    mm.Dealer().send_many([b"a"], confirm=True)  # type: ignore[call-arg]
    push.send_many([b"a"], ttl="5")  # type: ignore[call-overload]
    assert_type(pull.recv(timeout=1.0), mm.Message)
    assert_type(pull.recv_many(10), list[mm.Message])
    assert_type(pull.recv_frames(), list[bytes])
    assert_type(push.drain(timeout=1), mm.DrainReport)
    assert_type(push.peers(), list[mm.PeerInfo])
    assert_type(push.stats().closed[mm.Reason.EOF], int)
    for message in pull:
        assert_type(message, mm.Message)
        assert_type(message.topic, str)
    for request in mm.Rep(bind="inproc://x"):
        assert_type(request.reply(b"x"), bool)
    assert_type(mm.Req(connect="inproc://x").request(b"q", retries=2, deadline=1), mm.Message)
    assert_type(mm.Req(connect="inproc://x").request_frames([b"a", b"b"]).frames, tuple[bytes, ...])
    with mm.Rep(bind="inproc://x").recv() as question:
        assert_type(question, mm.Request)
        assert_type(question.reply_frames([b"a", b"b"]), bool)
        assert_type(question.refuse("busy"), bool)
    survey = mm.Surveyor(connect="inproc://x").survey(b"q", deadline=0.5, expect=2)
    assert_type(survey, mm.Survey)
    assert_type(list(survey), list[mm.Message])
    assert_type(survey.missing, tuple[mm.AskedPeer, ...])
    assert_type(survey.missing[0].address, str)
    assert_type(mm.Respondent(bind="inproc://y").recv(), mm.Request)
    assert_type(mm.Bus(bind="inproc://z").recv_many(), list[mm.Message])
    with SimWorld(1) as world:
        assert_type(world.engine(), mm.Engine)


def buffers() -> None:
    """Whatever has a buffer can be sent; text cannot."""
    wide = array("d", [1.5])
    several: list[Data] = [b"x", wide, numpy.arange(4.0), memoryview(b"x")]
    with mm.Push() as push, mm.Pub() as pub, mm.Req() as req, mm.Router() as router:
        push.send(wide)
        push.send(numpy.arange(4.0), timeout=1)
        push.send(numpy.float64(4.0))
        push.send_many(several)
        push.send_many([numpy.arange(4.0), numpy.arange(5)])
        push.send_many(iter([wide]))
        push.send_frames([b"head", numpy.zeros((2, 2))])
        pub.send(mmap.mmap(-1, 1), topic="t")
        pub.send_frames([b"head", wide], topic=b"t")
        req.request(wide)
        router.send(wide, to=b"me")
        push.send("text")  # type: ignore[call-overload]
        push.send([b"x"])  # type: ignore[call-overload]
        push.send_many(["text"])  # type: ignore[list-item]


async def awaited_buffers(push: aio.Push, pub: aio.Pub) -> None:
    """The same."""
    await push.send(numpy.arange(4.0))
    await pub.send_frames([array("d")], topic="t")
    await push.send("text")  # type: ignore[call-overload]


def traced(push: mm.Push, other: aio.Push, req: mm.Req) -> None:
    """A traced call has the types of the call."""
    send = tracing.traced(push.send, "x")
    assert_type(send(b"x", key="7", confirm=True), mm.Receipt)
    assert_type(tracing.traced(req.request)(b"q", timeout=1), mm.Message)
    send("text")  # type: ignore[call-overload]
    with tracing.sending("x", headers={"n": b"1"}) as headers:
        assert_type(push.send_frames([b"x"], headers=headers), None)
    for message in mm.Pull(connect="inproc://x"):
        with message, tracing.process(message, message, parent="current") as span:
            assert_type(span.is_recording(), bool)


async def awaited_traces(push: aio.Push) -> None:
    """The same."""
    assert_type(await tracing.traced(push.send)(b"x", confirm=True), aio.Receipt)


def batches() -> None:
    """A batch is sized, iterable, reversible and indexable, though no Sequence by name."""
    batch = mm.Pull(bind="tcp://127.0.0.1:0").recv_batch(10, max_wait=0.1)
    assert_type(batch, mm.MessageBatch)
    assert_type(len(batch), int)
    assert_type(batch[0], bytes)
    assert_type(batch[1:], mm.MessageBatch | list[bytes])
    assert_type(batch.to_list(), list[bytes])
    assert_type(list(reversed(batch)), list[bytes])
    assert_type(b"x" in batch, bool)
    assert_type(batch.index(b"x", 1), int)
    assert_type(batch.count(b"x"), int)
    for body in batch:
        assert_type(body, bytes)
    some: Collection[bytes] = batch
    either: Reversible[bytes] = batch
    assert_type(mm.Push().send_many(some), int)
    assert_type(list(either), list[bytes])


def contexts() -> None:
    """A socket is itself inside its with; batches of a Rep are requests."""
    with (
        mm.Router(bind="inproc://r", on_unroutable="drop") as router,
        mm.Rep() as rep,
        mm.Pub() as pub,
    ):
        assert_type(router, mm.Router)
        assert_type(router.send(b"x", to=b"peer"), None)
        assert_type(router.recv().peer, mm.Peer | mm.PeerName)
        assert_type(rep.recv(), mm.Request)
        assert_type(rep.recv_many(), list[mm.Request])
        assert_type(rep.recv().frames, tuple[bytes, ...])
        assert_type(pub.subscribers("t"), int)
        assert_type(pub.send_many(data for data in (b"a", memoryview(b"b"))), int)
        assert_type(router.fileno(), int)
        for ready in mm.Poller([rep]).poll(timeout=1):
            assert_type(ready, mm.Rep)
        mixed: mm.Poller[mm.Rep | mm.Pull] = mm.Poller()
        assert_type(mixed.add(rep), None)
        assert_type(mixed.poll()[0].recv(), mm.Request | mm.Message)
        assert_type(mixed.poll(timeout=1).readable, list[mm.Rep | mm.Pull])
        named = mm.Poller[mm.Pull | mm.Rep | int]([mm.Pull(), rep, 5])
        assert_type(named.poll()[0], mm.Pull | mm.Rep | int)
        for one in mm.Poller([mm.Pull(), 5]).poll():
            assert one is not None
        for other in mm.Poller([mm.Pull(), sys.stdin, rep]).poll():
            assert other is not None
    with mm.Engine(poller="poll") as engine:
        assert_type(engine.close(), int)
    try:
        router.send(b"x", to=b"peer", timeout=0)
    except mm.TooLargeError as error:
        assert_type(error.limit, int)
    except mm.TimedOutError as error:
        assert_type(error.unsent, list[bytes])
    except mm.PeerError as error:
        assert_type(error.peer, bytes)
    for event in router.events():
        assert_type(event.kind, mm.EventKind)
        assert_type(event.reason, mm.Reason)


def mistakes() -> None:
    """What a checker must complain of; each ignore would be unused, and so an error, if it did
    not."""
    mm.Push(overflow="sometimes")  # type: ignore[arg-type]
    mm.Push(require="ack")  # type: ignore[arg-type]
    mm.Push(owerflow="block")  # type: ignore[call-arg]
    mm.Push().send("text")  # type: ignore[call-overload]
    mm.Push().recv()  # type: ignore[attr-defined]
    mm.Poller([1.0])  # type: ignore[type-var]
    mm.Poller[mm.Pull]().add(mm.Pull(), 1)  # type: ignore[arg-type]
    mm.Pull().send(b"")  # type: ignore[attr-defined]
    mm.Pull().recv(1.0)  # type: ignore[call-arg]
    mm.Router().send(b"x")  # type: ignore[call-arg]
    mm.Surveyor().survey(b"q", 1.0)  # type: ignore[call-arg]
    mm.Surveyor().send(b"q")  # type: ignore[attr-defined]


class CountingDealer(mm.Dealer):
    """A user's class that overrides a verb."""

    count = 0

    def send(
        self, data: Data, *, timeout: float | None = None, **options: Unpack[mm.MessageOptions]
    ) -> None:
        """Count, then send."""
        self.count += 1
        super().send(data, timeout=timeout, **options)


class TracingPull(mm.Pull):
    """Another, that overrides what receives and what iterates."""

    def recv(self, *, timeout: float | None = None) -> mm.Message:
        """Receive one."""
        return super().recv(timeout=timeout)

    def __iter__(self) -> Iterator[mm.Message]:
        return super().__iter__()


class TracingRouter(mm.Router):
    """Another, of a role that has verbs of its own."""

    def send(
        self,
        data: Data,
        *,
        to: bytes,
        timeout: float | None = None,
        **options: Unpack[mm.MessageOptions],
    ) -> None:
        """Send to one."""
        super().send(data, to=to, timeout=timeout, **options)


class CountingPub(aio.Pub):
    """Another, for asyncio."""

    async def send(
        self,
        data: Data,
        *,
        topic: str | bytes = "",
        timeout: float | None = None,
        **options: Unpack[mm.MessageOptions],
    ) -> None:
        """Send under a topic."""
        await super().send(data, topic=topic, timeout=timeout, **options)


class TracingSub(aio.Sub):
    """Another, that receives."""

    async def recv(self, *, timeout: float | None = None) -> mm.Message:
        """Receive one."""
        return await super().recv(timeout=timeout)


class Source(Protocol):
    """What a user may ask of whatever receives."""

    async def recv(self) -> bytes:
        """Receive one."""
        ...


class Sink(Protocol):
    """What a user may ask of whatever sends."""

    async def send(self, data: bytes, /) -> None:
        """Send one."""
        ...


def once(connection: sqlite3.Connection, pull: mm.Pull) -> None:
    """A dedupe window takes a connection of the DB-API, and a message or its number."""
    window = mm.DedupeWindow("orders")
    for message in pull:
        with message, window.transaction(connection) as transaction:
            assert_type(transaction, mm.DedupeTransaction)
            assert_type(transaction.add(message), bool)
    assert_type(mm.MemoryDedupeWindow().add((1, 2)), bool)
    window.transaction(5)  # type: ignore[arg-type]


async def pass_on(source: Source, sink: Sink) -> None:
    """A program of the user's own."""
    await sink.send(await source.recv())


async def waited_for() -> None:
    """Coroutines as arguments."""
    pull, push = aio.Pull(), aio.Push()
    await pass_on(pull, push)
    assert_type(asyncio.create_task(push.send(b"x")), asyncio.Task[None])
    assert_type(asyncio.create_task(pull.recv()), asyncio.Task[mm.Message])
    assert_type(asyncio.create_task(anext(aiter(pull))), asyncio.Task[mm.Message])


async def awaited() -> None:
    """The asyncio ones."""
    pull = aio.Pull(bind="tcp://127.0.0.1:0")
    assert_type(await pull.recv(), mm.Message)
    assert_type(await aio.Req(connect=pull.endpoint).request(b"q"), mm.Message)
    assert_type(await aio.Req(connect=pull.endpoint).request_frames([b"q"]), mm.Message)
    assert_type(await pull.recv_batch(), mm.MessageBatch)
    async for message in pull:
        assert_type(message, mm.Message)
    async for request in aio.Rep(bind="inproc://x"):
        assert_type(request.reply(b"x"), bool)
    async for answer in aio.Surveyor(bind="inproc://s").survey(b"q"):
        assert_type(answer, mm.Message)
    assert_type(await aio.Surveyor(bind="inproc://s").survey(b"q"), aio.Survey)
    for _ in aio.Surveyor(bind="inproc://s").survey(b"q"):  # type: ignore[attr-defined]
        pass
    assert_type(await aio.Bus(bind="inproc://b").recv(), mm.Message)
    async with aio.Rep() as rep, aio.Push() as push:
        assert_type(rep, aio.Rep)
        assert_type(await rep.recv_many(3), list[mm.Request])
        assert_type(await anext(pull), mm.Message)
        assert_type(await push.send_many([b"x"]), int)
        receipts = await push.send_many([b"x"], confirm=True, key="k")
        assert_type(receipts, aio.Receipts)
        assert_type(await push.send_batch(receipts, confirm=True), aio.Receipts)
        assert_type(await push.send_batch(receipts, key="k"), int)
        assert_type(await push.send_frames([b"a"], confirm=True), aio.Receipt)
        assert_type(receipts[0], aio.Receipt)
        await receipts
        await receipts.wait(timeout=1)
        await aio.Bus().send_many([b"x"], ttl=5)
        assert_type(await push.drain(), mm.DrainReport)
