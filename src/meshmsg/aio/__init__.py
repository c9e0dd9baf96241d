"""The sockets of meshmsg for asyncio: the same names and options, awaitable.

Not in `import meshmsg`: who does not use asyncio does not load it.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from meshmsg._hints.absent_names import module_hint as _module_hint
from meshmsg._hints.words import ASYNCIO_HINTS as _HINTS
from meshmsg.aio._receipts import Receipt as Receipt
from meshmsg.aio._receipts import Receipts as Receipts
from meshmsg.aio._request import Req as Req
from meshmsg.aio._roles import Bus as Bus
from meshmsg.aio._roles import Dealer as Dealer
from meshmsg.aio._roles import Pair as Pair
from meshmsg.aio._roles import Pub as Pub
from meshmsg.aio._roles import Pull as Pull
from meshmsg.aio._roles import Push as Push
from meshmsg.aio._roles import Rep as Rep
from meshmsg.aio._roles import Respondent as Respondent
from meshmsg.aio._roles import Router as Router
from meshmsg.aio._roles import Sub as Sub
from meshmsg.aio._roles import XPub as XPub
from meshmsg.aio._roles import XSub as XSub
from meshmsg.aio._spool.cursor import SpoolCursor as SpoolCursor
from meshmsg.aio._spool.cursor import SpoolLease as SpoolLease
from meshmsg.aio._spool.reader import SpoolReader as SpoolReader
from meshmsg.aio._spool.remote import RemoteLease as RemoteLease
from meshmsg.aio._spool.remote import RemoteSpool as RemoteSpool
from meshmsg.aio._spool.server import SpoolServer as SpoolServer
from meshmsg.aio._spool.spool import Spool as Spool
from meshmsg.aio._survey import Survey as Survey
from meshmsg.aio._survey import Surveyor as Surveyor

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        raise _module_hint(__name__, name, _HINTS)


__all__ = [
    "Bus",
    "Dealer",
    "Pair",
    "Pub",
    "Pull",
    "Push",
    "Receipt",
    "Receipts",
    "RemoteLease",
    "RemoteSpool",
    "Rep",
    "Req",
    "Respondent",
    "Router",
    "Spool",
    "SpoolCursor",
    "SpoolLease",
    "SpoolReader",
    "SpoolServer",
    "Sub",
    "Survey",
    "Surveyor",
    "XPub",
    "XSub",
]

for _name in __all__:  # they are what is imported, whichever file they are written in
    globals()[_name].__module__ = __name__
