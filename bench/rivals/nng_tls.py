"""pynng over TLS: NNG's, by mbedTLS; both ends have a certificate, and look at the other's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..base.certificate import CERTIFICATE, KEY
from ..base.task import Task
from ..peers.seam import Answerer, Asker, Receiver, Sender
from .nng_python import NngAnswerer, NngAsker, NngEnd, NngReceiver, NngSender, Pynng


class Protected(NngEnd):
    """A socket that has TLS."""

    def protected(self, pynng: Any, task: Task) -> dict[str, Any]:
        """The certificate, and that the other end is to have it, too."""
        kinds = pynng.TLSConfig
        listens = {} if task.receives else {"server_name": "localhost"}
        return {
            "tls_config": kinds(
                kinds.MODE_SERVER if task.receives else kinds.MODE_CLIENT,
                auth_mode=kinds.AUTH_MODE_REQUIRED,
                ca_string=CERTIFICATE,
                own_cert_string=CERTIFICATE,
                own_key_string=KEY,
                **listens,
            )
        }


class TlsSender(Protected, NngSender):
    """A Push0."""


class TlsReceiver(Protected, NngReceiver):
    """A Pull0."""


class TlsAsker(Protected, NngAsker):
    """A Req0."""


class TlsAnswerer(Protected, NngAnswerer):
    """A Rep0."""


def over_tls(task: Task) -> Task:
    """The task with NNG's name of the transport."""
    return replace(task, url=f"tls+{task.url.removeprefix('tls+')}")


class PynngTls(Pynng):
    """pynng, by certificates."""

    name = "pynng-tls"
    transports = ("tcp",)
    kinds = ("thr", "lat")

    def sender(self, task: Task) -> Sender:
        """A Push0."""
        return TlsSender(over_tls(task))

    def receiver(self, task: Task) -> Receiver:
        """A Pull0."""
        return TlsReceiver(over_tls(task))

    def asker(self, task: Task) -> Asker:
        """A Req0."""
        return TlsAsker(over_tls(task))

    def answerer(self, task: Task) -> Answerer:
        """A Rep0."""
        return TlsAnswerer(over_tls(task))
