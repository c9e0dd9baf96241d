"""An idle queue with clients and workers of libzmq: both are plain REQ sockets."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from meshmsg.patterns import IdleQueue
from tests.support.patterned import ask, until

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


def test_a_req_of_libzmq_is_not_given_what_one_before_it_asked_for_and_left_with_it() -> None:
    """It throws away what comes before it is ready, and has it again then."""
    with IdleQueue() as queue, zmq.Context() as context, ThreadPoolExecutor(1) as pool:

        def connect() -> zmq.Socket[bytes]:
            worker = context.socket(zmq.REQ)
            worker.rcvtimeo, worker.linger, worker.identity = PATIENCE_MS, 0, b"ann"
            worker.connect(queue.back.endpoint)
            return worker

        with queue._changed:  # which the queue needs to take what it has received for said
            with connect() as before:
                before.send(b"READY")
                until(lambda: any(one.received_messages for one in queue.back.peers()))
                until(lambda: not any(one.queued_in_messages for one in queue.back.peers()))
            until(lambda: not queue.back.peers())
            worker = connect()
            queue.back.wait_for_peers(timeout=60)
        with worker:
            asking = pool.submit(ask, queue, b"job")
            until(lambda: any(one.sent_messages for one in queue.back.peers()))
            worker.send(b"READY")
            number, *body = worker.recv_multipart()
            worker.send_multipart([number, *body])
            assert asking.result(60) == [b"job"]
