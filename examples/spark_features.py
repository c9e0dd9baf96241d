"""A web service whose heavy work is done by Spark's executors: texts come in, features go out.

The service is a plain program with Spark in it. `FanOut` hands each text to a task that has room,
and gives its features back to the request that waits, though a worker is killed meanwhile.

Run it: python examples/spark_features.py
"""

import http.client
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from meshmsg.spark import FanOut

TEXTS = 200
CLIENTS = 8
BUCKETS = 16
WAIT_S = 300.0


def extractor(folder: str) -> Callable[[bytes], bytes]:
    """What a task does with a text; the first text of the number 100 kills its worker."""

    def features(text: bytes) -> bytes:
        import json
        import os
        import signal
        import zlib

        words = text.decode().split()
        mark = os.path.join(folder, "killed")
        if "100" in words and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        buckets = [0] * BUCKETS
        for word in words:
            buckets[zlib.crc32(word.encode()) % BUCKETS] += 1
        return json.dumps({"words": len(words), "buckets": buckets}).encode()

    return features


def answering(fan: FanOut) -> type[BaseHTTPRequestHandler]:
    """What answers a request: each in a thread of its own, which waits for its result."""

    class Features(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            body = fan.submit(text).result(WAIT_S)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: Any) -> None:
            """Nothing."""

    return Features


def ask(port: int, text: str) -> Any:
    """Ask the service for the features of a text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        connection.request("POST", "/features", text.encode())
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def main() -> None:
    """Start Spark and the service, and be its clients."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        print("pyspark is not installed: pip install 'meshmsg[spark]'")
        return
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    with (
        tempfile.TemporaryDirectory() as folder,
        FanOut(spark, extractor(folder), workers=2) as fan,
        ThreadingHTTPServer(("127.0.0.1", 0), answering(fan)) as service,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        threading.Thread(target=service.serve_forever).start()
        texts = [f"text {number} " + "word " * (number % 7) for number in range(TEXTS)]
        found = list(clients.map(lambda text: ask(service.server_port, text), texts))
        right = all(
            one["words"] == len(text.split()) == sum(one["buckets"])
            for one, text in zip(found, texts, strict=True)
        )
        print(f"{TEXTS} texts from {CLIENTS} clients, each with its own features: {right}")
        print(f"a worker was killed: {(Path(folder) / 'killed').exists()}")
        print(f"texts that were tried again: {fan.stats().again > 0}")
        service.shutdown()
    spark.stop()


if __name__ == "__main__":
    main()
