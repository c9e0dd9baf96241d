"""The other side is plain ZeroMQ: pyzmq pushes, subscribes and asks, and does not notice.

Run it: python examples/talk_to_pyzmq.py   (does nothing when pyzmq is not installed)
"""

import sys

import meshmsg as mm

try:
    import zmq
except ImportError:
    print("pyzmq is not installed, so there is nobody to talk to: pip install pyzmq")
    sys.exit(0)


def pipeline(context: "zmq.Context[zmq.Socket[bytes]]") -> None:
    """pyzmq PUSH to our Pull."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, context.socket(zmq.PUSH) as push:
        push.connect(pull.endpoint)
        for number in range(3):
            push.send(b"from pyzmq %d" % number)
        print([pull.recv(timeout=10).decode() for _ in range(3)])


def publish(context: "zmq.Context[zmq.Socket[bytes]]") -> None:
    """Our Pub to pyzmq SUB: topic and body are two frames, as ZeroMQ users write them."""
    with mm.Pub(bind="tcp://127.0.0.1:0") as pub, context.socket(zmq.SUB) as sub:
        sub.connect(pub.endpoint)
        sub.subscribe("fx.")
        pub.wait_for_subscribers("fx.eur", timeout=10)
        pub.send(b"1.0842", topic="fx.eur")
        sub.rcvtimeo = 10_000
        print(sub.recv_multipart())


def request(context: "zmq.Context[zmq.Socket[bytes]]") -> None:
    """pyzmq REQ to our Rep."""
    with mm.Rep(bind="tcp://127.0.0.1:0") as rep, context.socket(zmq.REQ) as req:
        req.connect(rep.endpoint)
        req.send(b"what is this?")
        question = rep.recv(timeout=10)
        question.reply(b"meshmsg, to the question: " + question)
        req.rcvtimeo = 10_000
        print(req.recv().decode())


def main() -> None:
    """Three conversations; the version of libzmq is printed first."""
    print(f"talking to pyzmq {zmq.__version__} (libzmq {zmq.zmq_version()})")
    with zmq.Context() as context:
        context.linger = 0
        pipeline(context)
        publish(context)
        request(context)


if __name__ == "__main__":
    main()
