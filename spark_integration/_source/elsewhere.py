"""What is said of options that the source does not have, and that users of other sources look for.

Not here: the options that it has (options.py). Law: each sentence names what to use in its place.
"""

from __future__ import annotations

from collections.abc import Iterable

from meshmsg.spark._parsing import near

_SAID = {
    "kafka.bootstrap.servers": "say endpoints, of each producer; or mesh.*, which finds them",
    "kafka.group.id": "say groupId, or groupIdPrefix",
    "kafkaconsumer.polltimeoutms": "say fetchTimeout",
    "fetchoffset.numretries": "planning asks anew until offsetTimeout",
    "fetchoffset.retryintervalms": "planning asks anew until offsetTimeout",
    "startingoffsetsbytimestampstrategy": "where all was put before a time, it is the end",
    "onproducerlost": "a producer that is away is waited for (fetchTimeout, offsetTimeout); "
    "failOnDataLoss says what becomes of one that is gone",
    "producertimeout": "say fetchTimeout for tasks, offsetTimeout for planning",
    "pushdown": "Spark hands filters to no stream in Python; subscribe, assign, startingOffsets, "
    "startingTimestamp and their ends have less read",
}
_OF_KAFKA = "kafka."


def why_not(word: str, names: Iterable[str]) -> str:
    """Return what is said behind an option that is not there: what to use, or the near name.

    Args:
        word: The option, as it was spelled.
        names: Of the options that are there.
    """
    lower = word.lower()
    if lower in _SAID:
        return f": {_SAID[lower]}"
    if lower.startswith(_OF_KAFKA):
        return ": it is of Kafka's client; security says what protects a connection"
    return near(word, names)
