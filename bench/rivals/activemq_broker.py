"""ActiveMQ, in memory, spoken to over STOMP: the protocol its Python clients have."""

from __future__ import annotations

import queue
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..base.need import BenchError, is_there, need
from ..base.task import PATIENCE, Task
from ..peers.seam import Answerer, Asker, End, Receiver, Sender
from .brokers import Broker

JAR = Path("/usr/share/activemq/bin/activemq.jar")
"""Where Debian has it."""
CONFIG = """<beans xmlns="http://www.springframework.org/schema/beans"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.springframework.org/schema/beans
    http://www.springframework.org/schema/beans/spring-beans-2.0.xsd
    http://activemq.apache.org/schema/core
    http://activemq.apache.org/schema/core/activemq-core.xsd">
  <broker xmlns="http://activemq.apache.org/schema/core" useJmx="false" persistent="false"
          brokerName="bench" dataDirectory="{folder}/data" useShutdownHook="true"
          schedulerSupport="false">
    <transportConnectors>
      <transportConnector name="stomp" uri="stomp://127.0.0.1:{port}"/>
    </transportConnectors>
  </broker>
</beans>
"""


class StompEnd(End):
    """A client with one queue to send to and one it is subscribed to."""

    def __init__(self, task: Task) -> None:
        stomp = need("stomp", "the peer activemq")
        parts = urlsplit(task.url)
        self.endpoint = task.url
        place = f"/queue{parts.path.replace('/', '.')}"
        self._sends, takes = f"{place}.there", f"{place}.back"
        if task.receives:
            self._sends, takes = takes, self._sends
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._client: Any = stomp.Connection12(
            [(parts.hostname, parts.port)], auto_decode=False, heartbeats=(0, 0)
        )
        listener = stomp.ConnectionListener()
        listener.on_message = lambda frame: self._arrived.put(frame.body)
        self._client.set_listener("bench", listener)
        self._client.connect(wait=True)
        receipt = stomp.WaitingListener("subscribed")
        self._client.set_listener("wait", receipt)
        self._client.subscribe(
            takes, id="1", ack="auto", headers={"receipt": "subscribed",
                                                 "activemq.prefetchSize": "1000"}
        )  # fmt: skip
        receipt.wait_on_receipt()
        self._client.remove_listener("wait")

    def _put(self, body: bytes) -> None:
        self._client.send(self._sends, body, content_type="application/octet-stream")

    def _take(self) -> bytes:
        try:
            body = self._arrived.get(timeout=PATIENCE)
        except queue.Empty:
            raise BenchError("nothing came from activemq") from None
        return body if isinstance(body, bytes) else bytes(body, "latin-1")

    def close(self) -> None:
        """Leave."""
        self._client.disconnect()


class StompSender(StompEnd, Sender):
    """Sends."""

    def send(self, body: bytes) -> None:
        """Send one."""
        self._put(body)

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many."""
        for _ in range(count):
            self._put(body)


class StompReceiver(StompEnd, Receiver):
    """Is subscribed."""

    def recv(self) -> bytes:
        """Take one."""
        return self._take()

    def recv_count(self, count: int) -> None:
        """Take so many."""
        for _ in range(count):
            self._take()


class StompAsker(StompEnd, Asker):
    """Sends there, takes what comes back."""

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._put(body)
        self._take()


class StompAnswerer(StompEnd, Answerer):
    """The other way round."""

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        for _ in range(count):
            self._put(self._take())


class ActiveMq(Broker):
    """ActiveMQ."""

    name = "activemq"
    package = "stomp.py"
    program = "java"
    client = "stomp"

    def missing(self) -> str | None:
        """Whether Java, the broker and the client are there."""
        if not JAR.exists():
            return "activemq is not installed"
        if not is_there("stomp"):
            return "the Python client stomp.py is not installed"
        return super().missing()

    def server_version(self) -> str:
        """Its jar has it."""
        try:
            with zipfile.ZipFile(JAR) as jar:
                manifest = jar.read("META-INF/MANIFEST.MF").decode()
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return ""
        found = re.search(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
        return f"ActiveMQ {found[1]}" if found else ""

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """Its launcher with a configuration of ours."""
        config = Path(folder) / "activemq.xml"
        config.write_text(CONFIG.format(port=port, folder=folder), encoding="utf-8")
        told = {"home": JAR.parent.parent, "base": folder, "conf": folder, "data": folder}
        properties = [f"-Dactivemq.{name}={value}" for name, value in told.items()]
        return [program, *properties, "-jar", str(JAR), "start", f"xbean:file:{config}"]

    def environment(self, port: int, folder: str) -> Mapping[str, str]:
        """Nothing of the user's."""
        return {"HOME": folder}

    def sender(self, task: Task) -> Sender:
        """A client."""
        return StompSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return StompReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A client."""
        return StompAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A client."""
        return StompAnswerer(task)
