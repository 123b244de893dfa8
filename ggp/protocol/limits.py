"""Bounds on what strangers may ask of the server; what passes one is refused, and logged."""

from __future__ import annotations

from dataclasses import dataclass, field

from ggp.protocol.forms import MessageLimits


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
