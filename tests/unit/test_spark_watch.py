"""The threads that ask the spools for the driver: real servers, and those that are not there.

Not here: what is planned from it (test_spark_planning.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg.spark._source import watch as watch_of
from meshmsg.spark._source.holding import Held
from meshmsg.spark._source.offsets import Place
from meshmsg.spark._source.sizes import RUN_BYTES
from meshmsg.spark._source.watch import SAMPLE_AGAIN, Watch
from tests.support.meshes import eventually
from tests.support.pairs import of_its_own
from tests.support.sparked import A, filled, options

NOBODY = "tcp://127.0.0.1:9"


@contextmanager
def watching(*endpoints: str, **given: object) -> Iterator[Watch]:
    """Watch spools."""
    watch = Watch(options(endpoints=",".join(endpoints), **given))
    try:
        yield watch
    finally:
        watch.close()


def until(watch: Watch, done: object) -> None:
    """Ask until it is so."""
    for _ in range(10_000):
        watch.ask()
        with watch._changed:
            if done():  # type: ignore[operator]
                return
            watch._changed.wait(0.01)
    raise AssertionError("it never was so")


def stable(watch: Watch) -> list[int]:
    """What is known of the spools, under the lock: the number behind the last message of each."""
    return [one.stable for one in watch._shown().values()]


def test_what_was_put_before_the_question_is_in_the_answer(tmp_path: Path) -> None:
    """An answer is of a question that was asked behind the put."""
    with (
        filled(tmp_path / "s", 3) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
        watching(server.endpoint) as watch,
    ):
        for count in range(4, 60):
            spool.append(b"x")
            (shown,) = watch.ask().values()
            assert (shown.first, shown.stable) == (1, count + 1)
        assert watch.last() == watch.ask()
        assert watch.silent() == watch.unheard() == []


def test_whoever_plans_asks_and_wakes_no_thread(tmp_path: Path) -> None:
    """Once an endpoint has answered: a hundred threads would cost more than their questions."""
    with ExitStack() as stack:
        spools = [stack.enter_context(filled(tmp_path / str(n), n)) for n in range(5)]
        urls = [
            stack.enter_context(mm.SpoolServer(spool, bind=of_its_own())).endpoint
            for spool in spools
        ]
        watch = stack.enter_context(watching(*urls))
        watch.ask(patient=True)
        before = [one.asked for one in watch.endpoints]
        for spool in spools:
            spool.append(b"x")
        assert sorted(one.stable for one in watch.ask().values()) == [2, 3, 4, 5, 6]
        assert [one.asked for one in watch.endpoints] == before


def test_who_does_not_answer_is_waited_for_once(tmp_path: Path) -> None:
    """Then others are planned without it; `patient` waits again. The reason is told."""
    with (
        filled(tmp_path / "s", 3) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
        watching(NOBODY, server.endpoint, offsetTimeout="200ms") as watch,
    ):
        until(watch, watch._shown)
        assert [one.stable for one in watch.ask(patient=True).values()] == [4]
        until(watch, lambda: watch.endpoints[0].down)
        spool.append(b"x")
        until(watch, lambda: stable(watch) == [5])
        for told in (watch.silent(), watch.unheard()):
            (silent,) = told
            assert silent.startswith(f"{NOBODY} (")


def test_an_endpoint_that_comes_back_is_heard_again(short_path: Path) -> None:
    """Meanwhile what it said last counts."""
    where = of_its_own(f"ipc://{short_path}/server")
    with filled(short_path / "s", 3) as spool, watching(where, offsetTimeout="200ms") as watch:
        with mm.SpoolServer(spool, bind=where):
            until(watch, watch._shown)
        until(watch, lambda: watch.endpoints[0].down)
        assert [(one.stable, one.endpoints) for one in watch.last().values()] == [(4, (where,))]
        assert watch.unheard() == []
        spool.append(b"x")
        with mm.SpoolServer(spool, bind=where):
            until(watch, lambda: not watch.endpoints[0].down and stable(watch) == [5])
            assert watch.silent() == []


def test_two_endpoints_of_one_spool_are_one(tmp_path: Path) -> None:
    """Tasks may read from either."""
    with (
        filled(tmp_path / "s", 3) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as one,
        mm.SpoolServer(spool, bind=of_its_own()) as two,
        watching(one.endpoint, two.endpoint) as watch,
    ):
        (shown,) = watch.ask(patient=True).values()
        assert shown.endpoints == (one.endpoint, two.endpoint)


def test_a_folder_that_was_made_anew_is_another_spool(tmp_path: Path) -> None:
    """At the same endpoint; the old one is shown by nobody."""
    with mm.SpoolServer(filled(tmp_path / "s", 3), bind=of_its_own()) as server:
        where = server.endpoint
        with watching(where) as watch:
            (old,) = watch.ask(patient=True)
            server._answers._spool.close()
            server.close()
            with filled(tmp_path / "t", 5) as spool, mm.SpoolServer(spool, bind=where):
                until(watch, lambda: old not in watch._shown())
                assert [one.stable for one in watch.ask().values()] == [6]


def test_a_group_holds_what_it_needs_and_trims_what_it_does_not(tmp_path: Path) -> None:
    """Whoever trims: the lease is in the way. It stays when the query has gone."""
    with (
        mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own(), trim=True) as server,
    ):
        spool.append_many([b"x" * 1000] * 1000)
        uuid, endpoint = spool.info().uuid, None
        with watching(server.endpoint, groupId="g") as watch:
            (endpoint,) = watch.endpoints
            watch.hold({uuid: Place(300, 1)}, {}, "g")
            until(watch, lambda: endpoint.holding.leased)
            assert spool.info().first_seq == 1
            spool.trim(900)
            held = spool.info().first_seq
            assert 1 < held <= 300
            watch.hold({uuid: Place(700, 1)}, {uuid: Place(700, 1)}, "g")
            until(watch, lambda: endpoint.holding.trimmed)
            assert held < spool.info().first_seq <= 700
        spool.trim(1000)
        assert spool.info().first_seq <= 700
        assert endpoint.want[uuid] == Held(700, 699, "g")


def test_what_is_not_said_to_be_held_any_more_is_let_go(tmp_path: Path) -> None:
    """A spool that was retired is read from its first message on, should it come back."""
    with (
        filled(tmp_path / "s", 30) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
        watching(server.endpoint, groupId="g") as watch,
    ):
        (endpoint,) = watch.endpoints
        watch.hold({spool.info().uuid: Place(5, 1), A: Place(9, 1)}, {}, "g")
        assert endpoint.want[A] == Held(9, 0, "g")
        watch.hold({spool.info().uuid: Place(7, 1)}, {}, "g")
        assert endpoint.want == {spool.info().uuid: Held(7, 0, "g")}


def test_a_server_that_trims_for_nobody_is_asked_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The query goes on, and the log says why nothing goes; the lease is there all the same."""
    with (
        filled(tmp_path / "s", 30) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
        watching(server.endpoint, groupId="g") as watch,
    ):
        uuid, (endpoint,) = spool.info().uuid, watch.endpoints
        for seq in (5, 9):
            watch.hold({uuid: Place(seq, 1)}, {uuid: Place(seq, 1)}, "g")
            until(watch, lambda seq=seq: endpoint.holding.leased == (uuid, 1, seq))
        watch.ask()
        assert endpoint.holding.refused == {"trim"}
    assert sum("does not trim" in record.message for record in caplog.records) == 1


def test_a_server_that_begins_anew_is_given_the_lease_again(tmp_path: Path) -> None:
    """Its leases were in its memory; the next life of the spool is another."""
    for life in (1, 2):
        with (
            filled(tmp_path / "s", 10) as spool,
            mm.SpoolServer(spool, bind=of_its_own()) as server,
            watching(server.endpoint, groupId="g") as watch,
        ):
            (endpoint,) = watch.endpoints
            watch.hold({spool.info().uuid: Place(5, 1)}, {}, "g")
            until(watch, lambda: endpoint.holding.leased)  # noqa: B023
            assert endpoint.holding.leased == (spool.info().uuid, spool.info().epoch, 5)
            assert spool.info().epoch >= life


def test_the_mean_size_is_that_of_the_last_messages(tmp_path: Path) -> None:
    """Asked for if an option of bytes needs it, and not else."""
    with filled(tmp_path / "s", 0) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        spool.append_many([b"x" * 1000] * 1000)
        with watching(server.endpoint, maxBytesPerTrigger="1m") as watch:
            watch.ask(patient=True)
            (mean,) = watch.means().values()
            assert 1000 <= mean <= 1100
        with watching(server.endpoint) as watch:
            watch.ask(patient=True)
            assert watch.means() == {}


@pytest.mark.parametrize("large_first", [False, True])
def test_the_mean_size_does_not_depend_on_which_come_first(
    tmp_path: Path, large_first: bool
) -> None:
    """Small messages in front of large ones stood for all: a limit of bytes was none."""
    with filled(tmp_path / "s", 0) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        parts = [[b"x" * 10] * 200, [b"x" * 100_000] * 56]
        for part in reversed(parts) if large_first else parts:
            spool.append_many(part)
        with watching(server.endpoint, maxBytesPerTrigger="1m") as watch:
            watch.ask(patient=True)
            (mean,) = watch.means().values()
            assert mean == pytest.approx((56 * 100_000 + 200 * 10) / 256, rel=0.2)


def test_a_message_above_what_is_read_counts_with_its_own_size(tmp_path: Path) -> None:
    """It is the last one, and nothing but it and small ones is there."""
    with filled(tmp_path / "s", 5) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        spool.append(b"x" * 3 * RUN_BYTES)
        with watching(server.endpoint, maxBytesPerTrigger="1m") as watch:
            watch.ask(patient=True)
            (mean,) = watch.means().values()
            assert mean == pytest.approx(3 * RUN_BYTES / 6, rel=0.01)


def test_sizes_that_change_later_are_noticed(tmp_path: Path) -> None:
    """Not only once there are twice as many messages: of a long stream that would be for ever."""
    with filled(tmp_path / "s", 0) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        spool.append_many([b"x" * 10] * 3 * SAMPLE_AGAIN)
        with watching(server.endpoint, maxBytesPerTrigger="1m") as watch:
            watch.ask(patient=True)
            assert list(watch.means().values()) == [10]
            spool.append_many([b"x" * 1000] * SAMPLE_AGAIN)
            watch.ask()
            assert list(watch.means().values()) == [1000]


def test_a_spool_that_is_harmed_is_shown_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where its size is looked at: planning goes on, and the log says it once."""
    with mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool:
        for _ in range(10):
            spool.append_many([b"x" * 1000] * 100)
    for path in sorted((tmp_path / "s").glob("*.seg"))[-7:-2]:
        octets = bytearray(path.read_bytes())
        for at in range(4096, len(octets), 8192):
            octets[at] ^= 0xFF
        path.write_bytes(octets)
    with (
        mm.Spool(str(tmp_path / "s")) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
        watching(server.endpoint, maxBytesPerTrigger="1m") as watch,
    ):
        for _ in range(3):
            assert [one.stable for one in watch.ask(patient=True).values()] == [1001]
        assert watch.silent() == []
        assert watch.means() == {}
    assert sum("size of messages is not known" in record.message for record in caplog.records) == 1


def test_a_wrong_endpoint_is_an_error_at_once_and_leaves_no_thread(tmp_path: Path) -> None:
    """Of the second, after the first has begun."""
    with pytest.raises(mm.AddressError):
        Watch(options(endpoints="tcp://127.0.0.1:9,nonsense"))


def test_closing_does_not_wait_for_who_does_not_answer() -> None:
    """A query that is stopped ends."""
    with watching(NOBODY, offsetTimeout="1h") as watch:
        with watch._changed:
            watch.endpoints[0].ask()
    assert not watch.endpoints[0]._thread.is_alive()


def test_who_is_not_connected_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last answer was good, and it has died since: others have what is planned."""
    monkeypatch.setattr(watch_of, "GRACE_S", 0.05, raising=False)
    with (
        filled(tmp_path / "s", 3) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
        filled(tmp_path / "t", 2) as other,
        mm.SpoolServer(other, bind=of_its_own()) as gone,
        watching(gone.endpoint, server.endpoint, offsetTimeout="5s") as watch,
    ):
        assert len(watch.ask(patient=True)) == 2
        gone.close()
        spool.append(b"x")
        assert sorted(one.stable for one in watch.ask().values()) == [3, 5]
        (silent,) = watch.silent()
        assert silent.startswith(f"{gone.endpoint} (it is not connected")


def test_an_endpoint_that_refuses_is_told_of_with_its_reason() -> None:
    """Before it has ever answered, and before its own question is too late."""
    with watching(NOBODY, offsetTimeout="60s") as watch:
        for told in (watch.unheard, watch.silent):
            assert eventually(lambda told=told: "connection refused" in told()[0])  # type: ignore[misc]
            assert told()[0].startswith(f"{NOBODY} (it is not connected; last: ")
