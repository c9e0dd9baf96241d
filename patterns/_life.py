"""Whether a queue is open, was closed or has failed, and what its methods raise then.

Not here: its books.  Law: what ended it is logged once.
"""

from __future__ import annotations

import logging

from meshmsg import ClosedError

LOG = logging.getLogger("meshmsg")


class Life:
    """Whether a queue is open, was closed, or has failed; and what its methods raise then."""

    def __init__(self, article: str, name: str, parts: str) -> None:
        """Begin open.

        Args:
            article: What stands before the name in a sentence: "a" or "an".
            name: What it is: "work queue".
            parts: What of it can be closed by others: "its engine".
        """
        self.closed = False
        self._failure: BaseException | None = None
        self._one = f"{article} {name}"
        self._this = f"the {name}"
        self._parts = parts

    @property
    def over(self) -> bool:
        """Whether nobody has anything to wait for any more."""
        return self.closed or self._failure is not None

    def fail(self, error: BaseException) -> None:
        """Note why the queue cannot go on, and log it.

        Once it is over, errors are only what comes of that: its sockets are closed.
        """
        if self.over:
            return
        self._failure = error
        if isinstance(error, ClosedError):
            LOG.warning(
                "%s serves nobody any more: %s was closed by others; its own close() is what "
                "closes it",
                self._one,
                self._parts,
            )
        else:
            LOG.error("%s failed, and is closed", self._one, exc_info=error)

    def check_failure(self) -> None:
        """Raise if it has ended though nobody closed it."""
        if isinstance(self._failure, ClosedError):
            raise ClosedError(
                f"{self._this} is closed: {self._parts} was closed by others"
            ) from self._failure
        if self._failure is not None:
            raise ClosedError(f"{self._this} failed, and is closed") from self._failure

    def check(self) -> None:
        """Raise if it is over."""
        self.check_failure()
        if self.closed:
            raise ClosedError(f"{self._this} is closed")

    def tell(self) -> None:
        """Raise if it had failed before it was closed; once."""
        failure, self._failure = self._failure, None
        if failure is not None and not isinstance(failure, ClosedError):
            raise ClosedError(f"{self._this} had failed before it was closed") from failure
