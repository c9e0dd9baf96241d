"""A survey that finds the least-loaded worker; the job is then pushed to that one.

Each worker has a Respondent that tells its load and where its Pull listens. One worker is too slow
to say anything: the survey ends without it.

Run it: python examples/survey_least_loaded.py
"""

import json
import threading

import meshmsg as mm


class Worker:
    """A place where jobs are done, and that can be asked how many it has."""

    def __init__(self, name: str, load: int, surveyor: str, *, answers: bool = True) -> None:
        self.name = name
        self.load = load
        self.done: list[str] = []
        self.did_one = threading.Event()
        self._answers = answers
        self._jobs = mm.Pull(bind="tcp://127.0.0.1:0")
        self._questions = mm.Respondent(connect=surveyor)
        self._threads = [threading.Thread(target=self._tell), threading.Thread(target=self._work)]
        for thread in self._threads:
            thread.start()

    def _tell(self) -> None:
        for question in self._questions:
            if self._answers:
                state = {"name": self.name, "load": self.load, "jobs": self._jobs.endpoint}
                question.reply(json.dumps(state).encode())

    def _work(self) -> None:
        for job in self._jobs:
            self.done.append(job.decode())
            self.did_one.set()

    def close(self) -> None:
        """Stop, and wait until both threads have ended."""
        self._questions.close()
        self._jobs.close()
        for thread in self._threads:
            thread.join()


def least_loaded(surveyor: mm.Surveyor) -> dict[str, str]:
    """Ask all workers; whoever has not answered in time is not considered."""
    survey = surveyor.survey(b"load?", deadline=0.3)
    states = [json.loads(answer) for answer in survey]
    print(f"{len(survey.answered)} of {len(survey.asked)} answered, {len(survey.missing)} did not")
    best: dict[str, str] = min(states, key=lambda state: state["load"])
    return best


def main() -> None:
    """Three workers answer, one does not; the job goes to the one with the least to do."""
    with mm.Surveyor(bind="tcp://127.0.0.1:0") as surveyor:
        workers = [
            Worker(name, load, surveyor.endpoint) for name, load in [("a", 7), ("b", 2), ("c", 5)]
        ]
        workers.append(Worker("silent", 0, surveyor.endpoint, answers=False))
        surveyor.wait_for_peers(len(workers), timeout=5)
        best = least_loaded(surveyor)
        print(f"worker {best['name']} has the least to do: {best['load']} jobs")
        with mm.Push(connect=best["jobs"]) as push:
            push.send(b"one more job", timeout=5)
            chosen = next(worker for worker in workers if worker.name == best["name"])
            chosen.did_one.wait(5)
        for worker in workers:
            worker.close()
        print({worker.name: worker.done for worker in workers if worker.done})


if __name__ == "__main__":
    main()
