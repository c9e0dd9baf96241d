"""Runs a measurement of one end and the many around it.

Not here: the steps all of them take (ends/lead.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..base.need import BenchError
from ..base.task import Task
from ..ends.lead import LEADS, Gathered
from ..peers.seam import Peer
from .launch import processes, url_for


def gather(peer: Peer, transport: str, tasks: Sequence[Task]) -> Gathered:
    """Run one measurement; the first task is that of the end that binds."""
    inproc = transport == "inproc"
    if inproc and not peer.in_python:
        raise BenchError("is a program for each end: these are not measured over inproc")
    with url_for(peer, transport) as url, processes() as start:
        tasks = [replace(task, url=url) for task in tasks]
        if not inproc:
            return LEADS[tasks[0].kind](lambda task: start(peer.command(task)), tasks)
        process = start(peer.command(*tasks))
        told = process.line()
        process.word("end")
        return Gathered(told["said"], told["used"])
