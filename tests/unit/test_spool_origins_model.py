"""Producers of a spool as a model has them: whatever they put, in whatever order, and however often
it is opened again, with its files harmed or not. And threads that put at once.

Not here: each promise by itself (test_spool_origins.py).
"""

from __future__ import annotations

import tempfile
import threading
from itertools import chain
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import meshmsg as mm
from tests.support.spooled import bodies, small

NAMES = ("a", "b", "c")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, 12)),
        st.tuples(st.just("many"), st.sampled_from(NAMES), st.integers(0, 12)),
        st.tuples(st.just("plain"), st.just(""), st.just(0)),
        st.tuples(st.just("open"), st.sampled_from(["", "lost", "cut"]), st.just(0)),
    ),
    max_size=30,
)
MANY = 3
"""Messages of a call for many."""


class Model:
    """What a spool has, and knows."""

    def __init__(self) -> None:
        self.there: list[bytes] = []
        self.lasts: dict[str, int] = {}

    def put(self, name: str, number: int) -> bool:
        """Put one; whether it was new."""
        if number <= self.lasts.get(name, -1):
            return False
        self.lasts[name] = number
        self.there.append(body_of(name, number))
        return True

    def number_of(self, name: str, number: int) -> int:
        """Return where it is; 0: it is not there."""
        found = body_of(name, number)
        return self.there.index(found) + 1 if found in self.there else 0


def body_of(name: str, number: int) -> bytes:
    """Return the body of that origin."""
    return f"{name} {number}".encode()


def put_one(spool: mm.Spool, model: Model, name: str, number: int) -> None:
    """Put one here and there."""
    was = model.number_of(name, number)
    seq = spool.append(body_of(name, number), origin=(name, number), wait=False)
    new = model.put(name, number)
    assert isinstance(seq, mm.SpoolRepeat) is not new
    assert seq == len(model.there) if new else seq in (was, 0)
    if not new and number == model.lasts[name]:
        assert seq == was  # of the last one it is always known


def put_many(spool: mm.Spool, model: Model, name: str, number: int) -> None:
    """Put some in a row."""
    made = [body_of(name, number + at) for at in range(MANY)]
    before = len(model.there)
    put = spool.append_many(made, origin=(name, number), wait=False)
    new = sum(model.put(name, number + at) for at in range(MANY))
    assert put == (range(before + 1, before + new + 1) if new else range(0))


def harm(path: Path, how: str) -> None:
    """Harm the file of the producers, if there is one."""
    file = path / "producers"
    if file.exists() and how == "lost":
        file.unlink()
    elif file.exists() and how == "cut":
        file.write_bytes(file.read_bytes()[:-1])


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_it_is_what_a_model_says(steps: list[tuple[str, str, int]]) -> None:
    """What is put, what is a repeat, and what is known."""
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        spool = small(path)
        try:
            for what, name, number in steps:
                if what == "put":
                    put_one(spool, model, name, number)
                elif what == "many":
                    put_many(spool, model, name, number)
                elif what == "plain":
                    model.there.append(b"plain")
                    spool.append(b"plain", wait=False)
                else:
                    spool.close()
                    harm(path, name)
                    spool = small(path)
                for one in NAMES:
                    assert spool.last_origin(one) == model.lasts.get(one)
            spool.flush()
            assert bodies(spool) == model.there
        finally:
            spool.close()


def test_threads_that_put_the_same_put_it_once(tmp_path: Path) -> None:
    """Each number is new to one of them."""
    count, threads = 300, 4
    new: list[list[int]] = [[] for _ in range(threads)]
    with small(tmp_path / "s") as spool:

        def put(mine: list[int]) -> None:
            for number in range(count):
                seq = spool.append(b"%d" % number, origin=("a", number))
                if not isinstance(seq, mm.SpoolRepeat):
                    mine.append(number)

        all_of_them = [threading.Thread(target=put, args=(mine,)) for mine in new]
        for one in all_of_them:
            one.start()
        for one in all_of_them:
            one.join()
        assert sorted(chain(*new)) == list(range(count))
        assert bodies(spool) == [b"%d" % number for number in range(count)]
        assert spool.info().repeated == count * (threads - 1)


def test_producers_beyond_the_limit_are_forgotten(tmp_path: Path) -> None:
    """The one that put longest ago: as many as the limit are known, in the next life, too."""
    limit = 10_000
    with small(tmp_path / "s") as spool:
        for number in range(limit):
            spool.append(b"", origin=(f"p{number}", 1), wait=False)
        assert isinstance(spool.append(b"", origin=("p0", 1)), mm.SpoolRepeat)  # it is no use
        assert (spool.info().producers, spool.info().forgotten_producers) == (limit, 0)
        spool.append(b"", origin=("p0", 2), wait=False)
        spool.append(b"", origin=("one more", 1))
        assert (spool.info().producers, spool.info().forgotten_producers) == (limit, 1)
    with small(tmp_path / "s") as spool:
        known = [spool.last_origin(f"p{number}") for number in range(limit)]
        assert known == [2, None, *[1] * (limit - 2)]
        assert spool.last_origin("one more") == 1
