"""The names of other messaging libraries, and what stands for each of them here: words only.

Not here: who raises the errors with them (absent_names.py). Law: a name in these tables is none of
ours.
"""

from __future__ import annotations

_FRAMES_OUT = "send_frames(frames)"
_QUEUES = "send_queue_messages=, recv_queue_messages= and the same in bytes, of the constructor"
OPTIONS = "options are arguments of the constructor: {role}(send_queue_messages=100, linger=2.0)"
_BUFFERS = "nothing: the system's buffers are as large as the system makes them"
_SIZE_MAX = "message_size_max= of the constructor, in bytes"
_RECONNECT = "reconnect_min= and reconnect_max= of the constructor, in seconds"

HINTS: dict[str, str] = {
    "setsockopt": OPTIONS,
    "setsockopt_string": OPTIONS,
    "set": OPTIONS,
    "getsockopt": "what was chosen is in the constructor; what happens is in stats() and peers()",
    "hwm": _QUEUES,
    "set_hwm": _QUEUES,
    "sndhwm": _QUEUES,
    "rcvhwm": _QUEUES,
    "send_json": "send(json.dumps(value).encode())",
    "recv_json": "json.loads(socket.recv())",
    "send_string": "send(text.encode())",
    "recv_string": "recv().decode()",
    "send_pyobj": "nothing is pickled here; send bytes of a format of yours, json or msgpack",
    "recv_pyobj": "nothing is unpickled here; receive bytes of a format of yours, json or msgpack",
    "send_serialized": _FRAMES_OUT,
    "recv_serialized": "recv_frames()",
    "send_multipart": _FRAMES_OUT,
    "recv_multipart": "recv_frames(), or the `.frames` of a message",
    "get_monitor_socket": "events(), or on_event= of the constructor",
    "bind_to_random_port": 'bind("tcp://127.0.0.1:0"), which returns the endpoint',
    "poll": "recv(timeout=...); a meshmsg.Poller waits for several sockets; asyncio needs none",
    "dial": "connect(url)",
    "listen": "bind(url)",
    "reply": "request.reply(data), where request is what a Rep or Respondent received",
    "asend": "the classes of meshmsg.aio, whose send is awaited",
    "arecv": "the classes of meshmsg.aio, whose recv is awaited",
    "publish": 'send(data, topic="...") of a Pub',
    "term": "close(); there is no context to end",
    "destroy": "close(); there is no context to end",
    "linger": OPTIONS,
    "identity": 'identity=b"..." of the constructor of Dealer, Req and Router',
    "routing_id": 'identity=b"..." of the constructor of Dealer, Req and Router',
    "maxmsgsize": _SIZE_MAX,
    "recv_max_size": _SIZE_MAX,
    "reconnect_ivl": _RECONNECT,
    "reconnect_ivl_max": _RECONNECT,
    "reconnect_time_min": _RECONNECT,
    "reconnect_time_max": _RECONNECT,
    "sndbuf": _BUFFERS,
    "rcvbuf": _BUFFERS,
    "send_buffer_size": _QUEUES,
    "recv_buffer_size": _QUEUES,
    "last_endpoint": "endpoint",
    "monitor": "events(), or on_event= of the constructor",
    "add_dialer": "connect(url)",
    "add_listener": "bind(url)",
    "recv_timeout": "recv(timeout=...), in seconds",
    "send_timeout": "send(data, timeout=...), in seconds",
    "rcvtimeo": "recv(timeout=...), in seconds",
    "sndtimeo": "send(data, timeout=...), in seconds",
}
"""Attributes of the sockets of pyzmq, pynng and others, and what stands for them here."""

POLLER_HINTS: dict[str, str] = {
    "register": "add(socket), or add(socket, writable=True)",
    "modify": "add(socket, writable=True) once more: it takes the place of what was asked before",
    "unregister": "remove(socket)",
    "select": "poll(timeout=...), which returns the members that are ready",
    "sockets": "repr(poller), or a list of your own of what was added",
    "get_map": "repr(poller), or a list of your own of what was added",
}
"""Attributes of the pollers of pyzmq and of the selectors of the standard library."""

MODULE_HINTS: dict[str, str] = {
    "Context": "there is no context: open a socket, for example meshmsg.Push(bind=...)",
    "Socket": "each role is a class: meshmsg.Push, Pull, Pub, Sub, Req, Rep, Dealer, Router, ...",
    "asyncio": "meshmsg.aio",
    "NOBLOCK": "timeout=0 of the call",
    "DONTWAIT": "timeout=0 of the call",
    "SNDMORE": _FRAMES_OUT,
    "POLLIN": "a meshmsg.Poller of the sockets",
    "POLLOUT": "a meshmsg.Poller, to which sockets are added with writable=True",
    "proxy": "meshmsg.patterns.Forward",
    "device": "meshmsg.patterns.Forward",
    "ZMQError": "meshmsg.MeshError, and its subclasses",
    "NNGException": "meshmsg.MeshError, and its subclasses",
    "Again": "meshmsg.WouldBlockError (timeout=0), meshmsg.TimedOutError",
    "Timeout": "meshmsg.TimedOutError",
    "Frame": "bytes; a message has its frames as `.frames`",
    "SUBSCRIBE": "Sub(topics=[...]), or subscribe(topic)",
    "LINGER": "linger= of the constructor, in seconds",
    "IDENTITY": "identity= of the constructor",
    "RCVTIMEO": "recv(timeout=...), in seconds",
    "SNDTIMEO": "send(data, timeout=...), in seconds",
    "SNDHWM": "send_queue_messages= of the constructor",
    "RCVHWM": "recv_queue_messages= of the constructor",
    "curve_keypair": "meshmsg.keygen()",
}
"""Names of the modules of other libraries."""

ASYNCIO_HINTS: dict[str, str] = {
    "Poller": "a task for each socket that awaits it; asyncio needs no Poller",
    "SimWorld": "meshmsg.testing.SimWorld with the sockets for threads",
    "WorkQueue": "meshmsg.patterns.aio.WorkQueue",
    "Worker": "meshmsg.patterns.aio.Worker",
    "work": "meshmsg.patterns.aio.work",
    "Forward": "meshmsg.patterns.aio.Forward",
}
"""Names that meshmsg has for threads, and what stands for them in asyncio."""
