"""The player interface: a player gets its own moves and percepts, and returns its next move.

A player is never handed a state, and speaks in KIF strings, so that it can live in another
process than the referee. What it returns is checked where it is used, so that a mistake is told
with the file and line of its own code.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import unwrap
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.errors import PlayerError
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.report import Table
from ggp.search.anytime import Deadline

if TYPE_CHECKING:
    from ggp.belief import Sampler


@dataclass(frozen=True, slots=True)
class MoveValue:
    """A player's value of one move.

    Attributes:
        move: canonical KIF.
        value: expected goal value, in the goal range; None if the player does not value
            moves, had no time to try this one, or had no other choice.
        stderr: standard error of the value: 0 only where nothing in it is estimated. It is larger
            than the spread of trials says if these are few. None like the value, and after a single
            trial.
        visits: playouts or simulations the value comes from, or worlds that were solved.
    """

    move: str
    value: float | None
    stderr: float | None
    visits: int


SEE = "see docs/use/adding-a-player.md"

MOST_SHOWN = 12
"""Most candidates of a decision that are shown: the best, and always the one that was chosen."""

Told = str | float | bool | None
"""A reported value: a word, a number, whether something is so, or nothing."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a player.

    Attributes:
        move: the move submitted, canonical KIF.
        values: the candidates, sorted by move.
        particles: entries of the player's bag.
        exact: whether these are the whole information set with exact weights.
        states_visited: lanes stepped for this decision, including belief updates before it.
        seconds: time of the decision, including belief updates before it, by the clock of the match
            (`ggp.run.clocks`): wall time, or CPU time.
        fault: what went wrong if the move is a fallback, else None.
        guessed: number of particles that need not agree with all that the player was told: states
            of samplers that forget, or states drawn when no particle was left.
        probabilities: probability with which the player makes each move, if it mixes moves or
            chooses among equals by lot, and reports it. Moves that are not named have none. None
            if the player does not report it.
        quality: of the bag behind the decision, as `ggp.belief.Quality.as_json` returns it; None
            if the player has none.
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
        """Whether it is based on states that agree with everything the player was told."""
        return self.fault is None or self.particles > 0

    def best_values(self) -> list[MoveValue]:
        """The candidates to show: the best first, not too many, and always the chosen one."""
        ranked = sorted(self.values, key=lambda v: math.inf if v.value is None else -v.value)
        return [v for i, v in enumerate(ranked) if i < MOST_SHOWN or v.move == self.move]

    def _repr_html_(self) -> str:
        """The candidates as a notebook shows them, the best first."""
        shown = self.best_values()
        mixed = self.probabilities or {}
        rows = [
            (
                "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}" if value.move == self.move else "",
                *(value.move, value.value, value.stderr, value.visits),
                *((mixed.get(value.move, 0.0),) if mixed else ()),
            )
            for value in shown
        ]
        numbers = (("#value", ".1f"), ("#error", ".1f"), ("#trials", ","), ("#probability", ".2f"))
        head = ("", "move", *(numbers if mixed else numbers[:-1]))
        told = f"{self.move}: {self.particles:,} particles ({'all' if self.exact else 'sampled'}), "
        told += f"{self.states_visited:,} states, {self.seconds:.2f} s"
        if len(shown) < len(self.values):
            told += f", {len(self.values) - len(shown)} more moves"
        return Table(head, rows, told if self.fault is None else f"{told}; {self.fault}").html()


class KnownTurn(NamedTuple):
    """A role's knowledge of a turn; None where something is unknown.

    Attributes:
        move: its executed move, canonical KIF.
        percepts: its percepts, canonical KIF.
    """

    move: str | None
    percepts: Sequence[str] | None


class Player(Protocol):
    """A player of one role in one match."""

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
            percepts: our percepts, KIF terms; None if not told.
            submitted: the move we submitted; None if unknown, or, if `in_time` is false, if there
                was none.
            in_time: whether the submission was certainly in time: then, if another move was
                executed, ours was illegal. Otherwise the other move shows only that it was drawn
                among our legal ones: "Moves that may be illegal" in `docs/reference/belief.md`.
            deadline: until when particles may be searched for.
        """
        ...

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """Decide on the next move, before the deadline if there is one.

        A move that is the only candidate is played without search, unless `value_forced`.

        Never raises for lack of particles, time or reasoning resources: then the decision is a
        fallback, and says so.
        """
        ...


@runtime_checkable
class Pondering(Protocol):
    """A player that can use the time while others think; not every player can."""

    def ponder(self, deadline: Deadline) -> None:
        """Use the time until the deadline, or part of it, to play better afterwards.

        The clock of the deadline jumps beyond it as soon as a message arrives: look at it every few
        milliseconds.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """A player that knows what to do before the first turn; not every player does."""

    def prepare(self, deadline: Deadline) -> None:
        """Use the start clock, or part of it, to play better afterwards.

        Called at most once, before anything else, and only where there is a start clock: on a game
        server, and in the process of a match of `match-runner`, but not in processes of their own.
        The clock may jump as that of `Pondering.ponder` does.
        """
        ...


@runtime_checkable
class Believing(Protocol):
    """A player whose belief another player of the same match can continue with; see `Context`."""

    @property
    def belief(self) -> Sampler | None:
        """The player's sampler; None if it has none to share."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A player that learns from the end of a match; not every player does."""

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """Take note of the last turn: the match is over.

        Args:
            move, percepts: see `Player.observe`.
            goal: the role's goal value for the match; None if not told.
        """
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that a player is given for one match; see `make_player`.

    Attributes:
        machine: the player's own.
        role: index of its role.
        rng: source of all its random choices.
        clock: returns the time in seconds: wall time, or CPU time (`ggp.run.clocks`).
        report: receives the best decision so far while one is being made; None for no reports.
        name: what messages call the player.
        program: the rules of the game, if whoever makes the player has them.
        belief: that of an earlier player of the same match, which was told another history: the
            sets of paths it knows need not be found again.
    """

    machine: Machine
    role: int
    rng: np.random.Generator
    clock: Callable[[], float] = time.monotonic
    report: Callable[[Decision], None] | None = None
    name: str = "a player"
    program: GameDefinition | None = None
    belief: Sampler | None = None


PlayerClass = Callable[[Any, Context], Player]
"""Makes a player from its options and a context. It may have the attributes `Options`, a dataclass
as in `ggp.players.options.option_fields`, `SOURCE`, the paper it comes from, `KINDS`, its kinds
(`ggp.search.parts`), and `PLAYS`, specs of the players that may play in its place; the first line
of its docstring says what it does."""


Choice = tuple[int, tuple[MoveValue, ...]]
"""A move, and the values of all candidates."""

_MOST_OF_A_RESULT = 60


def checked_choice(player: Any, returned: Any, moves: Collection[int]) -> Choice:
    """What the `decide` of a player returned.

    Args:
        moves: the candidates.

    Raises:
        PlayerError: it is not a candidate with values; the message says what to return, and where.
    """
    match returned:
        case (int() | np.integer() as move, tuple() | list() as values) if (
            move in moves
            and not isinstance(move, bool)
            and all(isinstance(value, MoveValue) for value in values)
        ):
            return int(move), tuple(values)
    raise _wrong(
        player,
        "decide",
        returned,
        "the number of a move that is legal in a particle, and a tuple of `MoveValue`s, as in "
        "`return self.machine.move_id(text), ()`",
    )


def checked_decision(player: Any, returned: Any) -> Decision:
    """What the `choose` of a player returned.

    Raises:
        PlayerError: it is no `Decision`; the message says what to return, and where.
    """
    if isinstance(returned, Decision) and isinstance(returned.move, str):
        return returned
    what = "a `ggp.players.Decision`, whose `move` is the text of a move"
    raise _wrong(player, "choose", returned, what)


def place_of(function: Any) -> str:
    """File and line where a function, a class or a player is defined; empty if unknown."""
    code = next(_codes(function), None)
    return "" if code is None else f" ({relative(code.co_filename)}, line {code.co_firstlineno})"


def relative(file: str) -> str:
    """A path relative to the current folder, if that is shorter."""
    here = os.getcwd()
    return os.path.relpath(file, here) if file.startswith(here + os.sep) else file


def _wrong(player: Any, method: str, returned: Any, wanted: str) -> PlayerError:
    shown = repr(returned)
    shown = shown if len(shown) <= _MOST_OF_A_RESULT else f"{shown[:_MOST_OF_A_RESULT]}..."
    place = place_of(unwrap(getattr(player, method)))
    return PlayerError(
        f"`{method}` of {type(player).__name__} returned {shown}{place}: return {wanted}, {SEE}"
    )


def _codes(found: Any) -> Iterator[CodeType]:
    for function in (found, getattr(found, "__init__", None), getattr(found, "__new__", None)):
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code
