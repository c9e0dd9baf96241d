"""Messages between Python programs, without a broker.

Open a socket of a role, give it endpoints, send bytes. `meshmsg.aio` has the same classes for
asyncio, `meshmsg.testing` a simulated world, `meshmsg.patterns` topologies made of sockets,
`meshmsg.spark` what Spark jobs use. Importing this starts no thread and opens nothing.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from meshmsg._batch import MessageBatch as MessageBatch
from meshmsg._core import ffi as _ffi
from meshmsg._core import lib as _lib
from meshmsg._drained import DrainReport as DrainReport
from meshmsg._elsewhere import module_hint as _module_hint
from meshmsg._engine import Engine as Engine
from meshmsg._errors import AddressError as AddressError
from meshmsg._errors import ClosedError as ClosedError
from meshmsg._errors import ForkedError as ForkedError
from meshmsg._errors import InsecureBindError as InsecureBindError
from meshmsg._errors import MeshError as MeshError
from meshmsg._errors import PeerError as PeerError
from meshmsg._errors import RefusedError as RefusedError
from meshmsg._errors import ResourceError as ResourceError
from meshmsg._errors import TimedOutError as TimedOutError
from meshmsg._errors import TooLargeError as TooLargeError
from meshmsg._errors import UsageError as UsageError
from meshmsg._errors import WouldBlockError as WouldBlockError
from meshmsg._info import Event as Event
from meshmsg._info import EventKind as EventKind
from meshmsg._info import PeerInfo as PeerInfo
from meshmsg._info import Reason as Reason
from meshmsg._info import Stats as Stats
from meshmsg._message import Message as Message
from meshmsg._message import Request as Request
from meshmsg._options import SocketOptions as SocketOptions
from meshmsg._poller import Poller as Poller
from meshmsg._reqrep import Req as Req
from meshmsg._roles import Bus as Bus
from meshmsg._roles import Dealer as Dealer
from meshmsg._roles import Pair as Pair
from meshmsg._roles import Pub as Pub
from meshmsg._roles import Pull as Pull
from meshmsg._roles import Push as Push
from meshmsg._roles import Rep as Rep
from meshmsg._roles import Respondent as Respondent
from meshmsg._roles import Router as Router
from meshmsg._roles import Sub as Sub
from meshmsg._roles import XPub as XPub
from meshmsg._roles import XSub as XSub
from meshmsg._stopping import StoppedPeer as StoppedPeer
from meshmsg._stopping import StopReport as StopReport
from meshmsg._subscribed import Subscribed as Subscribed
from meshmsg._survey import AskedPeer as AskedPeer
from meshmsg._survey import Survey as Survey
from meshmsg._survey import Surveyor as Surveyor

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        raise _module_hint(__name__, name)


__version__: str = _ffi.string(_lib.mm_version()).decode()

__all__ = [
    "AddressError",
    "AskedPeer",
    "Bus",
    "ClosedError",
    "Dealer",
    "DrainReport",
    "Engine",
    "Event",
    "EventKind",
    "ForkedError",
    "InsecureBindError",
    "MeshError",
    "Message",
    "MessageBatch",
    "Pair",
    "PeerError",
    "PeerInfo",
    "Poller",
    "Pub",
    "Pull",
    "Push",
    "Reason",
    "RefusedError",
    "Rep",
    "Req",
    "Request",
    "ResourceError",
    "Respondent",
    "Router",
    "SocketOptions",
    "Stats",
    "StopReport",
    "StoppedPeer",
    "Sub",
    "Subscribed",
    "Survey",
    "Surveyor",
    "TimedOutError",
    "TooLargeError",
    "UsageError",
    "WouldBlockError",
    "XPub",
    "XSub",
]
