"""Several roles of one match that are played on one address, and which of them a message is for.

Servers send a message of each turn to every role, and where one address plays several, only the
start message names the role. The others are told apart by what they say, in this order:

1. The name of the receiver, where the starts had different ones: ggp-base sends the player's.
2. A message that is new to one role is for that one: another has had it already.
3. A message that repeats one whose answer was lost is for the role that answered.
4. A message that tells the move that one role answered is for that one.
5. Otherwise the roles are asked in the order of the rules, as servers do.

A server that asks all roles at the same moment, and calls us by one name, may be misunderstood:
nothing but the order of its messages tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ggp.protocol.messages import Abort, Play, Start, Stop
from ggp.protocol.session import Session
from ggp.protocol.transitions import Event, MatchState

MOST_ROLES = 4
"""Most roles of one match that share its place: each has workers of its own."""

_ORDER: Mapping[Event, int] = {
    Event.PLAY_NEXT: 0,
    Event.PLAY_GAP: 1,
    Event.PLAY_AGAIN: 2,
    Event.PLAY_LATE: 2,
    Event.PLAY_REVISED: 3,
}
"""Events of turns, from those that say most clearly that a message is for a role."""

_OVER = 4


def seat_for(
    seats: Sequence[Session], message: Play | Stop | Abort, receiver: str, now: float
) -> Session:
    """The role that a message is for.

    Args:
        seats: the roles of its match that we play, at least one, in the order of the rules.
        message: of the match.
        receiver: the name that the server calls us; empty if it does not.
        now: the time.

    Raises:
        RemoteProtocolError: the match goes on beyond the limit of turns.
    """
    if len(seats) == 1:
        return seats[0]
    named = [each for each in seats if each.receiver == receiver]
    return min(named or seats, key=lambda each: _distance(each, message, now))


def joins(seats: Sequence[Session], start: Start) -> bool:
    """Whether a start is for another role of a match that has just begun, and not a new match.

    Args:
        seats: the roles that we play in the match with its id.
        start: for a role that is not among them.
    """
    others = [each for each in seats if each.state is not MatchState.OVER]
    return bool(others) and all(
        each.dialect is None and not each.is_abandoned and same_match(each, start)
        for each in others
    )


def same_match(seat: Session, start: Start) -> bool:
    """Whether a start has the rules and clocks of a match, and one of its roles."""
    first = seat.start
    clocks = (first.start_clock_s, first.play_clock_s)
    return (
        first.rules == start.rules
        and clocks == (start.start_clock_s, start.play_clock_s)
        and seat.outline.read(start.role) in seat.outline.roles
    )


def shared_names(seats: Sequence[Session], newcomer: Session) -> tuple[str, ...]:
    """What is odd about a role that begins: the server may call us the same as another role."""
    others = [
        each.role for each in seats if each is not newcomer and each.receiver == newcomer.receiver
    ]
    if not others:
        return ()
    return (
        f"we are {', '.join(others)} in this match too, under the same name: messages that come at "
        "the same moment may be mixed up; a name, or a port, of its own for each role prevents it",
    )


def _distance(
    seat: Session, message: Play | Stop | Abort, now: float
) -> tuple[int, bool, bool, int]:
    """The smaller, the likelier a message is for a role."""
    if seat.state is MatchState.OVER:
        return _OVER, True, True, 0
    if isinstance(message, Abort):
        return 0, True, True, 0
    play = Play(message.match_id, message.turn, message.last_move, message.told)
    reading, answers = seat.read(play, now)
    told = None if reading.told is None else reading.told.move
    before, latest = (answers.get(turn) for turn in (reading.turn - 1, reading.turn))
    is_lost = latest is not None and latest.is_lost
    is_ours = told is not None and before is not None and told == before.submitted
    return _ORDER[reading.event], not is_lost, not is_ours, seat.num_turns
