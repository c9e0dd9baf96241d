"""`require=`: whoever cannot do it is refused, and both are told: over each transport, protected or
not, whoever connects, for threads and for asyncio, and of each pair of roles.

Not here: what may be required of whom (tests/unit/test_require.py), other libraries
(tests/interop/test_require.py), how often who is refused comes again (tests/sim/test_refused.py).
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.featured import SHOWN, acks, saying, takes_meta
from tests.support.pairs import WAIT_S, endpoint_for, wait_until
from tests.support.patterned import Kit
from tests.support.ways import WAYS

ACKED: dict[str, Any] = {"delivery": "at_least_once"}
LACKING = [
    *(("acks", shown) for shown, words in SHOWN.items() if not acks(words)),
    *(("headers", shown) for shown, words in SHOWN.items() if not takes_meta(words)),
    *(("both", shown) for shown in SHOWN if shown != "all"),
]
ASKED: dict[str, Any] = {"acks": "acks", "headers": "headers", "both": ("acks", "headers")}
TRANSPORTS = ["tcp", "ipc", "inproc", *WAYS]
PAIRS = [
    ("Push", "Pull"), ("Pub", "Sub"), ("Pub", "XSub"), ("XPub", "Sub"), ("XPub", "XSub"),
    ("XSub", "Pub"), ("XSub", "XPub"), ("Pair", "Pair"), ("Bus", "Bus"), ("Req", "Rep"),
    ("Req", "Router"), ("Rep", "Req"), ("Rep", "Dealer"), ("Dealer", "Rep"), ("Dealer", "Router"),
    ("Dealer", "Dealer"), ("Router", "Req"), ("Router", "Dealer"), ("Router", "Router"),
    ("Surveyor", "Respondent"), ("Respondent", "Surveyor"),
]  # fmt: skip
"""Who requires, of whom."""


def places(
    transport: str, folder: Path, *, binds: bool
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What the one that requires is opened with, and its peers; and who binds where."""
    way = WAYS.get(transport)
    if way is not None and way.missing:
        pytest.skip(way.missing)
    url = f"{way.scheme}tcp://127.0.0.1:0" if way else endpoint_for(transport, folder)
    binder, dialer = way.policies() if way else (None, None)
    ours, theirs = ({"security": one} for one in ((binder, dialer) if binds else (dialer, binder)))
    return ours, theirs, url


def first(socket: Any, reason: mm.Reason) -> Any:
    """Wait for the first event of that reason."""
    found: list[Any] = []
    wait_until(lambda: found.extend(e for e in socket.events() if e.reason is reason) or found)
    return found[0]


@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("asked", "shown"), LACKING)
def test_who_lacks_it_is_refused_and_gets_nothing(
    kit: Kit, asked: str, shown: str, transport: str, we_bind: bool, short_path: Path
) -> None:
    """Both are told why; what was sent waits, and the next one who can do it has it."""
    ours, theirs, url = places(transport, short_path, binds=we_bind)
    more: dict[str, Any] = {**ours, **ACKED, "require": ASKED[asked]}
    with ExitStack() as stack:
        engine = stack.enter_context(saying(SHOWN[shown]))
        if we_bind:
            push = stack.enter_context(kit.socket("Push", bind=url, **more))
        pull = kit.socket("Pull", engine=engine, **theirs, **({} if we_bind else {"bind": url}))
        if we_bind:
            pull.connect(push.endpoint)
        else:
            push = stack.enter_context(kit.socket("Push", connect=pull.endpoint, **more))
        push.send(b"x", key="k", timeout=WAIT_S)
        refused = first(push, mm.Reason.FEATURE)
        check_refusal(refused, asked, shown)
        told = first(pull, mm.Reason.ERROR_COMMAND)
        assert "required of peers here" in told.detail
        stats = push.stats()
        assert (push.peers(), stats.handshakes, stats.handshakes_failed > 0) == ([], 0, True)
        assert stats.closed[mm.Reason.FEATURE] == stats.handshakes_failed
        assert (stats.written_messages, stats.in_doubt_messages, stats.dropped) == (0, 0, 0)
        assert stats.queued_out_messages == 1
        assert [e for e in push.events() if e.kind is mm.EventKind.PEER_UNACKED] == []
        where = pull.endpoint
        pull.close()
        good = {"connect": push.endpoint} if we_bind else {"bind": where}
        with kit.socket("Pull", ack="manual", **theirs, **good) as able:
            message = able.recv(timeout=WAIT_S)
            assert (message, message.key, message.attempt) == (b"x", b"k", 1)
            assert message.ack()
            assert push.drain(timeout=WAIT_S).unconfirmed == 0
        assert push.stats().redelivered_messages == 0


def check_refusal(refused: Any, asked: str, shown: str) -> None:
    """The event says what it lacks, and what to do."""
    words = SHOWN[shown]
    lacks_acks = asked != "headers" and not acks(words)
    lacks_headers = asked != "acks" and not takes_meta(words)
    lack = {
        (True, False): "it does not acknowledge",
        (False, True): "it takes no key, headers or times",
        (True, True): "it neither acknowledges nor takes headers",
    }[lacks_acks, lacks_headers]
    cause = "its meshmsg is too old" if words else "it does not say it is of meshmsg"
    assert refused.kind is mm.EventKind.HANDSHAKE_FAILED
    assert refused.detail.startswith(f"{lack} (require): {cause}")
    assert refused.detail.endswith("no require")  # nothing was cut
    assert (refused.peer > 0, refused.address != "") == (True, True)


@pytest.mark.parametrize("binds", [True, False], ids=["requirer-binds", "peer-binds"])
@pytest.mark.parametrize("shown", ["older", "acks", "foreign"])
@pytest.mark.parametrize(("role", "peer"), PAIRS, ids="-".join)
def test_each_role_that_sends_may_require_headers(
    kit: Kit, role: str, peer: str, shown: str, binds: bool
) -> None:
    """Who takes none is refused, and who does is a peer."""
    with ExitStack() as stack:
        engine = stack.enter_context(saying(SHOWN[shown]))
        ours = stack.enter_context(kit.socket(role, require="headers"))
        lacking = stack.enter_context(kit.socket(peer, engine=engine))
        able = stack.enter_context(kit.socket(peer))
        if binds:
            ours.bind("tcp://127.0.0.1:0")
            for one in (lacking, able):
                one.connect(ours.endpoint)
        else:
            for one in (lacking, able):
                one.bind("tcp://127.0.0.1:0")
                ours.connect(one.endpoint)
        assert "takes no key, headers or times" in first(ours, mm.Reason.FEATURE).detail
        assert "meta of X-Meshmsg" in first(lacking, mm.Reason.ERROR_COMMAND).detail
        ours.wait_for_peers(timeout=WAIT_S)
        assert [one.takes_meta for one in ours.peers()] == [True]
        assert ours.stats().handshakes == 1


@pytest.mark.parametrize(
    "roles", [("Push", "Pull"), ("Dealer", "Rep"), ("Pair", "Pair")], ids="-".join
)
def test_without_it_nobody_is_refused(kit: Kit, roles: tuple[str, str]) -> None:
    """None, and an empty tuple, require nothing."""
    for nothing in ({}, {"require": None}, {"require": ()}):
        with saying("") as engine, kit.socket(roles[0], **nothing) as ours:
            with kit.socket(roles[1], engine=engine) as theirs:
                ours.bind("tcp://127.0.0.1:0")
                theirs.connect(ours.endpoint)
                ours.wait_for_peers(timeout=WAIT_S)
                assert mm.Reason.FEATURE not in ours.stats().closed
