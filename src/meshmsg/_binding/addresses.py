"""Why an endpoint cannot be used: the core's code turned into words, and into what an OSError has.

Not here: the errors themselves (errors.py), and when they are raised (_socket/endpoints.py). Law:
each cause says what is wrong with which part of the endpoint, and what to do.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from meshmsg._binding.core import error_for, ffi, lib, text_of
from meshmsg._binding.data import url_octets
from meshmsg._binding.errors import MeshError

FORMS = (
    "endpoints are tcp://host:port, ipc:///path/of/a/file, ipc://@name and inproc://name; to "
    "connect over SP, sp+tcp://host:port and sp+ipc:///path/of/a/file; protected by TLS, "
    "tls+tcp://host:port and sp+tls+tcp://host:port"
)
FRESH = "ipc://*"
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[::1\]")
_TCP = ("tcp:", "sp+tcp:")
URLS_KNOWN = 256
"""Endpoints that it is remembered of whether they leave the machine."""


def malformed(url: str, use: int) -> str:
    """Say why a text is no endpoint for this use; "" when it is one."""
    if "\0" in url:
        return "it has a zero byte in it"
    if use == lib.MM_USE_BIND and url.startswith("sp+"):
        return f"bind to {url[3:]}; a listener takes peers of ZMTP and of SP alike"
    why = ffi.new("char[]", lib.MM_WHY_SIZE)
    rc = lib.mm_url_why(url_octets(url), use, why, len(why))
    text = str(ffi.string(why).decode())
    return f"{text}; {FORMS}" if rc == lib.MM_EADDRINVAL and "scheme" in text else text


def path_of(url: str) -> str | None:
    """Return the file of an ipc endpoint."""
    path = url.removeprefix("sp+").removeprefix("ipc://")
    is_file = len(path) < len(url.removeprefix("sp+")) and path[:1] not in ("", "@")
    return path if is_file and path != "*" else None


def _host_of(url: str) -> str:
    return url.partition("://")[2].rpartition(":")[0]


def _port_of(url: str) -> int:
    port = url.rpartition(":")[2]
    return int(port) if port.isdigit() else 0


def _folder_of(url: str) -> str:
    """Name the folder of an ipc endpoint's file, for a sentence."""
    if url == FRESH:
        return "the folder for temporary files ($TMPDIR, else /tmp)"
    return f"the folder {os.path.dirname(path_of(url) or '') or '.'}"


def _no_folder(url: str) -> str:
    path = path_of(url)
    if path is not None and os.path.isdir(os.path.dirname(path) or "."):
        return f"{_folder_of(url)} takes no files"
    return f"{_folder_of(url)} does not exist; make it first"


def _in_use(url: str) -> str:
    if url.startswith("inproc://"):
        return "the address is in use: another socket of this process has that name"
    if url.startswith("ipc://@"):
        return "the address is in use: another socket of this machine has that name"
    if url.startswith("ipc://"):
        return f"the address is in use: another socket listens there; {FRESH} makes a fresh path"
    return "the address is in use: another socket listens there; port 0 takes a free one"


def _not_permitted(url: str) -> str:
    if path_of(url) is not None or url == FRESH:
        return f"not permitted to make a file in {_folder_of(url)}"
    if 0 < _port_of(url) < 1024:
        return "not permitted: ports below 1024 are for privileged users; take a higher one, or 0"
    return text_of(lib.MM_EPERM)


def _disagrees(url: str) -> str:
    if url.removeprefix("sp+").startswith("tls+"):
        return "TLS needs security=mm.Tls(...) or mm.Secret(...), and this socket has neither"
    return "TLS protects this socket, so its endpoints begin with tls+tcp:// or sp+tls+tcp://"


def _cause(code: int, url: str) -> str:
    """Say what is wrong with a well-formed endpoint."""
    if code == lib.MM_EADDRINVAL:
        return _disagrees(url)
    if code == lib.MM_EADDRINUSE:
        return _in_use(url)
    if code == lib.MM_EPERM:
        return _not_permitted(url)
    if code == lib.MM_EADDRNOTAVAIL:
        return (
            f"{_host_of(url)} is not an address of this machine; bind to one that is, to "
            "127.0.0.1 or to *"
        )
    words = {
        lib.MM_ENOHOST: f"the host {_host_of(url)} cannot be resolved",
        lib.MM_ENOENT: _no_folder(url),
        lib.MM_ENOTDIR: f"a part of {_folder_of(url)} is a file",
        lib.MM_EEXIST: "a file that is no socket is there, and was kept; take another path",
        lib.MM_EROFS: f"{_folder_of(url)} is on a file system that is read-only",
        lib.MM_ENOSPC: f"no space left on the device of {_folder_of(url)}",
        lib.MM_ENAMETOOLONG: f"{_folder_of(url)} is too long a path: 107 octets is the limit, "
        "with the name in it",
        lib.MM_EMFILE: "too many open files; close sockets that are not needed, or raise the limit",
    }
    return words.get(code, text_of(code))


def address_error(code: int, doing: str, url: str, use: int, cause: str = "") -> MeshError:
    """Make the error of an endpoint that cannot be used.

    Args:
        code: The core's code.
        doing: What was tried, as "binding Pull to tcp://...".
        url: The endpoint.
        use: lib.MM_USE_BIND or lib.MM_USE_CONNECT.
        cause: In place of what the code says of a well-formed endpoint.

    Returns:
        The error, with errno, strerror and filename.
    """
    bad = code in (lib.MM_EADDRINVAL, lib.MM_ENAMETOOLONG)
    why = (malformed(url, use) if bad else "") or cause or _cause(code, url)
    error = error_for(code, f"{doing}: {why}", address=url)
    vars(error).update(strerror=why, filename=path_of(url))
    return error


@lru_cache(URLS_KNOWN)
def leaves_machine(url: str) -> bool:
    """Whether it is an endpoint of plain TCP, and none of loopback; names but "localhost" are not
    looked up."""
    if not url.startswith(_TCP):
        return False
    return _LOOPBACK.fullmatch(url.partition("://")[2].rpartition(":")[0]) is None
