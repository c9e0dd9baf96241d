"""Messages between Python programs, without a broker.

Open a socket of a role, give it endpoints, send bytes. `meshmsg.aio` has the same classes for
asyncio, `meshmsg.testing` a simulated world, `meshmsg.patterns` topologies made of sockets,
`meshmsg.spark` what Spark jobs use. Importing this starts no thread and opens nothing.
"""

from types import FunctionType as _Function
from typing import TYPE_CHECKING as _TYPE_CHECKING

from meshmsg._binding.batch import MessageBatch as MessageBatch
from meshmsg._binding.core import ffi as _ffi
from meshmsg._binding.core import lib as _lib
from meshmsg._binding.errors import AddressError as AddressError
from meshmsg._binding.errors import ClosedError as ClosedError
from meshmsg._binding.errors import EndOfStreamError as EndOfStreamError
from meshmsg._binding.errors import ForkedError as ForkedError
from meshmsg._binding.errors import InsecureBindError as InsecureBindError
from meshmsg._binding.errors import MeshError as MeshError
from meshmsg._binding.errors import OutsideWindowError as OutsideWindowError
from meshmsg._binding.errors import PeerError as PeerError
from meshmsg._binding.errors import RefusedError as RefusedError
from meshmsg._binding.errors import ResourceError as ResourceError
from meshmsg._binding.errors import SpoolAheadError as SpoolAheadError
from meshmsg._binding.errors import SpoolChangedError as SpoolChangedError
from meshmsg._binding.errors import SpoolCorruptError as SpoolCorruptError
from meshmsg._binding.errors import SpoolError as SpoolError
from meshmsg._binding.errors import SpoolFailedError as SpoolFailedError
from meshmsg._binding.errors import SpoolFullError as SpoolFullError
from meshmsg._binding.errors import SpoolLockedError as SpoolLockedError
from meshmsg._binding.errors import SpoolTrimmedError as SpoolTrimmedError
from meshmsg._binding.errors import TimedOutError as TimedOutError
from meshmsg._binding.errors import TooLargeError as TooLargeError
from meshmsg._binding.errors import UndeliveredError as UndeliveredError
from meshmsg._binding.errors import UsageError as UsageError
from meshmsg._binding.errors import WouldBlockError as WouldBlockError
from meshmsg._binding.message import Message as Message
from meshmsg._binding.message import Request as Request
from meshmsg._binding.note import MessageOptions as MessageOptions
from meshmsg._binding.peer import Peer as Peer
from meshmsg._binding.peer import PeerName as PeerName
from meshmsg._binding.peer_info import PeerInfo as PeerInfo
from meshmsg._binding.snapshots import Event as Event
from meshmsg._binding.snapshots import EventKind as EventKind
from meshmsg._binding.snapshots import Reason as Reason
from meshmsg._binding.snapshots import Stats as Stats
from meshmsg._dedupe.memory import MemoryDedupeWindow as MemoryDedupeWindow
from meshmsg._dedupe.window import DedupeTransaction as DedupeTransaction
from meshmsg._dedupe.window import DedupeWindow as DedupeWindow
from meshmsg._delivery.dead_letters import DeadLetter as DeadLetter
from meshmsg._delivery.grouped import GroupInfo as GroupInfo
from meshmsg._delivery.leases import LeasedMessage as LeasedMessage
from meshmsg._delivery.pushing import PushOptions as PushOptions
from meshmsg._hints.absent_names import module_hint as _module_hint
from meshmsg._ranges.asking import RemoteSpoolInfo as RemoteSpoolInfo
from meshmsg._roles.drain_report import DrainReport as DrainReport
from meshmsg._roles.stopping import StoppedPeer as StoppedPeer
from meshmsg._roles.stopping import StopReport as StopReport
from meshmsg._roles.subscribed import Subscribed as Subscribed
from meshmsg._roles.surveys import AskedPeer as AskedPeer
from meshmsg._security.allow import ANYBODY as ANYBODY
from meshmsg._security.allow import Allow as Allow
from meshmsg._security.allow import Applicant as Applicant
from meshmsg._security.allow import Deny as Deny
from meshmsg._security.allow import Later as Later
from meshmsg._security.allow_list import AllowList as AllowList
from meshmsg._security.curve import Curve as Curve
from meshmsg._security.files.key_files import keygen as keygen
from meshmsg._security.keys import KeyPair as KeyPair
from meshmsg._security.libraries import has as has
from meshmsg._security.local import Local as Local
from meshmsg._security.plain import Plain as Plain
from meshmsg._security.policy import NONE as NONE
from meshmsg._security.policy import Policy as Policy
from meshmsg._security.policy import Profile as Profile
from meshmsg._security.tls import Secret as Secret
from meshmsg._security.tls import Tls as Tls
from meshmsg._socket.engine import Engine as Engine
from meshmsg._socket.options import SocketOptions as SocketOptions
from meshmsg._spool.batch import SpoolBatch as SpoolBatch
from meshmsg._spool.cursor import SpoolCursor as SpoolCursor
from meshmsg._spool.cursor import SpoolCursorInfo as SpoolCursorInfo
from meshmsg._spool.kept import SpoolLease as SpoolLease
from meshmsg._spool.message import SpoolGap as SpoolGap
from meshmsg._spool.message import SpoolMessage as SpoolMessage
from meshmsg._spool.puts import SpoolOptions as SpoolOptions
from meshmsg._spool.reader import SpoolReader as SpoolReader
from meshmsg._spool.spool import Spool as Spool
from meshmsg._spool.told import SpoolCompaction as SpoolCompaction
from meshmsg._spool.told import SpoolInfo as SpoolInfo
from meshmsg._spool.told import SpoolRecovery as SpoolRecovery
from meshmsg._spool.told import SpoolRepeat as SpoolRepeat
from meshmsg._spool.view import SpoolView as SpoolView
from meshmsg._sync.polling.poller import Poller as Poller
from meshmsg._sync.receipts import Receipt as Receipt
from meshmsg._sync.receipts import Receipts as Receipts
from meshmsg._sync.remote_spool import RemoteLease as RemoteLease
from meshmsg._sync.remote_spool import RemoteSpool as RemoteSpool
from meshmsg._sync.request import Req as Req
from meshmsg._sync.roles import Bus as Bus
from meshmsg._sync.roles import Dealer as Dealer
from meshmsg._sync.roles import Pair as Pair
from meshmsg._sync.roles import Pub as Pub
from meshmsg._sync.roles import Pull as Pull
from meshmsg._sync.roles import Push as Push
from meshmsg._sync.roles import Rep as Rep
from meshmsg._sync.roles import Respondent as Respondent
from meshmsg._sync.roles import Router as Router
from meshmsg._sync.roles import Sub as Sub
from meshmsg._sync.roles import XPub as XPub
from meshmsg._sync.roles import XSub as XSub
from meshmsg._sync.spool_server import SpoolServer as SpoolServer
from meshmsg._sync.survey import Survey as Survey
from meshmsg._sync.survey import Surveyor as Surveyor

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        raise _module_hint(__name__, name)


__version__: str = _ffi.string(_lib.mm_version()).decode()

__all__ = [
    "ANYBODY",
    "AddressError",
    "Allow",
    "AllowList",
    "Applicant",
    "AskedPeer",
    "Bus",
    "ClosedError",
    "Curve",
    "DeadLetter",
    "Dealer",
    "DedupeTransaction",
    "DedupeWindow",
    "Deny",
    "DrainReport",
    "EndOfStreamError",
    "Engine",
    "Event",
    "EventKind",
    "ForkedError",
    "GroupInfo",
    "InsecureBindError",
    "KeyPair",
    "Later",
    "LeasedMessage",
    "Local",
    "MemoryDedupeWindow",
    "MeshError",
    "Message",
    "MessageBatch",
    "MessageOptions",
    "NONE",
    "OutsideWindowError",
    "Pair",
    "Peer",
    "PeerError",
    "PeerInfo",
    "PeerName",
    "Plain",
    "Policy",
    "Poller",
    "Profile",
    "Pub",
    "Pull",
    "Push",
    "PushOptions",
    "Reason",
    "Receipt",
    "Receipts",
    "RefusedError",
    "RemoteLease",
    "RemoteSpool",
    "RemoteSpoolInfo",
    "Rep",
    "Req",
    "Request",
    "ResourceError",
    "Respondent",
    "Router",
    "Secret",
    "SocketOptions",
    "Spool",
    "SpoolAheadError",
    "SpoolBatch",
    "SpoolChangedError",
    "SpoolCompaction",
    "SpoolCorruptError",
    "SpoolCursor",
    "SpoolCursorInfo",
    "SpoolError",
    "SpoolFailedError",
    "SpoolFullError",
    "SpoolGap",
    "SpoolInfo",
    "SpoolLease",
    "SpoolLockedError",
    "SpoolMessage",
    "SpoolOptions",
    "SpoolReader",
    "SpoolRecovery",
    "SpoolRepeat",
    "SpoolServer",
    "SpoolTrimmedError",
    "SpoolView",
    "Stats",
    "StopReport",
    "StoppedPeer",
    "Sub",
    "Subscribed",
    "Survey",
    "Surveyor",
    "TimedOutError",
    "Tls",
    "TooLargeError",
    "UndeliveredError",
    "UsageError",
    "WouldBlockError",
    "XPub",
    "XSub",
    "has",
    "keygen",
]

for _name in __all__:  # they are what is imported, whichever file they are written in
    if isinstance(globals()[_name], (type, _Function)):
        globals()[_name].__module__ = __name__
