"""Every role that SP has against NNG and libnanomsg: both directions, either side binding, either
side restarting, bodies up to 64 MiB.

Law: skipped, with its reason, only where the other library is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.interop.spside import NanomsgSide, NngSide, free_endpoint
from tests.support import refsp as ref
from tests.support.pairs import WAIT_S, wait_until

Exchange = Callable[[Any, Any], None]
SIZES = [0, 1, 255, 256, 16_384, 65_536, 1 << 20]

pytestmark = pytest.mark.leaves_threads
LIBRARIES = pytest.mark.parametrize("library", [NngSide, NanomsgSide])
WHO_BINDS = pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])


def we_send(ours: Any, theirs: Any) -> None:
    """Bodies of all sizes, whole and in order; nobody can confirm them."""
    before = ours.stats().written_messages
    for size in SIZES:
        ours.send(b"x" * size, timeout=WAIT_S)
        assert theirs.recv() == b"x" * size
    report = ours.drain(timeout=WAIT_S)
    assert report.unconfirmable == before + len(SIZES)
    report.raise_for_loss()


def they_send(ours: Any, theirs: Any) -> None:
    """The other way round."""
    for size in SIZES:
        theirs.send(b"y" * size)
        assert ours.recv(timeout=WAIT_S) == b"y" * size


def both(ours: Any, theirs: Any) -> None:
    """There and back."""
    we_send(ours, theirs)
    they_send(ours, theirs)


def we_publish(ours: Any, theirs: Any) -> None:
    """Their SUB wants everything; the topic stands in front of the body."""
    ours.wait_for_subscribers("any", timeout=WAIT_S)
    for size in SIZES:
        ours.send(b"x" * size, topic="t.")
        assert theirs.recv() == b"t." + b"x" * size


def until_heard(ours: Any, theirs: Any, body: bytes) -> mm.Message:
    """Publish until it arrives: a PUB of nanomsg drops what comes while it is still writing."""
    for _ in range(int(WAIT_S / 0.05)):
        theirs.send(body)
        try:
            message: mm.Message = ours.recv(timeout=0.05)
        except mm.TimedOutError:
            continue
        if message == body:
            return message
    raise AssertionError("it never arrived")


def they_publish(ours: Any, theirs: Any) -> None:
    """Our Sub takes out what it did not subscribe to, and that is no drop."""
    ours.subscribe("a")
    for size in SIZES:
        theirs.send(b"b" + b"y" * size)
        assert until_heard(ours, theirs, b"a" + b"y" * size).topic == ""
    assert ours.stats().filtered_messages > 0
    assert ours.stats().dropped == 0


@contextmanager
def answering(theirs: Any) -> Iterator[None]:
    """They answer as many questions as there are sizes."""

    def serve() -> None:
        for _ in SIZES:
            theirs.send(theirs.recv() + b"!")

    serving = threading.Thread(target=serve)
    serving.start()
    yield
    serving.join(WAIT_S)


def we_ask(ours: Any, theirs: Any) -> None:
    """One request after the other."""
    with answering(theirs):
        for size in SIZES:
            assert ours.request(b"q" * size, timeout=WAIT_S) == b"q" * size + b"!"


def they_ask(ours: Any, theirs: Any) -> None:
    """The same from their side."""
    for size in SIZES:
        theirs.send(b"q" * size)
        assert ours.recv(timeout=WAIT_S).reply(b"a" * size)
        assert theirs.recv() == b"a" * size


def we_survey(ours: Any, theirs: Any) -> None:
    """One peer, one answer, and the survey is over."""
    with answering(theirs):
        for size in SIZES:
            assert list(ours.survey(b"q" * size, deadline=WAIT_S)) == [b"q" * size + b"!"]


def they_survey(ours: Any, theirs: Any) -> None:
    """Our Respondent answers as our Rep does."""
    they_ask(ours, theirs)


PAIRS: list[tuple[type[Any], int, Exchange]] = [
    (mm.Push, ref.PULL, we_send),
    (mm.Pull, ref.PUSH, they_send),
    (mm.Pub, ref.SUB, we_publish),
    (mm.Sub, ref.PUB, they_publish),
    (mm.Req, ref.REP, we_ask),
    (mm.Rep, ref.REQ, they_ask),
    (mm.Pair, ref.PAIR0, both),
    (mm.Pair, ref.PAIR1, both),
    (mm.Surveyor, ref.RESPONDENT, we_survey),
    (mm.Respondent, ref.SURVEYOR, they_survey),
    (mm.Bus, ref.BUS, both),
]


@contextmanager
def linked(
    library: Any, role: type[Any], kind: int, url: str, we_bind: bool, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """One of ours and one of theirs, connected."""
    with role(reconnect_max=0.1, **options) as ours:
        if we_bind:
            ours.bind(url)
        theirs = library(kind, url, listen=not we_bind)
        try:
            if not we_bind:
                ours.connect(f"sp+{url}")
            ours.wait_for_peers(timeout=WAIT_S)
            theirs.wait()
            yield ours, theirs
        finally:
            theirs.close()


@LIBRARIES
@WHO_BINDS
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize(
    ("role", "kind", "exchange"),
    PAIRS,
    ids=lambda v: getattr(v, "__name__", None) or hex(v),
)
def test_a_pair(
    library: Any,
    role: type[Any],
    kind: int,
    exchange: Exchange,
    transport: str,
    we_bind: bool,
    short_path: Path,
) -> None:
    """The exchange works, and peers() says that it goes over SP."""
    if kind == ref.PAIR1 and library is NanomsgSide:
        pytest.skip("nanomsg has no PAIR v1")
    url = free_endpoint(transport, short_path)
    with linked(library, role, kind, url, we_bind) as (ours, theirs):
        (peer,) = ours.peers()
        assert (peer.wire, peer.zmtp_minor, peer.outgoing) == ("sp", 0, not we_bind)
        exchange(ours, theirs)


@LIBRARIES
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_bodies_of_64_mib_go_both_ways(library: Any, transport: str, short_path: Path) -> None:
    """As large as our limit."""
    body = b"0123456789abcdef" * (4 << 20)
    for role, kind in ((mm.Push, ref.PULL), (mm.Pull, ref.PUSH)):
        url = free_endpoint(transport, short_path)
        with linked(library, role, kind, url, True) as (ours, theirs):
            if role is mm.Push:
                ours.send(body, timeout=WAIT_S)
                assert theirs.recv() == body
            else:
                theirs.send(body)
                assert ours.recv(timeout=WAIT_S) == body


@LIBRARIES
def test_a_body_over_our_limit_ends_the_connection(library: Any, short_path: Path) -> None:
    """With its reason; what they sent before has arrived."""
    url = free_endpoint("ipc", short_path)
    with linked(library, mm.Pull, ref.PUSH, url, True, message_size_max=1000) as (ours, theirs):
        theirs.send(b"x" * 1000)
        assert ours.recv(timeout=WAIT_S) == b"x" * 1000
        theirs.send(b"x" * 1001)
        while not ours.stats().closed.get(mm.Reason.MESSAGE_SIZE):
            ours.wait_for_peers(timeout=WAIT_S)


def asked(rep: mm.Rep, theirs: Any, body: bytes) -> None:
    """They ask, we answer; a request from before the restart may come once more."""
    theirs.send(body)
    while True:
        request = rep.recv(timeout=WAIT_S)
        request.reply(request + b"!")
        if request == body:
            break
    assert theirs.recv() == body + b"!"


@LIBRARIES
@WHO_BINDS
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("we_restart", [True, False], ids=["we-restart", "they-restart"])
def test_either_side_restarts(
    library: Any, transport: str, we_bind: bool, we_restart: bool, short_path: Path
) -> None:
    """The one that dialed comes back by itself."""
    url = free_endpoint(transport, short_path)

    def ours_opened() -> mm.Rep:
        where = {"bind": url} if we_bind else {"connect": f"sp+{url}"}
        return mm.Rep(reconnect_max=0.1, **where)

    ours = ours_opened()
    theirs = library(ref.REQ, url, listen=not we_bind)
    try:
        asked(ours, theirs, b"before")
        if we_restart:
            ours.close()
            ours = ours_opened()
        else:
            theirs.close()
            theirs = library(ref.REQ, url, listen=not we_bind)
        asked(ours, theirs, b"after")
    finally:
        theirs.close()
        ours.close()


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_a_pair_follows_the_version_of_the_peer_it_dials(transport: str, short_path: Path) -> None:
    """First v0, then one of v1 at the same endpoint, then v0 again."""
    url = free_endpoint(transport, short_path)
    with mm.Pair(connect=f"sp+{url}", reconnect_max=0.1) as ours:
        for kind in (ref.PAIR0, ref.PAIR1, ref.PAIR0):
            theirs = NngSide(kind, url, listen=True)
            try:
                ours.wait_for_peers(timeout=WAIT_S)
                both(ours, theirs)
            finally:
                theirs.close()
            while ours.peers():
                ours.stats()


@LIBRARIES
def test_a_pair_refuses_a_second_peer(library: Any, short_path: Path) -> None:
    """The first stays; the refusal is counted."""
    url = free_endpoint("ipc", short_path)
    with linked(library, mm.Pair, ref.PAIR0, url, True) as (ours, theirs):
        second = library(ref.PAIR0, url)
        try:
            while not ours.stats().closed.get(mm.Reason.ROLE_REFUSED):
                both(ours, theirs)
        finally:
            second.close()


@LIBRARIES
@WHO_BINDS
def test_an_illegal_pair_is_an_event_and_not_silence(
    library: Any, we_bind: bool, short_path: Path
) -> None:
    """HANDSHAKE_FAILED, and in words who cannot talk to whom."""
    url = free_endpoint("ipc", short_path)
    with mm.Push(reconnect_max=0.1) as ours:
        if we_bind:
            ours.bind(url)
        theirs = library(ref.SUB, url, listen=not we_bind)
        try:
            if not we_bind:
                ours.connect(f"sp+{url}")
            wait_until(lambda: mm.Reason.SOCKET_TYPE in ours.stats().closed)
            failed = [e for e in ours.events() if e.kind is mm.EventKind.HANDSHAKE_FAILED]
            assert failed[0].reason is mm.Reason.SOCKET_TYPE
            with pytest.raises(mm.TimedOutError, match="PUSH cannot talk to SUB"):
                ours.wait_for_peers(timeout=0.01)
        finally:
            theirs.close()
