"""The player `ismcts`: Monte Carlo tree search in games where roles know different things.

Before the search it looks for a sure win; bounds on moves that may end the match immediately
correct the values of the tree. Leaves are valued by playouts, or by a critic: from a file of `ggp
learn`, or one that learns during the start clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ggp.belief import Bags
from ggp.errors import ConfigError, GGPError
from ggp.machine.base import FloatArray, IntArray, is_open, player_roles
from ggp.players.options.evaluations import (
    PLAYOUTS,
    critic_field,
    learner_of_values,
    learnt_form,
)
from ggp.players.options.option_fields import whole
from ggp.players.parts.tree_player import GuidedOptions, TreePlayer
from ggp.players.player import Choice, Context, MoveValue
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import candidates
from ggp.search.parts import INFORMED, TREES, JointEvaluation
from ggp.search.sure_wins import SureWins, load_sure_kernels, worth_at_once

SLOWER = 50
"""Divides the effort for sure wins without a clock on backends other than circuits."""


def learn_field(usual: int) -> Any:
    """The option `learn`."""
    meaning = "percent of the start clock for learning values of leaves; 0: none"
    return whole(usual, meaning, low=0, high=95)


@dataclass(frozen=True)
class ISMCTSOptions(GuidedOptions):
    """Options of players whose leaves may be valued by a critic."""

    evaluation: str = critic_field(
        "value of a leaf: by playouts, or by the critic in a file of `ggp learn`"
    )
    learn: int = learn_field(0)

    def __post_init__(self) -> None:
        if self.learn and self.evaluation != PLAYOUTS:
            raise ConfigError("evaluation=FILE says what leaves are worth: leave out learn=")


class ISMCTS(TreePlayer):
    """A sure win, or the best move of a tree search in which every role moves by what it knows."""

    Options = ISMCTSOptions
    SOURCE = "Cowling, Powley & Whitehouse (2012), multiple-observer ISMCTS"
    KINDS = frozenset({INFORMED, TREES})
    options: ISMCTSOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        if self.options.learn:
            learnt_form()  # raises if it is not installed
        if self.options.evaluation != PLAYOUTS:
            critic = learnt_form().make(
                self.options.evaluation, self.machine, self.role, context.program
            )
            assert isinstance(critic, JointEvaluation)
            self.evaluation = critic
        if self.options.sure and not self.proves:
            load_sure_kernels()
        self._sure = SureWins(self.machine, self.role)

    def prepare(self, deadline: Deadline) -> None:
        """See `Preparing`: learn the values of states, then look for a sure win from the start."""
        if self.options.learn and self.evaluation is None:
            self._learn(deadline.part(self.options.learn / 100), deadline)
        self._sure_win(self.tracker.bag, deadline)

    def _learn(self, until: Deadline, deadline: Deadline) -> None:
        """Learn the values of states until a deadline, and use them if they will do."""
        machine, program, learner = self.machine, self.context.program, learner_of_values()
        if learner is None or program is None or len(player_roles(machine)) != 2:
            return
        if not learner.is_learnt_in_time(machine):
            return
        seed = int(self.rng.integers(1 << 62))
        try:
            if not (share := self.learning_share(until)):
                return
            learnt = learner.learnt(machine, program, seed, until.part(share), deadline)
            if learnt is not None and self.will_do(learnt, until):
                self.evaluation = learnt
        except GGPError as error:  # playouts do without
            self._warn(error)

    def learning_share(self, until: Deadline) -> float:
        """Share of the time of `_learn` for learning; 0 if what is learned cannot be used, as where
        everybody knows everything: there `mcts` tests it."""
        return 0.0 if is_open(self.machine) else 1.0

    def will_do(self, learnt: JointEvaluation, until: Deadline) -> bool:
        """Whether to use learned values of leaves, instead of playouts."""
        return True

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
