"""A node of a mesh, for threads.

Not here: what does not wait (_mesh.py); asyncio (aio.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshmsg._binding.core import to_ms
from meshmsg._binding.errors import WouldBlockError
from meshmsg._mesh.told import Member
from meshmsg.mesh._driver import LEAVE_S
from meshmsg.mesh._mesh import MeshForm
from meshmsg.mesh._offers import service_name
from meshmsg.mesh._watch import Watch

if TYPE_CHECKING:
    from typing_extensions import Self


class Mesh(MeshForm):
    """A node of a mesh: it finds the others by any of them, and they find what it offers.

    Joins at once and in the background (`wait_for`), and goes on trying for ever. It has a thread
    of its own, and one that asks seeds. Leaving the `with` block leaves the mesh.

    Thread-safe: yes, every method. After a fork the child has to make its own.

    Args:
        cluster: Nodes of other clusters are not talked to; up to 64 octets.
        name: What people call this node; "": the machine's name and the process's number. Two nodes
            of one name are told by an event (CONFLICT), and both are members.
        seeds: Where others may be: addresses such as "tcp://10.0.0.5:7450", seeds as text such as
            "dns://name:7450", or seeds such as `Dns(...)`: up to 1,024 addresses and 64 others.
            None: this node waits for others.
        bind: Where its mesh port is, as "tcp://host:port"; port 0 takes a free one. None: on
            loopback, with a secret on all addresses.
        advertise: "auto": the address that it is bound to, or that others see it at; else the
            addresses that others reach it by, up to 4.
        secret: The cluster's secret: a `meshmsg.Secret`, or the path of its file. Connections of
            the mesh are then protected by TLS, and who does not have it is not let in.
        zone: Where it is, for `select="nearest"`.
        insecure: Allow binding outside loopback without a secret: whoever reaches it is a member.
        transport: "tcp": over connections; "udp": probes and news by datagrams, at the same port
            number, sealed by the secret if there is one. Syncs are over connections all the same,
            and so is what is said to a node that does not answer datagrams.

    Raises:
        UsageError: An argument is wrong.
        AddressError: It cannot be bound there.
        InsecureBindError: It is outside loopback, without a secret or insecure=True.
        ResourceError: A library is missing (`pip install meshmsg[mesh]`), or descriptors.
        OSError: The secret cannot be read.
    """

    def watch(self, service: str | None = None) -> Watch:
        """Tell what changes, beginning with who is there: `for event in mesh.watch("orders")`.

        Thread-safe: yes.

        Args:
            service: Of nodes that offer this, or did: one that begins to is UP, one that
                withdraws it has LEFT. None: of all.

        Returns:
            An iterator; close it when it is not needed any more.

        Raises:
            UsageError: It is no name.
            ClosedError: The mesh was closed.
        """
        made = Watch(service if service is None else service_name(service))
        self._driver.listen(made, lambda: made.first(self._offering(made._service)))
        return made

    def wait_for(
        self, service: str | None = None, count: int = 1, *, timeout: float | None = None
    ) -> list[Member]:
        """Wait until so many nodes offer a service.

        Thread-safe: yes.

        Args:
            service: The name; None: nodes of the mesh, this one included.
            count: How many at least.
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Returns:
            The nodes that do.

        Raises:
            TimedOutError: There were not so many in time; it says what seeds say.
            WouldBlockError: There are not so many now (timeout=0).
            UsageError: An argument is wrong.
            ClosedError: The mesh was closed.
        """
        self._check_wait(service, count, timeout)
        if not self._driver.wait(lambda: len(self._offering(service)) >= count, timeout):
            error = self._too_few(service, count, timeout or 0)
            raise WouldBlockError(str(error)) if timeout == 0 else error
        return self._offering(service)

    def leave(self, *, timeout: float = LEAVE_S) -> None:
        """Tell the others that this node leaves, and close. Again: nothing. Thread-safe: yes.

        Sockets that were announced or connected stay open. A signal's function may call it,
        whatever the main thread was in.

        Args:
            timeout: Seconds for telling them, at most 2 of which are needed.
        """
        to_ms(timeout)
        self._driver.leave(timeout)

    def close(self) -> None:
        """Close without a word: to the others it is as if the process had ended.

        Thread-safe: yes. Closing twice is harmless.
        """
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
