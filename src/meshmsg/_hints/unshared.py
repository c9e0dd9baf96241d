"""What stands for something open in this process, and so is never copied.

A copy would close, as it goes, what the original still uses. Not here: sockets, which say what to
pass in their place (_socket/base.py). Law: `copy`, `deepcopy` and `pickle` all raise TypeError.
"""

from __future__ import annotations

from typing import Any


class Unshared:
    """Refuses to be copied or pickled."""

    __slots__ = ()

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: it is open in this process; "
            "make one where it is needed"
        )
