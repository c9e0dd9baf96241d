"""`meshmsg doctor`: finds out step by step whether a socket can be connected to, or why not.

It opens a socket as a program would, and tells what its events say. Not here: the steps
(steps.py), the arguments (program.py). Law: it disturbs nobody: by itself it takes roles only that
are given no messages of others.
"""

from __future__ import annotations

import os
import queue
import re
import socket as system
import threading
import time
from dataclasses import dataclass
from typing import Any

import meshmsg
from meshmsg._binding.errors import AddressError
from meshmsg._binding.peer_info import PeerInfo
from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._cli.steps import STEP_OF, Report
from meshmsg._hints.plural import counted
from meshmsg._hints.wrong_role import roles_of
from meshmsg._security.certificates.expiry import trouble_of, valid_text, validity_in
from meshmsg._security.environment.ini import Unsaid
from meshmsg._security.environment.variable import VARIABLE, FromEnvironment
from meshmsg._security.plain import Plain
from meshmsg._security.policy import Nothing, Policy, Profile
from meshmsg._socket.peers import Attempt, attempts_of

ROLES = {name.lower(): kind for name, kind in roles_of(meshmsg).items()}
TRIED = ("sub", "req", "push", "pub", "surveyor")
"""What is tried where a peer does not say its role to whom it does not want: each meets others."""
_BEAT_S = 0.1
"""Seconds between heartbeats, which are the round trips."""
_LOOK_S = 0.02
_ENDS = (EventKind.CONNECT_FAILED, EventKind.HANDSHAKE_FAILED, EventKind.PEER_DOWN)
_KEY_IS_RIGHT = "it may not let this key in, or not want this role"
"""What an event says of an end behind WELCOME, which only the owner of the key can make."""
_NO_KEY = "we have no key="
"""What it says where we are turned away by CURVE, and have no key of our own."""
_NO_TLS = "it may not speak TLS there"
"""What it says of an end before anything was said."""
_ADVICE = {
    Reason.SOCKET_TYPE: "take another --role, or none",
    Reason.REFUSED: "start the program that binds there, or check the port",
    Reason.PLAINTEXT: "take tls+tcp://, and --security FILE with [connect]",
    Reason.TLS_EXPECTED: "take tcp://, or have the other side bind tls+tcp://, with a policy",
    Reason.CERTIFICATE: (
        "`meshmsg keys show` of its certificate says names, dates and pin; in --security FILE, ca "
        "has to be its signer, or allow its pin"
    ),
    Reason.TLS_ALERT: (
        "the event of the other side says why; cert and key of --security FILE are what it is shown"
    ),
}
"""What to do, by reasons that mostly have one cause."""
_CANNOT_TALK = re.compile(r"(\w+) cannot talk to (\w+)")
"""What the event of SOCKET_TYPE says: our role, its role."""


@dataclass
class Met:
    """What came of one attempt.

    Attributes:
        peer: Who is there; None: nobody became a peer.
        event: What ended it, or the last that was told of it; None: nothing was.
        begun: What answered by then without becoming a peer.
    """

    peer: PeerInfo | None = None
    event: Event | None = None
    begun: Attempt | None = None


def examine(
    url: str, security: Policy | Profile | None, role: str | None, timeout: float
) -> Report:
    """Look at an endpoint.

    Args:
        url: To connect to.
        security: What protects the connection; None is what the environment says.
        role: What we are, one of ROLES; None finds one that is given no messages.
        timeout: Seconds for each attempt.

    Raises:
        UsageError: The policy and the endpoint do not agree, or the environment's file is wrong.
        ResourceError: A library is missing.
    """
    report = Report(url)
    policy = _ours(security)
    _tell_dates(policy, report)
    if not _resolve(url, timeout, report):
        return report
    if not _agree(url, policy, report):
        return report
    tried: list[str] = []
    chosen: str | None = role or TRIED[0]
    met = Met()
    while chosen is not None:
        tried.append(chosen)
        try:
            met = _meet(url, security, chosen, timeout)
        except AddressError as error:
            report.fail("name", str(error))
            return report
        chosen = None if role or met.peer else _next_role(met.event, tried)
    if met.peer is not None:
        _tell_peer(met.peer, met.event, tried[-1], report)
    elif met.event is None and met.begun is not None:
        report.well("connection", f"{met.begun.address} answers")
        words = f"the handshake is not done after {timeout:g} s"
        come = counted(met.begun.octets, "octet")
        report.fail("wire", f"{words} ({come} came)", advice="give it more --timeout")
    elif met.event is None:
        words = f"nobody answered within {timeout:g} s"
        report.fail("connection", words, advice="check host and port, and what filters packets")
    elif role is None and (loud := _giver(met.event)):
        _tell_giver(loud, met.event, report)
    else:
        protects = security is not None or VARIABLE in os.environ
        asked = _Asked(role is None, tried, protects, isinstance(policy, Plain))
        _tell_failure(met.event, asked, report)
    return report


def _ours(security: Policy | Profile | None) -> Policy | None:
    """Return what protects a connection that we make, by what is said or the environment has."""
    said = security if security is not None else FromEnvironment().security()
    return said.connect if isinstance(said, Profile) else said


def _agree(url: str, policy: Policy | None, report: Report) -> bool:
    """Look whether a policy is for such an endpoint; what is no fault of either is told later."""
    is_tls = url.startswith(("tls+", "sp+tls+"))
    if policy is None or isinstance(policy, Nothing):
        if is_tls:
            advice = "say what protects the connection: --security FILE, with [connect]"
            report.fail("mechanism", "TLS needs a policy, and there is none", advice=advice)
        return not is_tls
    why = "" if isinstance(policy, Unsaid) else policy._refusal(url, binds=False, insecure=True)
    if why:
        advice = (
            "--security FILE, with [connect] and mechanism = tls or secret; --server and --key are "
            "of CURVE, at tcp://"
            if is_tls
            else "have the endpoint and [connect] of --security FILE agree"
        )
        report.fail("mechanism", why, advice=advice)
    return not why


def _tell_dates(policy: Policy | None, report: Report) -> None:
    for expiry in policy._dates() if policy is not None else ():
        words, good = expiry.shown(time.time())
        if words:
            report.dates(words, good=good)


def _resolve(url: str, timeout: float, report: Report) -> bool:
    """Look up the host; of malformed endpoints connecting tells."""
    scheme, _, place = url.partition("://")
    host = place.rpartition(":")[0].strip("[]")
    if not scheme.endswith("tcp") or not host:
        report.well("name", f"{url} has no host that would have to be found")
        return True
    try:
        found = system.getaddrinfo(host, None, type=system.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        words = f"the name {host} is unknown ({getattr(error, 'strerror', None) or error})"
        report.fail("name", words, reason=Reason.UNREACHABLE.name, advice="check the host")
        return False
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    report.well("name", f"{host} is {', '.join(addresses)}")
    return True


def _meet(url: str, security: Policy | Profile | None, role: str, timeout: float) -> Met:
    """Be a socket of a role, until it has a peer whose round trip is known, or has none."""
    told: queue.SimpleQueue[Event] = queue.SimpleQueue()
    options: dict[str, Any] = {"security": security, "heartbeat_interval": _BEAT_S, "linger": 0}
    met = Met()
    options |= {"reconnect_min": timeout, "reconnect_max": timeout, "on_event": told.put}
    with ROLES[role](**options) as s:
        s.connect(url)
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0 and met.peer is None:
            try:
                met.event = told.get(timeout=left)
            except queue.Empty:
                met.begun = next((one for one in attempts_of(s._handle) if one.connected), None)
                return met
            if met.event.kind in _ENDS:
                return met
            if met.event.kind is EventKind.PEER_UP:
                met.peer = next(iter(s.peers()), None)
        pause = threading.Event()
        while met.peer is not None and met.peer.rtt is None and _pings(met.peer):
            if time.monotonic() > until:
                break
            pause.wait(_LOOK_S)
            met.event = _ended(told)
            if met.event is not None:
                break
            met.peer = next(iter(s.peers()), met.peer)
    return met


def _pings(peer: PeerInfo) -> bool:
    return peer.wire == "zmtp" and peer.zmtp_minor > 0


def _ended(told: queue.SimpleQueue[Event]) -> Event | None:
    """Return the end of the peer, if it has come."""
    while not told.empty():
        event = told.get()
        if event.kind in _ENDS:
            return event
    return None


def _quiet_to(peer: str) -> str:
    """Return which of a role's partners is given nothing by it; "": none is.

    One that could send and does not, or a subscriber of nothing.
    """
    kind = ROLES.get(peer.lower())
    return str(kind._quiet_to) if kind is not None else ""


def _next_role(event: Event | None, tried: list[str]) -> str | None:
    """Return what else to be; None: it was not the role, or nothing is left."""
    if event is None:
        return None
    said = _CANNOT_TALK.search(event.detail)
    if said:
        other = _quiet_to(said[2])
        return other if other and other not in tried else None
    if event.reason is Reason.HANDSHAKE_EOF and "not want this role" in event.detail:
        return next((one for one in TRIED if one not in tried), None)
    return None


def _giver(event: Event) -> str:
    """Return the role of a peer that would give us messages, "" if it is none."""
    said = _CANNOT_TALK.search(event.detail)
    return said[2] if said and not _quiet_to(said[2]) else ""


def _tell_giver(role: str, event: Event, report: Report) -> None:
    report.well("connection", f"{event.address or report.url} answers")
    report.well("wire", "SP" if report.url.startswith("sp+") else "ZMTP 3")
    report.well("mechanism", "both sides have the same")
    report.unknown(
        "role",
        f"it is a {role}, and would give us messages, which are lost when the doctor leaves: name "
        "a --role to go on all the same",
    )


def _tell_peer(peer: PeerInfo, end: Event | None, role: str, report: Report) -> None:
    report.well("connection", f"{peer.address} answers")
    wire = "SP" if peer.wire == "sp" else f"ZMTP 3.{peer.zmtp_minor}"
    report.well("wire", f"{wire}{', a socket of meshmsg' if peer.meshmsg else ''}")
    if peer.mechanism == "NULL":
        report.well("mechanism", "NULL: nothing protects this connection")
    else:
        whose = f"; it has the key {peer.key}" if peer.key else ""
        report.well("mechanism", f"{peer.mechanism}{whose}")
        _tell_certificate(peer.certificate, report)
    named = f", named {peer.identity!r}" if peer.identity else ""
    report.well("role", f"it is a {peer.role}{named}; we were a {role.upper()}")
    report.well("allowed", "we were let in")
    if peer.rtt is not None:
        report.well("round trip", f"{peer.rtt * 1000:.2f} ms")
    elif end is not None and end.kind in _ENDS:
        report.fail("round trip", end.detail, reason=end.reason.name)
    elif not _pings(peer):
        report.unknown("round trip", f"{wire} has no ping")
    else:
        report.fail("round trip", "no answer to a ping")


def _tell_certificate(shown: bytes, report: Report) -> None:
    """Say how long the peer's own certificate is good, if it showed one."""
    dates, now = validity_in(shown), time.time()
    if dates:
        words = f"the peer's certificate: {valid_text(dates, now)}"
        report.dates(words, good=not trouble_of(dates, now))


@dataclass
class _Asked:
    """What was asked for, and tried."""

    finds: bool
    """Whether a role was to be found."""
    tried: list[str]
    protects: bool
    password: bool
    """Whether that is what we are known by."""


def _tell_failure(event: Event, asked: _Asked, report: Report) -> None:
    name = event.reason.name
    step = STEP_OF.get(name, "connection")
    if event.kind is EventKind.PEER_SILENT and event.detail.startswith("connected"):
        step = "wire"
    elif event.kind is EventKind.PEER_SILENT and event.detail.startswith("the handshake"):
        step = "mechanism" if asked.protects else "wire"
    if step != "connection":
        report.well("connection", f"{event.address or report.url} answers")
    if _KEY_IS_RIGHT in event.detail:
        report.well("mechanism", "the server has the key that we expect")
        step = "allowed"
    reason = name if event.reason is not Reason.NONE else ""
    report.fail(step, event.detail, reason=reason, advice=_advice(event, asked))


def _advice(event: Event, asked: _Asked) -> str:
    """Say what to do, if that is known."""
    reason = event.reason
    ours_is_plain = not asked.protects or "ours NULL" in event.detail
    if ours_is_plain and reason in (Reason.MECHANISM, Reason.HANDSHAKE_EOF):
        return "say what protects the connection: --server KEY, or --security FILE"
    if reason is Reason.MECHANISM:
        return "say nothing of security, or have the other side protect its socket alike"
    if reason is Reason.HANDSHAKE_EOF and "server=" in event.detail:
        return "compare --server with what `meshmsg keys show` says of the server's .key file"
    if reason is Reason.HANDSHAKE_EOF and asked.finds and len(asked.tried) > 1:
        return "name a --role that can talk to it, or look at the events of the other side"
    denied = STEP_OF.get(reason.name) == "allowed"
    if asked.password and (denied or "let our user in" in event.detail):
        return "check user and password; the event of the other side says what is wrong of them"
    if _NO_KEY in event.detail:
        return "say --key FILE: without it we have a new key each time, which is in no list"
    if denied:
        return "the event of the other side says why; `meshmsg keys allow` there lets a key in"
    if _NO_TLS in event.detail:
        reason = Reason.TLS_EXPECTED
    return _ADVICE.get(reason, "")
