"""Places in a lobby: which matches have workers, and which give their place to another.

Servers do not always announce the end of a match: one is killed, or sends its last message while we
are down. Such a match must not keep others out for long. So in a full lobby a match whose next
message is overdue, or whose answer nobody has taken, gives its place up when another needs it. It
is not forgotten: if it goes on after all and there is room, it gets a place again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ggp.protocol.messages import Start
from ggp.protocol.session import Session

SLACK_S = 5.0
"""Delay of a message beyond its clock with which a match still keeps its place."""

MOST_HELD_S = 600.0
"""If one address has all places, one of its matches waits no longer than this while others want in,
however long its clocks are."""

LONG_CLOCKS_S = 3600.0
"""A match with longer clocks does not get the last place if its address has all others."""

MAX_WAITING = 16
"""Most matches without a place that are remembered."""

MAX_WAITING_CHARS = 4_000_000
"""Characters of rules and percepts that are kept of all of them together."""


def overdue(session: Session, now: float) -> bool:
    """Whether a message of the match is overdue, or its server seems to be gone."""
    return session.is_abandoned or session.expected_by_s + SLACK_S < now


def gives_way(live: Sequence[Session], sender: str, now: float) -> Session | None:
    """The match in a full lobby that gives its place to another; None if there is none.

    A match for which a worker is thinking, or getting ready, never does. If we play several of its
    roles, all must be silent.

    Args:
        live: all roles of matches that have a place.
        sender: address of the newcomer; empty if unknown.

    Returns:
        one of its roles.
    """
    idle = _all_of(live, lambda session: not session.is_thinking)
    late = _all_of(idle, lambda session: overdue(session, now))
    if not late and _others(live, sender):
        late = _all_of(idle, lambda session: session.waits_since_s + MOST_HELD_S < now)
    return min(late, key=lambda each: (not each.is_abandoned, each.expected_by_s), default=None)


def _all_of(live: Sequence[Session], holds: Callable[[Session], bool]) -> list[Session]:
    """The roles of matches of which something holds for all roles."""
    others = {session.start.match_id for session in live if not holds(session)}
    return [session for session in live if session.start.match_id not in others]


def may_have_last(start: Start, live: Iterable[Session], sender: str) -> bool:
    """Whether a match may have the last of several places; those of `live` have the others."""
    clocks_s = start.start_clock_s + start.play_clock_s
    holders = {session.sender for session in live}
    return not sender or holders != {sender} or clocks_s <= LONG_CLOCKS_S


def forgotten_first(waiting: Sequence[Session]) -> Session | None:
    """The match to forget of too many without a place: the oldest of the address that has most of
    them. None if they are not too many."""
    if len(waiting) <= MAX_WAITING and sum(s.num_chars for s in waiting) <= MAX_WAITING_CHARS:
        return None
    numbers = Counter(session.sender for session in waiting)
    most = max(numbers.values())
    return next(session for session in waiting if numbers[session.sender] == most)


def _others(live: Sequence[Session], sender: str) -> bool:
    """Whether one address has all places, and it is not this one."""
    holders = {session.sender for session in live}
    return len(holders) == 1 and bool(sender) and "" not in holders and sender not in holders
