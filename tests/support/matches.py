"""One match played move by move, as a script says."""

from __future__ import annotations

import numpy as np

from tests.support.comparing.walks import joint_move
from tests.support.games import machine_of_game

Percepts = dict[str, tuple[str, ...]]
"""The percepts of each role in one turn, sorted; roles without percepts are left out."""


class Match:
    """A match of a game of ours."""

    def __init__(self, game: str, backend: str = "propnet") -> None:
        self.machine = machine_of_game(game, backend)
        self._states = self.machine.initial(1)

    @property
    def terminal(self) -> bool:
        return bool(self.machine.terminal(self._states)[0])

    @property
    def goals(self) -> dict[str, int]:
        """The score of each role but `random`."""
        values = self.machine.goals(self._states)[0].tolist()
        scores = dict(zip(self.machine.roles, map(int, values), strict=True))
        scores.pop("random", None)
        return scores

    @property
    def fluents(self) -> tuple[str, ...]:
        return self.machine.fluents(self._states)[0]

    def legal(self, role: str) -> set[str]:
        moves = self.machine.legal(self._states, self.machine.roles.index(role))[0]
        return set(map(self.machine.move_text, moves.tolist()))

    def play(self, **moves: str) -> Percepts:
        """Play one turn; roles that are not named do nothing. All moves must be legal."""
        assert not self.terminal
        joint = {role: moves.get(role, "noop") for role in self.machine.roles}
        assert moves.keys() <= joint.keys()
        for role, move in joint.items():
            assert move in self.legal(role), f"{move} of {role} in {self.fluents}"
        stepped = self.machine.step(self._states, joint_move(self.machine, joint))
        self._states = stepped.states
        seen = [self.machine.percept_texts(int(percept)) for percept in np.ravel(stepped.percepts)]
        return {role: percepts for role, percepts in zip(joint, seen, strict=True) if percepts}
