"""A player that guesses a legal move, where listing all moves would take too long.

A belief lists the moves of every role. Some games have hundreds of millions of them, and then
there is no belief at all, while any legal move is better than none. This player follows a few
states instead: for each turn it tries joint moves made of a few legal moves of each role, and
keeps the states with the right percepts; if there is none, it keeps any.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ggp.errors import MachineError
from ggp.machine.abilities import Prover
from ggp.machine.base import UNKNOWN, IntArray, Machine, States
from ggp.players.known_state import KnownStatePlayer
from ggp.players.player import Decision
from ggp.search.anytime import Deadline

MOST_STATES = 8
MOST_TRIES = 64
ENOUGH_MOVES = 100
"""Number of legal moves among which one is drawn."""


class SampledStates(KnownStatePlayer):
    """Plays moves that are legal in most of a few states that it may be in.

    Args:
        machine: one that can find some moves without the others (`Prover`).
        role, rng: see `KnownStatePlayer`.

    Raises:
        MachineError: the machine cannot do that.
    """

    is_told = False

    def __init__(self, machine: Machine, role: int, rng: np.random.Generator) -> None:
        if not isinstance(machine, Prover):
            raise MachineError("this machine finds all legal moves or none")
        super().__init__(machine, role, rng)

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        """Advance some of the states by a turn.

        Raises:
            MachineError: not even some moves could be found; the states are left as they were.
        """
        machine = self._machine
        own = None if move is None else machine.move_id(move)
        seen = None if percepts is None else machine.percept_id(percepts)
        agreeing: list[States] = []
        others: list[States] = []
        for i in range(MOST_TRIES):
            if deadline is not None and i and deadline.passed():
                break
            state = self._states[i % len(self._states)]
            joint = self._joint_move(state, own)
            if joint is None:
                continue
            stepped = machine.step(state, joint)
            if machine.terminal(stepped.states)[0]:
                continue
            agrees = percepts is None or int(stepped.percepts[0, self._role]) == seen
            (agreeing if agrees else others).append(stepped.states)
            if len(agreeing) == MOST_STATES:
                break
        self._agrees = self._agrees and bool(agreeing)
        self._states = agreeing or others[:MOST_STATES] or self._states

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """A random one of the moves that are legal in most of the states.

        Raises:
            MachineError: there are none, or none could be found.
        """
        began_s = time.monotonic()
        moves: dict[int, int] = {}
        for state in self._states:
            found = self._some(state, self._role, ENOUGH_MOVES)
            if len(found):
                moves.setdefault(int(self._rng.choice(found)), 0)
        for move in moves:
            moves[move] = sum(self._may_play(state, self._role, move) for state in self._states)
        likely = [move for move, times in moves.items() if times == max(moves.values())]
        fault = f"guessed in {len(self._states)} states, without finding all legal moves"
        return self._drawn(likely, began_s, fault)

    def _joint_move(self, state: States, own: int | None) -> IntArray | None:
        """`[1, R]` random legal moves with our own one; None if it is not legal there."""
        chosen = np.full((1, len(self._machine.roles)), UNKNOWN)
        for role in range(len(self._machine.roles)):
            if role == self._role and own is not None:
                if not self._may_play(state, role, own):
                    return None
                chosen[0, role] = own
                continue
            found = self._some(state, role, ENOUGH_MOVES)
            if not len(found):
                return None
            chosen[0, role] = self._rng.choice(found)
        return chosen
