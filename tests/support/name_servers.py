"""A name server for tests, on loopback.

Not here: what is tested with it (tests/mesh). Law: it says what its table says, and no more.
"""

from __future__ import annotations

import socket
import threading

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.resolver
import dns.rrset


class NameServer:
    """Answers over UDP on loopback, from a table that a test changes."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], list[str]] = {}
        self.ttl = 30
        self.asked: list[tuple[str, str]] = []
        """Questions that came: names and kinds."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            data, peer = self._socket.recvfrom(4096)
            if not data:
                return
            asked = dns.message.from_wire(data)
            reply = dns.message.make_response(asked)
            reply.flags |= dns.flags.RA
            question = asked.question[0]
            kind = dns.rdatatype.to_text(question.rdtype)
            self.asked.append((question.name.to_text(), kind))
            said = self.records.get((question.name.to_text(), kind))
            if said:
                reply.answer.append(dns.rrset.from_text(question.name, self.ttl, "IN", kind, *said))
            elif not any(name == question.name.to_text() for name, _ in self.records):
                reply.set_rcode(dns.rcode.NXDOMAIN)
            self._socket.sendto(reply.to_wire(max_size=65000), peer)

    def resolver(self) -> dns.resolver.Resolver:
        """Who asks it."""
        made = dns.resolver.Resolver(configure=False)
        made.nameservers = ["127.0.0.1"]
        made.port = self._socket.getsockname()[1]
        return made

    def close(self) -> None:
        """End it."""
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()
