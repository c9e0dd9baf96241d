"""What a mesh is for threads and for asyncio: all that does not wait.

Not here: how a node is made (_opening.py), waiting (_sync.py, aio.py). Law: what is wrong with an
argument is told before anything changes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from meshmsg._binding.core import lib, to_ms
from meshmsg._binding.errors import TimedOutError, UsageError
from meshmsg._hints.plural import counted
from meshmsg._mesh.limits import WEIGHT
from meshmsg._mesh.octets import MalformedError
from meshmsg._mesh.told import Member, State
from meshmsg._ranges.server_form import ServerForm
from meshmsg._security.tls import Secret
from meshmsg._socket.base import SocketBase
from meshmsg._socket.options import check_count
from meshmsg._socket.state import Followed
from meshmsg.mesh._addresses import name_of, reachable
from meshmsg.mesh._driver import LEAVE_S
from meshmsg.mesh._explain import ITSELF, Explanation, matching
from meshmsg.mesh._finding.lacking import lacking
from meshmsg.mesh._finding.seeds import Seed
from meshmsg.mesh._follow import Follower
from meshmsg.mesh._offers import check_open, service_name
from meshmsg.mesh._opening import opened
from meshmsg.mesh._outside.questions import Questions
from meshmsg.mesh._place import AUTO
from meshmsg.mesh._select import Choice, choice_of, misfit
from meshmsg.mesh._watch import is_there, offers

SocketT = TypeVar("SocketT", bound=SocketBase)


class MeshForm:
    """A node of a mesh. Use `meshmsg.mesh.Mesh`, or that of `meshmsg.mesh.aio`."""

    def __init__(
        self,
        *,
        cluster: str,
        name: str = "",
        seeds: Iterable[Seed | str] | Seed | str | None = None,
        bind: str | None = None,
        advertise: str | Sequence[str] = AUTO,
        secret: str | os.PathLike[str] | Secret | None = None,
        zone: str = "",
        insecure: bool = False,
        transport: Literal["tcp", "udp"] = "tcp",
    ) -> None:
        """Join; what is taken and raised is said of its class."""
        parts = opened(
            cluster=cluster,
            name=name,
            seeds=seeds,
            bind=bind,
            advertise=advertise,
            secret=secret,
            zone=zone,
            insecure=insecure,
            transport=transport,
        )
        self.security: Secret | None = parts.security
        self._driver = driver = parts.driver
        self._followers: list[Follower] = []
        questions = Questions(self, trusted=parts.trusted)
        driver.answer = questions.answer
        driver.listen(questions)
        parts.begin()

    # What it is

    @property
    def name(self) -> str:
        """What this node is called."""
        return self._driver.core.me().name

    @property
    def node_id(self) -> bytes:
        """16 octets that no other node has, nor this one after a restart."""
        return self._driver.core.me().node_id

    @property
    def endpoint(self) -> str:
        """Where others reach the mesh port: a seed for them. Thread-safe: yes.

        The first address of `advertise=`, or where it is bound. Of a port that is bound to all
        addresses it is the one that most peers see this node at. Until anybody has seen it, it is
        the IP that this machine sends from, or loopback if it has no route to the outside.
        """
        return self._driver.place.endpoint

    @property
    def closed(self) -> bool:
        """Whether it was closed, or has left."""
        return self._driver.over

    # What it knows

    def _members(self) -> list[Member]:
        return self._driver.do(self._driver.core.members)

    def members(self) -> list[Member]:
        """Tell of all nodes that are known, this one first. Thread-safe: yes.

        Returns:
            Also those that are UNREACHABLE, and for some time those that left or are FORGOTTEN.

        Raises:
            ClosedError: The mesh was closed.
        """
        self._driver.check()
        return self._members()

    def services(self) -> dict[str, list[Member]]:
        """Tell which services there are, and who offers each. Thread-safe: yes.

        Returns:
            By name the nodes that are taken to be there.

        Raises:
            ClosedError: The mesh was closed.
        """
        found: dict[str, list[Member]] = {}
        for member in filter(is_there, self.members()):
            for service in member.record.services:
                found.setdefault(service.name, []).append(member)
        return found

    def endpoints(self, service: str) -> dict[str, Member]:
        """Tell where a service can be connected to from here, for who connects by himself.

        Thread-safe: yes.

        Args:
            service: The name.

        Returns:
            By endpoint the node that offers it, one endpoint a node: where it has several, one that
            other machines reach. Also of nodes that are UNREACHABLE, which may come back: look at
            `state`.

        Raises:
            UsageError: It is no name.
            ClosedError: The mesh was closed.
        """
        name = service_name(service)
        own, *others = self.members()
        found: dict[str, Member] = {}
        for member in (*others, own):
            url = reachable(member.record, name, own.record.host)
            before = found.get(url)
            gone = member.state in (State.LEFT, State.FORGOTTEN)
            if url and not gone and not (before and is_there(before)):
                found[url] = member
        return found

    def explain(self, node: str) -> Explanation:
        """Tell why this node sees another one, or does not. Thread-safe: yes.

        Args:
            node: Its name, the beginning of its id in hex (4 characters and more), or an address
                of its mesh port: host:port or tcp://host:port.

        Returns:
            What is known of it: the last contact, who said what its state says, why connecting
            failed, and what each seed says. `str()` of it is text.

        Raises:
            ClosedError: The mesh was closed.
        """
        if not isinstance(node, str):
            raise TypeError(f"node is {node!r}; it is a name, an id in hex or an address")
        self._driver.check()
        return self._explained(node)

    def _explained(self, node: str) -> Explanation:
        return self._driver.do(lambda: self._explain(node))

    def _explain(self, node: str) -> Explanation:
        """Explain; the lock is held."""
        driver = self._driver
        members, strangers = driver.core.members(), driver.strangers.lines()
        found = matching(members, node)
        names = {one.record.node_id: name_of(one) for one in members}
        names[members[0].record.node_id] = ITSELF
        link = driver.link
        errors = {address: link.why(address) for address in tuple(link.errors)}
        return Explanation(
            asked=node,
            others=tuple(members[1:]),
            found=found,
            host=members[0].record.host,
            now=driver.clock(),
            told_by={
                one.record.node_id: names.get(one.told_by, one.told_by.hex()[:8]) for one in found
            },
            errors={
                **errors,
                **{url: why for f in self._followers for url, why in f.errors.items()},
            },
            seeds=driver.seeding.infos(lambda address: errors.get(address, "")),
            own=driver.place.addresses,
            unasked=driver.unasked,
            strangers=strangers,
            turned_away=link.turned_away.lines(),
            dropped=link.dropped + (driver.port.dropped if driver.port else 0),
            refused=driver.port.counts if driver.port else {},
            by_datagrams=frozenset(
                one.record.node_id
                for one in found
                if driver.port and driver.port.by_datagrams(one.record.node_id)
            ),
        )

    # What it offers, and follows

    def announce(
        self,
        service: str,
        socket: SocketBase | ServerForm,
        *,
        meta: Mapping[str, str] | None = None,
        weight: int = WEIGHT,
    ) -> None:
        """Offer a socket to all nodes, under a name; again: in place of what was offered so.

        A socket that is bound to all addresses of this machine is offered at the one that other
        nodes see; one on loopback to nodes of this machine only. It is withdrawn when it is closed.
        One that has no policy, in a mesh with a secret, is told of in the log.

        Thread-safe: yes.

        Args:
            service: The name: printable, up to 64 octets, without "/", "\\" and "..".
            socket: Bound to an endpoint of tcp, tls+tcp or ipc; or a `SpoolServer`, whose role is
                "spool" then: Spark finds it by that (`mesh.service`).
            meta: What others are told beside it: a dict of str, up to 256 octets in all.
            weight: How much of the work it should have, for `select="hash"` and "n=..."; 0: nobody
                who is new connects to it, and who is connected stays.

        Raises:
            UsageError: An argument is beyond its limit, the socket is not bound, or all services of
                this node are too much for its record (1,200 octets).
            TypeError: An argument is of another kind.
            ClosedError: The mesh or the socket was closed.
        """
        driver = self._driver

        def offer() -> None:
            driver.check()
            before = driver.offers.put(service, socket, meta, weight)
            try:
                driver.check_room()
                driver.changed()
            except MalformedError as error:
                driver.offers.restore(service, before)
                raise UsageError(f"announcing {service!r}: {error}") from None
            if words := driver.offers.open_to_all(service):
                driver.warn([words])

        driver.do(offer)
        driver.ring()

    def withdraw(self, service: str) -> None:
        """Offer a service no more; its socket stays open. Thread-safe: yes.

        Who is connected to it through the mesh is disconnected there, by the linger of its socket.

        Args:
            service: The name.

        Raises:
            UsageError: It is no name, or it is not offered.
            ClosedError: The mesh was closed.
        """
        driver = self._driver
        service_name(service)

        def end() -> None:
            driver.check()
            if not driver.offers.remove(service):
                raise UsageError(f"the service {service!r} is not offered by this node")
            driver.changed()

        driver.do(end)
        driver.ring()

    def connect(
        self, service: str, socket: SocketT | type[SocketT], *, select: str = "all", **options: Any
    ) -> SocketT:
        """Keep a socket connected to the nodes that offer a service, as long as it is open.

        Returns at once; `wait_for_peers` of the socket waits. A node that is UNREACHABLE is not
        connected to anew, and what is connected to it stays. One that has left is disconnected, as
        `disconnect` does it: by the linger of the socket; one that is FORGOTTEN as soon as no
        connection to it lives. One in whose place another one is chosen is left as soon as nothing
        is under way there. Endpoints that the user connects to are left alone. One that the user
        disconnects is connected to again, if the service is offered there and it is chosen.

        Thread-safe: yes.

        Args:
            service: The name.
            socket: A socket, or its class, of which one is opened then.
            select: "all" of the nodes; "nearest": those of this machine, else of this zone, else
                all; "n=3": that many, others in place of those that are not there; "hash": one, the
                same again for this node's name as long as that one is there.
            options: Of the socket, if its class is given; `security=` is that of the mesh, if
                nothing else is said.

        Returns:
            The socket.

        Raises:
            UsageError: An argument is wrong; or some nodes offer the service, and none of them in a
                role that this one can talk to. Of one that comes later a warning is logged, and it
                is not connected to.
            TypeError: An argument is of another kind.
            ClosedError: The mesh or the socket was closed.
        """
        choice, name = choice_of(select), service_name(service)
        self._driver.check()
        opened = self._to_follow(name, socket, options)
        try:
            self._follow(name, opened, choice)
        except BaseException:
            if opened is not socket:  # nobody else has it
                opened.close()
            raise
        return opened

    def _to_follow(
        self, service: str, socket: SocketT | type[SocketT], options: dict[str, Any]
    ) -> SocketT:
        """Return the socket that is to follow, which is opened if a class was given."""
        if isinstance(socket, type):
            if not issubclass(socket, SocketBase):
                raise TypeError(f"socket is {socket!r}; it is a socket, or the class of one")
            self._check_role(service, socket)
            if self.security is not None:
                options.setdefault("security", self.security)
            opened: Any = socket(**options)
            return opened  # type: ignore[no-any-return]
        if not isinstance(socket, SocketBase):
            raise TypeError(f"socket is {socket!r}; it is a socket, or the class of one")
        if options:
            raise UsageError(f"{', '.join(options)}: options are for a class, not for a socket")
        check_open(socket, f"connecting it to {service!r}")
        self._check_role(service, type(socket))
        return socket

    def _follow(self, service: str, socket: SocketBase, choice: Choice) -> None:
        driver = self._driver
        follower = Follower(
            service,
            socket,
            choice,
            lambda: self._members()[0],
            self._members,
            ring=driver.ring,
            lost=driver.lost,
            suspects=lambda: driver.suspects,
            heard=driver.heard,
        )
        driver.listen(follower)
        socket._follows = (*socket._follows, Followed(service, follower.why_nobody))
        self._followers = [one for one in self._followers if one.is_open] + [follower]

    def _check_role(self, service: str, kind: type[SocketBase]) -> None:
        wrong = misfit(kind._role, service, self._members())
        if wrong:
            raise UsageError(f"a {kind.__name__} cannot follow the service {service!r}: {wrong}")

    # Waiting and leaving, for both

    def _offering(self, service: str | None) -> list[Member]:
        return [one for one in self._members() if is_there(one) and offers(one, service)]

    def _check_wait(self, service: str | None, count: int, timeout: float | None) -> None:
        if service is not None:
            service_name(service)
        check_count("count", count)
        to_ms(timeout)  # refuses what is no time
        self._driver.check()

    def _too_few(self, service: str | None, count: int, timeout: float) -> TimedOutError:
        driver = self._driver
        found, seeds = self._offering(service), driver.seeding.infos(driver.link.why)
        members, strangers = driver.do(
            lambda: (driver.core.members(), driver.strangers.lines()),
        )
        words = lacking(
            service,
            count,
            timeout,
            found,
            members=members,
            seeds=seeds,
            came=(*strangers[:1], *driver.link.turned_away.lines()[:1]),
        )
        return TimedOutError(words, code=lib.MM_ETIMEDOUT)

    def _leave_soon(self) -> None:
        """Leave, from the thread of the mesh itself."""
        name = "meshmsg-leave"
        threading.Thread(target=self._driver.leave, args=(LEAVE_S,), name=name, daemon=True).start()

    def __repr__(self) -> str:
        if self._driver.pid != os.getpid():
            return f"<meshmsg.mesh.{type(self).__name__} of process {self._driver.pid}>"
        if self._driver.over:
            return f"<meshmsg.mesh.{type(self).__name__} {self.name!r} closed>"
        there = sum(map(is_there, self._members()))
        where = f"{self.name!r} at {self.endpoint}"
        return f"<meshmsg.mesh.{type(self).__name__} {where}, {counted(there, 'node')}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a Mesh cannot be pickled: it is a node; make one there, with a seed")
