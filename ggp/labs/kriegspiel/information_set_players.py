"""The players `over` and `para` of paper 000, which search information sets ahead.

A bag comes in, a move goes out: the best by `set_search`, some plies deep, or as deep as time
allows. `over` assumes that its opponents move at random, `para` that they do their worst.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from ggp.belief import POOL_LIMIT, UNIFORM, Bags
from ggp.errors import ConfigError, GGPError
from ggp.labs.kriegspiel.choose_move import retry_field
from ggp.labs.kriegspiel.set_search import (
    InformationSetSearch,
    TooLarge,
)
from ggp.labs.kriegspiel.set_tree import MAX_JOINT, Leaf, LookAhead
from ggp.players.options.evaluations import evaluation_field, evaluation_of
from ggp.players.options.option_fields import choice, whole
from ggp.players.parts.search_player import SearchOptions, SearchPlayer
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.parts import INFORMED
from ggp.search.playouts import PlayoutSearch

DEFAULT_HISTORIES = 500

FIRST_SHARE = 0.4
"""Share of the remaining time for folding in a first history; without one, the player searches one
ply less."""

STATES_A_JOINT_MOVE = 8
"""States of a budget that a joint move of the last turn of one history costs, with its playouts."""

RESCUE_PLAYOUTS = 1_000
"""Playouts of each candidate if not even one ply can be searched."""


@dataclass(frozen=True)
class InformationSetOptions(SearchOptions):
    """Options of players that search information sets."""

    depth: int = whole(2, "plies to look ahead; fewer if time is short", high=50)
    histories: int | None = whole(
        None,
        "histories sampled for a decision, without a clock",
        high=10**7,
        usual=str(DEFAULT_HISTORIES),
    )
    leaf: Leaf = choice(Leaf.MEAN, "value of a leaf: mean or min of its states")
    tries: int = whole(
        1, "refused tries in a row that cost no ply; 0: a refused try is a ply", low=0, high=50
    )
    evaluation: str = evaluation_field(
        "value of a state where the search stops: by random playouts, or by pieces, as a file says"
    )
    particles: int = whole(200, "particles in a bag that is sampled")
    pool: int = whole(
        POOL_LIMIT,
        "most boards of a pool, with a sampler that has one; it is then cut to half",
        low=2,
    )
    retry: int = retry_field()

    def __post_init__(self) -> None:
        if self.states and self.histories is not None:
            raise ConfigError("give either histories or states")


class InformationSetPlayer(SearchPlayer):
    """A player that searches the information sets that it may reach a few plies later."""

    options: InformationSetOptions
    paranoid: ClassVar[bool]

    def __init__(self, options: InformationSetOptions, context: Context) -> None:
        super().__init__(options, context)
        self._evaluation = evaluation_of(
            options.evaluation, context.machine, context.role, context.program
        )

    @property
    def capacity(self) -> int:
        return self.options.particles

    @property
    def pool_limit(self) -> int:
        return self.options.pool

    @property
    def retry_share(self) -> float:
        return self.options.retry / 100

    @property
    def trials(self) -> int:
        return self.options.histories or DEFAULT_HISTORIES

    def search(
        self, bag: Bags, deadline: Deadline | None, depth: int | None = None
    ) -> InformationSetSearch:
        """A search of `depth` plies; default: as many as the options say."""
        budgets = self.options.states
        limit = MAX_JOINT
        if budgets:
            limit = min(limit, budgets[min(self.turn, len(budgets) - 1)] // STATES_A_JOINT_MOVE)
        options = self.options
        look = LookAhead(depth or options.depth, self.paranoid, options.leaf, options.tries, limit)
        return InformationSetSearch(
            self.machine,
            bag,
            self.rng,
            look,
            model=UNIFORM if self.path_model is not None else self.model,
            deadline=deadline,
            evaluation=self._evaluation,
        )

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        return self.decide(bag, deadline)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        for depth in range(self.options.depth, 0, -1):
            try:
                move = self._decide_at(bag, deadline, depth)
            except TooLarge:
                move = None
            except GGPError as error:
                self._warn(error)
                break
            if move is not None:
                return move
        # Not even one turn of one history can be searched: playouts decide.
        search = PlayoutSearch(self.machine, bag, self.rng, deadline)
        if deadline is None and not self.options.states:
            search.round(RESCUE_PLAYOUTS)
            return self.best(search.estimates())
        return self.best(self.values_of(search, deadline))

    def _decide_at(self, bag: Bags, deadline: Deadline | None, depth: int) -> Choice | None:
        """A choice by a search of `depth` plies; None if no history could be folded in in time.

        Raises:
            TooLarge: a history has too many joint moves.
        """
        if deadline is None:
            return self.best(self.values_of(self.search(bag, None, depth), None))
        search = self.search(bag, deadline.part(FIRST_SHARE), depth)
        with suppress(OutOfTime):
            search.round(search.num_entries)
        if not search.estimates().visits.any():
            return None
        search.until(deadline)
        if search.exhausted:
            return self.best(search.estimates())
        # All moves share nodes: each history informs about all of them.
        return self.best(self.values_of(search, deadline, race=False))


class Over(InformationSetPlayer):
    """Searches information sets a few plies ahead, and assumes that others move at random."""

    Options = InformationSetOptions
    SOURCE = "Parker, Nau & Subrahmanian (AAAI 2006), overconfident play"
    KINDS = frozenset({INFORMED})
    paranoid = False


class Para(InformationSetPlayer):
    """Searches information sets a few plies ahead, and assumes the worst of others."""

    Options = InformationSetOptions
    SOURCE = "Parker, Nau & Subrahmanian (AAAI 2006), paranoid play"
    KINDS = frozenset({INFORMED})
    paranoid = True
