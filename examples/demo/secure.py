"""Keys and policies for a demo whose connections are protected: by CURVE, made anew each time.

Each process has a file of policies of its own (MESHMSG_SECURITY), and a key of its own; the tasks
of Spark share one.  Whoever binds has the server's key, and lets in whom the folder `allowed` has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import meshmsg

CLIENTS = ("producer", "driver", "worker")
"""Who connects; the collector only binds."""
_BIND = "[bind]\nmechanism = curve\nkey = server.key_secret\nallow = allowed\n"
_CONNECT = "[connect]\nmechanism = curve\nserver = server.key\nkey = {}.key_secret\n"


def prepare(folder: Path) -> dict[str, Path]:
    """Make all keys in an empty folder; return the file of policies of each process."""
    meshmsg.keygen(folder / "server")
    allowed = folder / "allowed"
    allowed.mkdir()
    files = {name: folder / f"{name}.ini" for name in ("collector", *CLIENTS)}
    files["collector"].write_text(_BIND)
    for name in CLIENTS:
        meshmsg.keygen(folder / name)
        (folder / f"{name}.key").rename(allowed / f"{name}.key")
        binds = _BIND if name == "producer" else ""
        files[name].write_text(binds + _CONNECT.format(name))
    return files


def protected(peers: Iterable[tuple[str, str]]) -> tuple[bool, str]:
    """Whether all peers were let in by their keys, and a sentence about it.

    peers: the mechanism of each, and whom the collector knows it as.
    """
    known = Counter(peers)
    good = bool(known) and all(mechanism == "CURVE" and user for mechanism, user in known)
    if not good:
        return False, f"Some connections were NOT protected: {dict(known)}."
    who = ", ".join(f"{count} of {user}" for (_, user), count in sorted(known.items()))
    return True, (
        f"All {known.total()} connections to the collector were encrypted and authenticated by "
        f"CURVE: {who}."
    )
