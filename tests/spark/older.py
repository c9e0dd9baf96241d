"""What older versions of Spark do not have: tests that they cannot run, options that they refuse.

Not here: running the tests with each of them (versions.py).
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest

LIMITS = (4, 2)
"""From this version on a stream in Python has limits of a batch."""


def spark_version() -> tuple[int, int]:
    """Return the version of Spark that is installed, (0, 0) if there is none."""
    try:
        major, minor, *_ = version("pyspark").split(".")
    except PackageNotFoundError:
        return 0, 0
    return int(major), int(minor)


def since(major: int, minor: int, what: str) -> pytest.MarkDecorator:
    """Leave a test out with older versions of Spark, and say what they lack."""
    older = spark_version() < (major, minor)
    return pytest.mark.skipif(older, reason=f"before Spark {major}.{minor}: {what}")


def before(major: int, minor: int) -> pytest.MarkDecorator:
    """Leave a test out with a Spark that has what the test says is missing."""
    newer = spark_version() >= (major, minor)
    return pytest.mark.skipif(newer, reason=f"from Spark {major}.{minor} on it is there")


def limit(rows: object) -> dict[str, str]:
    """Return the option that limits a batch; nothing where Spark has no limits."""
    return {"maxOffsetsPerTrigger": str(rows)} if spark_version() >= LIMITS else {}
