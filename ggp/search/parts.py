"""The parts of a search, as protocols.

A `Search` improves the values of candidate moves round by round; an `Evaluation` assigns values to
the states where the search stops. Players choose one of each. (`MoveModel`, the model of the other
roles, lives in `ggp.belief`, which needs it too.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.machine.abilities import MoveFacts
from ggp.machine.base import BoolArray, FloatArray, IntArray, Ragged, States
from ggp.search.anytime import Deadline
from ggp.search.estimates import Estimates, Tally


class Search(Protocol):
    """Values of candidate moves that improve round by round.

    Attributes:
        side_by_side: number of trials that together take about as long as a single one.
    """

    side_by_side: int

    @property
    def moves(self) -> Ragged:
        """The candidates of each bag."""
        ...

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Try every candidate, or those in `subset`, `count` more times.

        Args:
            subset: increasing indices into the values of `moves`; default: all.

        Raises:
            OutOfTime: the deadline passed; `estimates` includes all trials completed before that.
        """
        ...

    def estimates(self) -> Estimates:
        """The estimates so far."""
        ...


@runtime_checkable
class SharedSearch(Search, Protocol):
    """A `Search` that several processes can run together, each with its own rounds.

    Attributes:
        tally: the tally of all trials so far.
    """

    tally: Tally

    def keys(self, num: int) -> list[int]:
        """Keys of the random streams of several processes."""
        ...

    def begin_apart(self, key: int) -> None:
        """From now on, draw from the random stream of a key, and count in a new tally."""
        ...


class Evaluation(Protocol):
    """The value of unfinished states.

    Attributes:
        certain: whether values are without noise: a state always gets the same one.
    """

    certain: bool

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` value of each state for a role, and `[L]` turns to the end of the game, 0 if
        unknown.

        Values are in the machine's goal range. They may be noisy: callers average them.

        Raises:
            OutOfTime: the deadline passed before all were valued.
        """
        ...


@runtime_checkable
class JointEvaluation(Protocol):
    """The ability of an `Evaluation` to value states for all roles at once."""

    def goals(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None = None
    ) -> tuple[FloatArray, IntArray]:
        """`[L, R]` values, and `[L]` turns: see `Evaluation.values`."""
        ...


class ValuedTurns(NamedTuple):
    """K successors of states, with their values for a search that stops there.

    Attributes:
        percepts: `[K]` percept ids of the role for which they are valued.
        over: `[K]` whether each is terminal.
        move_facts: a summary of the legal moves in the successors; None if unknown.
        values: `[K]` value of each for the role; meaningless where the game is over.
        keys: `[K, 2]` equal for equal states.
    """

    percepts: IntArray
    over: BoolArray
    move_facts: MoveFacts | None
    values: FloatArray
    keys: IntArray


@runtime_checkable
class TurnEvaluation(Protocol):
    """The ability of an `Evaluation` to value states as they are reached, before they exist."""

    def valued_turns(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        before: Sequence[Ragged],
    ) -> ValuedTurns | None:
        """Make joint moves, and value the successors for a role.

        Args:
            states: L states.
            lanes: `[K]` the state of each joint move; neighbours should have equal states.
            joint_moves: `[K, R]` move ids.
            before: the moves of each role in the L states, to compare with those of successors.

        Returns:
            None if this is impossible on the machine.
        """
        ...


# ------------------------------------------------------------------------
# Kinds of players, by how they treat hidden information and how far they look ahead.
#
# A player's class states its kinds (`KINDS`), so that `ggp.labs.papers.advice` need not name
# players.

CLAIRVOYANT = "clairvoyant"
"""Searches each world (possible state) as if every player saw it."""

INFORMED = "informed"
"""Assumes that every role acts on its own information only."""

SIMULATIONS = "simulations"
"""Plays few, slow simulations instead of many quick playouts."""

TREES = "trees"
"""Searches several turns deep, and keeps statistics in a tree."""
