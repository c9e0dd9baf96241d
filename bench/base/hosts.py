"""Hosts of URLs: whose machine it is, and where a place that is everywhere is reached."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")


def host_of(url: str) -> str:
    """The host; nothing where there is none (ipc), or where it is no URL."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def tcp(host: str, port: int) -> str:
    """A URL; IPv6 addresses stand in brackets there."""
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"


def reached(url: str, host: str) -> str:
    """Where somebody finds it who reaches its machine as that host."""
    if host_of(url) not in EVERYWHERE or not host:
        return url
    parts = urlsplit(url)
    return tcp(host, parts.port or 0) + parts.path
