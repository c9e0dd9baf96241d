"""Router and dealers: one socket that knows its peers by name and chooses whom it talks to.

Run it: python examples/router_dealer.py
"""

import threading

import meshmsg as mm


def device(endpoint: str, name: str, said: dict[str, str]) -> None:
    """Announce itself, wait for an order, confirm it."""
    with mm.Dealer(connect=endpoint, identity=name.encode()) as dealer:
        dealer.send(b"here I am")
        said[name] = dealer.recv(timeout=10).decode()
        dealer.send(b"done")
        dealer.drain(timeout=10)


def main() -> None:
    """Three devices, an order for each of them by name, and one for a name nobody has."""
    said: dict[str, str] = {}
    with mm.Router(bind="tcp://127.0.0.1:0") as router:
        threads = [
            threading.Thread(target=device, args=(router.endpoint, name, said))
            for name in ("lamp", "fan", "door")
        ]
        for thread in threads:
            thread.start()
        names = sorted(bytes(router.recv(timeout=10).peer) for _ in threads)
        for name in names:
            router.send(b"switch on, " + name, to=name)
        for _ in threads:
            router.recv(timeout=10)
        try:
            router.send(b"switch on", to=b"toaster")
        except mm.MeshError as error:
            print(f"an order for an unknown name is an error: {error}")
        for thread in threads:
            thread.join()
    for device_name, order in sorted(said.items()):
        print(f"{device_name} was told: {order}")


if __name__ == "__main__":
    main()
