"""A producer shows its spool; others read any range of it as Arrow batches, and trim what is done.

Run it: python examples/read_a_range.py
"""

import os
import subprocess
import sys
import tempfile

import meshmsg as mm

READINGS = 20_000


def produce(folder: str) -> None:
    """Keep readings, and show them until nobody wants them any more."""
    with (
        mm.Spool(folder, segment_bytes=100_000) as spool,
        mm.SpoolServer(spool, bind="tcp://127.0.0.1:*", trim=True) as server,
    ):
        print(server.endpoint, flush=True)
        for first in range(1, READINGS, 1000):
            spool.append_many([b"reading %d" % at for at in range(first, first + 1000)])
        print("done", flush=True)
        sys.stdin.read()


def main() -> None:
    """Read parts of it, twice, while a lease holds them; then trim."""
    command = [sys.executable, __file__]
    with tempfile.TemporaryDirectory() as folder:
        producer = subprocess.Popen(
            [*command, os.path.join(folder, "readings")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with producer:
            assert producer.stdout is not None
            endpoint = producer.stdout.readline().strip()
            producer.stdout.readline()  # all of them are durable
            with mm.RemoteSpool(endpoint) as remote:
                info = remote.info()
                print(f"readings that can be read: {info.stable_seq - info.first_seq}")
                with remote.lease("report", info.first_seq, ttl=60):
                    half = info.stable_seq // 2
                    parts = ((1, half), (half, info.stable_seq))
                    counts = [sum(map(len, remote.read(*part))) for part in parts]
                    again = [sum(map(len, remote.read(*part))) for part in parts]
                    print(f"two parts have {sum(counts)}, each time the same: {counts == again}")
                    batch = next(remote.read(half, half + 3))  # pyarrow.record_batch(batch)
                    print(f"from the middle: {[bytes(one).decode() for one in batch.messages]}")
                    try:
                        list(remote.read(half, info.stable_seq + 1))
                    except mm.SpoolAheadError as error:
                        print(f"not durable yet: {error.seq}")
                    print(f"trimmed while it was leased: {remote.trim(half)} files")
                print(f"trimmed afterwards: {remote.trim(half) > 0}")
                try:
                    next(remote.read(1, 2))
                except mm.SpoolTrimmedError as error:
                    print(
                        f"gone: {error.seq}; the first that is there is above 1: {error.first > 1}"
                    )
            assert producer.stdin is not None
            producer.stdin.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        produce(sys.argv[1])
    else:
        main()
