"""The life of a match as a table: the next state and the reaction, for each event in each state.

`session` looks every event up here. `docs/reference/protocol.md` shows the same table, written from
this one.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    PLAY_AGAIN = "turn again"  # with the same content
    PLAY_REVISED = "turn revised"  # with other content
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


TRANSITIONS: Mapping[tuple[MatchState, Event], tuple[MatchState, Action]] = {
    (MatchState.ABSENT, Event.START): (MatchState.STARTING, Action.ASK_READY),
    (MatchState.ABSENT, Event.PLAY_NEXT): (MatchState.ABSENT, Action.SAY_BUSY),
    (MatchState.ABSENT, Event.STOP): (MatchState.ABSENT, Action.SAY_BUSY),
    (MatchState.ABSENT, Event.ABORT): (MatchState.ABSENT, Action.SAY_BUSY),
    (MatchState.STARTING, Event.START_AGAIN): (MatchState.STARTING, Action.REPEAT),
    (MatchState.STARTING, Event.PLAY_NEXT): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.STARTING, Event.PLAY_GAP): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.STARTING, Event.STOP): (MatchState.OVER, Action.SAY_DONE),
    (MatchState.STARTING, Event.ABORT): (MatchState.OVER, Action.SAY_ABORTED),
    (MatchState.STARTING, Event.SILENT): (MatchState.ABSENT, Action.NOTHING),
    # A client waits at the other end, so the match is alive.
    (MatchState.STARTING, Event.START_ANEW): (MatchState.STARTING, Action.SAY_BUSY),
    (MatchState.STARTING, Event.ANSWERED): (MatchState.WAITING, Action.NOTHING),
    (MatchState.WAITING, Event.START_AGAIN): (MatchState.WAITING, Action.SAY_READY),
    (MatchState.WAITING, Event.PLAY_NEXT): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.WAITING, Event.PLAY_GAP): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.WAITING, Event.PLAY_REVISED): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.WAITING, Event.PLAY_AGAIN): (MatchState.WAITING, Action.REPEAT),
    (MatchState.WAITING, Event.PLAY_LATE): (MatchState.WAITING, Action.REPEAT),
    (MatchState.WAITING, Event.STOP): (MatchState.OVER, Action.SAY_DONE),
    (MatchState.WAITING, Event.ABORT): (MatchState.OVER, Action.SAY_ABORTED),
    (MatchState.WAITING, Event.SILENT): (MatchState.ABSENT, Action.NOTHING),
    (MatchState.WAITING, Event.START_ANEW): (MatchState.OVER, Action.REPLACE),
    (MatchState.THINKING, Event.START_AGAIN): (MatchState.THINKING, Action.SAY_READY),
    (MatchState.THINKING, Event.PLAY_NEXT): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.THINKING, Event.PLAY_GAP): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.THINKING, Event.PLAY_REVISED): (MatchState.THINKING, Action.ASK_MOVE),
    (MatchState.THINKING, Event.PLAY_AGAIN): (MatchState.THINKING, Action.REPEAT),
    (MatchState.THINKING, Event.PLAY_LATE): (MatchState.THINKING, Action.REPEAT),
    (MatchState.THINKING, Event.STOP): (MatchState.OVER, Action.SAY_DONE),
    (MatchState.THINKING, Event.ABORT): (MatchState.OVER, Action.SAY_ABORTED),
    (MatchState.THINKING, Event.SILENT): (MatchState.ABSENT, Action.NOTHING),
    (MatchState.THINKING, Event.START_ANEW): (MatchState.THINKING, Action.SAY_BUSY),
    (MatchState.THINKING, Event.ANSWERED): (MatchState.WAITING, Action.NOTHING),
    (MatchState.OVER, Event.START): (MatchState.OVER, Action.REPLACE),
    (MatchState.OVER, Event.PLAY_NEXT): (MatchState.OVER, Action.SAY_BUSY),
    (MatchState.OVER, Event.PLAY_AGAIN): (MatchState.OVER, Action.REPEAT),
    (MatchState.OVER, Event.STOP): (MatchState.OVER, Action.SAY_DONE),
    (MatchState.OVER, Event.ABORT): (MatchState.OVER, Action.SAY_ABORTED),
    (MatchState.OVER, Event.SILENT): (MatchState.ABSENT, Action.NOTHING),
}
"""The life of a match: the next state and the reaction. All other events are impossible."""

LIVE = frozenset({MatchState.STARTING, MatchState.WAITING, MatchState.THINKING})
"""States of matches that need a worker."""
