"""What a function of `allow=` says of whom it lets in: `message.peer.metadata`, and what the peer
says of itself, `properties`, apart from it.

Not here: when a function is asked (test_allow_functions.py), the rest of `message.peer`
(test_message_peer.py).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._binding.metadata import METADATA_MAX, NAME_MAX, metadata_octets, metadata_of
from tests.support import refcodec as ref
from tests.support import refplain as plain
from tests.support.certificates import make
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.rawpeer import RawPeer

SAID = {"role": "writer", "shard": b"\0\xff", "Identity": "ours", "empty": ""}
TLS_BIND = "tls+tcp://127.0.0.1:0"


def curve(allow: Any) -> tuple[Any, Any, str]:
    """A server that asks, a client, and where."""
    server, client = mm.keygen(), mm.keygen()
    bind = of_its_own()
    return mm.Curve(key=server, allow=allow), mm.Curve(server=server, key=client), bind


def tls(allow: Any) -> tuple[Any, Any, str]:
    """The same by certificates."""
    ca = make("ca", signs=True)
    server = make("server", by=ca, names=("127.0.0.1",))
    client = make("client", by=ca)
    served = mm.Tls(cert=server.pem(), key=server.key_pem(), ca=ca.pem(), allow=allow)
    return served, mm.Tls(cert=client.pem(), key=client.key_pem(), ca=ca.pem()), TLS_BIND


def password(allow: Any) -> tuple[Any, Any, str]:
    """The same by a password."""
    return mm.Plain(allow=allow), mm.Plain(user="alice", password="secret"), of_its_own()


WAYS = [
    pytest.param(way, marks=pytest.mark.skipif(not there, reason=f"no {way.__name__} here"))
    for way, there in ((curve, mm.has("curve")), (tls, mm.has("tls")), (password, True))
]
Way = Callable[[Any], tuple[Any, Any, str]]


@pytest.mark.parametrize("way", WAYS)
def test_it_is_in_the_peer_of_each_message_and_what_the_peer_says_is_apart(way: Way) -> None:
    """Text stays text, and octets octets; the client's own words cannot be taken for ours."""
    served, called, bind = way(lambda _: mm.Allow("alice", SAID))
    with (
        mm.Router(bind=bind, security=served) as router,
        mm.Dealer(connect=router.endpoint, identity=b"theirs", security=called) as dealer,
    ):
        dealer.send_many([b"1", b"2"], timeout=WAIT_S)
        first, second = router.recv(timeout=WAIT_S), router.recv(timeout=WAIT_S)
        assert first.peer is second.peer
        assert (first.peer.user_id, dict(first.peer.metadata)) == ("alice", SAID)
        assert "role" not in first.peer.properties
        assert (router.peers()[0].metadata, dealer.peers()[0].metadata) == (SAID, {})
        router.send(b"3", to=first.peer)
        answer = dealer.recv(timeout=WAIT_S)
        assert answer.peer.metadata == {}  # nobody let the server in
        assert answer.peer.properties.get("Socket-Type", b"ROUTER") == b"ROUTER"
    assert dict(first.peer.metadata) == SAID  # also once it left
    with pytest.raises(TypeError):
        first.peer.metadata["role"] = "admin"


@pytest.mark.parametrize("way", WAYS)
def test_asyncio_says_it_by_a_coroutine(way: Way) -> None:
    """As a function does."""

    async def allow(_: mm.Applicant) -> mm.Allow:
        await asyncio.sleep(0)
        return mm.Allow("alice", SAID)

    async def run() -> None:
        served, called, bind = way(allow)
        async with meshmsg.aio.Pull(bind=bind, security=served) as pull:
            async with meshmsg.aio.Push(connect=pull.endpoint, security=called) as push:
                await push.send(b"1", timeout=WAIT_S)
                message = await pull.recv(timeout=WAIT_S)
        assert (message.peer.user_id, dict(message.peer.metadata)) == ("alice", SAID)

    asyncio.run(run())


def test_a_peer_that_says_what_we_say_is_not_believed() -> None:
    """It sends properties of the names that `allow=` uses: they are in `properties` only."""
    claims = [(b"Socket-Type", b"PUSH"), (b"role", b"admin"), (b"X-Meta", b"admin")]
    hello = plain.framed(plain.hello(b"mallory", b"")) + plain.framed(
        plain.initiate(ref.metadata(claims))
    )
    for said in ({}, {"role": "reader"}):
        policy = mm.Plain(allow=lambda _, said=said: mm.Allow("mallory", said))
        with (
            mm.Pull(bind="tcp://127.0.0.1:0", security=policy) as pull,
            RawPeer(pull.endpoint) as peer,
        ):
            peer.send(ref.greeting(mechanism=b"PLAIN") + hello + ref.message(b"hi"))
            sender = pull.recv(timeout=WAIT_S).peer
            assert dict(sender.metadata) == said
            assert sender.properties["role"] == b"admin"


@pytest.mark.parametrize(
    "user", [b"adm\0in", b"\0admin", b"bob\nERROR root", b"\x1b[31mred", b"b\xff"]
)
def test_a_user_that_is_no_printable_text_is_nobody(user: bytes) -> None:
    """It is known by its own word where the function gives none, and is not taken for another."""
    hello = plain.framed(plain.hello(user, b"")) + plain.framed(
        plain.initiate(ref.metadata([(b"Socket-Type", b"PUSH")]))
    )
    asked: list[str] = []

    def allow(who: mm.Applicant) -> mm.Allow:
        asked.append(who.user)
        return mm.Allow()

    with (
        mm.Pull(bind="tcp://127.0.0.1:0", security=mm.Plain(allow=allow)) as pull,
        RawPeer(pull.endpoint) as peer,
    ):
        peer.send(ref.greeting(mechanism=b"PLAIN") + hello + ref.message(b"hi"))
        denied = mm.Reason.NOT_ALLOWED
        wait_until(lambda: pull.stats().closed[denied] if denied in pull.stats().closed else 0)
        assert "no printable text" in pull.events()[-1].detail
    assert asked == [user.decode("utf-8", "surrogateescape")]


def test_lists_and_passwords_say_nothing_more() -> None:
    """Whom they know has a user id."""
    served, called = mm.Plain(allow={"alice": "secret"}), mm.Plain(user="alice", password="secret")
    with (
        mm.Pull(bind=of_its_own(), security=served) as pull,
        mm.Push(connect=pull.endpoint, security=called) as push,
    ):
        push.send(b"1", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S).peer.metadata == {}


AT_THE_LIMIT = {"n" * NAME_MAX: "v" * (METADATA_MAX - 4 - NAME_MAX)}


@pytest.mark.parametrize("said", [{}, SAID, AT_THE_LIMIT, {"x": b"v" * (METADATA_MAX - 5)}])
def test_what_is_written_is_read_as_it_was(said: dict[str, str | bytes]) -> None:
    """Up to the limit, which is of all of it."""
    assert metadata_of(metadata_octets(said)) == said
    assert len(metadata_octets(said)) <= METADATA_MAX
    assert mm.Allow("alice", said) == mm.Allow("alice", dict(said))
    assert hash(mm.Allow("alice", said)) == hash(mm.Allow("alice"))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"x": "v" * (METADATA_MAX - 4)}, "metadata has 4097 octets"),
        ({"x": b"v" * 70_000}, "metadata 'x' has 70000 octets; all of it has at most 4096"),
        ({"": "v"}, "a name of 0 octets"),
        ({"n" * (NAME_MAX + 1): "v"}, "a name of 256 octets"),
        ({"a\nb": "v"}, "a name of 3 octets: it is printable text of 1 to 255"),
        ({"x": 7}, "metadata has int for 'x'; it has str or bytes"),
        ({7: "x"}, "metadata has str for 7; it has str or bytes, by str"),
        ([("x", "y")], "metadata is list; it is a mapping"),
    ],
)
def test_what_is_too_much_is_refused_where_it_is_made(said: Any, words: str) -> None:
    """With what it is and what it may be."""
    with pytest.raises((mm.UsageError, TypeError)) as caught:
        mm.Allow("alice", said)
    assert words in str(caught.value)


def test_what_was_said_does_not_change_with_what_it_was_made_of() -> None:
    """A copy is kept."""
    given: dict[str, str | bytes] = {"role": "reader"}
    answer = mm.Allow("alice", given)
    given["role"] = "admin"
    assert answer.metadata == {"role": "reader"}
    assert inspect.signature(mm.Allow).parameters.keys() == {"user_id", "metadata"}
