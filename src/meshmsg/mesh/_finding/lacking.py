"""What a wait for nodes says that ends without them.

Not here: waiting (_sync.py, aio.py). Law: it says how many are there, and all that may be why.
"""

from __future__ import annotations

from collections.abc import Sequence

from meshmsg._hints.plural import counted
from meshmsg._mesh.told import Member
from meshmsg.mesh._addresses import name_of
from meshmsg.mesh._finding.asking import SeedInfo
from meshmsg.mesh._select import not_offered

NAMED_MAX = 5
"""Nodes, and reasons, that an error names."""


def lacking(
    service: str | None,
    count: int,
    timeout: float,
    found: Sequence[Member],
    *,
    members: list[Member],
    seeds: Sequence[SeedInfo],
    came: Sequence[str],
) -> str:
    """Say that there were too few.

    Args:
        service: What they were to offer; None: nothing.
        count: How many were waited for.
        timeout: Seconds that they had.
        found: Those that are there.
        members: All that are known.
        seeds: What is known of the seeds.
        came: What is known of those that came and are none of this mesh.
    """
    what = "of the mesh" if service is None else f"with {service!r}"
    names = ", ".join(name_of(one) for one in found[:NAMED_MAX])
    words = [f"{counted(len(found), 'node')} {what} within {timeout:g} s, not {count}"]
    words += [f"there: {names}"] if names else []
    nobody = "" if service is None else not_offered(service, members)
    words += [nobody] if nobody else []
    for seed in seeds:
        why = (
            seed.silence or seed.error or next((f"{a}: {why}" for a, why in seed.tried if why), "")
        )
        words += [f"seed {seed.seed}: {why}"] if why else []
    return "; ".join([*words[: NAMED_MAX + 2], *came])
