"""A player that guesses legal moves, for games in which listing all moves takes too long.

A belief lists the moves of every role. In games with hundreds of millions of moves this is
impossible, but any legal move is better than none. So this player follows a few states: in each
turn it tries joint moves from a few legal moves of each role, and keeps the successors with the
right percepts, or any successors if there are none.
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
"""Most legal moves among which one is drawn."""


class SampledStates(KnownStatePlayer):
    """Plays moves that are legal in most of a few possible states.

    Args:
        machine: one that can find some moves without listing all (`Prover`).
        role, rng: see `KnownStatePlayer`.

    Raises:
        MachineError: the machine is no `Prover`.
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
            MachineError: no moves could be found; the states stay as they are.
        """
        machine = self._machine
        own_move = None if move is None else machine.move_id(move)
        percept_ids = None if percepts is None else machine.percept_id(percepts)
        agreeing: list[States] = []
        disagreeing: list[States] = []
        for i in range(MOST_TRIES):
            if deadline is not None and i and deadline.passed():
                break
            state = self._states[i % len(self._states)]
            joint = self._joint_move(state, own_move)
            if joint is None:
                continue
            stepped = machine.step(state, joint)
            if machine.terminal(stepped.states)[0]:
                continue
            agrees = percepts is None or int(stepped.percepts[0, self._role]) == percept_ids
            (agreeing if agrees else disagreeing).append(stepped.states)
            if len(agreeing) == MOST_STATES:
                break
        self._agrees = self._agrees and bool(agreeing)
        self._states = agreeing or disagreeing[:MOST_STATES] or self._states

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """A random move among the moves that are legal in most of the states.

        Raises:
            MachineError: no legal move exists, or none was found.
        """
        began_s = time.monotonic()
        moves: dict[int, int] = {}
        for state in self._states:
            legal = self._some_legal(state, self._role, ENOUGH_MOVES)
            if len(legal):
                moves.setdefault(int(self._rng.choice(legal)), 0)
        for move in moves:
            moves[move] = sum(self._may_play(state, self._role, move) for state in self._states)
        likely = [move for move, times in moves.items() if times == max(moves.values())]
        fault = f"guessed in {len(self._states)} states, without finding all legal moves"
        return self._draw(likely, began_s, fault)

    def _joint_move(self, state: States, own_move: int | None) -> IntArray | None:
        """`[1, R]` random legal moves, with our own move if known; None if that is not legal."""
        joint = np.full((1, len(self._machine.roles)), UNKNOWN)
        for role in range(len(self._machine.roles)):
            if role == self._role and own_move is not None:
                if not self._may_play(state, role, own_move):
                    return None
                joint[0, role] = own_move
                continue
            legal = self._some_legal(state, role, ENOUGH_MOVES)
            if not len(legal):
                return None
            joint[0, role] = self._rng.choice(legal)
        return joint
