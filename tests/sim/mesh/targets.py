"""What the mesh is to reach: seconds, and octets a second.

Not here: what it does reach (table.py). Law: these are promises of docs; a test holds them.
"""

from __future__ import annotations

CRASH = {3: 3.0, 10: 3.0, 100: 4.5, 1000: 6.5, 10_000: 8.0}
"""A machine vanishes, 1 % of messages is lost: until all know, by how many there are."""
KILL_CONNECTED = 0.25
"""A process is killed: until those with a connection to it know."""
KILL_ALL = 2.5
JOIN_ONE = 1.0
JOIN = {100: 7.0, 1000: 7.0}
"""All start at once, with one seed."""
JOIN_RATE = 30.0
"""KB a second of each node, until all know all: a thousand that start at once."""
JOIN_KB = {10: 8.0, 30: 14.0, 100: 25.0}
"""KB of each node in that time: what is left to smaller meshes."""
HEAL = 15.0
HEAL_ONE = 5.0
"""One that was cut off from 99 for a minute: until it sees all, and all see it."""
CUT = 15.0
"""Three that are cut off from nine: until they know that all of these are gone."""
MOVED = 3.0
"""A node that has another address: until it knows what it was not told meanwhile."""
STEADY = 1000.0
"""Octets a second that a node sends when nothing happens."""
SLOW_SHARE = 50
"""Slow members make at most 1 false alarm for so many of plain SWIM."""
STATE_MIB = 20
"""MiB that three thousand syncs at once are sent, and that they take of memory."""
MEMORY_MIB = 15
"""MiB of a table of ten thousand members, with their records."""
SPEED_S = 30
"""Seconds of a processor for a thousand nodes and a minute of theirs."""
LARGEST_KIB = 24
"""KiB that one member takes whose record is as large as it may be, of the smallest parts."""
LOSSY_ALARMS = 0.3
"""Events UNREACHABLE a node in a minute, where 30 % of messages are lost."""
