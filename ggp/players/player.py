"""The player interface: a player gets its own moves and percepts, and returns its next move.

A player never gets a state. It speaks KIF, so that it can run in another process than the referee.
Callers check its return values, so that an error names the file and line of the player's code.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import unwrap
from numbers import Integral
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from ggp.errors import PlayerError
from ggp.report import Table

if TYPE_CHECKING:
    import numpy as np

    from ggp.belief import Sampler
    from ggp.machine.base import Machine
    from ggp.machine.definition import GameDefinition
    from ggp.search.anytime import Deadline


@dataclass(frozen=True, slots=True)
class MoveValue:
    """A player's value of one move.

    Attributes:
        move: canonical KIF.
        value: expected goal value, in the goal range; None if the player does not value
            moves, had no time for this one, or had no other choice.
        stderr: standard error of the value: 0 only if nothing is estimated. If trials are few, it
            is larger than their spread suggests. None like the value, and after a single trial.
        visits: playouts or simulations behind the value, or worlds that were solved.

        >>> from ggp.players import MoveValue
        >>> MoveValue("(open 3)", value=66.7, stderr=0.8, visits=4096).move
        '(open 3)'
    """

    move: str
    value: float | None
    stderr: float | None
    visits: int


SEE = "see docs/use/adding-a-player.md"

MAX_SHOWN = 12
"""Most candidates of a decision that are displayed: the best, and always the chosen move."""

Told = str | float | bool | None
"""A reported value: text, a number, a truth value, or None."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a player.

    Attributes:
        move: the move submitted, canonical KIF.
        values: the candidates, sorted by move.
        particles: entries of the player's bag.
        exact: whether the bag is the whole information set with exact weights.
        states_visited: lanes stepped for this decision, including belief updates before it.
        seconds: time of the decision, including belief updates before it, by the clock of the match
            (`ggp.run.clocks`): wall time, or CPU time.
        fault: the problem, if the move is a fallback; else None.
        guessed: number of particles that need not agree with all of the player's percepts: states
            of samplers that forget, or states drawn when no particle was left.
        probabilities: the player's probability of each move, if it plays a mixed strategy or draws
            among equal moves, and reports it; moves without an entry have probability 0. None if
            the player does not report it.
        quality: quality of the bag behind the decision, as returned by
            `ggp.belief.Quality.as_json`; None if there is no bag.
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
        """Whether the decision is based on particles."""
        return self.fault is None or self.particles > 0

    def best_values(self) -> list[MoveValue]:
        """The candidates to display: the best first, not too many, and always the chosen move."""
        ranked = sorted(self.values, key=lambda v: math.inf if v.value is None else -v.value)
        return [v for i, v in enumerate(ranked) if i < MAX_SHOWN or v.move == self.move]

    def _repr_html_(self) -> str:
        """The candidates as a table for notebooks, the best first."""
        best = self.best_values()
        mixed = self.probabilities or {}
        rows = [
            (
                "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}" if value.move == self.move else "",
                *(value.move, value.value, value.stderr, value.visits),
                *((mixed.get(value.move, 0.0),) if mixed else ()),
            )
            for value in best
        ]
        numbers = (("#value", ".1f"), ("#error", ".1f"), ("#trials", ","), ("#probability", ".2f"))
        head = ("", "move", *(numbers if mixed else numbers[:-1]))
        line = f"{self.move}: {self.particles:,} particles ({'all' if self.exact else 'sampled'}), "
        line += f"{self.states_visited:,} states, {self.seconds:.2f} s"
        if len(best) < len(self.values):
            line += f", {len(self.values) - len(best)} more moves"
        return Table(head, rows, line if self.fault is None else f"{line}; {self.fault}").html()


class KnownTurn(NamedTuple):
    """A role's knowledge of a turn; None where something is unknown.

    Attributes:
        move: its executed move, canonical KIF.
        percepts: its percepts, canonical KIF.
    """

    move: str | None
    percepts: Sequence[str] | None


ObservedTurn = tuple[str | None, Sequence[str] | None, str | None, bool]
"""Arguments of `Player.observe`: `move`, `percepts`, `submitted` and `in_time`."""


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
        """Learn the move and percepts of a turn.

        Args:
            move: the move executed for us, KIF; None if unknown.
            percepts: our percepts, KIF terms; None if unknown.
            submitted: the move we submitted; None if unknown, or, if `in_time` is false, if there
                was none.
            in_time: whether the submission was certainly in time: then, if another move was
                executed, ours was illegal, and if the executed move is unknown, it is ours wherever
                that is legal. Otherwise we know only that the executed move was drawn among our
                legal moves: "Moves that may be illegal" in `docs/reference/belief.md`.
            deadline: the end of any search for particles.
        """
        ...

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """Decide on the next move, before the deadline if there is one.

        A forced move is played without search, unless `value_forced`.

        Never raises for lack of particles, time or reasoning resources: then the decision is a
        fallback, with a `fault`.
        """
        ...


@runtime_checkable
class Pondering(Protocol):
    """A player that thinks while others do; optional."""

    def ponder(self, deadline: Deadline) -> None:
        """Use the time until the deadline, or part of it, to play better afterwards.

        The clock of the deadline jumps beyond it as soon as a message arrives: look at it every few
        milliseconds.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """A player that uses the start clock; optional."""

    def prepare(self, deadline: Deadline) -> None:
        """Use the start clock, or part of it, to play better afterwards.

        Called at most once, before anything else, and only if there is a start clock: on a game
        server, and in the process of a match of `match-runner`, but not for players in processes of
        their own. The clock may jump, as in `Pondering.ponder`.
        """
        ...


@runtime_checkable
class Believing(Protocol):
    """A player whose belief another player of the same match can reuse; see `Context`."""

    @property
    def belief(self) -> Sampler | None:
        """The player's sampler; None if it has none to share."""
        ...

    def snapshot(self) -> str:
        """The player's bag for `resume`, in another process or on another backend; empty if it has
        no particles."""
        ...

    def is_sure(self, move: str) -> bool:
        """Whether a move (KIF) is certainly legal now, in every state that the player may be in."""
        ...

    def resume(self, snapshot: str, turns: Sequence[ObservedTurn]) -> int:
        """Begin with the bag of a snapshot, before anything is observed.

        Args:
            turns: all turns of the match so far.

        Returns:
            the number of turns that need not be observed: 0 if the bag is of another path, or of
            no use to this player.

        Raises:
            SnapshotError: the snapshot cannot be read.
        """
        ...


@runtime_checkable
class Learning(Protocol):
    """A player that learns from the end of a match; optional."""

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """Learn the last turn: the match is over.

        Args:
            move, percepts: see `Player.observe`.
            goal: the role's goal value for the match; None if unknown.
        """
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of a player in one match; see `make_player`.

    Attributes:
        machine: the player's own.
        role: index of its role.
        rng: source of all its random choices.
        clock: returns the time in seconds: wall time, or CPU time (`ggp.run.clocks`).
        report: receives the best decision so far during a search; None for no reports.
        name: the player's name in messages.
        program: the rules of the game, if known.
        belief: the belief of an earlier player of the same match, with another history: its exact
            sets are reused.
        ready_by: the end of the time for the constructor, where somebody waits for the player; what
            takes longer is left for `Preparing.prepare` and `Pondering.ponder`.
    """

    machine: Machine
    role: int
    rng: np.random.Generator
    clock: Callable[[], float] = time.monotonic
    report: Callable[[Decision], None] | None = None
    name: str = "a player"
    program: GameDefinition | None = None
    belief: Sampler | None = None
    ready_by: Deadline | None = None


PlayerClass = Callable[[Any, Context], Player]
"""Makes a player from its options and a context. It may have the attributes `Options`, a dataclass
as in `ggp.players.options.option_fields`, `SOURCE`, its paper, `KINDS`, its kinds
(`ggp.search.parts`), and `PLAYS`, specs of the players that it may delegate to; the first line of
its docstring is its description."""


Choice = tuple[int, tuple[MoveValue, ...]]
"""A move, and the values of all candidates."""

_MAX_OF_A_RESULT = 60


def checked_choice(player: Any, returned: Any, moves: Collection[int]) -> Choice:
    """The return value of a player's `decide`, checked.

    Args:
        moves: the candidates.

    Raises:
        PlayerError: it is not a candidate with values; the message says what to return, and where.
    """
    match returned:
        case (Integral() as move, tuple() | list() as values) if (
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
    """The return value of a player's `choose`, checked.

    Raises:
        PlayerError: it is no `Decision`; the message says what to return, and where.
    """
    if isinstance(returned, Decision) and isinstance(returned.move, str):
        return returned
    expected = "a `ggp.players.Decision`, whose `move` is the text of a move"
    raise _wrong(player, "choose", returned, expected)


def place_of(function: Any) -> str:
    """File and line where a function, a class or a player is defined; empty if unknown."""
    code = next(_codes(function), None)
    return "" if code is None else f" ({relative(code.co_filename)}, line {code.co_firstlineno})"


def relative(file: str) -> str:
    """A path relative to the current folder, if that is shorter."""
    folder = os.getcwd()
    return os.path.relpath(file, folder) if file.startswith(folder + os.sep) else file


def _wrong(player: Any, method: str, returned: Any, expected: str) -> PlayerError:
    value = repr(returned)
    value = value if len(value) <= _MAX_OF_A_RESULT else f"{value[:_MAX_OF_A_RESULT]}..."
    place = place_of(unwrap(getattr(player, method)))
    return PlayerError(
        f"`{method}` of {type(player).__name__} returned {value}{place}: return {expected}, {SEE}"
    )


def _codes(target: Any) -> Iterator[CodeType]:
    for function in (target, getattr(target, "__init__", None), getattr(target, "__new__", None)):
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code
