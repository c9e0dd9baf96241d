"""What the ends of a survey do: one surveyor asks, several processes hold its respondents.

Law: all have met before anything is measured; a question of one byte ends the respondents, so
nobody has to guess how many surveys meeting took.
"""

from __future__ import annotations

import time

from ..base.task import STOP, Task
from ..peers.seam import End, Peer
from .works import Fact, Parent, counted


def ask_everybody(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Survey one time after the other; the one end that binds."""
    end, body, answers = peer.surveyor(task), task.body(), task.connections
    parent.endpoint(end.endpoint)
    end.meet(answers)
    end.survey_times(body, answers, task.warm)
    parent.ready(waits=True)
    start = time.monotonic()
    times = end.survey_times(body, answers, task.count)
    seconds = time.monotonic() - start
    end.survey_times(STOP, answers, 1)
    return end, {"count": task.count, "seconds": seconds, "latency_ns": counted(times)}


def answer_everything(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Answer as so many respondents."""
    end = peer.respondents(task)
    parent.ready(waits=False)
    end.answer_all()
    return end, {"count": task.connections}
