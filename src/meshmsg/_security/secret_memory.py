"""What the system refused of the memory for keys: told once, as they are used all the same.

Not here: that memory (csrc/crypto/secret.h).
"""

from __future__ import annotations

import logging

from meshmsg._binding.core import lib

LOCK, DONTDUMP, WIPEONFORK = 1, 2, 4
WHAT = {
    LOCK: "may be swapped out (its limit of locked memory is reached: `ulimit -l`)",
    DONTDUMP: "are in core dumps",
    WIPEONFORK: "are in forked children, too",
}

_told = 0


def tell(handle: int) -> None:
    """Warn of what is new, once a process; handle: of a socket that was protected."""
    global _told
    lacks = int(lib.mm_secrets_lack(handle)) & ~_told
    _told |= lacks
    for bit, what in WHAT.items():
        if lacks & bit:
            logging.getLogger("meshmsg").warning("keys of this process %s", what)
