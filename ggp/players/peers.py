"""Peers: OpenSpiel's own bots on our rulesheets, `peer:openspiel-mcts` and `peer:openspiel-ismcts`.

They play on OpenSpiel's game, where it is the same as the rulesheet (`ggp.machine.spiel.twins`).

A peer gets what every player gets: its moves and percepts. From these it draws up to 1,000
histories that agree with them, or all if there are no more, by their probability when the others
move at random, and the bot gets their states. (If OpenSpiel draws states itself, it does so from
one of them.) A bag of particles, as in other players, provides the legal moves, and the fallback
when the bot fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggp.belief import Bags
from ggp.errors import ConfigError, MachineError
from ggp.machine.definition import GameDefinition
from ggp.machine.spiel.twins import Twin, find_twin, twins
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
        ConfigError: the game has no twin, or one of the other kind.
    """

    SOURCE = "OpenSpiel (Lanctot et al. 2019)"
    for_secrets: bool
    options: PeerOptions

    def __init__(self, options: PeerOptions, context: Context) -> None:
        self._twin = check_peer(type(self), context.name, context.program)
        super().__init__(options, context)
        # Imported here: without a twin OpenSpiel is not needed.
        from ggp.openspiel.twin_bots import bot_of

        utilities = self._twin.game.max_utility() - self._twin.game.min_utility()
        uct_c = options.uct / 100 * utilities / 2
        self._bot = bot_of(self._twin, uct_c, bool(getattr(options, "solver", 0)), self.rng)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        from ggp.openspiel.twin_bots import Drawn, Timer
        from ggp.openspiel.worlds import worlds_of

        worlds = worlds_of(self.machine, self.role, self._turns(), self.rng)
        states = Drawn(self._twin, self.machine, worlds, self.rng)
        timer = None
        if deadline is not None:
            timer = Timer(deadline.left_s, by_the_wall=clock_of(deadline.clock) is Clock.WALL)
        action = self._bot.action(states, self.options.simulations, timer)
        moves = candidates(self.machine, bag).values.tolist()
        return self._move(action, moves), self.unvalued(moves)

    def _turns(self) -> list[tuple[int, int]]:
        """Our move and percepts of every turn so far."""
        tree, node = self.tracker.tree, self.tracker.bag.paths[:1]
        found = []
        for _ in range(tree.depth(int(node[0]))):
            move, percepts, _ = tree.last_turns(node)[0].tolist()
            found.append((move, percepts))
            node = tree.parents(node)
        return found[::-1]

    def _move(self, action: int, moves: list[int]) -> int:
        """Our move that corresponds to an action of the twin.

        Raises:
            MachineError: there is none.
        """
        role = self.machine.roles[self.role]
        for move in moves:
            actions = self._twin.actions(role, self.machine.move_text(move))
            if len(actions) == 1 and action in actions[0]:
                return move
        raise MachineError(f"no move of {role} is OpenSpiel's action {action}")


class TreePeer(_Peer):
    """OpenSpiel's MCTSBot, in C++ and with its solver, where everybody knows everything."""

    Options = TreePeerOptions
    for_secrets = False


class SetPeer(_Peer):
    """OpenSpiel's ISMCTSBot, where players know different things."""

    Options = PeerOptions
    for_secrets = True


def check_peer(peer: type[_Peer], name: str, program: GameDefinition | None) -> Twin:
    """The twin of a game that a peer is to play.

    Args:
        name: what messages call the peer.
        program: the rules of the game.

    Raises:
        BackendUnavailableError: OpenSpiel is not installed.
        ConfigError: there is no twin, or the peer is for games of the other kind.
    """
    if program is None:
        raise ConfigError(f"{name} plays in matches only: here it does not get the rules")
    twin = find_twin(program)
    if twin is None:
        raise ConfigError(
            f"{name} cannot play this game, but only those that OpenSpiel has too: "
            f"{', '.join(twins())}"
        )
    if twin.hides and not peer.for_secrets:
        raise ConfigError(
            f"{name} cannot play {twin.name}, in which players know different things; "
            "peer:openspiel-ismcts can"
        )
    if peer.for_secrets and not twin.hides:
        raise ConfigError(
            f"{name} cannot play {twin.name}, in which everybody knows everything; "
            "peer:openspiel-mcts can"
        )
    return twin
