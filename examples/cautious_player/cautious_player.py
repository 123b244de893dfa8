"""A cautious player: of all moves the one whose worst case is best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.machine.base import FloatArray, States
from ggp.players import BeliefPlayer, Choice, MoveValue, whole
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates
from ggp.search.moves import executed_moves, random_moves
from ggp.search.playouts import RandomPlayouts


@dataclass(frozen=True)
class CautiousOptions:
    """Options of `cautious`."""

    playouts: int = whole(16, "random playouts of each move in each particle")


class Cautious(BeliefPlayer):
    """The move with the highest minimum over particles of the mean of random playouts."""

    Options = CautiousOptions
    options: CautiousOptions

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        moves = candidates(self.machine, bag).values.tolist()
        worst = [self._worth(bag.states_of(0), move, deadline).min() for move in moves]
        visits = self.options.playouts * len(bag.states_of(0))
        values = tuple(
            MoveValue(self.machine.move_text(move), float(value), None, visits)
            for move, value in zip(moves, worst, strict=True)
        )
        return moves[int(np.argmax(worst))], values

    def _worth(self, states: States, move: int, deadline: Deadline | None) -> FloatArray:
        """`[N]` mean goal value of playouts after a move in each of N particles."""
        machine, rng = self.machine, self.rng
        lanes = states.take(np.repeat(np.arange(len(states)), self.options.playouts))
        joint = [random_moves(machine, lanes, r, rng) for r in range(len(machine.roles))]
        submitted = np.full(len(lanes), move)
        joint[self.role], _ = executed_moves(machine, lanes, self.role, submitted, rng)
        after = machine.step(lanes, np.column_stack(joint)).states
        goals, _ = RandomPlayouts(machine).values(after, self.role, rng, deadline)
        return goals.reshape(len(states), -1).mean(axis=1)
