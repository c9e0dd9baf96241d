"""A program: TLS handshakes of Python's ssl, and in another thread those of meshmsg's own table of
OpenSSL's functions; prints how many of each came about.

Arguments: the library of tests/c/tls_beside.c, who comes first (ours, theirs, both), how many, and
a file with certificate and key. Not here: what they must be (tests/fault/test_openssl_beside.py).
"""

from __future__ import annotations

import ctypes
import sys
import threading

STEPS_MAX = 10
"""Turns of a handshake."""


def theirs(count: int, pem: str) -> int:
    """Let Python's ssl do it, over memory as well."""
    import ssl  # when it is imported is what is tried

    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    done = 0
    for _ in range(count):
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        accepting = server.wrap_bio(to_server, to_client, server_side=True)
        dialing = client.wrap_bio(to_client, to_server)
        joined: set[ssl.SSLObject] = set()
        for _ in range(STEPS_MAX):
            for end in (dialing, accepting):
                try:
                    end.do_handshake()
                    joined.add(end)
                except ssl.SSLWantReadError:
                    pass
        dialing.write(b"there")
        done += len(joined) == 2 and accepting.read() == b"there"
    return done


def main(library: str, order: str, count: int, pem: str) -> None:
    """Ten of whoever comes first, then all of both at once."""
    made: list[int] = []

    def ours() -> None:
        made.append(ctypes.CDLL(library).tls_beside(count))

    if order == "ours":
        ctypes.CDLL(library).tls_beside(10)
    elif order == "theirs":
        theirs(10, pem)
    thread = threading.Thread(target=ours)
    thread.start()
    done = theirs(count, pem)
    thread.join()
    print(made[0], done)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
