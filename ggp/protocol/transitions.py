"""The life of a match as a table: the effect of each event in each state.

`docs/reference/protocol.md` has it as a table for readers, written from this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ggp.protocol.messages import ABORTED, BUSY, DONE, READY


class MatchState(StrEnum):
    """The state of a match."""

    ABSENT = "absent"  # not known, or forgotten
    STARTING = "starting"  # the server waits for `ready`
    WAITING = "waiting"  # we wait for the server
    THINKING = "thinking"  # the server waits for a move
    OVER = "over"  # stopped, aborted or replaced; remembered for a while


class Event(StrEnum):
    """Events of a match: the meaning of a message, given what came before it."""

    START = "start"  # of a match that is not known, or over
    START_AGAIN = "start again"  # same role, rules and clocks
    START_ANEW = "start anew"  # same match id, something else is not
    PLAY_NEXT = "next turn"
    PLAY_GAP = "turns missing"  # a later turn than the next
    PLAY_AGAIN = "turn again"  # as it was told before
    PLAY_REVISED = "turn revised"  # a turn we know, told otherwise
    PLAY_LATE = "missed turn"  # one of the turns that were missing
    STOP = "stop"
    ABORT = "abort"
    ANSWERED = "answered"  # the open question was answered
    SILENT = "silent"  # for longer than twice the clocks and a minute


class Action(StrEnum):
    """The reaction to an event."""

    ASK_READY = "ask the worker to get ready"
    ASK_MOVE = "ask the worker for a move"
    REPEAT = "answer as before"
    SAY_READY = READY
    SAY_DONE = DONE
    SAY_ABORTED = ABORTED
    SAY_BUSY = BUSY
    REPLACE = "end it, begin the other match"
    NOTHING = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """The effect of an event in a state: the next state, and the action."""

    state: MatchState
    action: Action


def _transitions() -> Iterator[tuple[tuple[MatchState, Event], Transition]]:
    new_turns = (Event.PLAY_NEXT, Event.PLAY_GAP, Event.PLAY_REVISED)
    old_turns = (Event.PLAY_AGAIN, Event.PLAY_LATE)
    absent, over = MatchState.ABSENT, MatchState.OVER
    yield (absent, Event.START), Transition(MatchState.STARTING, Action.ASK_READY)
    for event in (Event.PLAY_NEXT, Event.STOP, Event.ABORT):
        yield (absent, event), Transition(absent, Action.SAY_BUSY)

    for live in (MatchState.STARTING, MatchState.WAITING, MatchState.THINKING):
        played = live is not MatchState.STARTING
        same = Action.SAY_READY if played else Action.REPEAT
        yield (live, Event.START_AGAIN), Transition(live, same)
        for event in new_turns if played else new_turns[:2]:
            yield (live, event), Transition(MatchState.THINKING, Action.ASK_MOVE)
        for event in old_turns if played else ():
            yield (live, event), Transition(live, Action.REPEAT)
        yield (live, Event.STOP), Transition(over, Action.SAY_DONE)
        yield (live, Event.ABORT), Transition(over, Action.SAY_ABORTED)
        yield (live, Event.SILENT), Transition(absent, Action.NOTHING)
    for open_state in (MatchState.STARTING, MatchState.THINKING):
        # Somebody waits at the other end, so the match is alive.
        yield (open_state, Event.START_ANEW), Transition(open_state, Action.SAY_BUSY)
        yield (open_state, Event.ANSWERED), Transition(MatchState.WAITING, Action.NOTHING)
    yield (MatchState.WAITING, Event.START_ANEW), Transition(over, Action.REPLACE)

    yield (over, Event.START), Transition(over, Action.REPLACE)
    yield (over, Event.PLAY_NEXT), Transition(over, Action.SAY_BUSY)
    yield (over, Event.PLAY_AGAIN), Transition(over, Action.REPEAT)
    yield (over, Event.STOP), Transition(over, Action.SAY_DONE)
    yield (over, Event.ABORT), Transition(over, Action.SAY_ABORTED)
    yield (over, Event.SILENT), Transition(absent, Action.NOTHING)


TRANSITIONS: Mapping[tuple[MatchState, Event], Transition] = dict(_transitions())
"""The life of a match. What is not in it cannot happen."""

LIVE = frozenset({MatchState.STARTING, MatchState.WAITING, MatchState.THINKING})
"""States of matches that need a worker."""
