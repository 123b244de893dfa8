"""The player `puzzle`: searches for a line of moves to the best goal value, and plays it.

For games of one role without chance. Once a best line is proved, it is played move by move without
further search. Until then the best line so far is played, and every turn the search starts again
from the current state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.errors import ConfigError, GGPError
from ggp.machine.base import States
from ggp.players.options.option_fields import whole
from ggp.players.parts.belief_player import BeliefPlayer, RiskOptions, ponder_field, ponder_share
from ggp.players.player import Choice, Context, MoveValue
from ggp.search.anytime import Deadline
from ggp.search.puzzles import Line, PuzzleSearch, is_puzzle, replayed

SEARCH_SHARE = 0.85
"""Share of the time for the search: a piece of work may take some tenths of a second."""

LATEST_S = 0.5
"""Seconds before the deadline when the search ends, if this is later."""


@dataclass(frozen=True)
class PuzzleOptions(RiskOptions):
    """Options of `puzzle`."""

    rounds: int = whole(200, "pieces of work of each search for a decision, without a clock")
    ponder: int = ponder_field()


class Puzzle(BeliefPlayer):
    """The best line in a game of one role, by exhaustive search, adapted playouts and a solver."""

    Options = PuzzleOptions
    options: PuzzleOptions

    def __init__(self, options: PuzzleOptions, context: Context) -> None:
        if not is_puzzle(context.machine):
            raise ConfigError("puzzle plays games of one role without random only; try auto")
        super().__init__(options, context)
        self._search: PuzzleSearch | None = None
        self._search_turn = 0  # the turn in which the search began
        self._line: Line | None = None  # from this turn on
        self._line_turn = 0
        self._is_proved = False

    def prepare(self, deadline: Deadline) -> None:
        """Search in the time before the first turn; see `Preparing`."""
        self._search_ahead(deadline)

    def ponder(self, deadline: Deadline) -> None:
        """Continue the search; see `Pondering`."""
        self._search_ahead(deadline.part(ponder_share(self.options)))

    def _search_ahead(self, deadline: Deadline) -> None:
        """Search while nobody waits for a move."""
        if deadline.passed():
            return
        bag = self.tracker.bag
        if bag.depleted[0] or not len(bag.sets.states):
            return
        try:
            self._improve(bag.states_of(0), deadline, reports=False)
        except GGPError as error:
            self._warn(error)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        searched = None if deadline is None else _early(deadline)
        self._improve(bag.states_of(0), searched, reports=True)
        values = self._values()
        if self._line is None:
            return self._candidates[int(self.rng.integers(len(self._candidates)))], values
        return self._line.moves[0], values

    def _improve(self, states: States, deadline: Deadline | None, *, reports: bool) -> None:
        """Search for a better line than the known one, unless that is proved best.

        Args:
            states: the possible states: one, unless the role missed some of its moves.
            reports: whether to report new lines, because a decision waits for them.
        """
        state = states.take(np.zeros(1, dtype=np.int64))
        self._keep_up(state)
        if self._is_proved or self.machine.terminal(state)[0]:
            return
        if self._search is None:
            self._search = PuzzleSearch(self.machine, state, self.rng, self._line)
            self._search_turn = self.turn
        search = self._search

        def report() -> None:
            self._line = search.line
            if reports and self._line is not None:
                self.report(self._line.moves[0], self._values())

        search.run(self.options.rounds, deadline, report)
        self._line, self._is_proved = search.line, search.is_proved

    def _keep_up(self, state: States) -> None:
        """Drop the line and the search of earlier turns, as far as they do not fit a state."""
        if self.turn != self._line_turn:
            line, passed = self._line, self.turn - self._line_turn
            self._line_turn = self.turn
            if line is not None:
                rest = np.array(line.moves[passed:], dtype=np.int64)
                self._line = replayed(self.machine, state, rest)
                if self._line is None or self._line.goal != line.goal:
                    self._is_proved = False
        if self.turn != self._search_turn:
            self._search = None

    def _values(self) -> tuple[MoveValue, ...]:
        """The values of the candidates: only the goal value of the line is known."""
        first = None if self._line is None else self._line.moves[0]
        return tuple(
            MoveValue(self.machine.move_text(move), self._line.goal, 0.0, 1)
            if self._line is not None and move == first
            else MoveValue(self.machine.move_text(move), None, None, 0)
            for move in self._candidates
        )


def _early(deadline: Deadline) -> Deadline:
    """The deadline of the search."""
    left_s = deadline.left_s()
    return deadline.part(max(SEARCH_SHARE, 1 - LATEST_S / max(left_s, LATEST_S)))
