"""`security=` of a socket: a server lets in whom its `allow=` says, a client its server only.

Not here: what is in the boxes (test_curve_messages.py), peers of libzmq (tests/interop), lists that
change (test_allow_lists.py), functions (test_allow_functions.py).
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg.patterns import WorkQueue, work
from meshmsg.testing import SimWorld
from tests.support.certs import alone
from tests.support.pairs import WAIT_S, of_its_own, told, wait_until

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")


def failed(socket: Any) -> mm.Event:
    """Return the first handshake that failed, once there is one."""
    found: list[mm.Event] = []
    kind = mm.EventKind.HANDSHAKE_FAILED
    wait_until(lambda: found.extend(e for e in socket.events() if e.kind is kind) or found)
    return found[0]


def test_a_server_and_a_client_by_the_files_of_keygen(tmp_path: Path) -> None:
    """Two calls make the keys, one line a side uses them; who has a file in the folder comes in."""
    mm.keygen(tmp_path / "server")
    (tmp_path / "clients").mkdir()
    alice = mm.keygen(tmp_path / "clients" / "alice")
    served = mm.Curve(key=tmp_path / "server.key_secret", allow=tmp_path / "clients")
    called = mm.Curve(server=tmp_path / "server.key", key=alice.secret_file)
    with (
        mm.Pull(bind="tcp://127.0.0.1:0", security=served) as pull,
        mm.Push(connect=pull.endpoint, security=called) as push,
    ):
        push.send(b"hi")
        assert pull.recv(timeout=WAIT_S) == b"hi"
        [peer] = pull.peers()
        assert (peer.user_id, peer.mechanism, peer.key) == ("alice", "CURVE", alice.public)
        [peer] = push.peers()
        assert (peer.user_id, peer.mechanism) == ("", "CURVE")
        assert peer.as_dict()["key"] == peer.key


def test_the_same_of_asyncio(tmp_path: Path) -> None:
    """By a file of keys; who is not in it is told by the event at the server."""
    server, alice, eve = mm.keygen(), mm.keygen(), mm.keygen()
    (tmp_path / "allowed").write_text(f"# who\n\n{alice.public} alice of A\n")

    async def run() -> None:
        policy = mm.Curve(key=server, allow=tmp_path / "allowed")
        async with meshmsg.aio.Rep(bind=of_its_own(), security=policy) as rep:
            called = mm.Curve(server=server.public, key=alice)
            async with meshmsg.aio.Req(connect=rep.endpoint, security=called) as req:
                asked = asyncio.ensure_future(req.request(b"who am I?", timeout=WAIT_S))
                request = await rep.recv(timeout=WAIT_S)
                request.reply(rep.peers()[0].user_id.encode())
                assert await asked == b"alice of A"
            intruder = mm.Curve(server=server, key=eve)
            async with meshmsg.aio.Req(connect=rep.endpoint, security=intruder) as req:
                told(req, "does not let us in")
                with pytest.raises(mm.TimedOutError, match="does not let us in"):
                    await req.wait_for_peers(timeout=0.01)
            assert eve.public in failed(rep).detail

    asyncio.run(run())


def test_anybody_who_knows_the_servers_key_comes_in() -> None:
    """With a key of its own or without; who has another key of a server does not."""
    server = mm.keygen()
    with mm.Pull(bind=of_its_own(), security=mm.Curve(key=server, allow=mm.ANYBODY)) as pull:
        for key in (None, mm.keygen()):
            called = mm.Curve(server=server.public, key=key)
            with mm.Push(connect=pull.endpoint, security=called) as push:
                push.wait_for_peers(timeout=WAIT_S)
        wrong = mm.Curve(server=mm.keygen())
        with mm.Push(connect=pull.endpoint, security=wrong) as push:
            told(push, "most likely not its key")
            with pytest.raises(mm.TimedOutError, match="most likely not its key"):
                push.wait_for_peers(timeout=0.01)
        assert "server= is not our key" in failed(pull).detail


def test_nothing_falls_back_to_no_protection() -> None:
    """A plain peer meets no protected one, either way."""
    server = mm.keygen()
    served = mm.Curve(key=server, allow=mm.ANYBODY)
    for ours, theirs in ((served, None), (None, mm.Curve(server=server))):
        with (
            mm.Pull(bind=of_its_own(), security=ours) as pull,
            mm.Push(connect=pull.endpoint, security=theirs),
        ):
            assert failed(pull).reason in (mm.Reason.MECHANISM, mm.Reason.HANDSHAKE_EOF)


def test_a_server_that_rotates_its_key_is_known_by_the_old_and_the_new_one() -> None:
    """Up to three; and who binds need not be who serves."""
    pairs = [mm.keygen() for _ in range(3)]
    served = mm.Curve(key=pairs, allow=mm.ANYBODY)
    for pair in pairs:
        with (
            mm.Pull(bind=of_its_own(), security=mm.Curve(server=pair)) as pull,
            mm.Push(connect=pull.endpoint, security=served) as push,
        ):
            push.send(b"hi")
            assert pull.recv(timeout=WAIT_S) == b"hi"
    with pytest.raises(mm.UsageError, match="at most 3"):
        mm.Curve(key=[*pairs, mm.keygen()], allow=mm.ANYBODY)


PAIR = mm.keygen() if mm.has("curve") else None
WRONG: dict[str, dict[str, Any]] = {
    "who may come in": {"key": PAIR},
    "who is it": {},
    "allow= is of servers": {"server": PAIR, "allow": mm.ANYBODY},
    "a client has one": {"server": PAIR, "key": [PAIR, PAIR]},
    "is no file, and no key in Z85: it has 7 characters": {"server": "nowhere"},
    "server is a pin, which is for mm.Tls": {"server": "sha256//" + "A" * 43 + "="},
    "server is a secret key": {"server": PAIR.secret if PAIR else ""},
    "key is a key itself": {"key": PAIR.secret if PAIR else "", "allow": mm.ANYBODY},
    "allow is int": {"key": PAIR, "allow": 5},
}


@pytest.mark.parametrize("words", WRONG)
def test_a_policy_that_cannot_be_is_refused_where_it_is_made(words: str) -> None:
    """With what is missing or too much; no secret is quoted."""
    with pytest.raises(mm.UsageError, match=words.replace("?", r"\?")) as caught:
        mm.Curve(**WRONG[words])
    assert PAIR
    assert PAIR.secret not in str(caught.value)


def test_a_certificate_is_no_server_s_key(tmp_path: Path) -> None:
    """It would be taken for a key that nobody has; so the error says what it is for."""
    path = alone(tmp_path, "server").cert
    for given in (path, str(path)):
        with pytest.raises(mm.UsageError, match=f"server is {path}, a certificate.* mm.Tls.* Z85"):
            mm.Curve(server=given)


def test_a_policy_is_not_changed_shows_no_secret_and_is_not_pickled(tmp_path: Path) -> None:
    """But what says that there is none is."""
    pair = mm.keygen(tmp_path / "me")
    curve = mm.Curve(key=[pair, pair.secret_file], allow=mm.AllowList([pair]))
    profile = mm.Profile(bind=curve, connect=mm.NONE)
    for thing in (curve, profile, mm.Engine(security=profile), mm.AllowList([pair])):
        assert pair.secret not in f"{thing!r} {thing}"
    assert "me.key_secret" in repr(curve)
    with pytest.raises(AttributeError, match="make another one"):
        curve._pairs = ()
    with pytest.raises(AttributeError, match="make another one"):
        profile.bind = mm.NONE
    for thing in (curve, profile, mm.AllowList()):
        with pytest.raises(mm.UsageError, match="paths? of"):
            pickle.dumps(thing)
    assert [pickle.loads(pickle.dumps(one)) for one in (mm.NONE, mm.ANYBODY)] == [
        mm.NONE,
        mm.ANYBODY,
    ]


def test_an_engine_protects_its_sockets_by_what_they_do_first() -> None:
    """Unless they say otherwise; within the process nothing is, as nothing need be."""
    server = mm.keygen()
    profile = mm.Profile(
        bind=mm.Curve(key=server, allow=mm.ANYBODY), connect=mm.Curve(server=server)
    )
    with mm.Engine(security=profile) as engine:
        with mm.Pull(bind=of_its_own(), engine=engine) as pull:
            with mm.Push(connect=pull.endpoint, engine=engine) as push:
                push.wait_for_peers(timeout=WAIT_S)
                assert push.peers()[0].mechanism == "CURVE"
            with mm.Push(connect=pull.endpoint, engine=engine, security=mm.NONE):
                assert failed(pull).reason is mm.Reason.MECHANISM
        with (
            mm.Pull(bind="inproc://here", engine=engine) as pull,
            mm.Push(connect="inproc://here", engine=engine) as push,
        ):
            push.wait_for_peers(timeout=WAIT_S)
            assert push.peers()[0].mechanism == "NULL"
            with pytest.raises(mm.UsageError, match="one policy"):
                pull.bind(of_its_own())


def test_endpoints_that_do_not_agree_with_the_policy_are_refused() -> None:
    """SP has no CURVE, what stays within the process takes none."""
    server = mm.keygen()
    policy = mm.Curve(key=server, allow=mm.ANYBODY)
    with mm.Push(security=policy) as push:
        with pytest.raises(mm.UsageError, match="SP has no CURVE"):
            push.connect("sp+tcp://127.0.0.1:9")
        with pytest.raises(mm.UsageError, match="takes no security="):
            push.bind("inproc://x")
        push.connect("tcp://127.0.0.1:9")
    with mm.Engine(security=mm.Profile(bind=policy, connect=mm.NONE)) as engine:
        with mm.Push(bind=of_its_own(), engine=engine) as push:
            with pytest.raises(mm.UsageError, match="one policy"):
                push.connect("tcp://127.0.0.1:9")
    with pytest.raises(TypeError, match="it is a policy"):
        mm.Push(security="curve")  # type: ignore[arg-type]
    with pytest.raises(mm.UsageError, match="at most 220"):
        mm.Dealer(bind=of_its_own(), identity=b"x" * 221, security=policy)


def test_what_is_protected_may_bind_outside_loopback() -> None:
    """What is not is told of security= first."""
    words = r"pass security= \(shortest: mm.Secret, at tls\+tcp://0.0.0.0:0\), bind to 127.0.0.1"
    with pytest.raises(mm.InsecureBindError, match=words):
        mm.Pull(bind="tcp://0.0.0.0:0")
    policy = mm.Curve(key=mm.keygen(), allow=mm.ANYBODY)
    with mm.Pull(bind="tcp://0.0.0.0:0", security=policy) as pull:
        assert pull.endpoint.startswith("tcp://0.0.0.0:")


def test_a_router_is_protected_for_whom_it_names_too() -> None:
    """`connect(identity=)` is another call of the core."""
    server = mm.keygen()
    policy = mm.Curve(key=server, allow=mm.ANYBODY)
    with (
        mm.Dealer(bind=of_its_own(), security=policy) as dealer,
        mm.Router(security=mm.Curve(server=server)) as router,
    ):
        router.connect(dealer.endpoint, identity=b"d")
        router.wait_for_peers(timeout=WAIT_S)
        router.send(b"hi", to=b"d")
        assert dealer.recv(timeout=WAIT_S) == b"hi"


@pytest.mark.parametrize(
    ("known", "same"),
    [("one user", True), ("two users", False), ("nobody", False), ("one key", True)],
)
def test_an_identity_passes_to_nobody_else(known: str, same: bool) -> None:
    """With handover=True: to the same user, by whatever key; where nobody is asked for a user, to
    the same key. Who is another one is refused."""
    server, alice, other = mm.keygen(), mm.keygen(), mm.keygen()
    if known == "one key":
        other = alice
    users: Any = {alice.public: "alice", other.public: "alice" if same else "mallory"}
    policy = mm.Curve(key=server, allow=users if "user" in known else mm.ANYBODY)
    with (
        mm.Router(bind=of_its_own(), handover=True, security=policy) as router,
        mm.Dealer(
            connect=router.endpoint,
            identity=b"name",
            security=mm.Curve(server=server, key=alice),
            reconnect_min=WAIT_S,
            reconnect_max=WAIT_S,
        ) as first,
    ):
        first.send(b"1", timeout=WAIT_S)
        assert router.recv(timeout=WAIT_S).peer == b"name"
        called = mm.Curve(server=server, key=other)
        with mm.Dealer(connect=router.endpoint, identity=b"name", security=called) as second:
            if same:
                second.send(b"2", timeout=WAIT_S)
                assert router.recv(timeout=WAIT_S) == b"2"
                wait_until(lambda: not first.peers())
                return
            assert "has this identity" in failed(router).detail
            wait_until(lambda: any("has this identity" in e.detail for e in second.events()))
        router.send(b"yours", to=b"name")
        assert first.recv(timeout=WAIT_S) == b"yours"


def test_a_simulated_world_has_lists_and_files_and_no_functions(tmp_path: Path) -> None:
    """For those there would have to be a thread, and so for a second look at a file."""
    server, alice = mm.keygen(), mm.keygen()
    allowed = tmp_path / "allowed"
    allowed.write_text(f"{alice.public} alice\n")
    with SimWorld(seed=1) as world:
        for allow in ({alice.public: "alice"}, allowed):
            policy = mm.Curve(key=server, allow=allow)
            with (
                mm.Pull(bind="tcp://127.0.0.1:0", engine=world.engine(), security=policy) as pull,
                mm.Push(
                    connect=pull.endpoint,
                    engine=world.engine(),
                    security=mm.Curve(server=server, key=alice),
                ) as push,
            ):
                push.send(b"hi")
                assert pull.recv(timeout=WAIT_S) == b"hi"
                assert pull.peers()[0].user_id == "alice"
                assert not [one for one in threading.enumerate() if one.name == "meshmsg-allow"]
        asking = mm.Curve(key=server, allow=lambda _: mm.Allow())
        with pytest.raises(mm.UsageError, match="needs a thread"):
            mm.Pull(bind="tcp://127.0.0.1:0", engine=world.engine(), security=asking)


def test_a_work_queue_is_protected_by_its_engine() -> None:
    """Its sockets and those of its workers say nothing themselves."""
    server = mm.keygen()
    profile = mm.Profile(
        bind=mm.Curve(key=server, allow=mm.ANYBODY), connect=mm.Curve(server=server)
    )
    with mm.Engine(security=profile) as engine:
        with WorkQueue(bind=of_its_own(), engine=engine) as queue:
            queue.put(b"job")
            for batch in work(queue.endpoint, engine=engine):
                assert list(batch) == [b"job"]
                break
