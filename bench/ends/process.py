"""One process of a measurement: its tasks are the JSON argument.

It speaks JSON lines with its parent: {"endpoint": ...} from the end that binds, {"ready": true}
when both are warm, its figures when it has measured, and on the word "end" what it used. The end
that sends waits for "go" before it measures. With several tasks all ends are threads here (inproc):
it says the figures of each, and on "end" what the process used.
Law: the clock runs only between the first and the last measured message of this end (where only
the receiver's counts, from the sender's first: works.whole_way); nothing is closed before the
leader has heard from all that all is there.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..base.memory import memory
from ..base.need import BenchError
from ..base.task import Task
from ..peers.roster import peer_named
from .backlogs import pile_unmet, take_late
from .lead import LEADS, Around, ThreadEnd
from .many import accept_many, connect_many, publish, subscribe
from .paced import recv_rate, send_rate
from .spools import append_all, open_again, replay_all
from .survey import answer_everything, ask_everybody
from .workers import hand_out, hold, pile_up, work_off
from .works import Fact, Work, answer, ask, recv_throughput, send_throughput

WORKS: dict[tuple[str, bool], Work] = {  # (kind, whether it receives)
    ("thr", False): send_throughput,
    ("thr", True): recv_throughput,
    ("lat", False): ask,
    ("lat", True): answer,
    ("rate", False): send_rate,
    ("rate", True): recv_rate,
    ("fanout", False): publish,
    ("fanout", True): subscribe,
    ("connections", False): connect_many,
    ("connections", True): accept_many,
    ("survey", False): ask_everybody,
    ("survey", True): answer_everything,
    ("credits", False): hand_out,
    ("credits", True): work_off,
    ("unacked", False): pile_up,
    ("unacked", True): hold,
    ("append", False): append_all,
    ("replay", False): replay_all,
    ("opening", False): open_again,
    ("backlog", False): pile_unmet,
    ("backlog", True): take_late,
}


@dataclass
class Line:
    """How an end talks with the parent."""

    say: Callable[[Fact], None]
    hear: Callable[[str], None]
    """Wait for that word."""
    started: dict[str, float] = field(default_factory=dict)

    def endpoint(self, url: str) -> None:
        """Tell where it is bound."""
        self.say({"endpoint": url})

    def ready(self, *, waits: bool) -> None:
        """Tell that it is warm; wait for the word to go on, if it is to."""
        self.started = usage()
        self.say({"ready": True})
        if waits:
            self.hear("go")


def usage() -> dict[str, float]:
    """CPU seconds and the most memory of this process, so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu_s": used.ru_utime + used.ru_stime, "rss_mb": memory("VmHWM") / 1024}


def run(task: Task, line: Line) -> None:
    """Measure as one end."""
    end, figures = WORKS[task.kind, task.receives](peer_named(task.peer), task, line)
    line.say(figures)
    line.hear("end")
    used = usage()
    used["cpu_s"] -= line.started["cpu_s"]
    line.say(dict(used))
    end.close()


def together(tasks: list[Task], line: Line) -> None:
    """Measure with all ends as threads, led from here: so for inproc."""
    ends: list[ThreadEnd] = []

    def start(task: Task) -> ThreadEnd:
        ends.append(ThreadEnd(lambda say, hear: run(task, Line(say, hear))))
        return ends[-1]

    found = LEADS[tasks[0].kind](start, tasks, Around())
    for said in found.said:
        line.say(said)
    line.hear("end")
    line.say(found.used[0])
    for end in ends:
        end.join()


def from_parent(word: str) -> None:
    """Wait for a word; anything else means that the parent is gone."""
    if sys.stdin.readline().strip() != word:
        raise SystemExit("the parent is gone")


def to_parent(fact: Fact) -> None:
    """Say one line."""
    print(json.dumps(fact), flush=True)


def main() -> None:
    """Run as a process."""
    told: list[dict[str, Any]] = json.loads(sys.argv[1])
    tasks = [Task(**one) for one in told]
    line = Line(to_parent, from_parent)
    try:
        if len(tasks) > 1:
            together(tasks, line)
        else:
            run(tasks[0], line)
    except BenchError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
