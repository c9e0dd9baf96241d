"""What a worker is, for threads and for asyncio: its socket, what it has, and its end.

Not here: the loop, which waits (_worker.py, _aio_worker.py). Law: nothing here waits.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from meshmsg import ClosedError, Engine, Policy, Profile, Stats

from ._delivery import pull_options
from ._held import Held, worker_name


class WorkerForm:
    """The worker of one work queue."""

    def __init__(
        self,
        kind: Any,
        endpoint: str,
        *,
        prefetch: int,
        silence: float,
        identity: bytes,
        engine: Engine | None,
        security: Policy | Profile | None,
    ) -> None:
        """Open the socket, a Pull of that kind; the arguments are those of its class."""
        self._held = Held(endpoint, prefetch, silence)
        self._prefetch = prefetch
        self._connected = False
        self._name = worker_name(identity)
        self._pull = kind(
            **pull_options(prefetch=prefetch, identity=self._name, engine=engine, security=security)
        )

    def __repr__(self) -> str:
        name = self._name.decode(errors="backslashreplace")
        if self._pull.closed:
            return f"<Worker {name} closed, {self._held.done_text}>"
        return f"<Worker {name} of {self._held.endpoint}: {self._held.text()}>"

    def stats(self) -> Stats:
        """The counts of the socket underneath.

        Thread-safe: yes, of a worker for threads.
        """
        counts: Stats = self._pull.stats()
        return counts

    def stop(self) -> None:
        """End the loop cleanly, as at SIGTERM: the batch in hand is done, no other is begun.

        The loop ends when it comes back for the next batch, which acknowledges the one in hand as
        ever; a loop that waits ends at once. What the worker had ahead goes to others, with the
        `attempt` it had. Then the worker is closed. Returns at once; later loops of this worker end
        at once, too.

        Thread-safe: yes, also from a signal's function; stopping twice is harmless.
        """
        if self._held.stop():
            self.close()
        else:
            self._take_no_more()

    def close(self) -> None:
        """Close the socket, and end the loop: whatever is not acknowledged goes to other workers.

        So does the batch in hand, even if it is done: use `stop` where that matters.

        Thread-safe: yes, of a worker for threads also from a signal's function; closing twice is
        harmless.
        """
        if self._held.busy:  # what is given back is to go to others
            self._take_no_more()
        self._held.leave()
        self._pull.close()

    def _take_no_more(self) -> None:
        with suppress(ClosedError):
            self._pull.stop_receiving()

    def _connect(self) -> None:
        """Once: a worker that nobody iterates over is to hold no batches."""
        if not self._connected and not self._held.stopping:
            self._held.looked = time.monotonic()
            self._pull.connect(self._held.endpoint)
            self._connected = True
