"""Learns, from a server's messages, how much of a clock must be reserved for transmission.

Too small a margin costs a move, too large a margin costs search time. So a match begins with the
margin of `ggp.protocol.session`, and every turn in which we used up our time adds evidence:

- *overrun*: the delay with which the bytes of the answer left. It shows a busy machine, and counts
  three times;
- *gap*: the time from our answer to the next message. In this time our answer travelled there, the
  server waited for all others, and the message travelled here; so transmission took no longer;
- *round trip*: the system's measurement for the connection. Packets of a distant server are lost
  now and then, and sent again after a quarter of a second;
- *proof*: our move was executed, or the next message came before the clock was over, so that the
  server cannot have waited for anybody in vain.

With every proof the margin shrinks by the factor `SHRINK` at most, but never below the measured
times or a tenth of its first value. It grows immediately: after an overrun by the measured time,
and to its first value if a move of ours that may have been late was not executed.

    clock 1 s   margin  0.5    0.3    0.18   0.11   0.07   0.18   0.18   ... 20 turns later 0.07
                overrun 0.002  0.001  0.002  0.001  0.04   0.001  0.002  ...
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

from ggp.protocol.session import Ask

SHRINK = 0.6
"""Factor of a margin after a proof, unless the measurements need more."""

MIN_SHARE = 0.1
MIN_S = 0.05
"""Minimum share of the first margin, and minimum margin in seconds, whatever is measured."""

FORGET = 0.97
"""Factor by which the memory of a margin that was too small fades after every proof."""

OVERRUN_FACTOR = 3.0
USED_S = 0.15
"""An answer that leaves this long before its deadline, or later, has used up its time."""

NEAR_S = 0.005
NEAR_WAY_S = 0.1
"""A server with round trips shorter than `NEAR_S` is near. Its gap may have other causes than
transmission, such as a pause between turns, so transmission counts `NEAR_WAY_S` at most."""

FAR_LOSS_S = 0.25
"""Additional margin for a distant server, for a packet that is lost and sent again."""

MAX_ADDRESSES = 256

MIN_STOP_S = 0.01
"""A search must stop at least this long before the answer."""

REMEMBERED = 20
"""Number of latest turns that count."""


@dataclass(slots=True)
class _Answer:
    """An answer: when it was due, the margin of its clock, and when it left."""

    number: int
    due_s: float
    margin_s: float
    at_s: float | None = None


class Latency:
    """Measurements of transmission to one server, shared by its matches."""

    def __init__(self) -> None:
        self._overruns: deque[float] = deque(maxlen=REMEMBERED)
        self._gaps: deque[float] = deque(maxlen=REMEMBERED)
        self._trips: deque[float] = deque(maxlen=REMEMBERED)
        self._share = 1.0
        self._feared_s = 0.0

    def margin_s(self, at_first_s: float) -> float:
        """The margin of a clock whose first margin would be `at_first_s`."""
        share = max(self._share, MIN_SHARE)
        return min(at_first_s, max(share * at_first_s, self._needed_s()))

    def round_trip(self, seconds: float) -> None:
        """Record the system's measurement for a connection."""
        self._trips.append(seconds)

    def overran(self, seconds: float) -> None:
        """Record the delay of an answer that used up its time; 0 if it was in time."""
        self._overruns.append(seconds)

    def proved(self, gap_s: float) -> None:
        """Record the gap after an answer that used up its time and was in time."""
        self._gaps.append(gap_s)
        self._share = max(self._share * SHRINK, MIN_SHARE)
        self._feared_s *= FORGET

    def failed(self, margin_s: float) -> None:
        """Record that an answer may have been late despite this margin."""
        if self._share < 1.0:
            self._feared_s = max(self._feared_s, 2 * margin_s)
        self._share = 1.0

    def _needed_s(self) -> float:
        if not self._overruns or not self._gaps:
            return float("inf")
        way_s = median(self._gaps)
        trip_s = max(self._trips, default=float("inf"))
        if trip_s < NEAR_S:
            way_s = min(way_s, NEAR_WAY_S)
        else:
            way_s += FAR_LOSS_S
        return max(self._feared_s, MIN_S + OVERRUN_FACTOR * max(self._overruns) + way_s)


class Latencies:
    """Measurements of transmission to each address, for a limited number of them."""

    def __init__(self) -> None:
        self._by_address: dict[str, Latency] = {}

    def of(self, peer: str) -> Latency:
        """The latency of an address, `HOST:PORT`; the port is new in every message and ignored."""
        address = peer.rpartition(":")[0]
        latency = self._by_address.pop(address, None) or Latency()
        self._by_address[address] = latency
        if len(self._by_address) > MAX_ADDRESSES:
            del self._by_address[next(iter(self._by_address))]
        return latency


class StopTimes:
    """Learns how long before the answer a search must get the signal to stop."""

    def __init__(self, at_first_s: float) -> None:
        self._at_first_s = at_first_s
        self._late: deque[float] = deque(maxlen=REMEMBERED)

    @property
    def early_s(self) -> float:
        """The time from the signal to the answer."""
        if len(self._late) < 2:
            return self._at_first_s
        return min(self._at_first_s, MIN_STOP_S + 2 * max(self._late))

    def stopped(self, late_s: float) -> None:
        """Record the delay with which a search stopped after the signal."""
        self._late.append(late_s)


class TurnTimes:
    """Times at which the messages of one match arrive and its answers leave.

    Args:
        latency: receives the measurements.
    """

    def __init__(self, latency: Latency) -> None:
        self._latency = latency
        self._answer: _Answer | None = None
        self._latest = 0

    def deadline_s(self, ask: Ask, clock_s: float) -> float:
        """The latest time to answer a question for a move.

        Args:
            ask: has a deadline with the initial margin.
            clock_s: the server's clock.
        """
        end_s = ask.asked_at_s + clock_s
        margin_s = self._latency.margin_s(end_s - ask.deadline_s)
        if self._answer is None or self._answer.number != ask.number:
            self._answer = _Answer(ask.number, end_s - margin_s, margin_s)
        return end_s - margin_s

    def question_came(self, ask: Ask, trip_s: float | None = None) -> None:
        """Record a new question, which shows the fate of the previous answer.

        Args:
            trip_s: the system's estimate of the round trip, if it has one.
        """
        if ask.number <= self._latest or not ask.wants_move:
            return
        self._latest = ask.number
        if trip_s is not None:
            self._latency.round_trip(trip_s)
        answer, self._answer = self._answer, None
        if answer is None or answer.at_s is None or not ask.history:
            return
        if answer.at_s < answer.due_s - USED_S:
            return  # it left early enough, so its fate shows nothing about transmission
        gap_s = ask.asked_at_s - answer.at_s
        last = ask.history[-1]
        is_early = gap_s < answer.margin_s - max(0.0, answer.at_s - answer.due_s)
        is_sent = last.move is not None and not last.assumed
        if is_early or (is_sent and last.move == last.submitted):
            self._latency.proved(gap_s)
        elif is_sent:
            self._latency.failed(answer.margin_s)

    def answer_left(self, ask: Ask, now_s: float) -> None:
        """Record that the answer to a question has left."""
        answer = self._answer
        if answer is None or answer.number != ask.number or answer.at_s is not None:
            return
        answer.at_s = now_s
        if now_s >= answer.due_s - USED_S:
            self._latency.overran(max(0.0, now_s - answer.due_s))
            if now_s > answer.due_s + answer.margin_s:
                self._latency.failed(answer.margin_s)
