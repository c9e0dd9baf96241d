"""Asks seeds where nodes may be, each on a thread of its own, as any of them may take its time.

Not here: the seeds (_finding). Law: a seed that fails is asked again and told of
(`explain`); what it said before stays until it says something else. One that does not answer holds
up no other one, nor the end; it is told of, and is not asked again before it has answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

from meshmsg._binding.errors import UsageError
from meshmsg._events.log_records import block_signals, until_over
from meshmsg._mesh.limits import SEEDS_MAX as TAKEN_MAX
from meshmsg.mesh._finding.seeds import (
    ADDRESSES_MAX,
    ASK_FIRST_S,
    ASK_MAX_S,
    Seed,
    Static,
    believed,
)
from meshmsg.mesh._finding.text import seed_of
from meshmsg.mesh._finding.unreached import Attempts, Tried

SEEDS_MAX = 64
"""Seeds of one node."""
JITTER = 0.2
"""Part of the time between two questions that is random, so that nodes do not ask together."""
JOIN_S = 1.0
"""Seconds that the end waits for seeds that are being asked."""
SLOW_S = 1.0
"""Seconds without an answer after which it is told that there is none."""
HANGS_S = 30.0
"""Seconds without an answer after which the log is told."""
WORDS_MAX = 200
"""Characters that are kept of why a seed failed."""


@dataclass(frozen=True)
class SeedInfo:
    """What is known of one seed.

    Attributes:
        seed: Which, as its repr says.
        addresses: What it gave the last time that it gave something.
        asked: Seconds ago that it was asked last; None: never yet.
        error: Why it gave nothing then, or what was left out; "" if nothing was wrong.
        tried: By address, what became of the last attempt to connect there: "" is well, or not
            tried.
        waiting: Seconds that it has been asked for and has not answered; None: it is not being
            asked now.
    """

    seed: str
    addresses: tuple[str, ...]
    asked: float | None
    error: str
    tried: tuple[tuple[str, str], ...] = ()
    waiting: float | None = None

    @property
    def silence(self) -> str:
        """That it has not answered, in words; "": it has, or has hardly had the time."""
        return _silence(self.waiting)


def _silence(waiting: float | None) -> str:
    if waiting is None or waiting < SLOW_S:
        return ""
    return f"it was asked {waiting:.1f} s ago and has not answered"


class _Asked:
    """One seed, and what it said."""

    def __init__(self, seed: Seed) -> None:
        self.seed = seed
        self.addresses: list[str] = []
        self.at: float | None = None
        self.asks = False
        """Whether it is being asked now, since then."""
        self.due = 0.0
        self.wait = ASK_FIRST_S
        self.error = ""
        self.failed = 0
        """Questions in a row that it could not answer, or not well."""
        self.why = ""

    def ask(self, own: str, local: bool, now: float) -> float:
        """Ask, and note what came; return seconds until it is asked again."""
        self.at, self.asks = now, True
        try:
            found = self.seed._find(own)
        except Exception as error:  # a function of a user's may raise anything
            self.error = self.why = f"{type(error).__name__}: {error}"[:WORDS_MAX]
            self.failed += 1
            wait, self.wait = self.wait, min(2 * self.wait, ASK_MAX_S)
            return wait
        finally:
            self.asks = False
        given = isinstance(self.seed, Static)  # who wrote them there knows what they are
        taken, words = believed(found.addresses, local=local or given)
        self.addresses, self.error = taken, "; ".join(filter(None, (words, found.words)))
        self.wait = ASK_FIRST_S
        self.why = found.trouble
        self.failed = self.failed + 1 if found.trouble else 0
        return found.again if found.again is not None else ASK_FIRST_S

    def waiting(self, now: float) -> float | None:
        """Return the seconds that it has been asked for; None: it is not being asked."""
        at = self.at
        return max(now - at, 0.0) if self.asks and at is not None else None


def seeds_of(given: Iterable[Seed | str] | Seed | str | None) -> list[Seed]:
    """Return the seeds that a user gave; plain addresses are one of them.

    Raises:
        UsageError: One is neither; or there are too many.
        ResourceError: One needs a package that is not there.
    """
    given = () if given is None else [given] if isinstance(given, (Seed, str)) else given
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise TypeError(
            f"seeds is {given!r}; it is an address, a seed such as mesh.Dns(...), or several"
        )
    several = [(seed_of(one) or one) if isinstance(one, str) else one for one in given]
    plain = [one for one in several if isinstance(one, str)]
    seeds = [one for one in several if isinstance(one, Seed)]
    if len(plain) + len(seeds) != len(several):
        wrong = next(one for one in several if not isinstance(one, (Seed, str)))
        raise TypeError(f"a seed is {wrong!r}; it is an address or a seed such as mesh.Dns(...)")
    if len(seeds) > SEEDS_MAX:
        raise UsageError(
            f"{len(seeds)} seeds; a node has up to {SEEDS_MAX}, each of many addresses"
        )
    if len(plain) > TAKEN_MAX:
        raise UsageError(f"{len(plain):,} addresses are seeds; a node takes up to {TAKEN_MAX:,}")
    lists = [plain[at : at + ADDRESSES_MAX] for at in range(0, len(plain), ADDRESSES_MAX)]
    return [*map(Static, lists), *seeds]


class Seeding:
    """The threads that ask: one for all lists, and one for each other seed."""

    def __init__(
        self,
        seeds: Sequence[Seed],
        *,
        local: bool,
        rng: Random,
        own: Callable[[], str],
        found: Callable[[list[str]], None],
    ) -> None:
        """Begin to ask.

        Args:
            seeds: Whom.
            local: Whether this node is on loopback.
            rng: For the jitter.
            own: Tells the address of this node, "" while it is not known.
            found: Called on one of the threads with all addresses, each time that they have
                changed; by one at a time.
        """
        self._asked = [_Asked(seed) for seed in seeds]
        self._local, self._rng, self._own, self._found = local, rng, own, found
        self._last: list[str] | None = None
        self._telling = threading.Lock()
        """Of the thread that tells what was found."""
        self._lock = threading.RLock()
        self._turn = threading.Condition(self._lock)
        """The lock is entered, not this: that a signal's function can split."""
        self._over = False
        lists = [one for one in self._asked if isinstance(one.seed, Static)]
        others = [[one] for one in self._asked if not isinstance(one.seed, Static)]
        self._threads = [
            threading.Thread(target=self._run, args=(each,), name="meshmsg-seeds", daemon=True)
            for each in ([lists] if lists else []) + others
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, mine: Sequence[_Asked]) -> None:
        until_over(block_signals)
        until_over(lambda: self._once(mine))
        for one in mine:
            one.seed._gone()

    def _once(self, mine: Sequence[_Asked]) -> bool:
        """Ask who is due, and wait until the next one is; true: it is over."""
        for one in mine:
            now = time.monotonic()
            if one.due <= now and not self._over:
                wait = one.ask(self._own(), self._local, now)
                one.due = now + wait * (1 + JITTER * (self._rng.random() - 0.5))
        self._tell()
        with self._lock:
            while not self._over:
                left = min(one.due for one in mine) - time.monotonic()
                if left <= 0:
                    break
                self._turn.wait(min(left, threading.TIMEOUT_MAX))
            return self._over

    def _tell(self) -> None:
        """Tell what all of them said, if that has changed."""
        with self._telling:
            merged = list(dict.fromkeys(a for one in self._asked for a in one.addresses))
            if merged != self._last and not self._over:
                self._last = merged
                self._found(merged)

    def ask_again(self) -> None:
        """Ask all of them now: this node has an address that they are to know."""
        with self._lock:
            for one in self._asked:
                one.due = 0.0
            self._turn.notify_all()

    def infos(self, errors: Callable[[str], str]) -> tuple[SeedInfo, ...]:
        """Tell what is known of each; errors: why an address was not reached."""
        now = time.monotonic()
        return tuple(
            SeedInfo(
                seed=repr(one.seed),
                addresses=tuple(one.addresses),
                asked=None if one.at is None else max(now - one.at, 0.0),
                error=one.error,
                tried=tuple((a, errors(a)) for a in one.addresses),
                waiting=one.waiting(now),
            )
            for one in self._asked
        )

    def tried(self) -> list[Tried]:
        """Tell of each what became of asking it; of a list of addresses each is one."""
        found, now = [], time.monotonic()
        for one in self._asked:
            waiting = one.waiting(now) or 0
            hangs = _silence(waiting) if waiting >= HANGS_S else ""
            asked, addresses = Attempts(one.failed, one.why, hangs), tuple(one.addresses)
            if isinstance(one.seed, Static):
                found += [Tried(address, asked, (address,)) for address in addresses]
            else:
                found.append(Tried(repr(one.seed), asked, addresses))
        return found

    def close(self) -> None:
        """Ask no more. Safe to call twice. What hangs ends by itself, and is not waited for."""
        with self._lock:
            self._over = True
            self._turn.notify_all()
        deadline = time.monotonic() + JOIN_S
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(deadline - time.monotonic(), 0.0))
