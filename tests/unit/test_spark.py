"""What users of Spark import from meshmsg.spark."""

from __future__ import annotations

import pytest

from meshmsg import patterns, spark
from meshmsg.patterns import aio as patterns_aio
from meshmsg.spark import aio as spark_aio


@pytest.mark.parametrize("name", ["WorkBatch", "WorkQueue", "WorkStats", "Worker", "work"])
def test_the_work_queue_is_the_one_of_the_patterns(name: str) -> None:
    """The same objects, so what is made by one name is known by the other."""
    assert getattr(spark, name) is getattr(patterns, name)
    assert getattr(spark_aio, name) is getattr(patterns_aio, name)
