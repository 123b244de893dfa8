"""Makes the turns of a rulesheet in which somebody has a choice, and remembers them.

Turns in which nobody has one are played automatically. The knowledge of players comes from all
turns before, including these: their incomplete paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ggp.errors import MachineError
from ggp.labs.openspiel.rulesheets.sheet import Sheet, canonical_name
from ggp.labs.openspiel.rulesheets.worlds import DrawnWorlds
from ggp.machine.base import DEFAULT_MAX_STEPS, IntArray, States

KEPT_GAMES = 8
"""Number of games that are kept ready; those still in use are kept anyway."""

MOST_TURNS = 50_000
"""Number of turns remembered for each game, so that repeating them takes no reasoning."""


@dataclass(frozen=True, slots=True)
class Past:
    """A turn that is over, and those before it.

    Attributes:
        before: None for the first turn.
        depth: number of these turns.
        joint_move: the move of every role.
        percepts: id of every role's percepts.
    """

    before: Past | None
    depth: int
    joint_move: tuple[int, ...]
    percepts: tuple[int, ...]


def depth_of(past: Past | None) -> int:
    """Number of turns that are over."""
    return 0 if past is None else past.depth


def turns_of(past: Past | None) -> list[Past]:
    """All turns that are over, in order."""
    found = []
    while past is not None:
        found.append(past)
        past = past.before
    return found[::-1]


class ChoiceTurn:
    """A state of the machine in which somebody has a choice, or the game is over.

    Attributes:
        lane: the state.
        past: the turns before; None at the beginning.
        over: whether the game is over.
        choosers: players with a choice, in their order, and the actions of each.
        outcomes: actions of chance with their probabilities; empty if it has no choice.
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

    def joint_move(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """The move of every role after all choices, forced or chosen."""
        sheet = self.game.sheet
        moves = list(self._first)
        for (player, _), action in zip(self.choosers, chosen, strict=False):
            moves[sheet.players[player]] = sheet.actions.move(action)
        if self.outcomes and sheet.machine.random_role is not None:
            moves[sheet.machine.random_role] = sheet.outcomes.move(chosen[-1])
        return tuple(moves)

    def chosen(self, joint_move: tuple[int, ...]) -> tuple[int, ...]:
        """The choices that make a joint move."""
        sheet = self.game.sheet
        found = [sheet.actions.action(joint_move[sheet.players[p]]) for p, _ in self.choosers]
        if self.outcomes and sheet.machine.random_role is not None:
            found.append(sheet.outcomes.action(joint_move[sheet.machine.random_role]))
        return tuple(found)

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
        found = []
        for role in self.game.sheet.players:
            lines = [machine.roles[role]]
            for turn in turns:
                seen = " ".join(machine.percept_texts(turn.percepts[role]))
                lines.append(f"{machine.move_text(turn.joint_move[role])} / ({seen})")
            found.append("\n".join(lines))
        return found

    @cached_property
    def fluents(self) -> str:
        """The fluents that hold, in one line."""
        return " ".join(self.game.sheet.machine.fluents(self.lane)[0])


class Playing:
    """The turns of one game, as far as they are remembered.

    Attributes:
        worlds: the histories last drawn for the path of a player (see `worlds`).
    """

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self._after: dict[tuple[int, tuple[int, ...]], ChoiceTurn] = {}
        self._made = 0
        self.worlds: dict[str, DrawnWorlds] = {}
        self.first = self._turn(sheet.machine.initial(1), None)

    def step(
        self, lane: States, past: Past | None, joint_move: tuple[int, ...]
    ) -> tuple[States, Past]:
        """The state after a joint move, and the turns that are then over."""
        stepped = self.sheet.machine.step(lane, np.array([joint_move], dtype=np.int64))
        percepts = tuple(stepped.percepts[0].tolist())
        return stepped.states, Past(past, 1 + depth_of(past), joint_move, percepts)

    def after(self, turn: ChoiceTurn, chosen: tuple[int, ...]) -> ChoiceTurn:
        """The next turn with a choice."""
        key = (turn.number, chosen)
        found = self._after.get(key)
        if found is None:
            found = self._turn(*self.step(turn.lane, turn.past, turn.joint_move(chosen)))
            if len(self._after) >= MOST_TURNS:
                self._after.clear()
            self._after[key] = found
        return found

    def replayed(self, joint_moves: Sequence[tuple[int, ...]]) -> tuple[list[int], ChoiceTurn]:
        """All choices that make joint moves from the beginning on, and the turn after them."""
        at = self.first
        actions: list[int] = []
        while at.depth < len(joint_moves):
            chosen = at.chosen(joint_moves[at.depth])
            actions += chosen
            at = self.after(at, chosen)
        return actions, at

    def _turn(self, lane: States, past: Past | None) -> ChoiceTurn:
        self._made += 1
        return ChoiceTurn(self, self._made, lane, past)


def playing(rules: str, verify_states: int, max_turns: int = 0) -> Playing:
    """The turns of a game; the same object while the file of the rules is the same.

    Raises:
        GGPError: see `Sheet` and `canonical_name`.
    """
    return _kept(*canonical_name(rules), verify_states, max_turns)


@lru_cache(maxsize=KEPT_GAMES)
def _kept(name: str, changed: int, verify_states: int, max_turns: int) -> Playing:
    """The turns of a game whose file was changed at the time `changed`."""
    return Playing(Sheet(name, verify_states, max_turns))
