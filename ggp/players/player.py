"""What a player is: it is told its own moves and percepts, and says what it does next.

A player is never handed a state, and speaks in KIF strings, so that it can live in another
process than the referee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.search.anytime import Deadline

if TYPE_CHECKING:
    from ggp.belief import Sampler


@dataclass(frozen=True, slots=True)
class MoveValue:
    """What a player thinks of one move.

    Attributes:
        move: canonical KIF.
        value: expected goal value, in the goal range; None if the player does not value
            moves, had no time to try this one, or had no other choice.
        stderr: standard error of the value, as the spread of trials tells it: 0 where all came out
            the same, however few. None like the value, and after a single trial.
        visits: playouts or simulations the value comes from, or worlds that were solved.
    """

    move: str
    value: float | None
    stderr: float | None
    visits: int


Told = str | float | bool | None
"""What is told of a thing by name: a word, a number (or whether it is so), or nothing."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a player.

    Attributes:
        move: the move submitted, canonical KIF.
        values: the candidates, sorted by move.
        particles: entries of the player's bag.
        exact: whether these are the whole information set with exact weights.
        states_visited: lanes stepped for this decision, belief updates before it included.
        seconds: time of the decision, belief updates before it included, by the clock of the match
            (`ggp.clocks`): on the wall, or CPU time.
        fault: what went wrong where the move is a fallback, else None.
        guessed: how many of the particles need not agree with all that the player was told: states
            of samplers that forget, or drawn where no particle was left.
        probabilities: with which probability the player makes each move, where it mixes moves or
            chooses among equals by lot, and says so. Moves that are not named have none. None
            where the player does not say.
        quality: of the bag that it was decided by, as `ggp.belief.Quality.as_json` tells it; None
            where the player has none.
    """

    move: str
    values: tuple[MoveValue, ...]
    particles: int
    exact: bool
    states_visited: int
    seconds: float
    fault: str | None = None
    probabilities: Mapping[str, float] | None = None
    guessed: int = 0
    quality: Mapping[str, Told] | None = None

    @property
    def is_sound(self) -> bool:
        """Whether it rests on states that agree with what the player was told."""
        return self.fault is None or self.particles > 0


class KnownTurn(NamedTuple):
    """What a role knows of a turn; None is not known.

    Attributes:
        move: its executed move, canonical KIF.
        percepts: its percepts, canonical KIF.
    """

    move: str | None
    percepts: Sequence[str] | None


class Player(Protocol):
    """One role of one match."""

    @property
    def states_visited(self) -> int:
        """Lanes stepped in this match so far."""
        ...

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        """Take note of a turn.

        Args:
            move: the move executed for us, KIF; None if not told.
            percepts: what we see, KIF terms; None if not told.
            submitted: what we had submitted; None if that is not known, or, where `in_time` is
                false, if it was nothing.
            in_time: whether the submission was in time for certain: then, if another move was
                executed, ours was illegal. Else the other move tells only that it was drawn
                among our legal ones. See "Moves that may be illegal" in `docs/belief.md`.
            deadline: until when particles may be searched for.
        """
        ...

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """Decide on the next move; before the deadline, if there is one.

        A move that is the only candidate is played without thinking, unless `value_forced`.

        Never raises for want of particles, time or reasoning resources: the decision is then
        a fallback, and says so.
        """
        ...


@runtime_checkable
class Pondering(Protocol):
    """A player that knows what to do while others think; not every player does."""

    def ponder(self, deadline: Deadline) -> None:
        """Use the time until the deadline, or part of it, to play better afterwards.

        The clock of the deadline jumps to a time beyond it as soon as a message comes: it is to
        be looked at every few milliseconds.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """A player that knows what to do before the first turn; not every player does."""

    def prepare(self, deadline: Deadline) -> None:
        """Use the start clock, or part of it, to play better afterwards.

        Called at most once, before anything else, and only where there are clocks. The clock may
        jump as that of `Pondering.ponder` does.
        """
        ...


@runtime_checkable
class Believing(Protocol):
    """A player whose belief another player of the same match can go on with; see `Context`."""

    @property
    def belief(self) -> Sampler | None:
        """None where it cannot."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A player that wants to know how a match ended; not every player does."""

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """Take note of the last turn: the match is over.

        Args:
            move, percepts: see `Player.observe`.
            goal: what the role got for the match; None if not told.
        """
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """All that a player is given for one match; see `make_player`.

    Attributes:
        machine: its own.
        role: index of its role.
        rng: all its random choices.
        clock: tells the time, in seconds: on the wall, or CPU time (`ggp.clocks`).
        report: told the best decision so far while one is being made; None if nobody asks.
        name: what messages call the player.
        program: the rules of the game, where whoever makes the player has them.
        belief: of an earlier player of the same match, who was told another history: what it knows
            of the sets of paths need not be found again.
    """

    machine: Machine
    role: int
    rng: np.random.Generator
    clock: Callable[[], float]
    report: Callable[[Decision], None] | None = None
    name: str = "a player"
    program: GameDefinition | None = None
    belief: Sampler | None = None


PlayerClass = Callable[[Any, Context], Player]
"""Makes a player of its options and a context. It may have the attributes `Options`, a dataclass
as in `ggp.players.option_fields`, `SOURCE`, the paper it comes from, `KINDS`, what kinds of player
it is (`ggp.search.kinds`), and `PLAYS`, specs of the players that may play in its place; the first
line of its docstring says what it does."""
