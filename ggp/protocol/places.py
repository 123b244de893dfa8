"""Who has a place in a lobby: matches with workers, and who gives a place up to another.

Servers do not always say that a match is over: one is killed, or sends its last message while we
are down. Such a match must not keep others out for long. So in a full lobby a match that is not
heard of when it should have been, or whose answer nobody has taken, gives its place up, once
somebody else wants it. It is not forgotten: if it goes on after all and there is room, it has a
place again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ggp.protocol.messages import Start
from ggp.protocol.session import Session

SLACK_S = 5.0
"""How much later than its clock a match may be heard of and still keep its place."""

MOST_HELD_S = 600.0
"""Where one address has all places, a match of it waits no longer than this while others want in,
however long its clocks are."""

LONG_CLOCKS_S = 3600.0
"""A match with longer clocks does not get the last place if its address has all others."""

MAX_WAITING = 16
"""Matches without a place that are remembered."""

MAX_WAITING_CHARS = 4_000_000
"""Characters of rules and percepts that are kept of them, together."""


def overdue(session: Session, now: float) -> bool:
    """Whether a match should have been heard of before now, or its server seems to be gone."""
    return session.is_abandoned or session.expected_by_s + SLACK_S < now


def gives_way(live: Sequence[Session], sender: str, now: float) -> Session | None:
    """The match of a full lobby that gives its place to another; None if there is none.

    A match for which a worker thinks, or gets ready, never does.

    Args:
        live: all that have a place.
        sender: address of who wants in; empty if it is not known.
    """
    idle = [session for session in live if not session.is_thinking]
    late = [session for session in idle if overdue(session, now)]
    if not late and _others(live, sender):
        late = [session for session in idle if session.waits_since_s + MOST_HELD_S < now]
    return min(late, key=lambda each: (not each.is_abandoned, each.expected_by_s), default=None)


def may_have_last(start: Start, live: Iterable[Session], sender: str) -> bool:
    """Whether a match may have the last place of several; those of `live` have the others."""
    clocks_s = start.start_clock_s + start.play_clock_s
    holders = {session.sender for session in live}
    return not sender or holders != {sender} or clocks_s <= LONG_CLOCKS_S


def forgotten_first(waiting: Sequence[Session]) -> Session | None:
    """Of too many matches without a place the one to forget: the oldest of the address that has
    most of them. None if they are not too many."""
    if len(waiting) <= MAX_WAITING and sum(s.num_chars for s in waiting) <= MAX_WAITING_CHARS:
        return None
    numbers = Counter(session.sender for session in waiting)
    most = max(numbers.values())
    return next(session for session in waiting if numbers[session.sender] == most)


def _others(live: Sequence[Session], sender: str) -> bool:
    """Whether one address has all places, and it is another than this one."""
    holders = {session.sender for session in live}
    return len(holders) == 1 and bool(sender) and "" not in holders and sender not in holders
