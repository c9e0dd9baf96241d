"""Publish and subscribe: each subscriber gets the topics it asked for, from its first message on.

Run it: python examples/pub_sub.py
"""

import threading

import meshmsg as mm


def listen(endpoint: str, topics: list[str], count: int, seen: list[str]) -> None:
    """Subscribe, and note so many messages."""
    with mm.Sub(connect=endpoint, topics=topics) as sub:
        for _ in range(count):
            message = sub.recv(timeout=10)
            seen.append(f"{message.topic} {message.decode()}")


def main() -> None:
    """One publisher, two subscribers with different topics."""
    everything: list[str] = []
    euros: list[str] = []
    with mm.Pub(bind="tcp://127.0.0.1:0") as pub:
        threads = [
            threading.Thread(target=listen, args=(pub.endpoint, ["fx."], 3, everything)),
            threading.Thread(target=listen, args=(pub.endpoint, ["fx.eur"], 2, euros)),
        ]
        for thread in threads:
            thread.start()
        pub.wait_for_subscribers("fx.eur.usd", 2, timeout=10)  # no slow joiner, no sleep
        pub.send(b"1.0842", topic="fx.eur.usd")
        pub.send(b"157.31", topic="fx.usd.jpy")
        pub.send(b"169.80", topic="fx.eur.jpy")
        pub.send(b"4.21", topic="bonds.us10y")  # nobody asked: it does not leave this process
        for thread in threads:
            thread.join()
    print(f"the subscriber to 'fx.' heard    {everything}")
    print(f"the subscriber to 'fx.eur' heard {euros}")


if __name__ == "__main__":
    main()
