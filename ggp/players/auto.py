"""The player `auto`: delegates to the player that suits the game (`ggp.players.choosing`).

It passes moves and percepts on to this player and returns its decisions. Only one player follows
the match, because several would share the machine and the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ggp.belief import Sampler
from ggp.machine.base import player_roles
from ggp.machine.on_circuit import on_circuit
from ggp.players.choosing import (
    SOLVED_STATES,
    Chosen,
    SolvedPlayer,
    SolvingEffort,
    choose_player,
)
from ggp.players.hyperplay2 import HyperPlay2, HyperPlay2Options
from ggp.players.ismcts import ISMCTS
from ggp.players.mcts import MCTS, MCTSOptions, learn_field
from ggp.players.options.evaluations import learner_of_values
from ggp.players.options.opponents import UNIFORM_MODEL
from ggp.players.options.option_fields import whole
from ggp.players.parts.belief_player import BeliefPlayer, ponder_field, ponder_share
from ggp.players.parts.risk import RiskOptions
from ggp.players.parts.tree_player import GuidedOptions
from ggp.players.pimc import Pimc, PimcOptions
from ggp.players.player import Context, Decision, ObservedTurn, Preparing
from ggp.players.puzzle import Puzzle, PuzzleOptions
from ggp.search.anytime import Deadline

LEARN = 90
"""Percent of the rest of the start clock that `mcts` uses for learning."""

PREPARED_TIMES = 4
"""On a start clock, games of this times as many states are solved: their trees take some 300 MB."""

PREPARED_SHARE = 0.3
"""Share of the start clock for enumerating the states of such a game."""

PREPARED_SECONDS = 1.0
"""Time for its linear programs, and for CFR+ if they fail: they cannot be interrupted if the match
begins earlier."""

LATE_MOVES = 24
"""If the others have no more moves than this in the whole game, `ismcts` considers that they may be
late (`ggp.belief.policy_models`). In such games it scored no less against itself without this
model; in games with more moves it did, because weighing them takes time. See
docs/measured/strength.md."""


@dataclass(frozen=True)
class AutoOptions(RiskOptions):
    """Options of `auto`."""

    solve: int = whole(SOLVED_STATES, "states of the largest game to solve; 0: none", low=0)
    learn: int = learn_field(LEARN)
    ponder: int = ponder_field()


class Auto:
    """Solves small games, plays `mcts` where everybody knows everything, and searches elsewhere."""

    Options = AutoOptions
    PLAYS = (f"mcts:learn={LEARN}", "pimc", "ismcts", "hyperplay2", "puzzle")

    def __init__(self, options: AutoOptions, context: Context) -> None:
        self._options, self._context = options, context
        self._player = _player_of(self._choose(), options, context)
        # The work of examining the game belongs to no decision.
        self._machine = context.machine
        self._visited_before = self._machine.states_visited

    @property
    def states_visited(self) -> int:
        return self._machine.states_visited - self._visited_before

    @property
    def belief(self) -> Sampler | None:
        """See `Believing`."""
        return self._player.belief

    def snapshot(self) -> str:
        """See `Believing`."""
        return self._player.snapshot()

    def resume(self, snapshot: str, turns: Sequence[ObservedTurn]) -> int:
        """See `Believing`."""
        return self._player.resume(snapshot, turns)

    @property
    def tells_policy(self) -> bool:
        """See `BeliefPlayer`: as for the chosen player."""
        return self._player.tells_policy

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        self._player.observe(
            move, percepts, submitted=submitted, in_time=in_time, deadline=deadline
        )

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        return self._player.choose(deadline, value_forced=value_forced)

    def ponder(self, deadline: Deadline) -> None:
        self._player.ponder(deadline.part(ponder_share(self._options)))

    def prepare(self, deadline: Deadline) -> None:
        """See `Preparing`: solve a larger game than without a start clock, or let the chosen player
        prepare."""
        if self._options.solve and not isinstance(self._player, SolvedPlayer | Puzzle):
            self._solve(deadline)
            self._visited_before = self._machine.states_visited
        if isinstance(self._player, Preparing):
            self._player.prepare(deadline)

    def _solve(self, deadline: Deadline) -> None:
        until = deadline.part(PREPARED_SHARE)
        effort = SolvingEffort(PREPARED_TIMES, seconds=PREPARED_SECONDS, is_over=until.passed)
        selection = self._choose(effort)
        if selection.part is not None:
            self._player = _player_of(selection, self._options, self._context)

    def _choose(self, effort: SolvingEffort | None = None) -> Chosen:
        context = self._context
        return choose_player(
            context.machine, context.role, self._options.solve, context.program, effort
        )


def _player_of(selection: Chosen, options: AutoOptions, context: Context) -> BeliefPlayer:
    """The chosen player."""
    if selection.part is not None:
        return SolvedPlayer(selection.part, options.risk, context)
    learn = 0 if learner_of_values() is None else options.learn
    make: dict[str, Callable[[], BeliefPlayer]] = {
        "puzzle": lambda: Puzzle(PuzzleOptions(risk=options.risk), context),
        "mcts": lambda: MCTS(MCTSOptions(risk=options.risk, learn=learn), context),
        "pimc": lambda: Pimc(PimcOptions(risk=options.risk), context),
        "hyperplay2": lambda: HyperPlay2(HyperPlay2Options(risk=options.risk), context),
        "ismcts": lambda: ISMCTS(GuidedOptions(risk=options.risk, model=_model(context)), context),
    }
    return make[selection.player]()


def _model(context: Context) -> str:
    """The option `model` that suits the game."""
    machine = context.machine
    if not on_circuit(machine):
        return UNIFORM_MODEL
    opponents = (role for role in player_roles(machine) if role != context.role)
    most = max((len(machine.circuit_moves(role)) for role in opponents), default=0)
    return "late" if most <= LATE_MOVES else UNIFORM_MODEL
