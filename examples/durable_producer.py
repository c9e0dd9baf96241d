"""Readings are kept by a producer that is killed with SIGKILL, again and again; a worker gets all.

Run it: python examples/durable_producer.py
"""

import os
import subprocess
import sys
import tempfile

import meshmsg as mm

KILLED = 3


def produce(folder: str) -> None:
    """Send readings for ever, though nobody is there; say the number of each once it is kept."""
    with mm.Spool(folder) as spool, mm.Push(spool=spool) as push:
        while True:
            reading = spool.info().last_seq + 1
            push.send(b"reading %d" % reading, key="sensor 7")  # returns when it is on the disk
            print(reading, flush=True)


def kill_one(folder: str, after: int) -> int:
    """Start a producer, kill it in the middle of its work; the last number that it had said."""
    command = [sys.executable, __file__, folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as producer:
        assert producer.stdout is not None
        said = 0
        for line in producer.stdout:  # to the end: what it said as it died counts, too
            if line.endswith("\n"):
                said = int(line)
                after -= 1
            if after == 0:
                producer.kill()
    return said


def main() -> None:
    """Kill producers; then what they kept is sent to a worker."""
    with tempfile.TemporaryDirectory() as folder:
        spooled = os.path.join(folder, "readings")
        for number in range(KILLED):
            said = kill_one(spooled, 50 + number)
        with (
            mm.Spool(spooled) as spool,
            mm.Push(spool=spool, bind="tcp://127.0.0.1:*") as push,
            mm.Pull(connect=push.endpoint) as worker,
        ):
            print(f"{KILLED} producers were killed; closed in order: {not spool.recovery.unclean}")
            push.finish()  # the worker is told once all of them are done
            came = [bytes(reading) for reading in worker]
        wanted = [b"reading %d" % number for number in range(1, len(came) + 1)]
        print(f"all that was said to be kept has come: {len(came) >= said > 50 * KILLED}")
        print(f"in order, without a hole: {came == wanted}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        produce(sys.argv[1])
    else:
        main()
