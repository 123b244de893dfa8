"""One decision, made in a worker process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ggp.errors import MatchError
from ggp.gdl.normalize import load
from ggp.machine import Limits, Machine, build_machine, role_index
from ggp.players import make_player, parse_spec
from ggp.players.player import KnownTurn


@dataclass(frozen=True, slots=True)
class Thought:
    """A decision to make.

    Attributes:
        game: name or path of the rulesheet.
        backend, limits: backend of the machine, and limits on building it.
        role: the role that decides.
        player: spec of the player.
        history: its turns so far.
        seed: seed of the player.
    """

    game: str
    backend: str
    limits: Limits
    role: str
    player: str
    history: tuple[KnownTurn, ...]
    seed: int


def think(thought: Thought) -> tuple[Mapping[str, float], int, str]:
    """Make a decision: the value of every candidate, the number of states visited, the backend.

    Raises:
        MatchError: the player could not decide.
    """
    machine = _machine(thought.game, thought.backend, thought.limits)
    role = role_index(machine, thought.role)
    rng = np.random.default_rng(thought.seed)
    player = make_player(parse_spec(thought.player), machine, role, rng)
    for move, percepts in thought.history:
        player.observe(move, percepts)
    decision = player.choose()
    if decision.fault is not None:
        raise MatchError(decision.fault)
    values = {v.move: v.value for v in decision.values if v.value is not None}
    return values, decision.states_visited, machine.backend


@lru_cache(maxsize=2)
def _machine(game: str, backend: str, limits: Limits) -> Machine:
    return build_machine(load(game), backend, limits)
