"""A player for games that reveal every joint move: it follows the true state.

It gets percepts, reads the joint move from them, steps its one state, and returns random legal
moves: for games that are too large for a belief.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ggp.errors import MachineError
from ggp.machine.abilities import Prover
from ggp.machine.base import UNKNOWN, IntArray, Machine, States
from ggp.players.parts.guessed_states import are_legal
from ggp.players.player import Decision, MoveValue
from ggp.search.anytime import Deadline

ENOUGH_MOVES = 1000
"""Most legal moves among which one is drawn: some games have hundreds of millions."""


class KnownStatePlayer:
    """Plays random legal moves, at the cost of one step a turn.

    A belief would try all moves of the other roles, thousands in some games.

    Args:
        machine: of a game that reveals the joint move to every role
            (`ggp.gdl.analysis.told_moves`).
        role: index of its role.
        rng: source of all its random choices.

    Attributes:
        state: the true state, in one lane.
    """

    def __init__(self, machine: Machine, role: int, rng: np.random.Generator) -> None:
        self._machine, self._role, self._rng = machine, role, rng
        self.state: States = machine.initial(1)
        self._visited_before = machine.states_visited

    @property
    def states_visited(self) -> int:
        return self._machine.states_visited - self._visited_before

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        **_: Any,
    ) -> None:
        """Step the state by the joint move of a turn; percepts tell all that is to know of it.

        Raises:
            MachineError: the percepts are not the joint move of this state.
        """
        machine = self._machine
        joint = _joint_move(machine, percepts or ())
        if joint is None:
            raise MachineError("the percepts do not reveal the joint move")
        for role in range(len(machine.roles)):
            move_id = int(joint[0, role])
            if not are_legal(machine, self.state, role, move_id)[0]:
                text = machine.move_text(move_id)
                raise MachineError(f"{text} is not legal for {machine.roles[role]}")
        self.state = machine.step(self.state, joint).states

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """A random legal move, or a random one of the first `ENOUGH_MOVES`.

        Raises:
            MachineError: there is no legal move: the game is over.
        """
        began_s = time.monotonic()
        machine = self._machine
        if isinstance(machine, Prover):
            moves = machine.some_legal(self.state, self._role, ENOUGH_MOVES)
        else:
            moves = machine.legal(self.state, self._role)[0]
        return drawn_decision(machine, moves.tolist(), self._rng, began_s, particles=1, exact=True)


def drawn_decision(
    machine: Machine,
    moves: Sequence[int],
    rng: np.random.Generator,
    began_s: float,
    *,
    particles: int,
    exact: bool = False,
    fault: str | None = None,
) -> Decision:
    """A decision for one of some moves, all of them equally good.

    Raises:
        MachineError: there are no moves.
    """
    if not moves:
        raise MachineError("there is no legal move: the game is over")
    texts = sorted(map(machine.move_text, moves))
    return Decision(
        move=texts[int(rng.integers(len(texts)))],
        values=tuple(MoveValue(text, None, None, 0) for text in texts),
        particles=particles,
        exact=exact,
        states_visited=0,
        seconds=time.monotonic() - began_s,
        fault=fault,
    )


def _joint_move(machine: Machine, percepts: Sequence[str]) -> IntArray | None:
    """`[1, R]` the joint move that percepts reveal; None if they do not."""
    percept_ids = machine.percept_id(percepts)
    joint = None if percept_ids is None else machine.told_moves(np.array([percept_ids]))
    return None if joint is None or (joint == UNKNOWN).any() else joint
