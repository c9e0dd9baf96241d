"""A small replicated table on a bus: every node has all of it, and tells the others what it sets.

Every entry has a version, (count, who); the highest wins, so all nodes end with the same table in
whatever order the news comes. A bus may drop: a node that comes late, or missed something, says
what it has, and gets back whatever is newer.

Run it: python examples/bus_table.py
"""

import json
import threading
from contextlib import suppress

import meshmsg as mm

Version = tuple[int, str]
Entry = tuple[Version, str]


class Table:
    """One node's copy of the table."""

    def __init__(self, name: str, connect: list[str]) -> None:
        self._name = name
        self._entries: dict[str, Entry] = {}
        self._changed = threading.Condition()
        self._bus = mm.Bus(bind="tcp://127.0.0.1:0", connect=connect)
        self.endpoint = self._bus.endpoint
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        if connect:
            self._bus.wait_for_peers(len(connect), timeout=5)
            self._say("sync")

    def set(self, key: str, value: str) -> None:
        """Set an entry here, and tell the others."""
        with self._changed:
            (count, _), _ = self._entries.get(key, ((0, ""), ""))
            self._entries[key] = ((count + 1, self._name), value)
            self._changed.notify_all()
        self._say("news")

    def values(self) -> dict[str, str]:
        """Return the table without its versions."""
        with self._changed:
            return {key: value for key, (_, value) in sorted(self._entries.items())}

    def wait_for(self, wanted: dict[str, str]) -> bool:
        """Wait until the table is this."""
        with self._changed:
            return self._changed.wait_for(
                lambda: {key: value for key, (_, value) in self._entries.items()} == wanted,
                timeout=5,
            )

    def _say(self, kind: str) -> None:
        with self._changed:  # the whole table: it is small
            self._bus.send(json.dumps({"kind": kind, "entries": self._entries}).encode())

    def _listen(self) -> None:
        for message in self._bus:
            heard = json.loads(message)
            newer = self._merge(heard["entries"]) or heard["kind"] == "sync"
            with suppress(mm.ClosedError):  # by another thread, just now
                if newer and self._bus.peers():  # the last node has nobody to tell
                    self._say("news")

    def _merge(self, entries: dict[str, tuple[list[int], str]]) -> bool:
        """Take over what is newer; tell whether we know something newer ourselves."""
        with self._changed:
            for key, (theirs, value) in entries.items():
                version = (int(theirs[0]), str(theirs[1]))
                if key not in self._entries or version > self._entries[key][0]:
                    self._entries[key] = (version, value)
            self._changed.notify_all()
            return any(
                key not in entries or self._entries[key][0] > tuple(entries[key][0])
                for key in self._entries
            )

    def close(self) -> None:
        """Leave the bus."""
        self._bus.close()
        self._thread.join()


def main() -> None:
    """Three nodes, one of them late; two set the same key at once."""
    ann = Table("ann", [])
    bob = Table("bob", [ann.endpoint])
    ann.set("lamp", "on")
    bob.set("door", "open")
    both = {"door": "open", "lamp": "on"}
    print(f"ann and bob agree: {ann.wait_for(both) and bob.wait_for(both)}")
    cid = Table("cid", [ann.endpoint, bob.endpoint])
    print(f"cid came late and has everything: {cid.wait_for(both)}, {cid.values()}")
    ann.set("lamp", "off")
    cid.set("door", "shut")
    last = {"door": "shut", "lamp": "off"}
    print(f"all three agree: {all(table.wait_for(last) for table in (ann, bob, cid))}, {last}")
    for table in (cid, bob, ann):  # who connected goes before whom it connected to
        table.close()


if __name__ == "__main__":
    main()
