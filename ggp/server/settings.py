"""Settings of a server, and bounds on the requests of strangers.

Anything beyond a bound is refused and logged; docs/reference/security.md lists all bounds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.protocol.messages import MessageLimits
from ggp.protocol.session import default_margin_s

DEFAULT_LOG_BYTES = 10 << 30
"""Limit for all logs in a folder."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds of a server.

    Attributes:
        body_bytes: size of a body.
        header_bytes: size of the headers of a request, including its first line.
        request_s: time from the connection to the last byte of the body.
        waiting: number of connections that may wait for the answer to the same question.
        long_texts: number of long texts that may wait to be read.
        connections: number of open connections. Beyond it, a connection that has its answer is
            closed, or else the oldest incomplete request is refused.
        pending_bytes: size of all incomplete requests together. Beyond it, the oldest long one is
            refused.
        chunks: number of chunks of a body that arrives in chunks.
        linger_s: time for which a connection is still read after its answer, since closing a socket
            with unread input costs the peer the answer.
        linger_bytes: bytes read in that time.
        messages: bounds on the message in a body.
    """

    body_bytes: int = 4 << 20
    header_bytes: int = 16 << 10
    request_s: float = 20.0
    waiting: int = 16
    long_texts: int = 4
    connections: int = 128
    pending_bytes: int = 64 << 20
    chunks: int = 5_000
    linger_s: float = 1.0
    linger_bytes: int = 16 << 20
    messages: MessageLimits = field(default_factory=MessageLimits)


def _log_line(text: str) -> None:
    _log.info("%s", text)


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Settings of a server.

    Attributes:
        player: a player spec.
        name: the player's name in replies.
        matches: maximum number of simultaneous matches.
        margin_s: part of every clock reserved for transmission; None for the default.
        backend: of the thinkers' machines.
        threads: processors for a decision.
        seed: of all random choices.
        memory_bytes: memory limit of each worker.
        spares: number of worker processes kept ready; None for one more than may play at once.
        log_folder: folder for logs of matches; None for no logs.
        log_limit_bytes: limit of all files in that folder; beyond it, new matches get no log.
        confined: whether workers give up rights.
        quiet: whether output of libraries in workers is dropped.
        networks: networks whose messages are accepted; None for all.
        limits: on requests of strangers.
        tell: receives lines for the operator; must not block.
        show: receives a snapshot of all matches, as JSON values, after each change.
    """

    player: str
    name: str = "ggp"
    matches: int = 1
    margin_s: float | None = None
    backend: str = "auto"
    threads: int = 1
    seed: int = 0
    memory_bytes: int = 4 << 30
    spares: int | None = None
    log_folder: Path | None = None
    log_limit_bytes: float = DEFAULT_LOG_BYTES
    confined: bool = True
    quiet: bool = True
    networks: tuple[Network, ...] | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)
    tell: Callable[[str], None] = _log_line
    show: Callable[[list[dict[str, Any]]], None] = lambda _: None


WORKERS = 2
"""Number of workers of each match."""


def margin_of(margin_s: float | None) -> Callable[[float], float]:
    """A function for the margin of a clock: `margin_s`, but at most half of it; None for the
    default."""
    if margin_s is None:
        return default_margin_s
    return lambda clock_s: min(margin_s, clock_s / 2)


# ------------------------------------------------------------------------
# Addresses of clients, and which of them may send messages.

Network = IPv4Network | IPv6Network


def parse_network(text: str) -> Network:
    """The addresses denoted by an IP address or a network in CIDR notation.

    Raises:
        ConfigError: it is neither.
    """
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ConfigError(
            f"{text!r} is not an IP address or network; expected one like 192.168.1.7, "
            "192.168.1.0/24 or 2001:db8::/32"
        ) from None


def is_heard(address: str, networks: Iterable[Network]) -> bool:
    """Whether a client may send messages: whether one of the networks contains its address."""
    try:
        ip = ip_address(address.partition("%")[0])  # without the interface
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return any(ip in network for network in networks)
