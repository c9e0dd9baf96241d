"""A peer program: one socket of a given libzmq library, which ctypes drives.

Usage: libzmq_peer.py LIBRARY [LIBRARY IT NEEDS...]. The requests: tests/support/peerproc.py, and
"set OPTION NUMBER".
Not here: pyzmq, which has one version of libzmq only, and meshmsg.
"""

from __future__ import annotations

import ctypes
import sys

# The names and numbers of zmq.h, for what is used here.
ROUTER, POLLIN, SNDMORE = 6, 1, 2
IDENTITY, SUBSCRIBE, UNSUBSCRIBE, EVENTS, LINGER, RECONNECT_IVL = 5, 6, 7, 15, 17, 18
RCVTIMEO, SNDTIMEO, LAST_ENDPOINT, HANDOVER = 27, 28, 32, 56
NAMED = (3, 5, ROUTER)
RECONNECT_MS = 20


class PollItem(ctypes.Structure):
    """zmq_pollitem_t."""

    _fields_ = [
        ("socket", ctypes.c_void_p),
        ("fd", ctypes.c_int),
        ("events", ctypes.c_short),
        ("revents", ctypes.c_short),
    ]


class Library:
    """The functions of one libzmq; a failure is an OSError."""

    def __init__(self, path: str) -> None:
        self.lib = ctypes.CDLL(path)
        for name in ("zmq_ctx_new", "zmq_socket", "zmq_msg_data"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        self.lib.zmq_msg_size.restype = ctypes.c_size_t
        self.lib.zmq_strerror.restype = ctypes.c_char_p
        self.lib.zmq_poll.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long]

    def call(self, name: str, *args: object) -> int:
        """Call, and look at the result."""
        result: int | None = getattr(self.lib, name)(*args)
        if result is None or result == -1:
            raise OSError(self.lib.zmq_strerror(self.lib.zmq_errno()).decode())
        return result

    def version(self) -> str:
        """As 4.1.6."""
        parts = [ctypes.c_int() for _ in range(3)]
        self.lib.zmq_version(*(ctypes.byref(part) for part in parts))
        return ".".join(str(part.value) for part in parts)


class Socket:
    """A socket and its context."""

    def __init__(self, library: Library, kind: int, name: bytes, wait_ms: int) -> None:
        self.call = library.call
        self.context = ctypes.c_void_p(self.call("zmq_ctx_new"))
        self.socket = ctypes.c_void_p(self.call("zmq_socket", self.context, kind))
        self.lib = library.lib
        numbers = {LINGER: 0, RECONNECT_IVL: RECONNECT_MS, RCVTIMEO: wait_ms, SNDTIMEO: wait_ms}
        if kind == ROUTER:
            numbers[HANDOVER] = 1
        for option, number in numbers.items():
            self.set(option, number)
        if kind in NAMED:
            self.call("zmq_setsockopt", self.socket, IDENTITY, name, len(name))

    def set(self, option: int, number: int) -> None:
        """Set an option that is a number."""
        value = ctypes.c_int(number)
        self.call("zmq_setsockopt", self.socket, option, ctypes.byref(value), 4)

    def close(self) -> None:
        """Close both."""
        self.call("zmq_close", self.socket)
        self.call("zmq_ctx_term", self.context)

    def send(self, frames: list[bytes]) -> None:
        """Send one message."""
        for i, frame in enumerate(frames):
            more = SNDMORE if i + 1 < len(frames) else 0
            self.call("zmq_send", self.socket, frame, ctypes.c_size_t(len(frame)), more)

    def recv(self) -> list[bytes]:
        """Receive one message."""
        frames, more = [], 1
        while more:
            message = (ctypes.c_uint64 * 8)()
            self.call("zmq_msg_init", message)
            self.call("zmq_msg_recv", message, self.socket, 0)
            data = ctypes.c_void_p(self.lib.zmq_msg_data(message))
            frames.append(ctypes.string_at(data, self.lib.zmq_msg_size(message)))
            more = self.call("zmq_msg_more", message)
            self.call("zmq_msg_close", message)
        return frames

    def poll(self, wait_ms: int) -> int:
        """Is there something to receive?"""
        item = PollItem(self.socket, 0, POLLIN, 0)
        return self.call("zmq_poll", ctypes.byref(item), 1, wait_ms)

    def events(self) -> int:
        """ZMQ_EVENTS."""
        value, size = ctypes.c_int(), ctypes.c_size_t(4)
        self.call("zmq_getsockopt", self.socket, EVENTS, ctypes.byref(value), ctypes.byref(size))
        return value.value

    def bind(self, url: str) -> str:
        """Bind; the endpoint with its port."""
        self.call("zmq_bind", self.socket, url.encode())
        text, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
        self.call("zmq_getsockopt", self.socket, LAST_ENDPOINT, text, ctypes.byref(size))
        return text.value.decode()


def answer(library: Library, socket: Socket, words: list[str]) -> bytes:
    """Do one request on an open socket, and return what it is answered with."""
    verb, args = words[0], words[1:]
    if verb == "bind":
        return f"ok {socket.bind(args[0])}\n".encode()
    if verb == "poll":
        return b"ok %d\n" % socket.poll(int(args[0]))
    if verb == "events":
        return b"ok %d\n" % socket.events()
    if verb == "recv":
        frames = socket.recv()
        return (
            " ".join(["frames", *(str(len(f)) for f in frames)]).encode() + b"\n" + b"".join(frames)
        )
    if verb == "connect":
        socket.call("zmq_connect", socket.socket, args[0].encode())
    elif verb == "set":
        socket.set(int(args[0]), int(args[1]))
    else:
        parts = [sys.stdin.buffer.read(int(size)) for size in args]
        if verb == "send":
            socket.send(parts)
        else:
            option = SUBSCRIBE if verb == "subscribe" else UNSUBSCRIBE
            socket.call("zmq_setsockopt", socket.socket, option, parts[0], len(parts[0]))
    return b"ok\n"


def main(path: str, *needed: str) -> None:
    """Do requests until there are no more."""
    kept = [ctypes.CDLL(name) for name in needed]
    library, socket = Library(path), None
    say = sys.stdout.buffer
    say.write(f"ready {library.version()}\n".encode())
    say.flush()
    for line in sys.stdin.buffer:
        words = line.decode().split()
        try:
            if words[0] in ("open", "close"):
                if socket is not None:
                    socket.close()
                socket, reply = None, b"ok\n"
                if words[0] == "open":
                    socket = Socket(library, int(words[1]), words[2].encode(), int(words[3]))
            else:
                assert socket is not None, "no socket is open"
                reply = answer(library, socket, words)
        except (OSError, AssertionError) as error:
            reply = f"error {error}\n".encode()
        say.write(reply)
        say.flush()
    if socket is not None:
        socket.close()
    kept.clear()


if __name__ == "__main__":
    main(*sys.argv[1:])
