"""Peers: OpenSpiel's own bots on our rulesheets, `peer:openspiel-mcts` and `peer:openspiel-ismcts`.

They play where OpenSpiel has the same game as the rulesheet (`ggp.labs.openspiel.twins`).

A peer gets its moves and percepts, like every player, and returns the bot's move. It draws up to
1,000 histories that agree with its path, or all if there are no more, by their probability if the
other roles move at random; the bot gets their states. (If OpenSpiel draws states itself, it starts
from one of them.) A bag of particles, as in other players, provides the legal moves, and the
fallback if the bot fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ggp.belief import Bags
from ggp.errors import ConfigError, MachineError
from ggp.labs.openspiel.machine.games import PREFIX
from ggp.labs.openspiel.rulesheets.turns import DrawnWorlds
from ggp.labs.openspiel.spiel_bot import NO_LIMIT, searched
from ggp.labs.openspiel.twins import Options, Twin, find_twin, twins
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import whole
from ggp.players.parts.belief_player import BeliefPlayer
from ggp.players.player import Choice, Context
from ggp.run.clocks import Clock, clock_of
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates


@dataclass(frozen=True)
class PeerOptions:
    """Options of both peers."""

    simulations: int = whole(10_000, "simulations for a decision, without a clock", low=2)
    uct: int = whole(200, "hundredths: the constant of UCT, for wins and losses of 1", low=0)


@dataclass(frozen=True)
class TreePeerOptions(PeerOptions):
    """Options of `TreePeer`."""

    solver: int = whole(1, "1: prove wins and losses; 0: do not", low=0, high=1)


class _Peer(BeliefPlayer):
    """A player that asks a bot on the twin of its game.

    Raises:
        BackendUnavailableError: OpenSpiel is not installed.
        ConfigError: the game has no twin, or needs the other peer.
    """

    SOURCE = "OpenSpiel (Lanctot et al. 2019)"
    for_secrets: bool
    options: PeerOptions

    def __init__(self, options: PeerOptions, context: Context) -> None:
        self._twin = self.check_game(context.name, context.program)
        super().__init__(options, context)
        utilities = self._twin.game.max_utility() - self._twin.game.min_utility()
        uct_c = options.uct / 100 * utilities / 2
        self._bot = bot_of(self._twin, uct_c, bool(getattr(options, "solver", 0)), self.rng)

    @classmethod
    def check_game(cls, name: str, program: GameDefinition | None) -> Twin:
        """The twin of a game, if this peer can play it.

        Args:
            name: name of the player in messages.
            program: the rules of the game.

        Raises:
            BackendUnavailableError: OpenSpiel is not installed.
            ConfigError: there is no twin, or the game needs the other peer.
        """
        if program is None:
            raise ConfigError(f"{name} plays in matches only: here it does not get the rules")
        if program.prefix == PREFIX:
            raise ConfigError(
                f"{name} plays our rulesheets; in OpenSpiel's own games, "
                "ggp.players.spiel_bot:OpenSpielBot does"
            )
        twin = find_twin(program)
        if twin is None:
            raise ConfigError(
                f"{name} cannot play this game, but only those that OpenSpiel has too: "
                f"{', '.join(twins())}"
            )
        if twin.hides and not cls.for_secrets:
            raise ConfigError(
                f"{name} cannot play {twin.name}, in which players know different things; "
                "peer:openspiel-ismcts can"
            )
        if cls.for_secrets and not twin.hides:
            raise ConfigError(
                f"{name} cannot play {twin.name}, in which everybody knows everything; "
                "peer:openspiel-mcts can"
            )
        return twin

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        from ggp.labs.openspiel.rulesheets.turns import worlds_of

        tree = self.tracker.tree
        nodes = tree.beginnings(self.tracker.bag.paths[:1])[1:]
        turns = [tuple(tree.last_turns(node)[0, :2].tolist()) for node in nodes]
        worlds = worlds_of(self.machine, self.role, turns, self.rng)
        states = Drawn(self._twin, self.machine, worlds, self.rng)
        timer = None
        if deadline is not None:
            timer = Timer(deadline.left_s, by_the_wall=clock_of(deadline.clock) is Clock.WALL)
        action = self._bot.action(states, self.options.simulations, timer)
        moves = candidates(self.machine, bag).values.tolist()
        return self._move(action, moves), self.unvalued(moves)

    def _move(self, action: int, moves: list[int]) -> int:
        """Our move that corresponds to an action of the twin.

        Raises:
            MachineError: there is no such move.
        """
        role = self.machine.roles[self.role]
        for move in moves:
            actions = self._twin.actions(role, self.machine.move_text(move))
            if len(actions) == 1 and action in actions[0]:
                return move
        raise MachineError(f"no move of {role} is OpenSpiel's action {action}")


class TreePeer(_Peer):
    """OpenSpiel's MCTSBot, in C++ and with its solver, for games of perfect information."""

    Options = TreePeerOptions
    for_secrets = False


class SetPeer(_Peer):
    """OpenSpiel's ISMCTSBot, for games of imperfect information."""

    Options = PeerOptions
    for_secrets = True


# ------------------------------------------------------------------------
# OpenSpiel's search bots on a twin of a rulesheet (`ggp.labs.openspiel.twins`).
#
#     our role's path -> histories that agree with it -> states of the twin -> a bot -> its action
#
# A bot is asked for one decision. Rule: it gets only histories that the role cannot distinguish
# from the true one (`ggp.labs.openspiel.rulesheets.turns`); with perfect information there is one.
#
# Bots in C++ measure only wall time, and drop their tree between two calls. So under a clock they
# get a number of simulations that fits the time, as estimated by short searches of the same
# position. If the clock shows wall time, the bots get it as a limit too, in case the computer slows
# down. The bot in Python is stopped between two simulations.

FIRST_SIMULATIONS = 32
"""Number of simulations of the first search, which measures the speed of a bot."""

MAX_SIMULATIONS = 1 << 20
"""Most simulations of one search under a clock, which bounds memory."""

SHOWS = 0.05
"""Least share of the time that a search must take to measure the speed of the bot."""

STEP = 4
"""Factor of the number of simulations of the next search, after a search that was too short."""

USED = 0.9
"""Share of the time that is used: simulations take longer as a tree grows."""

SPARE_S = 0.005
"""Seconds reserved for the work after a search."""

MIN_S = 0.05
"""Least limit of wall time for a bot: it crashes if the time is over before its first
simulation."""

_MAX_SEED = 1 << 30


@dataclass(frozen=True, slots=True)
class Timer:
    """The time that is left for a decision.

    Attributes:
        left_s: returns the seconds that are left.
        by_the_wall: whether these are seconds of `time.monotonic`.
    """

    left_s: Callable[[], float]
    by_the_wall: bool


class OutOfTimeError(MachineError):
    """The time was over before the bot could choose."""

    def __init__(self) -> None:
        super().__init__("the time was over before OpenSpiel's bot had searched")


class TwinBot(Protocol):
    """A search bot of OpenSpiel."""

    def action(self, states: Drawn, simulations: int, timer: Timer | None) -> int:
        """The bot's action for the player to move.

        Args:
            states: the states that the player may be in.
            simulations: number of simulations of the search, if there is no clock.
            timer: the clock.

        Raises:
            MachineError: OpenSpiel fails, or the time is over before the search begins.
        """
        ...


class Drawn:
    """Draws states of a twin that a role may be in, by weight; each state is built once.

    Args:
        worlds: histories on the machine.
    """

    def __init__(
        self, twin: Twin, machine: Machine, worlds: DrawnWorlds, rng: np.random.Generator
    ) -> None:
        self._twin, self._machine, self._worlds, self._rng = twin, machine, worlds, rng
        self._actions: dict[tuple[int, int], list[Options]] = {}
        self._states: dict[int, Any] = {}
        self._waiting: list[int] = []

    def draw(self) -> Any:
        """A copy of a random state; the caller may change it."""
        if not self._waiting:
            weights = self._worlds.weights
            self._waiting = self._rng.choice(len(weights), size=1024, p=weights).tolist()
        world = self._waiting.pop()
        if world not in self._states:
            self._states[world] = self._build(world)
        return self._states[world].clone()

    def _build(self, world: int) -> Any:
        state = self._twin.game.new_initial_state()
        for joint_move in self._worlds.joint_moves[world].tolist():
            for role, move in enumerate(joint_move):
                self._twin.play(state, self._twin_actions(role, move))
        return state

    def _twin_actions(self, role: int, move: int) -> list[Options]:
        actions = self._actions.get((role, move))
        if actions is None:
            name = self._machine.roles[role]
            actions = self._twin.actions(name, self._machine.move_text(move))
            self._actions[role, move] = actions
        return actions


@dataclass(frozen=True)
class CompiledBot:
    """A bot in C++: tree search with a solver, or information-set search.

    Attributes:
        uct_c: the constant of UCT.
        solve: whether wins and losses are proved; tree search only.
    """

    twin: Twin
    uct_c: float
    solve: bool
    rng: np.random.Generator

    def action(self, states: Drawn, simulations: int, timer: Timer | None) -> int:
        state = states.draw()
        if timer is None:
            return self._searched(state, simulations, None)
        total_s, count, is_last = timer.left_s(), FIRST_SIMULATIONS, False
        action: int | None = None
        while (before_s := timer.left_s()) > SPARE_S:
            action = self._searched(state, count, timer)
            left_s = timer.left_s()
            took_s, room_s = before_s - left_s, left_s - (1 - USED) * total_s
            affordable = int(count * room_s / took_s) if took_s > 0 else MAX_SIMULATIONS
            most = min(affordable, MAX_SIMULATIONS)
            if is_last or most <= count:
                break
            # Once a search took long enough to measure the speed, the next search is the last.
            is_last = took_s >= SHOWS * total_s
            count = most if is_last else min(STEP * count, most)
        if action is None:
            raise OutOfTimeError
        return action

    def _searched(self, state: Any, simulations: int, timer: Timer | None) -> int:
        most_s = NO_LIMIT
        if timer is not None and timer.by_the_wall:
            left_s = timer.left_s() - SPARE_S
            most_s = left_s if left_s >= MIN_S else NO_LIMIT
        game, uct_c = self.twin.game, self.uct_c
        return searched(game, state, uct_c, simulations, most_s, self.rng, solve=self.solve)


@dataclass(frozen=True)
class ResamplingBot:
    """Information-set search in Python, on games that are in C++.

    Unlike the bot in C++, it accepts a function that draws the states that a player may be in.
    """

    twin: Twin
    uct_c: float
    rng: np.random.Generator

    def action(self, states: Drawn, simulations: int, timer: Timer | None) -> int:
        from open_spiel.python.algorithms import ismcts, mcts

        random = np.random.RandomState(int(self.rng.integers(_MAX_SEED)))
        bot = ismcts.ISMCTSBot(
            self.twin.game,
            mcts.RandomRolloutEvaluator(1, random),
            self.uct_c,
            simulations if timer is None else MAX_SIMULATIONS,
            random_state=random,
        )

        def resampled(state: Any, player: int) -> Any:
            if timer is not None and timer.left_s() <= SPARE_S:
                raise OutOfTimeError
            return states.draw()

        bot.set_resampler(resampled)
        state = states.draw()
        try:
            return int(bot.step(state))
        except OutOfTimeError:
            root = bot.lookup_node(state)
            if root is None or root.total_visits <= 0:
                raise
            actions, shares = zip(*bot.get_final_policy(state, root), strict=True)
            return int(random.choice(actions, p=shares))


def bot_of(twin: Twin, uct_c: float, solve: bool, rng: np.random.Generator) -> TwinBot:
    """The bot for a twin: tree search for perfect information, else information-set search."""
    if twin.hides and not twin.draws:
        return ResamplingBot(twin, uct_c, rng)
    return CompiledBot(twin, uct_c, solve, rng)
