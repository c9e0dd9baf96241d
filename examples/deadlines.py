"""A question with a deadline, which goes on with it: to a server, and from there to another one.

Run it: python examples/deadlines.py
"""

import threading
import time

import meshmsg as mm

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def left(request: mm.Message) -> float:
    """Seconds until whoever asks has no use for the answer."""
    return float("inf") if request.expires is None else request.expires - time.time()


def store(server: mm.Rep, seen: list[str]) -> None:
    """The server behind: looks how much time there is before it begins."""
    for request in server:
        seen.append(str(request.headers.get("traceparent")))
        if left(request) < 0.5:
            request.refuse("there is not enough time for that")
        else:
            request.reply(request.upper())


def front(server: mm.Rep, store_at: str) -> None:
    """The server in front: asks the one behind with what is left, and with the same trace."""
    with mm.Req(connect=store_at) as behind:
        for request in server:
            try:
                seconds = left(request)
                answer = behind.request(
                    bytes(request), timeout=seconds, ttl=seconds, headers=request.headers
                )
                request.reply(answer)
            except (mm.RefusedError, mm.TimedOutError) as error:
                request.refuse(str(error))


def main() -> None:
    """Ask with much time, and with little."""
    seen: list[str] = []
    with mm.Rep(bind="tcp://127.0.0.1:0") as inner, mm.Rep(bind="tcp://127.0.0.1:0") as outer:
        for target, args in ((store, (inner, seen)), (front, (outer, inner.endpoint))):
            threading.Thread(target=target, args=args, daemon=True).start()
        with mm.Req(connect=outer.endpoint) as req:
            headers = {"traceparent": TRACE}
            answer = req.request(b"hello", timeout=10, ttl=10, headers=headers)
            print(f"with ten seconds: {answer.decode()}")
            try:
                req.request(b"hello", timeout=10, ttl=0.4, headers=headers)
            except mm.RefusedError as error:
                print(f"with 0.4 seconds: refused, {'not enough time' in error.reason}")
        print(f"one trace through both: {set(seen) == {TRACE}}")


if __name__ == "__main__":
    main()
