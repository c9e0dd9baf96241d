"""How a spool of a source is connected to, on the driver and on executors.

Not here: what is read of it. Law: what protects it is a path on each machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import meshmsg as mm

from .._protected import protected
from .options import SourceOptions

TLS = "tls+tcp://"


def connected(remote: mm.RemoteSpool) -> bool:
    """Whether anybody is there now, without asking."""
    try:
        remote._req.wait_for_peers(1, timeout=0)
    except (mm.WouldBlockError, mm.ClosedError):
        return False
    return True


def silence_of(remote: mm.RemoteSpool) -> str:
    """Say what is known of why nothing comes from there: what dialling met last, if that failed."""
    if connected(remote):
        return "it has not answered yet"
    return f"it is not connected{remote._trouble()}"


def remote_of(
    endpoints: Sequence[str], options: SourceOptions, timeout: float, **more: Any
) -> mm.RemoteSpool:
    """Open one; of a mesh with a secret, what is shown over TLS has the same.

    Args:
        endpoints: Of servers that show the same spool.
        options: Of the source.
        timeout: Seconds that an answer may take.
        more: As of RemoteSpool.

    Raises:
        AddressError: An endpoint is malformed.
        UsageError, ResourceError, OSError: As of the file of policies, or of the secret.
    """
    secret = None if options.mesh is None else options.mesh.secret
    if secret and options.security is None and all(one.startswith(TLS) for one in endpoints):
        more["security"] = mm.Secret(secret)
    with protected(options.security):
        return mm.RemoteSpool(tuple(endpoints), timeout=timeout, **more)


class Asked(NamedTuple):
    """A question to a server that is on its way, of which spool it shows and how far."""

    remote: mm.RemoteSpool
    begun: Any

    def info(self, timeout: float) -> mm.RemoteSpoolInfo | None:
        """Wait for the answer; None: the server is busy.

        Raises:
            TimedOutError, PeerError, SpoolChangedError, ClosedError: As of `RemoteSpool.info`, and
                nothing is asked again.
        """
        return self.remote._end_info(self.begun, timeout)


def ask_now(remote: mm.RemoteSpool) -> Asked | None:
    """Ask which spool it is, and do not wait; None: that cannot be asked now."""
    begun = remote._begin_info()
    return None if begun is None else Asked(remote, begun)
