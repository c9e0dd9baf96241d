"""A scenario of one step, for tests that need some scenario.

Not here: what a file may say (test_scenario).
"""

from __future__ import annotations

from typing import Any

from meshmsg.bench.scenarios.scenario import Scenario, scenario_of


def scenario(
    *peers: str, bind: str = "", transport: str = "tcp", measure: str = "latency", **producer: Any
) -> Scenario:
    """One producer p, one consumer c; ten messages unless something else is said."""
    told = {"name": "p", "to": "c", "size": 64, "count": 10, **producer}
    consumer = {"name": "c", **({"bind": bind} if bind else {})}
    step = {
        "name": "s",
        "consumers": [consumer],
        "producers": [told],
        "transport": transport,
        "measure": measure,
    }
    return scenario_of({"title": "t", "peers": list(peers or ["meshmsg"]), "steps": [step]}, "f")
