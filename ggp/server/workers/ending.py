"""What the end of a match was worth to a role, as far as its path tells.

Servers do not say the score. Where every move is told, the rules give it; elsewhere it is known if
all states that agree with the whole path are worth the same, and all of them were found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ggp.errors import GGPError, MachineError
from ggp.machine import role_index
from ggp.machine.base import FloatArray, Machine
from ggp.players import make_player, parse_spec
from ggp.players.known_state import KnownStatePlayer
from ggp.players.parts.belief_player import BeliefPlayer
from ggp.protocol.turns import PathTurn
from ggp.search.anytime import Deadline, OutOfTime
from ggp.server.workers.orders import Setup

_DRAWN = 2_000
"""States before the last turn that are drawn to see how it may have ended the match."""


def goal_at_end(
    machine: Machine, setup: Setup, turns: Sequence[PathTurn], deadline_s: float
) -> float | None:
    """The goal value of our role after the last turn of a match.

    Args:
        machine: of the game; its percepts tell joint moves if the server does.
        setup: of the match.
        turns: all turns of the match, as our role was told.
        deadline_s: until when, on `time.monotonic`, states may be searched for.

    Returns:
        None if it is not known.
    """
    if not turns:
        return None
    role, rng = role_index(machine, setup.role), np.random.default_rng(setup.seed)
    try:
        goals = _goals_of_told(machine, role, turns, rng)
        if goals is None:
            deadline = Deadline(deadline_s, time.monotonic)
            goals = _goals_of_path(machine, role, turns, rng, deadline)
    except (GGPError, OutOfTime):
        return None
    worth = np.unique(goals)
    return float(worth[0]) if len(worth) == 1 else None


def _goals_of_told(
    machine: Machine, role: int, turns: Sequence[PathTurn], rng: np.random.Generator
) -> FloatArray | None:
    """The goal in the true state; None if not all moves are told."""
    player = KnownStatePlayer(machine, role, rng)
    try:
        for turn in turns:
            player.observe(turn.move, turn.percepts)
    except MachineError:
        return None
    goals: FloatArray = machine.goals(player.state)[machine.terminal(player.state), role]
    return goals


def _goals_of_path(
    machine: Machine,
    role: int,
    turns: Sequence[PathTurn],
    rng: np.random.Generator,
    deadline: Deadline,
) -> FloatArray:
    """The goals in states that agree with the path; none unless all of those before the last turn
    were found."""
    player = make_player(parse_spec("random"), machine, role, rng)
    assert isinstance(player, BeliefPlayer)
    *earlier, last = turns
    for turn in earlier:
        player.observe(
            turn.move,
            turn.percepts,
            submitted=turn.submitted,
            in_time=turn.in_time,
            deadline=deadline,
        )
    tracker = player.tracker
    ended = tracker.ended(last.move, last.percepts, _DRAWN) if tracker.bag.exact[0] else None
    return np.empty(0) if ended is None else machine.goals(ended)[:, role]
