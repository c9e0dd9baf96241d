"""An idle queue with clients and workers of libzmq: both are plain REQ sockets."""

from __future__ import annotations

import threading

import pytest

from meshmsg.patterns import IdleQueue

zmq = pytest.importorskip("zmq", reason="pyzmq is not installed")

PATIENCE_MS = 60_000
JOBS = 5


def test_a_req_of_libzmq_is_client_and_worker() -> None:
    """The worker says that it is ready, then answers under the number it was given."""
    with IdleQueue(backlog=1) as queue, zmq.Context() as context:

        def work() -> None:
            with context.socket(zmq.REQ) as worker:
                worker.rcvtimeo, worker.linger = PATIENCE_MS, 0
                worker.connect(queue.back.endpoint)
                worker.send(b"READY")
                for _ in range(JOBS):
                    number, *body = worker.recv_multipart()
                    worker.send_multipart([number, *(frame.upper() for frame in body)])

        working = threading.Thread(target=work)
        working.start()
        queue.wait_for_workers(timeout=60)
        with context.socket(zmq.REQ) as client:
            client.rcvtimeo, client.linger = PATIENCE_MS, 0
            client.connect(queue.front.endpoint)
            for n in range(JOBS):
                client.send_multipart([b"job", b"%d" % n])
                assert client.recv_multipart() == [b"JOB", b"%d" % n]
        working.join(60)


def test_a_req_of_libzmq_is_refused_in_words() -> None:
    """It knows no refusals, so an answer says so; it asks on then."""
    with IdleQueue(backlog=0) as queue, zmq.Context() as context:
        with context.socket(zmq.REQ) as client:
            client.rcvtimeo, client.linger = PATIENCE_MS, 0
            client.connect(queue.front.endpoint)
            for _ in range(2):
                client.send(b"job")
                assert client.recv() == b"REFUSED 0 requests wait already"
