"""How a server plays, and bounds on what strangers may ask of it.

What passes a bound is refused, and logged; docs/security.md has them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ggp.protocol.questions import default_margin_s
from ggp.protocol.texts.forms import MessageLimits
from ggp.server.addresses import Network

DEFAULT_LOG_BYTES = 10 << 30
"""Of all logs in a folder."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds of a server.

    Attributes:
        body_bytes: of one request.
        header_bytes: of one request, its first line included.
        request_s: from the connection to the last byte of the body.
        waiting: connections that may wait for the answer to the same question.
        long_texts: that may wait to be read.
        connections: at once. Beyond it the oldest that has not sent its request yet is
            closed, or else the new one refused.
        pending_bytes: of all requests that are not complete, together. Beyond it the oldest
            long one is refused.
        chunks: that a body may come in, where it comes in chunks.
        linger_s: for which a connection is still read after its answer, since closing a socket
            that has bytes to be read costs the peer the answer.
        linger_bytes: that are read in that time.
        messages: on what is in a body.
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


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How a server plays.

    Attributes:
        player: a player spec.
        name: what it calls itself.
        matches: at once.
        margin_s: what is kept of every clock; None for the default.
        backend: of the thinkers' machines.
        threads: processors for a decision.
        seed: of all random choices.
        memory_bytes: of each worker.
        spares: worker processes that are kept ready; None for as many as may play at once, and one
            more.
        log_folder: for logs of matches; None for none.
        log_limit_bytes: of all files in that folder; matches that begin beyond have no log.
        confined: whether workers give up rights.
        quiet: whether what libraries print in workers is dropped.
        allowed: networks that are heard; None for everybody.
        limits: on what strangers may ask.
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
    allowed: tuple[Network, ...] | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)


WORKERS = 2
"""Of each match."""


def spares_of(spares: int | None, matches: int) -> int:
    """How many workers are kept ready; None for as many as may play at once, and one more."""
    return WORKERS * matches + 1 if spares is None else spares


def margin_of(margin_s: float | None) -> Callable[[float], float]:
    """What is kept of a clock: so many seconds, but at most half of it; None for the default."""
    if margin_s is None:
        return default_margin_s
    return lambda clock_s: min(margin_s, clock_s / 2)
