"""States for roles without a belief: a few guesses of the present state, or the true one.

Guesses are for a role that has no particles or cannot wait for them. They begin in states that are
known and are played on turn by turn: with our own move where it is legal, random moves otherwise.
Successors with the right percepts come first, then those of states in which our move was legal.
Even if there are none of both, the turn is right, which says most about our legal moves: old states
would be those of another turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ggp.errors import MachineError
from ggp.machine.abilities import Prover
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine, States
from ggp.players.player import Decision, MoveValue
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal, random_moves

GUESSED = 16
"""Number of states."""

ROUNDS = 8
"""Most attempts to play all of them on by a turn."""

ENOUGH_MOVES = 100
"""Most legal moves among which one is drawn, where a machine can find a few without listing all."""


class GuessedStates:
    """Guesses of the present state of a match.

    Args:
        states: possible states to begin in, none of them terminal.

    Attributes:
        states: the guesses; none if the game always ended before.
        agree: whether they agree with all turns that were played on.
    """

    def __init__(
        self, machine: Machine, role: int, rng: np.random.Generator, states: States
    ) -> None:
        self._machine, self._role, self._rng = machine, role, rng
        self.states, self.agree = states, True
        self._refused: list[int] = []  # our moves that were not executed, since one was

    def play_on(self, turn: Sequence[int], deadline: Deadline | None = None) -> None:
        """Play on by a turn.

        Args:
            turn: our executed move, percepts and refused move: see `PathTree.extend`.
            deadline: when to be content with fewer states.
        """
        is_refused = turn[0] != UNKNOWN and turn[2] >= 0
        self._refused = [*self._refused, turn[2]] if is_refused else []
        successors: tuple[list[States], ...] = ([], [], [])  # the best last
        for number in range(ROUNDS if len(self.states) else 0):
            if number and deadline is not None and deadline.passed():
                break
            states = self.states.take(self._rng.integers(len(self.states), size=GUESSED))
            for rank, lanes in enumerate(self._successors(states, *turn)):
                if len(lanes):
                    successors[rank].append(lanes)
            if sum(map(len, successors[-1])) >= GUESSED:
                break
        self.agree = self.agree and bool(successors[-1])
        best = next(filter(None, reversed(successors)), [self.states.take(np.arange(0))])
        states = self._machine.concatenate(best)
        self.states = states.take(np.arange(min(len(states), GUESSED)))

    def moves(self) -> list[int]:
        """Moves that are legal in most of the states; none if there are no states.

        A move that was just refused is one of them only if there are no others.
        """
        machine, states, role = self._machine, self.states, self._role
        if isinstance(machine, Prover):
            moves = np.setdiff1d(self._random_moves(states, role), [UNKNOWN])
            legal_in = (are_legal(machine, states, role, move) for move in moves.tolist())
            counts = np.array([lanes.sum() for lanes in legal_in])
        else:
            legal = machine.legal(states, role, allow_stuck=True)
            moves, counts = np.unique(legal.values, return_counts=True)
        counts[np.isin(moves, self._refused)] = 0
        likeliest: list[int] = moves[counts == counts.max(initial=0)].tolist()
        return likeliest

    def _successors(self, states: States, move: int, percepts: int, refused: int) -> list[States]:
        """Successors by rank: of a state without our move, with it, and with our percepts too."""
        machine, role = self._machine, self._role
        joint = np.stack([self._random_moves(states, r) for r in range(len(machine.roles))], axis=1)
        is_ours = np.full(len(states), True)
        if move != UNKNOWN:
            is_ours = are_legal(machine, states, role, move)
            joint[is_ours, role] = move
        if refused >= 0:
            is_legal = are_legal(machine, states, role, refused)
            if move == UNKNOWN:
                joint[is_legal, role] = refused
            else:
                is_ours &= ~is_legal
        possible = np.flatnonzero((joint != UNKNOWN).all(axis=1))
        stepped = machine.step(states.take(possible), joint[possible])
        agrees = (stepped.percepts[:, role] == percepts) | (percepts == UNKNOWN)
        rank = np.where(is_ours[possible], 1 + agrees, 0)
        rank[machine.terminal(stepped.states)] = UNKNOWN
        return [stepped.states.take(np.flatnonzero(rank == number)) for number in range(3)]

    def _random_moves(self, states: States, role: int) -> IntArray:
        """`[L]` a random legal move in each state; `UNKNOWN` where there is none."""
        if not isinstance(self._machine, Prover):
            return random_moves(self._machine, states, role, self._rng)
        moves_drawn = np.full(len(states), UNKNOWN)
        for lane in range(len(states)):
            state = states.take(np.array([lane]))
            moves = self._machine.some_legal(state, role, ENOUGH_MOVES)
            if len(moves):
                moves_drawn[lane] = self._rng.choice(moves)
        return moves_drawn


def are_legal(machine: Machine, states: States, role: int, move: int) -> BoolArray:
    """`[L]` whether a move is legal for a role in each state."""
    if not isinstance(machine, Prover):
        return is_legal(machine, states, role, np.full(len(states), move))
    lanes = (states.take(np.array([lane])) for lane in range(len(states)))
    return np.array([machine.is_legal(lane, role, move) for lane in lanes], dtype=bool)


# ------------------------------------------------------------------------
# A player for games that reveal every joint move: it follows the true state. For games that are too
# large for a belief.

ENOUGH_KNOWN = 1000
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
        """A random legal move, or a random one of the first `ENOUGH_KNOWN`.

        Raises:
            MachineError: there is no legal move: the game is over.
        """
        began_s = time.monotonic()
        machine = self._machine
        if isinstance(machine, Prover):
            moves = machine.some_legal(self.state, self._role, ENOUGH_KNOWN)
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
