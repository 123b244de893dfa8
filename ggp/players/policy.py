"""The player `policy`: follows a strategy from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ggp.belief import Bags
from ggp.belief.policy_models import history_of, read_strategies
from ggp.players.options.option_fields import words
from ggp.players.parts.belief_player import BeliefPlayer, RiskOptions
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates


def _strategies(text: str) -> str:
    """Read the file already with the spec, so that a wrong file is reported before any match."""
    if text:
        read_strategies(text)
    return text


@dataclass(frozen=True)
class PolicyOptions(RiskOptions):
    """Options of `policy`."""

    file: str = words(
        "",
        "strategies, such as `ggp solve GAME --strategy --json` prints",
        "FILE",
        _strategies,
        usual="none",
        names_file=bool,
        reads=str,
    )


class Policy(BeliefPlayer):
    """A move drawn by the strategy in a file, or a random one where the file says nothing."""

    Options = PolicyOptions
    options: PolicyOptions
    tells_policy = True

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        strategies = read_strategies(self.options.file) if self.options.file else {}
        self._strategy = strategies.get(self.machine.roles[self.role], {})

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        moves = candidates(self.machine, bag).values
        history = history_of(self.machine, self.tracker.tree, int(bag.paths[0]))
        frequencies = {} if history is None else self._strategy.get(history, {})
        texts = map(self.machine.move_text, moves.tolist())
        shares = np.array([frequencies.get(text, 0.0) for text in texts])
        if shares.sum() <= 0:
            shares = np.ones(len(moves))
        return self.mixed(moves, shares / shares.sum()), self.unvalued(moves.tolist())
