"""The word by which a peer says what it takes: `takes=` of X-Meshmsg, octet by octet, over each
transport and mechanism; and words that are none.

Not here: what is done with it (test_takes.py, test_takes_roles.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.certs import Ca
from tests.support.featured import saying
from tests.support.feeding import UP
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

WORDS = ("refuse", "stop", "ack", "meta")
U64, U63, U32 = (1 << 64) - 1, (1 << 63) - 1, (1 << 32) - 1
SAID = {
    "both": b"1 refuse stop ack meta takes=1000/7",
    "first": b"1 takes=1000/7 ack",
    "alone": b"1 takes=0/1",
    "most": b"1 takes=%d/%d" % (U64, U32),
    "size_over": b"1 takes=%d/1" % (U64 + 1),
    "size_far_over": b"1 takes=%s/1" % (b"9" * 40),
    "frames_over": b"1 takes=1/%d" % (U32 + 1),
    "no_frames": b"1 takes=1000/0",
    "no_number": b"1 takes=/",
    "empty": b"1 takes=",
    "one_number": b"1 takes=1000",
    "half": b"1 takes=1000/",
    "other_half": b"1 takes=/7",
    "minus": b"1 takes=-1/7",
    "plus": b"1 takes=+1/7",
    "zeros": b"1 takes=01000/7",
    "zeros_of_frames": b"1 takes=1000/07",
    "hexadecimal": b"1 takes=0x10/7",
    "more": b"1 takes=1000/7/2",
    "letters": b"1 takes=1000/7b",
    "twice": b"1 takes=1000/7 takes=1000/7",
    "twice_but_one_bad": b"1 takes=x takes=1000/7",
    "version": b"takes=1000/7",
    "longer_word": b"1 mistakes=1000/7",
    "case": b"1 Takes=1000/7",
    "cut": b"1 " + b"w" * 48 + b" takes=1000/70",
    "nul": b"1 takes=1000/7\x00/8",
    "spaces": b"1   takes=1000/7  ",
}


@pytest.mark.parametrize("name", sorted(SAID))
def test_what_a_peer_says_is_read_strictly(name: str) -> None:
    """Whatever is not the word, once, is none: such a peer is as one that does not say it."""
    said = SAID[name]
    heard = said[: said.index(b"\0")] if b"\0" in said else said
    expected = ref.taken(heard if len(heard) <= ref.FEATURES_MAX else heard[:51])
    with mm.Push(bind=UP) as push:
        peer = RawPeer(push.endpoint).shake(b"PULL", (b"X-Meshmsg", said))
        push.wait_for_peers(timeout=WAIT_S)
        info = push.peers()[0]
        assert (info.takes_bytes, info.takes_frames) == (expected or (None, None))
        push.send(b"fits" if expected != (0, 1) else b"")
        peer.socket.close()


def test_the_cases_are_of_both_kinds() -> None:
    """Else the test above would say nothing."""
    good = {name for name, said in SAID.items() if ref.taken(said) is not None}
    assert {"both", "first", "alone", "most", "spaces"} <= good
    assert not good & {"twice", "minus", "zeros", "version", "size_over", "frames_over"}


@pytest.mark.parametrize(
    ("size", "frames"), [(64 << 20, 1024), (0, 1), (1000, 7), (U63, 1), (U63, U32)]
)
def test_we_say_it_where_it_has_room(size: int, frames: int) -> None:
    """It has room for whatever a socket may be told to take."""
    with mm.Pull(bind=UP, message_size_max=size, frames_max=frames) as pull:
        peer = RawPeer(pull.endpoint)
        peer.send(ref.greeting() + ref.ready(b"PUSH"))
        peer.greeted()
        value = ref.features(*WORDS, takes=(size, frames))
        assert peer.frame()[1] == ref.ready(b"PULL", (b"X-Meshmsg", value))[2:]
        assert ref.taken(value) == (size, frames)
        peer.socket.close()


def test_a_pub_with_a_spool_says_all_its_words_before_it(tmp_path: Path) -> None:
    """What has less room is the word of what it takes."""
    for size, says in ((64 << 20, True), (U63, False)):
        with (
            mm.Spool(tmp_path / "s", durability="os") as spool,
            mm.Pub(bind=UP, spool=spool, message_size_max=size) as pub,
            mm.Sub(connect=pub.endpoint, topics="") as sub,
        ):
            sub.wait_for_peers(timeout=WAIT_S)
            peer = RawPeer(pub.endpoint)
            peer.send(ref.greeting() + ref.ready(b"SUB"))
            peer.greeted()
            value = ref.features(*WORDS, "replay", "group", takes=(size, 1024))
            assert peer.frame()[1] == ref.ready(b"PUB", (b"X-Meshmsg", value))[2:]
            assert sub.peers()[0].takes_bytes == (size if says else None)
            peer.socket.close()


def sides(kind: str, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of who binds and of who connects."""
    if kind in ("ipc", "inproc"):
        return {"bind": f"ipc://{path}/s" if kind == "ipc" else "inproc://takes"}, {}
    if kind == "tcp":
        return {"bind": UP}, {}
    if kind == "tls":
        ca = Ca(path)
        server = mm.Tls(clients="none", allow=mm.ANYBODY, **ca.sign("server", "127.0.0.1").files)
        return {"bind": f"tls+{UP}", "security": server}, {"security": mm.Tls(ca=ca.file)}
    pair = mm.keygen()
    served = mm.Curve(key=pair, allow=mm.ANYBODY)
    return {"bind": UP, "security": served}, {"security": mm.Curve(server=pair.public)}


@pytest.mark.parametrize("kind", ["tcp", "ipc", "inproc", "curve", "tls"])
def test_both_sides_know_it_over_each_transport(kind: str, tmp_path: Path) -> None:
    """It is part of what any handshake of ZMTP tells."""
    ours, theirs = sides(kind, tmp_path)
    with (
        mm.Router(message_size_max=1000, frames_max=7, **ours) as router,
        mm.Dealer(
            connect=router.endpoint, message_size_max=2000, frames_max=9, identity=b"d", **theirs
        ) as dealer,
    ):
        router.wait_for_peers(timeout=WAIT_S)
        dealer.wait_for_peers(timeout=WAIT_S)
        one, other = router.peers()[0], dealer.peers()[0]
        assert (one.takes_bytes, one.takes_frames) == (2000, 9)
        assert (other.takes_bytes, other.takes_frames) == (1000, 7)
        with pytest.raises(mm.TooLargeError):
            dealer.send(b"." * 1001)
        dealer.send(b"." * 1000)
        assert len(router.recv_frames(timeout=WAIT_S)[-1]) == 1000


def test_others_do_not_say_it() -> None:
    """An older meshmsg, and a stranger."""
    with mm.Push(bind=UP) as push, saying("1 refuse stop ack meta") as old:
        with mm.Pull(connect=push.endpoint, engine=old):
            push.wait_for_peers(timeout=WAIT_S)
            assert push.peers()[0].takes_bytes is None
