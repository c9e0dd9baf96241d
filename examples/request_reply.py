"""Request and reply, with a server that dies: the request is repeated and answered by the next one,
which refuses what it cannot answer.

Run it: python examples/request_reply.py
"""

import threading

import meshmsg as mm


def serve(server: mm.Rep, name: str, count: int) -> None:
    """Answer so many requests, or refuse them."""
    for _ in range(count):
        with server.recv(timeout=10) as request:  # refused, too, if an error ends this block
            if request:
                request.reply(f"{name}: {request.decode().upper()}".encode())
            else:
                request.refuse("there is nothing to be answered")


def main() -> None:
    """Ask one server, lose it, ask again."""
    with mm.Rep(bind="tcp://127.0.0.1:0") as first:
        endpoint = first.endpoint
        with mm.Req(connect=endpoint) as client:
            thread = threading.Thread(target=serve, args=(first, "first server", 1))
            thread.start()
            print(client.request(b"hello", timeout=5).decode())
            thread.join()
            first.close()
            try:
                client.request(b"anybody?", timeout=0.3)
            except (mm.TimedOutError, mm.PeerError) as error:  # PeerError: it was on its way
                print(f"with no server: {type(error).__name__}: {error}")
            with mm.Rep(bind=endpoint) as second:  # the same address: the client reconnects
                thread = threading.Thread(target=serve, args=(second, "second server", 2))
                thread.start()
                print(client.request(b"hello again", timeout=2, retries=3, deadline=9).decode())
                try:
                    client.request(b"", timeout=2)
                except mm.RefusedError as error:
                    print(f"refused: {error.reason}")
                thread.join()


if __name__ == "__main__":
    main()
