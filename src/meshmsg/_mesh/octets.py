"""The octets of records, statements and messages: bounded both ways.

Not here: whether a signature is good (signing.py), what a message means (core.py). Law: whatever
octets come, either a value comes out that is within every limit, or MalformedError is raised.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

from .limits import (
    CLUSTER_MAX,
    ENDPOINT_MAX,
    ENDPOINTS_MAX,
    KEY_MAX,
    META_ITEMS_MAX,
    META_MAX,
    NAME_MAX,
    RECORD_MAX,
    SERVICE_NAME_MAX,
    SERVICES_MAX,
    WEIGHT_MAX,
)
from .told import Record, Service

VERSION = 1
HANDLE = 8
"""Octets of a node's id that stand for it in messages."""
NOBODY = bytes(HANDLE)
SIGNATURE = 64
SIGN_KEY = 32
U32 = 0xFFFF_FFFF
U64 = 0xFFFF_FFFF_FFFF_FFFF

_FIXED = struct.Struct(">B32sQII")
"""Of a record: version, sign_key, boot_epoch, incarnation, seq."""


class MalformedError(ValueError):
    """Octets that are no record and no message, or a value that has no octets."""


class Signed(NamedTuple):
    """A record and what it was read from."""

    record: Record
    raw: bytes
    """The octets, signature included."""
    handle: bytes


def node_id_of(sign_key: bytes, boot_epoch: int) -> bytes:
    """Return the id of a node: nobody else can have it, as it is made of the key."""
    return blake2b(sign_key + boot_epoch.to_bytes(8, "big"), digest_size=16).digest()


def cluster_tag(cluster: str) -> bytes:
    """Return the 4 octets that a cluster's messages begin with."""
    return blake2b(cluster.encode(), digest_size=4, person=b"meshcluster").digest()


def _text(value: str, limit: int, what: str) -> bytes:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise MalformedError(f"{what} is no text that UTF-8 has: {value!r}") from None
    if len(data) > limit:
        raise MalformedError(f"{what} has {len(data)} octets, at most {limit} are allowed")
    return data


def _printable(value: str, what: str) -> str:
    if not value.isprintable():
        raise MalformedError(f"{what} has a character that cannot be printed: {value!r}")
    return value


def check_name(value: str, limit: int, what: str, *, empty: bool = False) -> bytes:
    """Return the octets of a name that may become part of a path or of a line of a log.

    Raises:
        MalformedError: It is too long or empty, or has a separator or what cannot be printed.
    """
    data = _text(value, limit, what)
    if not data and not empty:
        raise MalformedError(f"{what} is empty")
    _printable(value, what)
    if "/" in value or "\\" in value or value in (".", ".."):
        raise MalformedError(f"{what} is no name, as it is part of a path: {value!r}")
    return data


def _endpoint(value: str, what: str) -> bytes:
    data = _text(_printable(value, what), ENDPOINT_MAX, what)
    if "://" not in value or " " in value:
        raise MalformedError(f"{what} is no endpoint: {value!r}")
    return data


def _short(data: bytes) -> bytes:
    return bytes((len(data),)) + data


def _list(items: Sequence[bytes], limit: int, what: str) -> bytes:
    if len(items) > limit:
        raise MalformedError(f"{len(items)} {what}, at most {limit} are allowed")
    return bytes((len(items),)) + b"".join(map(_short, items))


def service_octets(service: Service) -> bytes:
    """Return the octets of a service in a record.

    Raises:
        MalformedError: A part of it is beyond its limit.
    """
    meta = [(name.encode(), value.encode()) for name, value in _meta(service.meta)]
    endpoints = [_endpoint(endpoint, "an endpoint") for endpoint in service.endpoints]
    if not 0 <= service.weight <= WEIGHT_MAX:
        raise MalformedError(f"the weight is {service.weight}, at most {WEIGHT_MAX} is allowed")
    if len(service.key) > KEY_MAX:
        raise MalformedError(f"the key has {len(service.key)} octets, at most {KEY_MAX}")
    return b"".join(
        (
            _short(check_name(service.name, SERVICE_NAME_MAX, "the name of a service")),
            _short(check_name(service.role, 16, "the role of a service")),
            _short(check_name(service.wire, 16, "the wire of a service")),
            _list(endpoints, ENDPOINTS_MAX, "endpoints"),
            bytes((len(meta),)),
            *(_short(name) + len(value).to_bytes(2, "big") + value for name, value in meta),
            service.weight.to_bytes(2, "big"),
            _short(service.key),
        )
    )


def _meta(meta: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    size = 0
    for name, value in meta:
        size += len(_text(_printable(name, "a name of metadata"), META_MAX, "a name of metadata"))
        size += len(_text(value, META_MAX, "a value of metadata"))
        if len(name.encode()) > 255:
            raise MalformedError("a name of metadata has more than 255 octets")
    if len(meta) > META_ITEMS_MAX:
        raise MalformedError(f"{len(meta)} names of metadata, at most {META_ITEMS_MAX} are allowed")
    if size > META_MAX:
        raise MalformedError(f"the metadata has {size} octets, at most {META_MAX} are allowed")
    return meta


def record_octets(record: Record) -> bytes:
    """Return what is to be signed of a record: all but the signature.

    Raises:
        MalformedError: A part of it is beyond its limit, or all of it beyond RECORD_MAX.
    """
    if len(record.sign_key) != SIGN_KEY:
        raise MalformedError(f"the key has {len(record.sign_key)} octets, not {SIGN_KEY}")
    if not 0 <= record.boot_epoch <= U64 or not 0 <= record.incarnation <= U32:
        raise MalformedError("boot_epoch or incarnation is out of range")
    if not 0 <= record.seq <= U32:
        raise MalformedError("seq is out of range")
    addresses = [_endpoint(a, "an address") for a in record.addresses]
    services = [service_octets(s) for s in record.services]
    if len(services) > SERVICES_MAX:
        raise MalformedError(f"{len(services)} services, at most {SERVICES_MAX} are allowed")
    data = b"".join(
        (
            _FIXED.pack(
                VERSION, record.sign_key, record.boot_epoch, record.incarnation, record.seq
            ),
            _short(check_name(record.cluster, CLUSTER_MAX, "the name of the cluster")),
            _short(check_name(record.name, NAME_MAX, "the name of the node")),
            _short(check_name(record.host, NAME_MAX, "the host", empty=True)),
            _short(check_name(record.zone, NAME_MAX, "the zone", empty=True)),
            _list(addresses, ENDPOINTS_MAX, "addresses"),
            bytes((len(services),)),
            *services,
        )
    )
    if len(data) + SIGNATURE > RECORD_MAX:
        raise MalformedError(
            f"the record has {len(data) + SIGNATURE} octets, at most {RECORD_MAX} are allowed"
        )
    return data


class Reader:
    """Takes values from octets, never beyond their end."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self._data, self._at = data, at
        self._end = len(data) if end is None else end

    def octets(self, size: int) -> bytes:
        """Take that many."""
        at, self._at = self._at, self._at + size
        if self._at > self._end:
            raise MalformedError("it ends too early")
        return self._data[at : self._at]

    def number(self, size: int) -> int:
        """Take a number of that many octets."""
        return int.from_bytes(self.octets(size), "big")

    def text(self, size: int = 1) -> str:
        """Take a text behind its length, which is a number of `size` octets."""
        try:
            return self.octets(self.number(size)).decode()
        except UnicodeDecodeError:
            raise MalformedError("a text is not UTF-8") from None

    def shared(self) -> str:
        """Take a text that many have: it is in memory once."""
        return sys.intern(self.text())

    def texts(self, limit: int) -> tuple[str, ...]:
        """Take a list of texts."""
        count = self.number(1)
        if count > limit:
            raise MalformedError(f"a list of {count}, at most {limit} are allowed")
        return tuple(self.text() for _ in range(count))

    def left(self) -> int:
        """Return how many octets were not taken."""
        return self._end - self._at


def _service_of(reader: Reader) -> Service:
    name, role, wire = reader.shared(), reader.shared(), reader.shared()
    endpoints = reader.texts(ENDPOINTS_MAX)
    meta = tuple((reader.text(), reader.text(2)) for _ in range(reader.number(1)))
    weight = reader.number(2)
    return Service(name, role, wire, endpoints, meta, weight, reader.octets(reader.number(1)))


def signed_of(raw: bytes) -> Signed:
    """Return the record that these octets are; the signature was not checked.

    Raises:
        MalformedError: They are none, or have another form than `record_octets` gives.
    """
    if len(raw) > RECORD_MAX:
        raise MalformedError(f"a record of {len(raw)} octets, at most {RECORD_MAX} are allowed")
    body = len(raw) - SIGNATURE
    if body < _FIXED.size:
        raise MalformedError("a record ends too early")
    version, key, epoch, incarnation, seq = _FIXED.unpack_from(raw)
    if version != VERSION:
        raise MalformedError(f"a record of version {version}")
    reader = Reader(raw, _FIXED.size, body)
    cluster, name, host, zone = reader.shared(), reader.text(), reader.shared(), reader.shared()
    addresses = reader.texts(ENDPOINTS_MAX)
    count = reader.number(1)
    if count > SERVICES_MAX:
        raise MalformedError(f"{count} services, at most {SERVICES_MAX} are allowed")
    services = tuple(_service_of(reader) for _ in range(count))
    record = Record(
        node_id=node_id_of(key, epoch),
        name=name,
        cluster=cluster,
        boot_epoch=epoch,
        incarnation=incarnation,
        seq=seq,
        sign_key=key,
        addresses=addresses,
        host=host,
        zone=zone,
        services=services,
        signature=raw[body:],
    )
    if record_octets(record) != raw[:body]:
        raise MalformedError("a record of another form than ours")
    return Signed(record, bytes(raw), record.node_id[:HANDLE])


def version_of(raw: bytes) -> tuple[bytes, int, int]:
    """Return the handle, incarnation and seq of a record, without a look at the rest.

    Raises:
        MalformedError: It ends too early.
    """
    if len(raw) < _FIXED.size + SIGNATURE:
        raise MalformedError("a record ends too early")
    _, key, epoch, incarnation, seq = _FIXED.unpack_from(raw)
    return node_id_of(key, epoch)[:HANDLE], incarnation, seq


class Rumour(IntEnum):
    """What is passed on."""

    RECORD = 1
    """A record: its node is alive."""
    SUSPECT = 2
    """A statement: the member did not answer whoever says so."""
    REFUSED = 3
    """A statement: nobody listens where the member was."""
    LEFT = 4
    """A statement of the member's own: it leaves."""
    HELD = 5
    """A record, of a sync: whoever sends it holds that node unreachable."""


class Statement(NamedTuple):
    """What a node says of another, and signs."""

    kind: Rumour
    subject: bytes
    incarnation: int
    by: bytes
    signature: bytes


_STATEMENT = struct.Struct(">8sI8s")
STATEMENT_SIZE = _STATEMENT.size + SIGNATURE


def statement_octets(
    kind: Rumour, tag: bytes, subject: bytes, incarnation: int, by: bytes
) -> bytes:
    """Return what is to be signed of a statement."""
    return b"meshmsg:%d:" % kind + tag + _STATEMENT.pack(subject, incarnation, by)


def statement_raw(said: Statement) -> bytes:
    """Return the octets of a statement, signature included."""
    return _STATEMENT.pack(said.subject, said.incarnation, said.by) + said.signature


def statement_of(kind: Rumour, raw: bytes) -> Statement:
    """Return the statement that these octets are; the signature was not checked.

    Raises:
        MalformedError: They are none.
    """
    if len(raw) != STATEMENT_SIZE:
        raise MalformedError(f"a statement of {len(raw)} octets, not {STATEMENT_SIZE}")
    subject, incarnation, by = _STATEMENT.unpack_from(raw)
    return Statement(kind, subject, incarnation, by, raw[_STATEMENT.size :])


_RUMOUR = struct.Struct(">BH")
RUMOUR_HEAD = _RUMOUR.size
_KINDS = {int(kind): kind for kind in Rumour}


def rumour_octets(kind: Rumour, body: bytes) -> bytes:
    """Return a rumour as it stands at the end of a message."""
    return _RUMOUR.pack(kind, len(body)) + body


def rumours_of(data: bytes, at: int) -> Iterator[tuple[Rumour, bytes]]:
    """Yield the rumours from there to the end of a message.

    Raises:
        MalformedError: They are none.
    """
    end = len(data)
    while at < end:
        if at + RUMOUR_HEAD > end:
            raise MalformedError("a rumour ends too early")
        number, size = _RUMOUR.unpack_from(data, at)
        at += RUMOUR_HEAD
        kind = _KINDS.get(number)
        if kind is None or size > RECORD_MAX or at + size > end:
            raise MalformedError("a rumour is of no kind, or longer than its message")
        yield kind, data[at : at + size]
        at += size
