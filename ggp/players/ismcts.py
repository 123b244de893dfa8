"""The player `ismcts`: Monte Carlo tree search in games where roles know different things.

Before the search it looks for a sure win; bounds on moves that may end the match immediately
correct the values of the tree.
"""

from __future__ import annotations

from typing import Any

from ggp.belief import Bags
from ggp.errors import GGPError
from ggp.machine.base import FloatArray, IntArray
from ggp.players.parts.tree_player import GuidedOptions, TreePlayer
from ggp.players.player import Choice, Context, MoveValue
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import candidates
from ggp.search.parts import INFORMED, TREES
from ggp.search.sure_wins import SureWins, load_sure_kernels, worth_at_once

SLOWER = 50
"""Divides the effort for sure wins without a clock on backends other than circuits."""


class ISMCTS(TreePlayer):
    """A sure win, or the best move of a tree search in which every role moves by what it knows."""

    Options = GuidedOptions
    SOURCE = "Cowling, Powley & Whitehouse (2012), multiple-observer ISMCTS"
    KINDS = frozenset({INFORMED, TREES})
    options: GuidedOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        if self.options.sure and not self.proves:
            load_sure_kernels()
        self._sure = SureWins(self.machine, self.role)

    def prepare(self, deadline: Deadline) -> None:
        """Look for a sure win from the start; see `Preparing`."""
        self._sure_win(self.tracker.bag, deadline)

    def think_on(self, bag: Bags, deadline: Deadline, submitted: int | None) -> None:
        self._sure_win(bag, deadline)
        super().think_on(bag, deadline, submitted)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        move = self._sure_win(bag, deadline)
        if move is None:
            return super().decide(bag, deadline)
        best = self.machine.goal_range[1]
        values = tuple(
            MoveValue(self.machine.move_text(candidate), best, 0.0, 1)
            if candidate == move
            else MoveValue(self.machine.move_text(candidate), None, None, 0)
            for candidate in candidates(self.machine, bag).values.tolist()
        )
        return move, values

    def bounds(
        self, bag: Bags, moves: IntArray, deadline: Deadline | None
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds on moves that may end the match immediately; see `worth_at_once`."""
        unknown = super().bounds(bag, moves, deadline)
        if self.options.states or self.proves:
            return unknown
        states, weights = bag.states_of(0), bag.weights_of(0)
        try:
            return worth_at_once(self.machine, states, weights, self.role, moves, deadline)
        except OutOfTime:
            return unknown
        except GGPError as error:  # the search must do
            self._warn(error)
            return unknown

    def _sure_win(self, bag: Bags, deadline: Deadline | None) -> int | None:
        """The first move of a sure win, if one is found and the bag is a whole information set.

        Not with a budget of states, and not if everybody knows the state: there trees prove wins.
        """
        most = self.options.sure
        if not most or self.options.states or self.proves or not bag.exact[0] or not bag.sound:
            return None
        if self.machine.backend != "propnet":
            most = max(most // SLOWER, 1)
        try:
            return self._sure.move(bag.states_of(0), self.turn, most, deadline)
        except GGPError as error:  # the search goes without
            self._warn(error)
            return None
