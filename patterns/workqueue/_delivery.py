"""What a work queue and its workers ask of the core: the options of their sockets.

Not here: what is in a message (`_batch`), the queue (`_queue`) and its workers (`_worker`).
"""

from __future__ import annotations

from typing import Any

from meshmsg import Engine, Policy, Profile

from ._batch import RECORD_SIZE_MAX

GOODBYE = 5.0
"""Seconds the last word to workers may take at close."""
PEER_BYTES = 64 * RECORD_SIZE_MAX
"""Bytes that one worker may have: its prefetch is what bounds it."""


def push_options(
    *,
    bind: str,
    lease: float | None,
    delayed: tuple[int, int],
    insecure: bool,
    engine: Engine | None,
    security: Policy | Profile | None,
) -> dict[str, Any]:
    """The options of the Push of a queue.

    It keeps one batch that nobody has room for; all else waits as records.  delayed: batches, and
    bytes of them, that may wait to go out later.
    """
    messages, octets = delayed
    return {
        "bind": bind,
        "delivery": "at_least_once",
        "routing": "least_loaded",
        "ack_timeout": lease,
        "require": "acks",
        "no_peer": "error",
        "send_queue_messages": 1,
        "send_queue_bytes": PEER_BYTES,
        "delayed_messages": messages,
        "delayed_bytes": octets,
        "insecure": insecure,
        "engine": engine,
        "security": security,
        "linger": GOODBYE,
    }


def pull_options(
    *,
    prefetch: int,
    identity: bytes,
    engine: Engine | None,
    security: Policy | Profile | None,
) -> dict[str, Any]:
    """The options of the Pull of a worker, which connects later."""
    return {
        "ack": "manual",
        "prefetch": prefetch,
        "identity": identity,
        "engine": engine,
        "security": security,
    }
