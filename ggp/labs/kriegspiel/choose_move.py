"""Choose-move of papers 001 and 002: the players `los`, `aos`, `aosp` and `hs`.

A bag of boards comes in, a move goes out. Each board is searched a few plies deep, as if everybody
saw it (`boards.board_search`); the player makes the move with the best mean over the boards on
which it is legal. The four players differ in the sampler of their boards (`samplers`).

With a clock they are the *timed* forms of the papers. A cautious estimate of the number of boards
that can be searched comes from the boards searched so far. If a bag has fewer, `los` and `aos` look
for more, and search each as it is found; `hs` fills up its next bag to that number; `aosp` and `hs`
spend the remaining time on depth-first search for histories that add boards to the pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ggp.belief import POOL_LIMIT, Bags
from ggp.errors import ConfigError
from ggp.labs.kriegspiel.boards.board_search import BoardLimits, BoardSearch
from ggp.labs.kriegspiel.boards.board_values import BoardTerms, BoardValues, MovePattern, Piece
from ggp.labs.kriegspiel.boards.exchanges.quiescence import Quiescence
from ggp.machine.base import Machine, Ragged
from ggp.machine.definition import GameDefinition
from ggp.players.options.evaluations import evaluation_field, evaluation_of
from ggp.players.options.option_fields import choice, whole
from ggp.players.parts.search_player import (
    MAX_PARTICLES,
    SearchOptions,
    SearchPlayer,
    relation_of,
    sampler_field,
)
from ggp.players.player import Choice, Context
from ggp.run.whole_files import read_toml
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Ties, candidates
from ggp.search.parts import CLAIRVOYANT, Evaluation

SEARCH_SHARE = 0.8
"""Share of the time for searching boards: low, so that some is left for histories."""

LOOK_SHARE = 0.9
"""Share of the remaining time for finding histories."""

FIRST_BOARDS = 4
"""Boards that are searched a single ply deep before any is searched deeper."""

MIN_BOARDS = 8
"""Fewest boards to look for, however long the search of one takes."""

GROWTH = 2
"""The next batch is at most this many times the boards searched so far."""

MORE_SHARE = 0.1
"""Share of the remaining time for finding boards before they are searched."""

POOLS = ("aosp", "hs")


def retry_field() -> Any:
    """The option field for the time of tries after a refused one."""
    meaning = "percent of the clock, or of the counts, for another try after a refused one"
    return whole(100, meaning, high=100)


@dataclass(frozen=True)
class ChooseMoveOptions(SearchOptions):
    """Options of players that choose moves by searching boards."""

    worlds: int = whole(64, "boards to search, without a clock", high=10_000)
    depth: int = whole(2, "plies to search each board", high=100)
    evaluation: str = evaluation_field(
        "value of a board where the search stops: by random playouts, or by pieces, as a file says"
    )
    quiet: int = whole(
        8, "most captures in a row to play out there, if the file declares them", low=0
    )
    steps: int = whole(
        20_000, "most joint moves on a board; beyond, fewer plies are searched", high=10**7
    )
    pool: int = whole(POOL_LIMIT, "most boards of a pool; it is then cut to half", low=2)
    retry: int = retry_field()
    ties: Ties = choice(Ties.RANDOM, "choice of equal moves: by lot", (Ties.RANDOM,))


class ChooseMove(SearchPlayer):
    """The move with the best mean over boards that are searched as if everybody saw them."""

    SOURCE = "Parker, Nau & Subrahmanian (IJCAI 2005)"
    KINDS = frozenset({CLAIRVOYANT})
    options: ChooseMoveOptions

    def __init__(self, options: ChooseMoveOptions, context: Context) -> None:
        super().__init__(options, context)
        machine, role = context.machine, context.role
        values = evaluation_of(options.evaluation, machine, role, context.program)
        self._evaluation = with_captures(values, machine, role, options.quiet)

    @property
    def capacity(self) -> int:
        return self.options.worlds

    @property
    def trials(self) -> int:
        return self.options.worlds

    @property
    def retry_share(self) -> float:
        return self.options.retry / 100

    @property
    def pool_limit(self) -> int:
        return self.options.pool

    def search(
        self,
        bag: Bags,
        deadline: Deadline | None,
        depth: int | None = None,
        moves: Ragged | None = None,
    ) -> BoardSearch:
        """A search of as many boards as the options say; with a clock or a budget, of all boards.

        Args:
            depth: plies; default: as in the options.
            moves: the candidates, if known.
        """
        counted = deadline is None and not self.options.states
        num_boards = self.options.worlds if counted else len(bag.sets.states)
        return BoardSearch(
            self.machine,
            bag,
            self.rng,
            BoardLimits(depth or self.options.depth, self.options.steps, num_boards),
            evaluation=self._evaluation,
            deadline=deadline,
            moves=moves,
        )

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        moves = Ragged(np.array([0, len(self._candidates)]), np.array(self._candidates))
        search = self.search(bag, deadline, moves=moves)
        if deadline is None or self.options.states:
            return self.best(self.values_of(search, deadline))
        # One ply of a few boards takes next to no time: it decides if the clock allows no more.
        first = self.search(bag, deadline, depth=1, moves=moves)
        with suppress(OutOfTime):
            first.round(FIRST_BOARDS)
        self._search_timed(search, deadline)
        best = search if search.num_searched else first
        move = self.best(best.estimates())
        if self.options.sampler in POOLS:
            self.tracker.grow(deadline.part(LOOK_SHARE), *self.simulated())
        return move

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """A random move if there is no board, as in the papers."""
        moves = candidates(self.machine, bag).values.tolist()
        return int(moves[self.rng.integers(len(moves))]), self.unvalued(moves)

    def _search_timed(self, search: BoardSearch, deadline: Deadline) -> None:
        """Search boards while there is time, and estimate how many there is time for."""
        part = deadline.part(SEARCH_SHARE)
        batch, searched_s = 1, 0.0
        while not part.passed():
            began_s = deadline.clock()
            try:
                search.round(batch)
            except OutOfTime:
                break
            searched_s += deadline.clock() - began_s
            count = search.num_searched
            if self.context.report is not None:
                self._report(1, search.estimates())
            extra = int(part.left_s() * count / max(searched_s, 1e-9))
            self.tracker.belief.capacity = min(max(count + extra, MIN_BOARDS), MAX_PARTICLES)
            if extra < 1 or not (search.num_left or self._find_more(search, part)):
                break
            batch = min(max(extra // 2, 1), GROWTH * count)

    def _find_more(self, search: BoardSearch, part: Deadline) -> bool:
        """Look for more boards for a while; returns whether there are any."""
        if self.options.sampler in POOLS:
            return False  # their new boards are for the turns to come
        self.tracker.grow(part.part(MORE_SHARE), *self.simulated())
        search.add(self.tracker.bag)
        return search.num_left > 0


@dataclass(frozen=True)
class LosOptions(ChooseMoveOptions):
    """Options of `los`."""

    sampler: str = sampler_field("los")


class Los(ChooseMove):
    """The best mean over boards that agree with the last observation, each searched as if open."""

    Options = LosOptions


@dataclass(frozen=True)
class AosOptions(ChooseMoveOptions):
    """Options of `aos`."""

    sampler: str = sampler_field("aos")


class Aos(ChooseMove):
    """The best mean over boards of random histories that agree with all observations."""

    Options = AosOptions


@dataclass(frozen=True)
class AospOptions(ChooseMoveOptions):
    """Options of `aosp`."""

    sampler: str = sampler_field("aosp")


class Aosp(ChooseMove):
    """The best mean over boards of a pool that agrees with all observations."""

    Options = AospOptions


@dataclass(frozen=True)
class HsOptions(ChooseMoveOptions):
    """Options of `hs`."""

    sampler: str = sampler_field("hs")


class Hs(ChooseMove):
    """The best mean over a pool filled up with boards that agree with the last observation."""

    Options = HsOptions


# ------------------------------------------------------------------------
# TOML files that declare pieces and their values (`boards.board_values`), for the option
# `evaluation`. `kriegspiel.toml`, which comes with the games, also suits the smaller boards.

_NUMBERS = ("scale", "protected", "threatened", "advance", "check")


class PieceFiles:
    """Files that declare pieces: see `ggp.players.options.evaluations.EvaluationForm`."""

    def check(self, file: str) -> None:
        read_terms(Path(file))

    def make(
        self, file: str, machine: Machine, role: int, program: GameDefinition | None
    ) -> BoardValues:
        terms = read_terms(Path(file))
        try:
            return BoardValues(machine, terms)
        except ConfigError as error:
            name = Path(file).stem
            raise ConfigError(f"evaluation={name} does not suit this game: {error}") from error


FORM = PieceFiles()


def with_captures(
    values: Evaluation | None, machine: Machine, role: int, quiet: int
) -> Evaluation | None:
    """The same evaluation, with captures played out first, if the file declares them.

    Args:
        role: the role whose values count there.
        quiet: most captures in a row to play out.
    """
    if quiet and isinstance(values, BoardValues) and values.terms.noisy:
        return Quiescence(machine, values, role, quiet)
    return values


def read_terms(path: Path) -> BoardTerms:
    """The terms of the evaluation of boards, from a file.

    Raises:
        ConfigError: the file cannot be read, or its contents are wrong.
    """
    data = read_toml(path)
    try:
        return BoardTerms(
            relation=relation_of(data),
            pieces={name: _piece(piece) for name, piece in data["pieces"].items()},
            noisy=tuple(map(_pattern, data.get("noisy", ()))),
            **{name: float(data[name]) for name in _NUMBERS},
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} does not say what boards are worth: it needs fluent (with "
            f"?file ?rank ?role ?piece), {', '.join(_NUMBERS)}, and pieces with values "
            f"({type(error).__name__}: {error})"
        ) from error


def _piece(data: Mapping[str, Any]) -> Piece:
    unknown = set(data) - {field.name for field in fields(Piece)}
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    return Piece(
        value=float(data["value"]),
        steps=_steps(data.get("steps", ())),
        slides=_steps(data.get("slides", ())),
        takes={role: _steps(steps) for role, steps in data.get("takes", {}).items()},
        king=bool(data.get("king", False)),
    )


def _pattern(text: str) -> MovePattern:
    words = text.strip("()").split()
    if missing := {"?from_file", "?from_rank", "?file", "?rank"} - set(words):
        raise ValueError(f"noisy moves lack {' and '.join(sorted(missing))}: {text}")
    origin, target = (
        (words.index(file), words.index(rank))
        for file, rank in (("?from_file", "?from_rank"), ("?file", "?rank"))
    )
    return MovePattern(words[0], len(words), origin, target)


def _steps(data: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(x), int(y)) for x, y in data)
