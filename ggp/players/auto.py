"""The player `auto`: delegates to the player that suits the game (`ggp.players.choosing`).

It passes moves and percepts on to this player and returns its decisions. Only one player follows
the match, because several would share the machine and the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ggp.belief import Sampler
from ggp.machine.base import player_roles
from ggp.machine.on_circuit import on_circuit
from ggp.players.choosing import (
    SOLUTION,
    SOLVED_STATES,
    Chosen,
    SolvedPlayer,
    choose_player,
    look_into,
)
from ggp.players.hyperplay2 import HyperPlay2, HyperPlay2Options
from ggp.players.ismcts import ISMCTS, ISMCTSOptions, learn_field
from ggp.players.mcts import MCTS
from ggp.players.options.evaluations import learner_of_values
from ggp.players.options.opponents import UNIFORM_MODEL
from ggp.players.options.option_fields import whole
from ggp.players.parts.belief_player import BeliefPlayer, RiskOptions, ponder_field, ponder_share
from ggp.players.pimc import Pimc, PimcOptions
from ggp.players.player import Context, Decision, ObservedTurn, Preparing
from ggp.players.puzzle import Puzzle, PuzzleOptions
from ggp.players.resolve import Resolve, ResolveOptions
from ggp.search.anytime import Deadline, OutOfTime, part_of

LEARN = 90
"""Percent of the rest of the start clock that `mcts` uses for learning."""

PREPARED_TIMES = 2
"""On a start clock, games of this times as many states are solved: their trees take some 300 MB."""

PREPARED_SHARE = 0.3
"""Share of the start clock for enumerating the states of such a game."""

EXAMINED_SECONDS = 20.0
"""Longest time of attempts to examine a game while a plainer player plays."""

EXAMINED_SHARE = 0.1
"""Share of a move's clock for such an attempt; the others' time can be used up."""

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
    """Solves small games, plays `mcts` where everybody knows everything, and searches elsewhere.

    Attributes:
        player: the player that decides at present.
    """

    Options = AutoOptions
    PLAYS = (f"mcts:learn={LEARN}", "pimc", "ismcts", "hyperplay2", "resolve", "puzzle")

    def __init__(self, options: AutoOptions, context: Context) -> None:
        self._options, self._context = options, context
        self._examining_s = EXAMINED_SECONDS
        self._snapshot, self._turns = "", list[ObservedTurn]()  # what any player can begin with
        self._selection = self._choose(context.ready_by)
        self.player = _player_of(self._selection, options, context)
        # The work of examining the game belongs to no decision.
        self._machine = context.machine
        self._visited_before = self._machine.states_visited

    @property
    def states_visited(self) -> int:
        return self._machine.states_visited - self._visited_before

    @property
    def belief(self) -> Sampler | None:
        """See `Believing`."""
        return self.player.belief

    def snapshot(self) -> str:
        """See `Believing`."""
        return self.player.snapshot()

    def is_sure(self, move: str) -> bool:
        """See `Believing`."""
        return self.player.is_sure(move)

    def resume(self, snapshot: str, turns: Sequence[ObservedTurn]) -> int:
        """See `Believing`."""
        num_turns = self.player.resume(snapshot, turns)
        if num_turns:
            self._snapshot, self._turns = snapshot, list(turns[:num_turns])
        return num_turns

    @property
    def tells_policy(self) -> bool:
        """See `BeliefPlayer`: as for the chosen player."""
        return self.player.tells_policy

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        self._turns.append((move, percepts, submitted, in_time))
        self.player.observe(move, percepts, submitted=submitted, in_time=in_time, deadline=deadline)

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        self._examine(deadline, EXAMINED_SHARE)
        return self.player.choose(deadline, value_forced=value_forced)

    def ponder(self, deadline: Deadline) -> None:
        deadline = deadline.part(ponder_share(self._options))
        self._examine(deadline, 1.0)
        self.player.ponder(deadline)

    def prepare(self, deadline: Deadline) -> None:
        """See `Preparing`: solve a larger game than without a start clock, or let the chosen player
        prepare."""
        self._examine(deadline, PREPARED_SHARE)
        if self._selection.is_final and not isinstance(self.player, SolvedPlayer | Puzzle):
            self._solve(deadline)
        if isinstance(self.player, Preparing):
            self.player.prepare(deadline)

    def _solve(self, deadline: Deadline) -> None:
        context, most_states = self._context, PREPARED_TIMES * self._options.solve
        until = deadline.part(PREPARED_SHARE)
        with suppress(OutOfTime):
            looked = look_into(context.machine, most_states, context.program, until)
            if looked.part_of is not None:
                part = looked.part_of(context.role)
                selection = Chosen(SOLUTION, "it was solved on the start clock", part)
                self.player = _player_of(selection, self._options, context)

    def _choose(self, deadline: Deadline | None) -> Chosen:
        context = self._context
        began_s = context.clock()
        selection = choose_player(
            context.machine, context.role, self._options.solve, context.program, deadline
        )
        self._examining_s -= context.clock() - began_s
        return selection

    def _examine(self, deadline: Deadline | None, share: float) -> None:
        """Go on examining the game, if that is not finished; then the player that suits it plays.

        It does not if it knows no possible state, unless the player so far knows none either.
        """
        if self._selection.is_final or self._examining_s <= 0:
            return
        plain, self._selection = self._selection, self._choose(part_of(deadline, share))
        if not self._selection.is_final or self._selection.player == plain.player:
            return
        player = _player_of(self._selection, self._options, self._context)
        num_known = player.resume(self._snapshot, self._turns) if self._snapshot else 0
        for move, percepts, submitted, in_time in self._turns[num_known:]:
            player.observe(move, percepts, submitted=submitted, in_time=in_time, deadline=deadline)
        if self.player.tracker.bag.depleted[0] or not player.tracker.bag.depleted[0]:
            self.player = player


def _player_of(selection: Chosen, options: AutoOptions, context: Context) -> BeliefPlayer:
    """The chosen player."""
    if selection.part is not None:
        return SolvedPlayer(selection.part, options.risk, context)
    learn = 0 if learner_of_values() is None else options.learn
    make: dict[str, Callable[[], BeliefPlayer]] = {
        "puzzle": lambda: Puzzle(PuzzleOptions(risk=options.risk), context),
        "mcts": lambda: MCTS(ISMCTSOptions(risk=options.risk, learn=learn), context),
        "pimc": lambda: Pimc(PimcOptions(risk=options.risk), context),
        "resolve": lambda: Resolve(ResolveOptions(risk=options.risk), context),
        "hyperplay2": lambda: HyperPlay2(HyperPlay2Options(risk=options.risk), context),
        "ismcts": lambda: ISMCTS(ISMCTSOptions(risk=options.risk, model=_model(context)), context),
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
