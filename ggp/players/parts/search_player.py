"""The base class of players that search: budgets, anytime reports, ties, rescue.

It gets the bag of a decision and returns a move with values. A subclass defines its `Search` and
its default number of trials for each candidate. This class decides how long the search runs: by
count, by a budget of states (the option `states`), or until a deadline.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from ggp.belief import (
    DEFAULT_EXACT,
    POOL_LIMIT,
    SAMPLERS,
    UNIFORM,
    Bags,
    BoardMaker,
    DrawnPieces,
    FollowsPaths,
    MoveModel,
    PathModel,
    PathTree,
    Sampler,
    SamplerSettings,
)
from ggp.belief.policy_models import LearnedMoves, remember
from ggp.belief.sampler import Finder, Setting
from ggp.belief.samplers.by_name import HYPERPLAY
from ggp.belief.samplers.last_observation import DrawnBoards
from ggp.errors import ConfigError
from ggp.gdl.games import find_companion
from ggp.machine.base import BoolArray, Machine, States
from ggp.machine.boards import BoardRelation
from ggp.players.options.evaluations import evaluation_of
from ggp.players.options.opponents import learned_file, model_field, model_of
from ggp.players.options.option_fields import choice, file_field, whole, wholes
from ggp.players.parts.belief_player import BeliefPlayer, RiskOptions, ponder_field
from ggp.players.player import Choice, Context, MoveValue
from ggp.run.whole_files import read_toml
from ggp.search.anytime import Deadline
from ggp.search.estimates import Estimates, Ties
from ggp.search.parts import Report, Search, run_search, spend_states
from ggp.search.playouts import PlayoutSearch

if TYPE_CHECKING:
    from ggp.search.trees.tree_search import TreeSearch

# ------------------------------------------------------------------------
# The option `boards`: from the name of a file to a `BoardMaker` for when no history is found.
#
# The option names a TOML file beside a rulesheet, as `evaluation` does (`evaluations`). Its table
# `boards` describes how to draw boards: see `ggp.belief.samplers.board_maker`. The default is
# `none`.

NONE = "none"

_VARIABLES = ("?file", "?rank", "?role", "?piece")


@runtime_checkable
class KnowsAttacks(Protocol):
    """An `Evaluation` that knows the squares a role attacks: no king of another role is drawn
    there."""

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` whether a role attacks each square, in each of L states."""
        ...


_KEYS = {"again", "forget", "inner", "home", "promotions", "promoted"}


def boards_field() -> Any:
    """The option `boards`."""

    def check(text: str) -> str:
        drawn_pieces_of(text)
        return text

    return file_field(NONE, "a file that says how to draw boards when no history is found", check)


def drawn_pieces_of(name: str) -> DrawnPieces | None:
    """The description of boards in the file that an option names; None for `none`.

    Raises:
        ConfigError: there is no such file, or it does not describe boards.
    """
    if name == NONE:
        return None
    path = find_companion(name, ".toml")
    table = read_toml(path)
    try:
        return _terms(table)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} does not say how boards are drawn: it needs fluent, pieces, and a table "
            f"boards of some of {', '.join(sorted(_KEYS))} ({type(error).__name__}: {error})"
        ) from error


def board_maker_of(name: str, machine: Machine) -> BoardMaker | None:
    """The `BoardMaker` for the file that an option names; None for `none`.

    Raises:
        ConfigError: as for `drawn_pieces_of`, or the file does not suit the game.
    """
    terms = drawn_pieces_of(name)
    if terms is None:
        return None
    values = evaluation_of(name, machine)
    return BoardMaker(machine, terms, values.attacked if isinstance(values, KnowsAttacks) else None)


def _terms(table: Mapping[str, Any]) -> DrawnPieces:
    boards, pieces = table["boards"], table["pieces"]
    if unknown := set(boards) - _KEYS:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    for name in (*boards.get("inner", ()), *boards.get("promotions", ())):
        if name not in pieces:
            raise ValueError(f"there is no piece {name}")
    return DrawnPieces(
        relation=relation_of(table),
        pieces=frozenset(pieces),
        kings=frozenset(name for name, piece in pieces.items() if piece.get("king")),
        inner=frozenset(boards.get("inner", ())),
        again=boards.get("again"),
        forget=tuple(tuple(pattern.strip("()").split()) for pattern in boards.get("forget", ())),
        home=float(boards.get("home", 0.0)),
        promotions=tuple(boards.get("promotions", ())),
        promoted=float(boards.get("promoted", 0.0)),
    )


def relation_of(table: Mapping[str, Any]) -> BoardRelation:
    """The form of the fluents of a board, as declared in such a file.

    Raises:
        KeyError, ValueError, TypeError, AttributeError: it is not declared.
    """
    words = table["fluent"].strip("()").split()
    file, rank, role, piece = (words.index(variable) for variable in _VARIABLES)
    return BoardRelation(words[0], (file, rank, role, piece))


# ------------------------------------------------------------------------
# Options, and the class.


class Rescue(StrEnum):
    """Measures when few particles are left, or none."""

    ALL = "all"
    NONE = "none"


def sampler_field(usual: str) -> Any:
    """The option `sampler`."""
    meaning = "sampler of its possible states; only hyperplay enumerates"
    return choice(usual, meaning, SAMPLERS)


MAX_PARTICLES = 1000
"""Most particles of a bag if there is a clock, and time."""


@dataclass(frozen=True)
class SearchOptions(RiskOptions):
    """Options of every player that searches."""

    exact: int = whole(DEFAULT_EXACT, "largest information set to enumerate; 0: none", low=0)
    sampler: str = sampler_field(HYPERPLAY)
    states: tuple[int, ...] = wholes(
        "states to visit for a decision, instead of counts; A/B/C for turns 1, 2, and 3 on"
    )
    ties: Ties = choice(
        Ties.PROMPT,
        "choice of equal moves: prompt (early wins and late losses first), or random (by lot)",
        (Ties.RANDOM, Ties.PROMPT),
    )
    model: str = model_field()
    boards: str = boards_field()
    ponder: int = ponder_field()
    rescue: Rescue = choice(
        Rescue.ALL,
        "when few or no particles are left: all (draw again, solve, draw boards), or none: "
        "forward sampling alone",
    )


class SearchPlayer(BeliefPlayer):
    """A player that searches its bag; subclasses define the search."""

    options: SearchOptions

    def __init__(self, options: SearchOptions, context: Context) -> None:
        super().__init__(options, context)
        if isinstance(context.belief, Setting):  # it comes with its model of the others
            self.model = context.belief.model
        # Values of moves in the last decision.
        self._last_values: dict[int, float] = {}

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Particles of a sampled bag."""

    KINDS: ClassVar[frozenset[str] | None] = None

    keep_views: ClassVar[bool] = False
    """Whether entries have every role's incomplete path: for searches that use the others'
    knowledge."""

    @property
    def pool_limit(self) -> int:
        """Most boards of a pool, for samplers that have one."""
        return POOL_LIMIT

    @cached_property
    def maker(self) -> BoardMaker | None:
        """The `BoardMaker` to use when no history is found."""
        return board_maker_of(self.options.boards, self.machine)

    def last_finder(self, belief: Sampler) -> Finder | None:
        maker = self.maker if self.options.sampler == HYPERPLAY else None
        if maker is None or not self.rescues:
            return None
        return DrawnBoards(self.machine, belief, self.role, self.rng, maker)

    timed_particles: ClassVar[int] = MAX_PARTICLES
    """Most particles of its bag if there is a clock, and time."""

    @property
    def most_particles(self) -> int:
        return 0 if self.options.states else self.timed_particles

    @property
    @abstractmethod
    def trials(self) -> int:
        """Trials of each candidate, without a clock or a budget of states."""

    @abstractmethod
    def search(self, bag: Bags, deadline: Deadline | None) -> Search:
        """A search of the values of the candidates of one bag."""

    model: MoveModel = UNIFORM
    """The model of the other roles' moves."""

    @property
    def path_model(self) -> PathModel | None:
        """The model, if it predicts moves from incomplete paths."""
        return self.model if isinstance(self.model, PathModel) else None

    def sampler(self, tree: PathTree) -> Sampler:
        self.model = model_of(
            self.options.model, self.machine, tree, self.role, self.rng, self.context.program
        )
        return SAMPLERS[self.options.sampler](
            self.machine,
            tree,
            SamplerSettings(self.options.exact, self.pool_limit, self.maker, self.rescues),
            capacity=self.capacity,
            keep_views=self.keep_views or self.path_model is not None,
            model=self.model,
        )

    @property
    def rescues(self) -> bool:
        return self.options.rescue is Rescue.ALL

    def simulated(self) -> tuple[FollowsPaths, ...]:
        return () if self.path_model is None else (self.path_model,)

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """Count the moves of the other roles, if the model learns.

        Raises:
            ConfigError: the counts cannot be stored.
        """
        file = learned_file(self.options.model)
        if file is not None and isinstance(self.model, LearnedMoves):
            turn = self.tracker.turn_of(move, percepts)
            seen = self.model.seen(self.tracker.bag, *turn, goal)
            if seen:
                remember(file, seen)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        return self.best(self.values_of(self.search(bag, deadline), deadline))

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """A move by HyperPlay values: the new entries have no views, which simulations need."""
        search = PlayoutSearch(self.machine, bag, self.rng, deadline, model=self.model)
        return self.best(run_search(search, self.machine, self.trials, deadline))

    def values_of(
        self,
        search: Search,
        deadline: Deadline | None,
        share: float = 1.0,
        enough: int = 1,
        *,
        race: bool = True,
    ) -> Estimates:
        """The values of a search, by count, by clock, or within a share of the budget of states.

        Args:
            enough: least trials of each candidate before values are reported.
            race: see `run_search`.
        """
        budgets = self.options.states
        if not budgets:
            report = None if self.context.report is None else partial(self._report, enough)
            count = max(1, round(self.effort * self.trials))
            return run_search(search, self.machine, count, deadline, report, race=race)
        budget = share * budgets[min(self.turn, len(budgets) - 1)]
        return spend_states(search, self.machine, budget - self.visited_since_decision, deadline)

    def send(
        self, search: TreeSearch, trials: int, deadline: Deadline | None, report: Report
    ) -> None:
        """Send lanes into trees by count, by clock, or within the budget of states.

        Args:
            trials: number of lanes, without a clock or a budget.
            report: receives the values now and then, if reports are requested.
        """
        if self.options.states:
            self.values_of(search, deadline)
        elif deadline is None:
            search.send(trials)
        else:
            search.run(deadline, None if self.context.report is None else report)

    def best(self, estimates: Estimates) -> Choice:
        """The move of highest value, and all values.

        If there was no time for any trial, the values of the last decision decide, if it had some
        of these candidates: after a refused try, for example.
        """
        moves, seen = estimates.moves.values, estimates.visits > 0
        if seen.any():
            self._last_values = dict(zip(moves[seen].tolist(), estimates.values[seen], strict=True))
            return self.pick(estimates, self.rng), self._values(estimates)
        valued = [move for move in moves.tolist() if move in self._last_values]
        if valued:
            return max(valued, key=self._last_values.__getitem__), self._values(estimates)
        return int(self.rng.choice(moves)), self._values(estimates)

    def pick(self, estimates: Estimates, rng: np.random.Generator) -> int:
        """The move of highest value."""
        return int(estimates.choose(rng, self.options.ties)[0])

    def _report(self, enough: int, estimates: Estimates) -> None:
        """Report the best move so far; draws nothing from the player's rng."""
        if estimates.visits.min() >= enough:
            rng = np.random.default_rng(self.turn)
            self.report(self.pick(estimates, rng), self._values(estimates))

    def _values(self, estimates: Estimates) -> tuple[MoveValue, ...]:
        """The values of the candidates of one bag, for a decision."""
        machine = self.machine
        rows = zip(
            estimates.moves.values.tolist(),
            estimates.without_rounding(machine.goal_range).tolist(),
            estimates.honest_errors(machine.goal_range).tolist(),
            estimates.visits.tolist(),
            strict=True,
        )
        return tuple(
            MoveValue(machine.move_text(move), value, None if np.isnan(error) else error, n)
            if n
            else MoveValue(machine.move_text(move), None, None, 0)
            for move, value, error, n in rows
        )
