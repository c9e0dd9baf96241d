"""Signals while batches are freed: what their functions raise is seen by the program.

What raises in a finalizer of Python is printed and gone, so that Ctrl-C would be.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from tests.fault.test_signals_sending import Stop, hit
from tests.support.pairs import WAIT_S, joined

ROUNDS = 1000
LATEST_S = 0.0005
USES: dict[str, Callable[[mm.MessageBatch], object]] = {
    "view": lambda batch: batch[1:].data,
    "list": lambda batch: batch[1:].to_list(),
    "item": lambda batch: batch[1:][0],
    "arrow": lambda batch: batch[1:].__arrow_c_array__(),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("use", USES)
def test_what_is_raised_while_a_batch_is_freed_is_raised(use: str) -> None:
    """Each time, wherever the signal comes."""
    seeded = random.Random(3)
    call = USES[use]
    swallowed: list[int] = []
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"a", b"b", b"c"])
        batch: Any = pull.recv_batch(3, max_wait=WAIT_S, timeout=WAIT_S)
    assert len(batch) == 3
    gc.collect()
    gc.disable()  # what others left is freed by finalizers of Python
    for number in range(ROUNDS):
        try:
            with hit(seeded.uniform(0.00001, LATEST_S)) as is_over:
                while not is_over():
                    call(batch)
            swallowed.append(number)
        except Stop:
            continue
    gc.enable()
    assert swallowed == []
