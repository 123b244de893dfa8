"""Turns the fluents of a state into its picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ggp.errors import ConfigError
from ggp.gdl.program import RANDOM, Program
from ggp.gdl.terms import Term
from match_runner.pictures.grids import recognise
from match_runner.pictures.in_words.words import GameWords
from match_runner.pictures.kinds import KINDS
from match_runner.pictures.kinds.boards import cell_id
from match_runner.pictures.kinds.facts import fact
from match_runner.pictures.moves import Moves, moves_of
from match_runner.pictures.picture import MOST_FACTS, DrawnFact, Json, Picture, Rules, short
from match_runner.pictures.shapes import shapes_of
from match_runner.pictures.side_file import NO_SIDE_FILE, read_side_file
from match_runner.pictures.values import Values, chains_of


class Layout:
    """Layout of the states of a game; made by `Layout.of`.

    Attributes:
        words: what its moves, percepts and fluents are called.
    """

    def __init__(self, rules: Rules, moves: Moves, words: GameWords) -> None:
        self._rules, self._moves = rules, moves
        self.words = words
        self._takers = {name: kind.taker(rules) for name, kind in KINDS.items()}

    @classmethod
    def of(cls, program: Program, side_file: Path | None = None) -> Layout:
        """The layout that a game's rules suggest.

        Args:
            side_file: a file that describes the picture better than the rules (`side_file.py`).

        Raises:
            ConfigError: the side file cannot be used.
        """
        roles = tuple(role for role in program.roles if role != RANDOM)
        side = NO_SIDE_FILE if side_file is None else read_side_file(side_file, roles)
        values = Values(program)
        shapes = shapes_of(program, values)
        try:
            grids, places = recognise(program, shapes, chains_of(values.facts), side)
        except ConfigError as error:
            raise ConfigError(f"{side_file}: {error}") from error
        moves = moves_of(program, roles, grids, places)
        words = GameWords(moves, side.said)
        return cls(Rules(roles, shapes, grids, places, words.fluent), moves, words)

    def picture(self, facts: Iterable[Term]) -> Picture:
        """Picture of the fluents of a state, or of the percepts of a turn.

        It has every board, even those with nothing on them.
        """
        return self._draw((fact, 1.0) for fact in facts)

    def heat(self, marginals: Mapping[Term, float]) -> Json:
        """Picture of a belief, as JSON for the page.

        Args:
            marginals: the probability of each fluent.
        """
        return self._draw(marginals.items()).to_json()

    def cells_of_move(self, move: Term, role: str) -> tuple[str, ...]:
        """Ids of the cells that a move names, in its order; () if there are none.

        Args:
            role: the role that makes it: each role may have a board of its own.
        """
        number, spots = self._moves.spots(move, role)
        return tuple(cell_id(self._rules.grids[number], *spot) for spot in spots)

    def drops_in(self, move: Term) -> bool:
        """Whether a move may be made on every cell of a column, into which something is dropped."""
        return self._moves.drops_in(move)

    def _draw(self, facts: Iterable[tuple[Term, float]]) -> Picture:
        told = sorted(
            (DrawnFact(str(term), term, share) for term, share in facts), key=lambda f: f.text
        )
        parts: dict[str, list[Json]] = {}
        left: Sequence[DrawnFact] = told[:MOST_FACTS]
        for name, take in self._takers.items():
            taken, left = take(left)
            parts[name] = list(taken)
        if len(told) > MOST_FACTS:
            parts["facts"].append(fact(f"and {len(told) - MOST_FACTS:,} more"))
        return Picture(parts, [short(role) for role in self._rules.roles])
