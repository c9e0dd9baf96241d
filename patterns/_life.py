"""Whether an `IdleQueue` is open, was closed or has failed, and what its methods raise then.

Not here: its books (`_idle`).  Law: what ended it is logged once.
"""

from __future__ import annotations

from meshmsg import ClosedError

from ._idle import LOG


class Life:
    """Whether a queue is open, was closed, or has failed; and what its methods raise then."""

    def __init__(self) -> None:
        self.closed = False
        self._failure: BaseException | None = None

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
                "an idle queue serves nobody any more: its front or back, or its engine, was "
                "closed by others; its own close() is what closes it"
            )
        else:
            LOG.error("an idle queue failed, and is closed", exc_info=error)

    def check_failure(self) -> None:
        """Raise if it has ended though nobody closed it."""
        if isinstance(self._failure, ClosedError):
            raise ClosedError(
                "the idle queue is closed: its front or back, or its engine, was closed by others"
            ) from self._failure
        if self._failure is not None:
            raise ClosedError("the idle queue failed, and is closed") from self._failure

    def check(self) -> None:
        """Raise if it is over."""
        self.check_failure()
        if self.closed:
            raise ClosedError("the idle queue is closed")

    def tell(self) -> None:
        """Raise if it had failed before it was closed; once."""
        failure, self._failure = self._failure, None
        if failure is not None and not isinstance(failure, ClosedError):
            raise ClosedError("the idle queue had failed before it was closed") from failure
