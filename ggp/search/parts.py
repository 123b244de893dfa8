"""The parts of a search, as protocols.

A `Search` improves the values of candidate moves round by round; an `Evaluation` values the states
where the search stops. (How the others are believed to move is part of the belief, too, so
`MoveModel` lives in `ggp.belief`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.machine.abilities import MovesTold
from ggp.machine.base import BoolArray, FloatArray, IntArray, Ragged, States
from ggp.search.anytime import Deadline
from ggp.search.estimates import Estimates, Tally


class Search(Protocol):
    """Values of candidate moves that improve round by round.

    Attributes:
        side_by_side: number of trials that take about as long together as a single one.
    """

    side_by_side: int

    @property
    def moves(self) -> Ragged:
        """The candidates of each bag."""
        ...

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Try every candidate, or every one chosen, `count` more times.

        Args:
            chosen: increasing indices into the values of `moves`; default: all.

        Raises:
            OutOfTime: the deadline passed; `estimates` includes what was done before.
        """
        ...

    def estimates(self) -> Estimates:
        """The values so far."""
        ...


@runtime_checkable
class SharedSearch(Search, Protocol):
    """A `Search` that several processes can run together, each with its own rounds.

    Attributes:
        tally: of all trials so far.
    """

    tally: Tally

    def keys(self, num: int) -> list[int]:
        """Keys of the random streams of several processes."""
        ...

    def begin_apart(self, key: int) -> None:
        """From now on draw from the stream of a key, with a new tally."""
        ...


class Evaluation(Protocol):
    """The value of unfinished states.

    Attributes:
        certain: whether a state has the same value whenever it is asked for.
    """

    certain: bool

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` value of each state for a role, and `[L]` turns to the end, as far as seen.

        Values are in the machine's goal range. They may be noisy: callers take means.

        Raises:
            OutOfTime: the deadline has passed before all were valued.
        """
        ...


@runtime_checkable
class JointEvaluation(Protocol):
    """An `Evaluation` that values states for all roles at once."""

    def goals(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None = None
    ) -> tuple[FloatArray, IntArray]:
        """`[L, R]` values, and `[L]` turns: see `Evaluation.values`."""
        ...


class ValuedTurns(NamedTuple):
    """K successors, as far as a search that stops there asks for them.

    Attributes:
        percepts: `[K]` percept ids of the role for which they are valued.
        over: `[K]` whether each is terminal.
        told: of the moves afterwards; None if not known.
        values: `[K]` of each for the role; it means nothing where the game is over.
        keys: `[K, 2]` equal for equal states.
    """

    percepts: IntArray
    over: BoolArray
    told: MovesTold | None
    values: FloatArray
    keys: IntArray


@runtime_checkable
class TurnEvaluation(Protocol):
    """An `Evaluation` that can value states as they are reached, before they are written."""

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
            lanes: `[K]` the state of each joint move; equal ones had better be neighbours.
            joint_moves: `[K, R]` move ids.
            before: the moves of each role in the L states, if successors' moves are to be compared
                with them.

        Returns:
            None if it cannot, on this machine.
        """
        ...


# ------------------------------------------------------------------------
# Kinds of players, by how they see what is hidden and how far they look.
#
# Players that search state their kinds (`KINDS` of their class), so that advice need not name them.

CLAIRVOYANT = "clairvoyant"
"""Solves worlds as if everybody saw them."""

INFORMED = "informed"
"""Lets every role move by what that role would know."""

SIMULATIONS = "simulations"
"""Plays few, slow simulations instead of many quick playouts."""

TREES = "trees"
"""Searches more than one turn deep, and remembers what it found."""
