"""Splits the turns of a rulesheet into single choices, as OpenSpiel needs, and caches the turns.

A `Position` takes one action, and returns the next position; OpenSpiel's states wrap positions.
`Playing` makes and caches the turns in which somebody has a choice (`ChoiceTurn`). Turns without a
choice are played automatically. The knowledge of a player is its incomplete path, which includes
these turns. `worlds_of` draws whole histories that agree with such a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ggp.belief.bags import choose_entries
from ggp.belief.turns.completions import OpenTurn, Polling, draw_completions, list_completions
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.errors import BeliefDepletedError, IllegalMoveError, MachineError
from ggp.labs.openspiel.rulesheets.sheet import Sheet, canonical_name
from ggp.machine.arrays import log_sums
from ggp.machine.base import DEFAULT_MAX_STEPS, UNKNOWN, FloatArray, IntArray, Machine, States

KEPT_GAMES = 8
"""Number of games in the cache, beside the games that are still in use."""

MAX_TURNS = 50_000
"""Number of cached turns of each game, so that repeating them takes no reasoning."""


@dataclass(frozen=True, slots=True)
class Past:
    """A turn that is over, linked to the turns before it.

    Attributes:
        previous: the turn before; None for the first turn.
        depth: number of turns, including this one.
        joint_move: the move of every role.
        percepts: id of every role's percepts.
    """

    previous: Past | None
    depth: int
    joint_move: tuple[int, ...]
    percepts: tuple[int, ...]


def depth_of(past: Past | None) -> int:
    """Number of turns that are over."""
    return 0 if past is None else past.depth


def turns_of(past: Past | None) -> list[Past]:
    """All turns that are over, in order."""
    turns = []
    while past is not None:
        turns.append(past)
        past = past.previous
    return turns[::-1]


class ChoiceTurn:
    """A state of the machine in which somebody has a choice, or the game is over.

    Attributes:
        lane: the state.
        past: the turns before; None at the beginning.
        over: whether the game is over.
        choosers: the players with a choice, in order, with their actions.
        outcomes: the actions of chance with their probabilities; empty if it has no choice.
    """

    def __init__(self, game: Playing, number: int, lane: States, past: Past | None) -> None:
        self.game, self.number = game, number
        sheet = game.sheet
        machine = sheet.machine
        lists = []
        for _ in range(DEFAULT_MAX_STEPS):
            self.over = bool(machine.terminal(lane)[0])
            if self.over:
                break
            lists = [machine.legal(lane, role).values for role in range(len(machine.roles))]
            if any(len(moves) > 1 for moves in lists):
                break
            forced = tuple(int(moves[0]) for moves in lists)
            lane, past = game.step(lane, past, forced)
        else:
            raise MachineError(
                f"nobody had a choice in {DEFAULT_MAX_STEPS:,} turns of {sheet.rules} running"
            )
        self.lane, self.past = lane, past
        self.choosers: list[tuple[int, list[int]]] = []
        self.outcomes: list[tuple[int, float]] = []
        if not self.over:
            self._first = [int(moves[0]) for moves in lists]
            self._set_choices(lists)

    def _set_choices(self, lists: list[IntArray]) -> None:
        sheet = self.game.sheet
        for player, role in enumerate(sheet.players):
            if len(lists[role]) > 1:
                self.choosers.append((player, sheet.actions.of(lists[role])))
        random = sheet.machine.random_role
        if random is not None and len(lists[random]) > 1:
            chance = sheet.machine.chance(self.lane)
            actions = map(sheet.outcomes.action, chance.moves.tolist())
            self.outcomes = sorted(zip(actions, chance.probabilities.tolist(), strict=True))

    @property
    def depth(self) -> int:
        """Number of joint moves made before."""
        return depth_of(self.past)

    @property
    def num_choices(self) -> int:
        """Number of choices to be made before the turn is over."""
        return len(self.choosers) + bool(self.outcomes)

    def joint_move(self, choices: tuple[int, ...]) -> tuple[int, ...]:
        """The move of every role, given all choices; roles without a choice make forced moves."""
        sheet = self.game.sheet
        moves = list(self._first)
        for (player, _), action in zip(self.choosers, choices, strict=False):
            moves[sheet.players[player]] = sheet.actions.move(action)
        if self.outcomes and sheet.machine.random_role is not None:
            moves[sheet.machine.random_role] = sheet.outcomes.move(choices[-1])
        return tuple(moves)

    def choices_of(self, joint_move: tuple[int, ...]) -> tuple[int, ...]:
        """The choices that make a joint move."""
        sheet = self.game.sheet
        choices = [sheet.actions.action(joint_move[sheet.players[p]]) for p, _ in self.choosers]
        if self.outcomes and sheet.machine.random_role is not None:
            choices.append(sheet.outcomes.action(joint_move[sheet.machine.random_role]))
        return tuple(choices)

    @cached_property
    def utilities(self) -> list[float]:
        """The utilities of every player; 0 before the end of the game."""
        sheet = self.game.sheet
        if not self.over:
            return [0.0] * len(sheet.players)
        return sheet.utilities(sheet.machine.goals(self.lane)[0])

    @cached_property
    def paths(self) -> list[str]:
        """The incomplete path of every player: its name, and a line for each turn."""
        machine = self.game.sheet.machine
        turns = turns_of(self.past)
        paths = []
        for role in self.game.sheet.players:
            lines = [machine.roles[role]]
            for turn in turns:
                seen = " ".join(machine.percept_texts(turn.percepts[role]))
                lines.append(f"{machine.move_text(turn.joint_move[role])} / ({seen})")
            paths.append("\n".join(lines))
        return paths

    @cached_property
    def fluents(self) -> str:
        """The fluents that hold, in one line."""
        return " ".join(self.game.sheet.machine.fluents(self.lane)[0])


class Playing:
    """The turns of one game, with a cache.

    Attributes:
        worlds: the histories last drawn for the path of a player (see `resampled`).
    """

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self._children: dict[tuple[int, tuple[int, ...]], ChoiceTurn] = {}
        self._num_turns = 0
        self.worlds: dict[str, DrawnWorlds] = {}
        self.first = self._turn(sheet.machine.initial(1), None)

    def step(
        self, lane: States, past: Past | None, joint_move: tuple[int, ...]
    ) -> tuple[States, Past]:
        """The state after a joint move, and the turns up to it."""
        stepped = self.sheet.machine.step(lane, np.array([joint_move], dtype=np.int64))
        percepts = tuple(stepped.percepts[0].tolist())
        return stepped.states, Past(past, 1 + depth_of(past), joint_move, percepts)

    def child(self, turn: ChoiceTurn, choices: tuple[int, ...]) -> ChoiceTurn:
        """The next turn with a choice, after all choices of a turn."""
        key = (turn.number, choices)
        child = self._children.get(key)
        if child is None:
            child = self._turn(*self.step(turn.lane, turn.past, turn.joint_move(choices)))
            if len(self._children) >= MAX_TURNS:
                self._children.clear()
            self._children[key] = child
        return child

    def replayed(self, joint_moves: Sequence[tuple[int, ...]]) -> tuple[list[int], ChoiceTurn]:
        """All choices that make joint moves from the start, and the turn after them."""
        turn = self.first
        actions: list[int] = []
        while turn.depth < len(joint_moves):
            choices = turn.choices_of(joint_moves[turn.depth])
            actions += choices
            turn = self.child(turn, choices)
        return actions, turn

    def _turn(self, lane: States, past: Past | None) -> ChoiceTurn:
        self._num_turns += 1
        return ChoiceTurn(self, self._num_turns, lane, past)


def playing(rules: str, verify_states: int, max_turns: int = 0) -> Playing:
    """The turns of a game; the same object until the file of the rules changes.

    Raises:
        GGPError: see `Sheet` and `canonical_name`.
    """
    return _cached_playing(*canonical_name(rules), verify_states, max_turns)


@lru_cache(maxsize=KEPT_GAMES)
def _cached_playing(name: str, changed: int, verify_states: int, max_turns: int) -> Playing:
    """The turns of a game whose file was last changed at the time `changed`."""
    return Playing(Sheet(name, verify_states, max_turns))


# ------------------------------------------------------------------------
# The position of a match in OpenSpiel: a turn of the rulesheet, and the choices in it so far.
#
# Roles move simultaneously in GDL-II, in turn in OpenSpiel. So a turn becomes a row of choices:
#
#     turn: player1 has moves a b, player2 only noop, player3 has c d, random has x y
#
#     player1 chooses -> player3 chooses (it does not see player1's choice) -> chance -> next turn
#
# Forced moves, and whole turns without a choice, are made without asking. The knowledge of a player
# is its incomplete path: its own moves and percepts of all turns, including forced moves. Before
# the turn is complete it also knows its own choice.
#
# Positions are values. OpenSpiel copies and pickles the states of games that are written in Python;
# a copy of a position is the position itself, and its pickle is the history that leads there.


@dataclass(frozen=True, slots=True)
class Position:
    """A turn and the choices made in it so far; only its chooser knows each choice.

        >>> position = start(playing("kuhn_poker", verify_states=0))
        >>> position.is_chance, position.player, len(position.actions())
        (True, None, 6)
        >>> position.child(0).player  # player 0 chooses after the deal
        0

    Attributes:
        choices: the actions of the choosers, in their order.
    """

    turn: ChoiceTurn
    choices: tuple[int, ...]

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        sheet = self.turn.game.sheet
        return _restored, (sheet.rules, sheet.verify_states, sheet.max_turns, tuple(self.history()))

    @property
    def player(self) -> int | None:
        """The player that chooses next; None if it is chance, or nobody."""
        choosers = self.turn.choosers
        return choosers[len(self.choices)][0] if len(self.choices) < len(choosers) else None

    @property
    def is_chance(self) -> bool:
        """Whether chance chooses next."""
        return self.player is None and not self.turn.over

    def actions(self) -> list[int]:
        """The actions that may be chosen next, increasing."""
        if self.player is not None:
            return self.turn.choosers[len(self.choices)][1]
        return [action for action, _ in self.turn.outcomes]

    def child(self, action: int) -> Position:
        """The position after a choice.

        Raises:
            IllegalMoveError: the action cannot be chosen.
        """
        if action not in self.actions():
            raise self._illegal(action)
        choices = (*self.choices, action)
        if len(choices) < self.turn.num_choices:
            return Position(self.turn, choices)
        return Position(self.turn.game.child(self.turn, choices), ())

    def path(self, player: int) -> str:
        """The knowledge of a player: it cannot distinguish positions with equal texts."""
        path = self.turn.paths[player]
        action = self.choice(player)
        if action is None:
            return path
        return f"{path}\n{self.turn.game.sheet.actions.texts[action]} / ?"

    def choice(self, player: int) -> int | None:
        """The choice of a player in this turn; None if it made none."""
        for (chooser, _), action in zip(self.turn.choosers, self.choices, strict=False):
            if chooser == player:
                return action
        return None

    def text(self) -> str:
        """The fluents, and the choices in this turn."""
        sheet = self.turn.game.sheet
        lines = [self.turn.fluents]
        for (player, _), action in zip(self.turn.choosers, self.choices, strict=False):
            lines.append(f"{sheet.names[player]}: {sheet.actions.texts[action]}")
        return "\n".join(lines)

    def history(self) -> list[int]:
        """All choices from the start."""
        moves = [turn.joint_move for turn in turns_of(self.turn.past)]
        earlier, _ = self.turn.game.replayed(moves)
        return [*earlier, *self.choices]

    def _illegal(self, action: int) -> IllegalMoveError:
        sheet = self.turn.game.sheet
        player = self.player
        names = sheet.outcomes if player is None else sheet.actions
        role = "random" if player is None else sheet.names[player]
        text = names.texts[action] if 0 <= action < len(names) else f"action {action}"
        return IllegalMoveError(role, text, [names.texts[legal] for legal in self.actions()])


def start(game: Playing) -> Position:
    """The position at the beginning of a match."""
    return Position(game.first, ())


def resampled(position: Position, rng: np.random.Generator) -> list[int]:
    """All choices of a random history that the player to choose cannot distinguish from its own.

    Raises:
        BeliefDepletedError: no such history was found.
        ValueError: no player chooses there.
    """
    player = position.player
    if player is None:
        raise ValueError("only a player that is to choose can be given another history")
    game = position.turn.game
    path = position.turn.paths[player]
    if path not in game.worlds:
        game.worlds.clear()  # a search asks repeatedly for the same path
        role = game.sheet.players[player]
        turns = [(t.joint_move[role], t.percepts[role]) for t in turns_of(position.turn.past)]
        game.worlds[path] = worlds_of(game.sheet.machine, role, turns, rng)
    actions, turn = game.replayed(game.worlds[path].draw(rng))
    for chooser, options in turn.choosers:
        if chooser == player:
            break
        actions.append(int(rng.choice(options)))
    return actions


def _restored(rules: str, verify_states: int, max_turns: int, history: tuple[int, ...]) -> Position:
    """The position of a pickle."""
    position = start(playing(rules, verify_states, max_turns))
    for action in history:
        position = position.child(action)
    return position


# ------------------------------------------------------------------------
# Draws whole histories that a player cannot distinguish from the true one.
#
# OpenSpiel's information-set search asks for them (`resample_from_infostate`). They are drawn turn
# by turn from the player's incomplete path, like particles (`ggp.belief`), but with all turns: K
# histories side by side, all of them if they are few, otherwise a weighted sample. The other roles
# are assumed to move uniformly at random.

MAX_WORLDS = 1_000
"""Number of histories of a sample."""

LISTED = 1 << 16
"""Most joint moves of one turn that are all tried; of more, some are drawn."""

DRAWS = 4_096
"""Most joint moves drawn to continue one history."""

TRIES = 5
"""Number of samples after which no history is taken to agree with a player's path."""


KnownTurn = tuple[int, int]
"""A role's knowledge of a turn: its move and its percepts' id; either may be `UNKNOWN`."""


@dataclass(frozen=True, slots=True)
class DrawnWorlds:
    """K histories of T turns that agree with an incomplete path.

    Attributes:
        joint_moves: `[K, T, R]` their joint moves.
        weights: `[K]` their weights, which sum to 1.
    """

    joint_moves: IntArray
    weights: FloatArray

    def draw(self, rng: np.random.Generator) -> list[tuple[int, ...]]:
        """One of the histories, drawn by weight."""
        world = rng.choice(len(self.weights), p=self.weights)
        return [tuple(moves) for moves in self.joint_moves[world].tolist()]


def worlds_of(
    machine: Machine, role: int, turns: Sequence[KnownTurn], rng: np.random.Generator
) -> DrawnWorlds:
    """Histories that agree with a role's moves and percepts.

    Raises:
        BeliefDepletedError: no such history was found.
    """
    for _ in range(TRIES):
        worlds = _sample(machine, role, turns, rng)
        if worlds is not None:
            return worlds
    texts = [machine.move_text(move) for move, _ in turns if move != UNKNOWN]
    raise BeliefDepletedError(texts, TRIES * MAX_WORLDS, exhausted=False)


def _sample(
    machine: Machine, role: int, turns: Sequence[KnownTurn], rng: np.random.Generator
) -> DrawnWorlds | None:
    states, log_weights = machine.initial(1), np.zeros(1)
    histories = np.zeros((1, 0, len(machine.roles)), dtype=np.int64)
    for move, percepts in turns:
        lanes = len(log_weights)
        seen, role_moves = np.full(lanes, percepts), np.full(lanes, move)
        learnt = Learnt(role_moves, seen, np.full(lanes, UNKNOWN))
        options = open_moves(machine, role, states, learnt)
        turn = OpenTurn(machine, role, states, options, seen)
        open_ = np.flatnonzero(options.counts > 0)
        if options.counts.sum() <= LISTED:
            completions, _ = list_completions(turn, open_, Polling())
        else:
            shares = np.full(len(open_), -(-MAX_WORLDS // len(open_)))
            limits = np.full(len(open_), DRAWS)
            completions, _ = draw_completions(turn, open_, shares, limits, rng, Polling())
        if not len(completions.lanes):
            return None
        logs = log_weights[completions.lanes] + completions.log_factors
        logs = logs - log_sums(logs, np.zeros(len(logs), dtype=np.int64), 1)
        offsets = np.array([0, len(logs)], dtype=np.int64)
        entries, log_weights, _ = choose_entries(logs, offsets, np.array([MAX_WORLDS]), rng)
        states = completions.states.take(entries)
        moves = completions.joint_moves[entries][:, None]
        histories = np.concatenate([histories[completions.lanes[entries]], moves], axis=1)
    weights = np.exp(log_weights)
    return DrawnWorlds(histories, weights / weights.sum())
