"""Ranges of a spool: what is amiss is told with words and by type, at the reader; both worlds.

Not here: leases and trims (test_ranges_kept.py), octets that ask for nothing (test_ranges_form.py).
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg._ranges import form
from meshmsg._ranges.answers import Answers, Limits, Load
from meshmsg._ranges.asking import Asking, range_of
from meshmsg._ranges.server_form import send
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.ranged import WORLDS, Ranged, late, messages, octets_of, seqs
from tests.support.rawpeer import RawPeer
from tests.support.spooled import BATCH, batches, fill, segments, small, turn_bit


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[Ranged]:
    """Both worlds, one after the other."""
    with ExitStack() as stack:
        yield Ranged(request.param, stack)


def harmed(path: Path) -> tuple[int, int]:
    """Make a spool of three files, and harm the middle one; return the number, and the last one."""
    with small(path) as spool:
        last = fill(spool, 3)
    file = segments(path)[1]
    turn_bit(file, batches(file)[1] + BATCH + 40)
    return int(file.stem) + 1, last


def test_what_was_trimmed_is_told(tmp_path: Path, world: Ranged) -> None:
    """Which numbers are gone; also where they go while a range is read."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 6)
        remote = world.shown(spool)
        reading = remote.read(1, max_bytes=9000)
        assert [one.seq for one in next(reading).messages] == [1]
        spool.trim(last - 1)
        first = spool.info().first_seq
        assert first > 3
        for lost in (remote.read(1), reading):
            with pytest.raises(
                mm.SpoolTrimmedError, match=f"to {first - 1} were removed"
            ) as caught:
                list(lost)
            assert caught.value.first == first
        assert caught.value.seq in (2, 3)
        assert seqs(remote.read(first)) == list(range(first, last + 1))


def test_harm_is_told_or_left_out(tmp_path: Path, world: Ranged) -> None:
    """As the reader wants it, whatever the spool itself was told; `first` to `last`."""
    gone, last = harmed(tmp_path / "s")
    with small(tmp_path / "s") as spool:
        spool.flush()
        endpoint = world.server(spool).endpoint
        reading = world.remote(endpoint).read(1, last + 1)
        found: list[int] = []
        with pytest.raises(mm.SpoolCorruptError, match=f"{gone} to ") as caught:
            for batch in reading:
                found += [one.seq for one in batch.messages]
        assert found == list(range(1, gone))
        assert caught.value.first == gone <= caught.value.last
        behind = caught.value.last + 1
        remote = world.remote(endpoint, on_corruption="gap")
        read = list(remote.read(1, last + 1))
        assert [one for batch in read for one in batch.gaps] == [mm.SpoolGap(gone, behind - 1)]
        assert seqs(iter(read)) == [*range(1, gone), *range(behind, last + 1)]
        [empty] = remote.read(gone, gone + 1)
        assert (len(empty), empty.gaps) == (0, (mm.SpoolGap(gone, gone),))
        assert empty.last_seq + 1 == gone + 1


def test_another_spool_is_told(tmp_path: Path, world: Ranged) -> None:
    """Asked for by uuid, or there in place of the one that was read before."""
    where = of_its_own()
    with small(tmp_path / "a") as one, small(tmp_path / "b") as two:
        fill(one, 2)
        fill(two, 2)
        with mm.SpoolServer(one, bind=where) as server:
            endpoint = server.endpoint
            remote = world.remote(endpoint, reconnect_max=0.05)
            uuid = remote.info().uuid
            other = world.remote(endpoint, uuid=two.info().uuid)
            with pytest.raises(mm.SpoolChangedError, match=uuid) as caught:
                other.info()
            assert (caught.value.uuid, caught.value.epoch) == (uuid, 1)
            assert world.remote(endpoint, uuid=uuid).info().uuid == uuid
        with mm.SpoolServer(two, bind=endpoint):
            for ask in (remote.info, lambda: list(remote.read(1, 2)), lambda: remote.trim(0)):
                with pytest.raises(mm.SpoolChangedError, match="mean nothing"):
                    ask()


COPIES = 6
"""So many that some have a higher epoch and some a lower one, as it grows by chance."""


def goes_on(path: Path) -> mm.Spool:
    """Let a spool go on in another life."""
    spool = small(path)
    spool.append_many([b"new"] * 10)
    spool.flush()
    return spool


def test_numbers_that_are_given_again_are_told(tmp_path: Path, world: Ranged) -> None:
    """A copy from before was put back, and went on: its epoch says so, or that of a message."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"old"] * 10)
        spool.flush()
    for at in range(COPIES):
        shutil.copytree(tmp_path / "s", tmp_path / f"copy{at}")
    where = of_its_own()
    with goes_on(tmp_path / "s") as spool, mm.SpoolServer(spool, bind=where) as server:
        endpoint, uuid = server.endpoint, spool.info().uuid
        epochs = [spool.info().epoch]
        remotes = [world.remote(endpoint, reconnect_max=0.05) for _ in range(COPIES)]
        for remote in remotes:
            assert seqs(remote.read(1, 21, epoch=epochs[0])) == list(range(1, 21))
    with small(tmp_path / "s") as spool, mm.SpoolServer(spool, bind=endpoint):
        epochs += [spool.info().epoch]
        assert seqs(remotes[0].read(1)) == list(range(1, 21))  # a later life has what there was
    for at, remote in enumerate(remotes):
        with goes_on(tmp_path / f"copy{at}") as copy, mm.SpoolServer(copy, bind=endpoint):
            other = world.remote(endpoint, uuid=uuid)
            assert seqs(other.read(1, 11, epoch=1)) == list(range(1, 11))
            with pytest.raises(mm.SpoolChangedError, match="message 20 was put in life"):
                list(other.read(1, 21, epoch=1))
            if copy.info().epoch not in epochs:
                with pytest.raises(mm.SpoolChangedError, match="a copy from before was put back"):
                    list(remote.read(1, 21))


def test_a_server_that_is_busy_is_asked_again(tmp_path: Path, world: Ranged) -> None:
    """Until time is up, which says the limit; a reader that leaves makes room."""
    with small(tmp_path / "s") as spool:
        fill(spool, 2)
        server = world.server(spool, readers=1)
        first = world.remote(server.endpoint)
        assert seqs(first.read(1, 3)) == [1, 2]
        brief = world.remote(server.endpoint, timeout=0.3)
        wait_until(lambda: not late(brief.info))
        wait_until(lambda: "it serves 1 readers" in late(lambda: list(brief.read(1, 3))))
        second = world.remote(server.endpoint)
        brief.close()
        first.close()
        assert seqs(second.read(1, 3)) == [1, 2]


def answered_all(server: Any, count: int) -> bool:
    """Whether so many answers to its one peer were written, or wait to be."""
    return [one.sent_messages + one.queued_out_messages for one in server.peers()] == [count]


def test_who_asks_and_does_not_read_fills_no_memory(tmp_path: Path, world: Ranged) -> None:
    """What waits for it is bounded: the rest is not read for it, and it is told so."""
    asked, size = 60, 1_000_000
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        for _ in range(asked):
            spool.append(bytes(size))
        spool.flush()
        server = world.server(spool, window_bytes=size)
        request = form.request_octets(form.Request(form.Op.READ, a=1, b=asked + 1, c=2**30))
        with mm.Dealer(connect=server.endpoint, recv_queue_bytes=65_536) as dealer:
            for at in range(asked):
                dealer.send_frames([b"%04d" % at, b"", request])
            wait_until(lambda: answered_all(server, asked))
            assert server.peers()[0].queued_out_bytes < 8 * size
            answers = [dealer.recv_frames(timeout=WAIT_S)[-1] for _ in range(asked)]
        found = {form.answer_of(one).status for one in answers}
        assert found == {form.Status.DONE, form.Status.BUSY}


def test_closing_ends_what_waits(tmp_path: Path, world: Ranged) -> None:
    """That of a reader; that of the server is no end; that of the spool is said."""
    with small(tmp_path / "s") as spool:
        fill(spool, 3)
        server = world.server(spool)
        remote = world.remote(server.endpoint)
        reading = remote.read(1, max_bytes=9000)
        next(reading)
        remote.close()
        with pytest.raises(mm.ClosedError):
            list(reading)
        with pytest.raises(mm.ClosedError):
            remote.info()
        other = world.remote(server.endpoint)
        other.info()
        brief = world.remote(server.endpoint, timeout=0.3)
        wait_until(lambda: not late(brief.info))
    with pytest.raises(mm.RefusedError, match="the spool was closed"):
        other.info()
    server.close()
    assert late(brief.info)


def test_closing_wakes_who_waits_for_a_busy_server(tmp_path: Path) -> None:
    """However long it would wait."""
    with small(tmp_path / "s") as spool, ExitStack() as stack:
        fill(spool, 2)
        world = Ranged("threads", stack)
        server = world.server(spool, readers=1)
        world.remote(server.endpoint).info()
        late = world.remote(server.endpoint, timeout=None)
        late.info()
        raised: list[BaseException] = []

        def waits() -> None:
            try:
                list(late.read(1, 2))
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=waits)
        thread.start()
        late.close()
        thread.join(WAIT_S)
        assert [type(one) for one in raised] == [mm.ClosedError]


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (b"", "no request"),
        (b"hello", "no request"),
        (b"MMRQ\x02" + bytes(67), "asked in version 2.*speaks version 1"),
        (b"MMRQ\x01" + bytes(67), "asked for 0"),
        (b"MMRQ\x01\x01", "a request of 6 octets"),
    ],
)
def test_what_is_no_request_is_refused_with_words(
    tmp_path: Path, world: Ranged, octets: bytes, words: str
) -> None:
    """And the server serves on."""
    with small(tmp_path / "s") as spool:
        server = world.server(spool)
        with mm.Req(connect=server.endpoint) as req, pytest.raises(mm.RefusedError, match=words):
            req.request(octets, timeout=WAIT_S)
        assert world.remote(server.endpoint).info().first_seq == 1


def test_what_is_too_large_for_a_request_is_not_taken_in(tmp_path: Path, world: Ranged) -> None:
    """Who knows what it takes does not send it. The connection of who does not ends before it is
    there; others are served on."""
    most = int(lib.MM_ASKED_LITTLE_MAX) - 4  # with the id of a request
    with small(tmp_path / "s") as spool:
        server = world.server(spool)
        with mm.Req(connect=server.endpoint) as req:
            with pytest.raises(mm.RefusedError, match="no request"):
                req.request(bytes(most), timeout=WAIT_S)
            with pytest.raises(mm.TooLargeError, match="its peer takes 4,096 bytes"):
                req.request(bytes(most + 1), timeout=WAIT_S)
        with RawPeer(server.endpoint).shake(b"REQ") as peer:
            peer.send(b"\x01\x04\x80\x00\x00\x01" + b"\x01\x00")
            peer.send(b"\x02" + (most + 1).to_bytes(8, "big")).until_closed()
        assert world.remote(server.endpoint).info().first_seq == 1


def fake(answer: Callable[[bytes], bytes], stack: ExitStack) -> str:
    """Serve what is no spool; return where."""
    rep = mm.Rep(bind="tcp://127.0.0.1:0")

    def serve() -> None:
        with suppress(mm.ClosedError):
            for request in rep:
                request.reply(answer(request))

    thread = threading.Thread(target=serve)
    thread.start()
    stack.callback(thread.join)
    stack.callback(rep.close)
    return rep.endpoint


@pytest.mark.parametrize("junk", [b"", b"x" * 200])
def test_an_answer_that_was_asked_for_ahead_is_looked_at_as_any(
    tmp_path: Path, junk: bytes
) -> None:
    """It is read where it lies, also if nothing lies there."""
    with (
        small(tmp_path / "s") as spool,
        mm.Rep(bind=of_its_own()) as rep,
        mm.RemoteSpool(rep.endpoint, timeout=WAIT_S) as remote,
    ):
        last = fill(spool, 3)
        spool.flush()
        answers = Answers(spool, Limits(1, 2**20, 2**20), trims=False)

        def serve() -> None:
            first = rep.recv(timeout=WAIT_S)
            send(first, answers.answer(first, Load(0, 0, 0)))
            rep.recv(timeout=WAIT_S).reply(junk)

        server = threading.Thread(target=serve)
        server.start()
        reading = remote.read(1, last + 1, max_bytes=1)
        assert next(reading).first_seq == 1
        with pytest.raises(mm.PeerError, match="what answers is no server of ranges"):
            list(reading)
        server.join()
        answers.close()


def test_what_is_no_server_of_ranges_is_told(world: Ranged) -> None:
    """Whatever it answers: it breaks the protocol."""
    good = form.Answer(form.Status.DONE, bytes(range(16)), 1, 1, 100, 50, 0)
    head = form.answer_octets(good)
    wrong = {
        b"": "no server of ranges",
        b"x" * 64: "no server of ranges",
        head[:4] + b"\x07" + head[5:]: "answered in version 7",
        head[:5] + b"\x63" + head[6:]: "does not have",
        head[:40] + b"\xff" * 8 + head[48:]: "numbers that no spool has",
        head + b"more": "4 octets behind an answer that has none",
    }
    with ExitStack() as stack:
        said = [b""]
        remote = world.remote(fake(lambda _: said[0], stack))
        for octets, words in wrong.items():
            said[0] = octets
            with pytest.raises(mm.PeerError, match=words):
                remote.info()
        for octets, words in {
            head: "gave for message 1 is not that",
            head + bytes(100): "gave for message 1 is not that",
            form.answer_octets(
                form.Answer(form.Status.DONE, good.uuid, 1, 1, 9, 11)
            ): "up to 10, and says that 8 is the last that is durable",
            form.answer_octets(form.Answer(form.Status.DONE, good.uuid, 1, 1, 9, 1)): "gave none",
            form.answer_octets(
                form.Answer(form.Status.HARMED, good.uuid, 1, 1, 9, 7, 9)
            ): "where nothing was asked",
            form.answer_octets(form.Answer(form.Status.FAILED, good.uuid, 1, 1, 9))
            + b"\xff no": "the server says: . no",
        }.items():
            said[0] = octets
            with pytest.raises(mm.MeshError, match=words):
                list(remote.read(1, 60))


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A true answer, and what it has."""
    path = tmp_path_factory.mktemp("answered") / "s"
    found: dict[str, Any] = {}
    with small(path) as spool:
        spool.append_many([b"%d" % at for at in range(40)], key="k", headers={"a": "b"})
        spool.append_many([b"more"] * 10)
        spool.flush()
        answers = Answers(spool, Limits(1, 2**20, 2**20), trims=False)
        asked = form.Request(form.Op.READ, a=1, b=51, c=2**20)
        found["octets"] = octets_of(answers.answer(form.request_octets(asked), Load(0, 0, 0)))
        answers.close()
        found["messages"] = spool.read(1).messages
    return found


@pytest.mark.parametrize("most", [7, 50, 1000])
@pytest.mark.parametrize("more", [b"\0", bytes(100), None])
def test_octets_behind_what_was_asked_for_are_refused(
    answered: dict[str, Any], more: bytes | None, most: int
) -> None:
    """Whatever they are: batches again, or none; the messages before them are given."""
    asking = Asking("there", None, None)
    reading = range_of(asking, 1, 51, max_messages=most, max_bytes=2**20, gaps=False, epoch=None)
    request = reading.request()
    assert request is not None
    blocks = answered["octets"][form.ANSWER_HEAD :]
    octets = answered["octets"] + (blocks if more is None else more)
    came: list[Any] = []
    with pytest.raises(mm.PeerError, match="octets behind message 50, its last one"):
        for batch in reading.batches(asking.answer(request, octets), octets):
            came += batch.messages
    assert came == answered["messages"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_an_answer_that_was_changed_on_its_way_is_told(
    answered: dict[str, Any], data: st.DataObject
) -> None:
    """No octet of a batch can be another: its CRC says so, as on a disk; nothing crashes."""
    octets = bytearray(answered["octets"])
    at = data.draw(st.integers(0, len(octets) - 1))
    kind = data.draw(st.sampled_from(["turn", "cut", "add"]))
    if kind == "turn":
        octets[at] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del octets[at : at + data.draw(st.integers(1, 80))]
    else:
        octets[at:at] = data.draw(st.binary(min_size=1, max_size=80))
    asking = Asking("there", None, None)
    reading = range_of(asking, 1, 51, max_messages=7, max_bytes=2**20, gaps=False, epoch=None)
    request = reading.request()
    assert request is not None
    try:
        answer = asking.answer(request, bytes(octets))
        if answer.status == form.Status.BUSY:
            return
        found = messages(reading.batches(answer, bytes(octets)))
    except mm.MeshError:
        return
    assert found == answered["messages"][: len(found)]
    assert [one.headers for one in found] == [{"a": "b"}] * min(len(found), 40) + [{}] * (
        len(found) - min(len(found), 40)
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"readers": 0}, "readers is 0"),
        ({"window_bytes": 100}, "window_bytes is 100"),
        ({"window_bytes": 64 * 1024 * 1024 + 1}, "window_bytes is 67"),
        ({"flight_bytes": 10}, "flight_bytes is 10"),
        ({"trim": 1}, "trim is 1; it is True or False"),
        ({"bind": ()}, "bind has no endpoint"),
    ],
)
def test_wrong_options_of_a_server_are_told(
    tmp_path: Path, world: Ranged, options: dict[str, Any], words: str
) -> None:
    """By name, value and limit; it is not opened."""
    with small(tmp_path / "s") as spool, pytest.raises((mm.UsageError, TypeError), match=words):
        world.server(spool, **options)
    with pytest.raises(TypeError, match="it is a Spool, or a SpoolView"):
        world.server("no spool") if world.name == "threads" else mm.SpoolServer(
            "no spool",  # type: ignore[arg-type]
            bind="tcp://127.0.0.1:0",
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"uuid": "xyz"}, "32 hexadecimal digits"),
        ({"uuid": "0" * 32}, "32 hexadecimal digits"),
        ({"uuid": 7}, "as text"),
        ({"holder": b""}, "holder has 0 bytes"),
        ({"holder": b"x" * 17}, "holder has 17 bytes"),
        ({"holder": "me"}, "it is bytes"),
        ({"on_corruption": "skip"}, "on_corruption is 'skip'"),
        ({"timeout": 0}, "timeout is 0"),
        ({"connect": ()}, "connect has no endpoint"),
    ],
)
def test_wrong_options_of_a_remote_are_told(
    world: Ranged, options: dict[str, Any], words: str
) -> None:
    """Before anything is opened."""
    endpoint = options.get("connect", "tcp://127.0.0.1:1")
    options = {name: value for name, value in options.items() if name != "connect"}
    with pytest.raises((mm.UsageError, TypeError), match=words):
        world.remote(endpoint, **options)


def test_wrong_arguments_are_told_at_once(tmp_path: Path, world: Ranged) -> None:
    """Nothing is asked for it: no server is there."""
    remote = world.remote("tcp://127.0.0.1:1", timeout=None)
    for wrong in (0, -1, 2**62, "1", True):
        with pytest.raises((mm.UsageError, TypeError), match="from_seq"):
            remote.read(wrong, 5)
        with pytest.raises((mm.UsageError, TypeError), match="from_seq"):
            remote.lease("a", wrong, 1)
    for call, words in {
        lambda: remote.read(5, 4): "to_seq is 4; it is 5",
        lambda: remote.read(1, max_bytes=0): "max_bytes",
        lambda: remote.read(1, max_messages=0): "max_messages",
        lambda: remote.read(1, epoch=0): "epoch is 0",
        lambda: remote.lease("no name!", 1, 1): "name is 'no name!'",
        lambda: remote.lease("a" * 59, 1, 1): "1 to 58",
        lambda: remote.lease(7, 1, 1): "as text",
        lambda: remote.lease("a", 1, 0): "ttl is 0",
        lambda: remote.lease("a", 1, 8 * 24 * 3600): "up to a week",
        lambda: remote.trim(-1): "seq is -1",
        lambda: remote.trim(1, name=".a"): "no dot in front",
    }.items():
        with pytest.raises((mm.UsageError, TypeError), match=words):
            call()
