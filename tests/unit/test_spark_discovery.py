"""Spools that a mesh finds for the driver: real nodes and servers, and nodes that are only told of.

Not here: how nodes find each other (tests/mesh); what is planned (test_spark_planning.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg.mesh import Member, Mesh, Record, Service, State
from meshmsg.spark._source.offsets import Place
from meshmsg.spark._source.options import SourceOptions
from meshmsg.spark._source.watch import Watch
from tests.support.meshes import WAIT_S, eventually
from tests.support.pairs import of_its_own
from tests.support.sparked import filled, options
from tests.support.ways import secret_file

pytest.importorskip("cryptography")
from meshmsg.spark._source.discovery import Found, found_of


def told(state: State, role: str = "spool") -> Member:
    """Return a node as a mesh tells of it."""
    service = Service("orders", role, "zmtp", ("tcp://10.0.0.5:5",))
    record = Record(b"i" * 16, "node", "etl", 1, 1, 1, b"", (), services=(service,))
    return Member(record, state, 0.0, None, None, b"")


def test_nodes_that_are_there_are_told_from_those_that_are_not_heard_of() -> None:
    """As the latter are not asked anew."""
    states = (State.ALIVE, State.SUSPECT, State.UNREACHABLE)
    found = found_of("orders", {state.name: told(state) for state in states})
    assert found == ({"ALIVE", "SUSPECT"}, {"UNREACHABLE"})


def test_what_is_no_spool_is_refused_with_the_node_and_the_role() -> None:
    """Rather than a socket that gets questions that it does not know."""
    with pytest.raises(mm.UsageError, match="node offers a pull as 'orders'"):
        found_of("orders", {"tcp://10.0.0.5:5": told(State.ALIVE, "pull")})


class Producer:
    """A node that shows a spool, until it is closed."""

    def __init__(self, folder: Path, count: int, seed: str | None, **node: object) -> None:
        scheme = "tls+tcp" if node else "tcp"
        with ExitStack() as stack:
            self.spool = stack.enter_context(filled(folder, count))
            self.mesh = stack.enter_context(
                Mesh(cluster="etl", name=folder.name, seeds=seed, bind="tcp://127.0.0.1:0", **node)  # type: ignore[arg-type]
            )
            self.server = stack.enter_context(
                mm.SpoolServer(
                    self.spool, bind=f"{scheme}://127.0.0.1:0", security=self.mesh.security
                )
            )
            self.mesh.announce("orders", self.server)
            self._stack = stack.pop_all()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def of_mesh(seed: str, **given: object) -> SourceOptions:
    """Return the options of a source that a mesh finds."""
    mesh = {"mesh.cluster": "etl", "mesh.seeds": seed, "mesh.service": "orders"}
    return options(**{"offsetTimeout": "30s", **mesh, **given})


@contextmanager
def watching(seed: str, **given: object) -> Iterator[Watch]:
    """Watch the spools that a mesh finds."""
    watch = Watch(of_mesh(seed, **given))
    try:
        yield watch
    finally:
        watch.close()


def ends(watch: Watch, *, patient: bool = False) -> list[int]:
    """Return the numbers of the last messages."""
    return sorted(one.stable - 1 for one in watch.ask(patient=patient).values())


def test_spools_are_found_by_their_service_and_taken_up_as_they_come(tmp_path: Path) -> None:
    """Each with what it has; one that leaves is shown no more, and is not silent."""
    with Producer(tmp_path / "a", 3, None) as a:
        seed = a.mesh.endpoint
        with watching(seed) as watch:
            assert ends(watch, patient=True) == [3]
            with Producer(tmp_path / "b", 5, seed):
                assert eventually(lambda: ends(watch) == [3, 5])
                b = next(one for one in watch.endpoints if one.url != a.server.endpoint)
            assert eventually(lambda: ends(watch) == [3])
            assert watch.silent() == watch.unheard() == []
            assert not b._thread.is_alive()


def test_seeds_are_told_as_text_of_each_kind(tmp_path: Path) -> None:
    """A folder that all nodes see finds what no address names."""
    seed = f"dir://{tmp_path}/nodes"
    with Producer(tmp_path / "a", 3, seed), watching(seed) as watch:
        assert ends(watch, patient=True) == [3]


def test_as_many_as_a_query_needs_are_waited_for(tmp_path: Path) -> None:
    """And who does not find them says what the mesh says."""
    with Producer(tmp_path / "a", 3, None) as a, Producer(tmp_path / "b", 5, a.mesh.endpoint):
        seed = a.mesh.endpoint
        with watching(seed, **{"mesh.minProducers": 2}) as watch:
            assert ends(watch, patient=True) == [3, 5]
        few = {"mesh.minProducers": 3, "offsetTimeout": "200ms"}
        with watching(seed, **few) as watch:
            with pytest.raises(mm.TimedOutError, match="with 'orders' within 0.2 s, not 3"):
                watch.ask(patient=True)


def test_a_spool_that_is_wanted_is_given_time_to_be_found(tmp_path: Path) -> None:
    """A task that was planned before needs it; what does not come is not waited for longer."""
    with Producer(tmp_path / "a", 3, None) as a, watching(a.mesh.endpoint) as watch:
        uuid = a.spool.info().uuid
        assert watch.ask(patient=True, wanted=frozenset((uuid,))).keys() == {uuid}
    with Producer(tmp_path / "b", 3, None) as b:
        with watching(b.mesh.endpoint, offsetTimeout="5s") as watch:
            found = watch.ask(patient=True, wanted=frozenset(("f" * 32,)))
            assert found.keys() == {b.spool.info().uuid}


def test_a_spool_that_moves_is_one_spool(tmp_path: Path) -> None:
    """Its next life is at another endpoint, and a group has what it holds there."""
    with Producer(tmp_path / "seed", 1, None) as other:
        seed = other.mesh.endpoint
        with watching(seed, groupId="g") as watch:
            with Producer(tmp_path / "a", 9, seed) as a:
                uuid = a.spool.info().uuid
                assert eventually(lambda: uuid in watch.ask())
                watch.hold({uuid: Place(5, 1)}, {}, "g")
            with Producer(tmp_path / "a", 0, seed) as a:
                shown = eventually(lambda: watch.ask().get(uuid))
                assert shown.endpoints == (a.server.endpoint,)
                one = next(one for one in watch.endpoints if one.url == a.server.endpoint)
                assert eventually(lambda: watch.ask() and one.holding.leased)[2] == 5


def test_who_is_away_is_kept_and_who_was_followed_is_not(tmp_path: Path) -> None:
    """A node that is not heard of may have its server still; one that is shown elsewhere in a later
    life has not."""

    class Says:
        """Stands in for a mesh."""

        there: frozenset[str] = frozenset()
        away: frozenset[str] = frozenset()

        def found(self) -> Found:
            """Return what the test says."""
            return Found(self.there, self.away)

        def wait(self, timeout: float) -> None:
            """Do not."""

        def close(self) -> None:
            """Nothing."""

    says = Says()
    with filled(tmp_path / "s", 3) as first, mm.SpoolServer(first, bind=of_its_own()) as server:
        old = server.endpoint
        watch = Watch(options(endpoints=old, offsetTimeout="200ms"))
        watch._mesh = says  # type: ignore[assignment]
        says.there = frozenset((old,))
        assert ends(watch, patient=True) == [3]
    says.there, says.away = frozenset(), frozenset((old,))
    eventually(lambda: watch.ask() and watch.endpoints[0].down)
    assert [one.url for one in watch.endpoints] == [old]
    assert watch.silent()[0].startswith(old)
    with mm.Spool(str(tmp_path / "s")) as second:
        with mm.SpoolServer(second, bind=of_its_own()) as server:
            says.there = frozenset((server.endpoint, "nonsense"))
            eventually(lambda: watch.ask() and len(watch.endpoints) == 1)
            (shown,) = watch.last().values()
            assert shown.endpoints == (server.endpoint,)
            (silent,) = watch.silent()
            assert silent.startswith("nonsense (")
            assert watch.unheard() == [silent]
            watch.close()


def test_a_secret_of_the_mesh_protects_its_spools(tmp_path: Path) -> None:
    """Those that are shown over TLS, unless a file of policies says otherwise."""
    path = secret_file()
    with Producer(tmp_path / "a", 3, None, secret=str(path)) as a:
        assert a.server.endpoint.startswith("tls+tcp://")
        with watching(a.mesh.endpoint, **{"mesh.secretFile": path}) as watch:
            assert ends(watch, patient=True) == [3]


def test_an_endpoint_waits_for_nobody_as_the_mesh_ends(tmp_path: Path) -> None:
    """A query that is stopped leaves, and its threads end."""
    with Producer(tmp_path / "a", 3, None) as a:
        with watching(a.mesh.endpoint) as watch:
            ends(watch, patient=True)
            (endpoint,) = watch.endpoints
            assert len(a.mesh.wait_for(count=2, timeout=WAIT_S)) == 2
        assert not endpoint._thread.is_alive()
        assert eventually(lambda: len([m for m in a.mesh.members() if m.state < 3]) == 1)
