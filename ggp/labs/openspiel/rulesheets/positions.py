"""The position of a match in OpenSpiel: a turn of the rulesheet, and the choices in it so far.

Roles move at once in GDL-II, in turn in OpenSpiel. So a turn becomes a row of choices:

    turn: player1 has moves a b, player2 only noop, player3 has c d, random has x y

    player1 chooses -> player3 chooses (it is not told what player1 chose) -> chance -> next turn

Forced moves are made without asking, and turns in which nobody has a choice pass by themselves.
The knowledge of a player is its incomplete path: its own moves and percepts of all turns, including
forced moves. Before the turn is complete it also knows its own choice.

Positions are values. OpenSpiel copies and pickles the states of games that are written in Python;
a copy of a position is the position itself, and its pickle is the history that leads there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ggp.errors import IllegalMoveError
from ggp.labs.openspiel.rulesheets.turns import ChoiceTurn, Playing, playing, turns_of
from ggp.labs.openspiel.rulesheets.worlds import worlds_of


@dataclass(frozen=True, slots=True)
class Position:
    """A turn and the choices made in it so far, each known to its chooser only.

    Attributes:
        chosen: actions of the choosers in their order.
    """

    turn: ChoiceTurn
    chosen: tuple[int, ...]

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        sheet = self.turn.game.sheet
        return _restored, (
            sheet.rules,
            sheet.verify_states,
            sheet.max_turns,
            tuple(self.history()),
        )

    @property
    def player(self) -> int | None:
        """The player that chooses next; None if it is chance, or nobody."""
        choosers = self.turn.choosers
        return choosers[len(self.chosen)][0] if len(self.chosen) < len(choosers) else None

    @property
    def is_chance(self) -> bool:
        """Whether chance chooses next."""
        return self.player is None and not self.turn.over

    def actions(self) -> list[int]:
        """The actions that may be chosen next, increasing."""
        if self.player is not None:
            return self.turn.choosers[len(self.chosen)][1]
        return [action for action, _ in self.turn.outcomes]

    def after(self, action: int) -> Position:
        """The position after a choice.

        Raises:
            IllegalMoveError: the action cannot be chosen.
        """
        if action not in self.actions():
            raise self._illegal(action)
        chosen = (*self.chosen, action)
        if len(chosen) < self.turn.num_choices:
            return Position(self.turn, chosen)
        return Position(self.turn.game.after(self.turn, chosen), ())

    def path(self, player: int) -> str:
        """The knowledge of a player: two positions are the same to it if their texts are."""
        known = self.turn.paths[player]
        action = self.choice(player)
        if action is None:
            return known
        return f"{known}\n{self.turn.game.sheet.actions.texts[action]} / ?"

    def choice(self, player: int) -> int | None:
        """The choice of a player in this turn; None if it made none."""
        for (chooser, _), action in zip(self.turn.choosers, self.chosen, strict=False):
            if chooser == player:
                return action
        return None

    def text(self) -> str:
        """The fluents, and the choices in this turn."""
        sheet = self.turn.game.sheet
        lines = [self.turn.fluents]
        for (player, _), action in zip(self.turn.choosers, self.chosen, strict=False):
            lines.append(f"{sheet.names[player]}: {sheet.actions.texts[action]}")
        return "\n".join(lines)

    def history(self) -> list[int]:
        """All choices from the beginning on."""
        moves = [turn.joint_move for turn in turns_of(self.turn.past)]
        before, _ = self.turn.game.replayed(moves)
        return [*before, *self.chosen]

    def _illegal(self, action: int) -> IllegalMoveError:
        sheet = self.turn.game.sheet
        player = self.player
        names = sheet.outcomes if player is None else sheet.actions
        role = "random" if player is None else sheet.names[player]
        known = 0 <= action < len(names)
        shown = names.texts[action] if known else f"action {action}"
        return IllegalMoveError(role, shown, [names.texts[legal] for legal in self.actions()])


def start(game: Playing) -> Position:
    """The position at the beginning of a match."""
    return Position(game.first, ())


def resampled(position: Position, rng: np.random.Generator) -> list[int]:
    """All choices of a history that whoever chooses at a position cannot tell from its own.

    Raises:
        BeliefDepletedError: none was found.
        ValueError: no player chooses there.
    """
    player = position.player
    if player is None:
        raise ValueError("only a player that is to choose can be given another history")
    game = position.turn.game
    path = position.turn.paths[player]
    if path not in game.worlds:
        game.worlds.clear()  # searches ask again and again for one and the same
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
    """A position that was pickled."""
    position = start(playing(rules, verify_states, max_turns))
    for action in history:
        position = position.after(action)
    return position
