"""Players' knowledge as tensors: OpenSpiel's `information_state_tensor` and `observation_tensor`.

Both are made of *rows* of ones, one for each turn: the move a player made and the percepts it got,
by the indices of `ggp.env.Names`. So an algorithm that learns here learns from the same data as
environments show.

    information state   the player [P] | every turn [T, A + S] | its choice in this turn [A]
    observation         the player [P] | the last turn [A + S] | all before it, together [A + S]
                        | its choice in this turn [A]

for P players, at most T turns, A moves and S percepts. Two information states are the same tensor
if and only if they are the same text. Observations have earlier percepts as a set: they are
not meant to contain everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.env.names import Names
from ggp.errors import MachineError
from ggp.gdl import parse_term
from ggp.gdl.terms import Compound
from ggp.machine.base import IntArray
from ggp.openspiel.positions import Position
from ggp.openspiel.sheet import Sheet
from ggp.openspiel.turns import Past, Turn, turns_of

MOST_NUMBERS = 1 << 20
"""Greatest size of an information state; games in which it is larger have observations only."""

MOST_REMEMBERED = 50_000
"""Number of turns whose rows are remembered."""


class Coder:
    """The rows of turns of one game.

    Attributes:
        names: the meanings of the indices of a row: moves, then percepts.
        most_turns: greatest number of turns of a match; None if that is not known.
    """

    def __init__(self, sheet: Sheet) -> None:
        self.names: Names = sheet.names_of_indices
        self.most_turns = sheet.most_turns
        self._sheet = sheet
        self._percepts: dict[int, list[int]] = {}
        self._places: dict[tuple[int, int], IntArray] = {}

    @property
    def width(self) -> int:
        """Length of a row."""
        return len(self.names.moves) + len(self.names.percepts)

    @property
    def has_information_states(self) -> bool:
        """Whether there are tensors of whole paths, whose size is known and not too large."""
        return self.most_turns is not None and self.most_turns * self.width <= MOST_NUMBERS

    def places(self, turn: Turn, player: int) -> IntArray:
        """Places of the ones in the rows of the turns before this one, row after row.

        Raises:
            MachineError: there are more than `most_turns`.
        """
        key = (turn.number, player)
        found = self._places.get(key)
        if found is None:
            if len(self._places) >= MOST_REMEMBERED:
                self._places.clear()
            past = turns_of(turn.past)
            if self.most_turns is not None and len(past) > self.most_turns:
                raise MachineError(
                    f"a match of {self._sheet.rules} has more than {self.most_turns} turns, for "
                    "which tensors have room; give a larger max_turns"
                )
            rows = [self._row(each, player) for each in past]
            flat = [self.width * k + place for k, row in enumerate(rows) for place in row]
            found = self._places[key] = np.array(flat, dtype=np.int64)
        return found

    def _row(self, past: Past, player: int) -> list[int]:
        sheet = self._sheet
        role = sheet.players[player]
        percepts = past.percepts[role]
        seen = self._percepts.get(percepts)
        if seen is None:
            texts = sheet.machine.percept_texts(percepts)
            seen = self._percepts[percepts] = [
                len(self.names.moves) + self.names.percept(text) for text in texts
            ]
        # Actions have the numbers of moves: both are sorted by text.
        return [sheet.actions.action(past.joint_move[role]), *seen]


class PathObserver:
    """Shows what a player knows of a state, as text and as a tensor.

    Args:
        coder: the rows of the game.
        players: number of players.
        recalls: whether everything that a player knows is shown, or an observation.
        shows: whether anything is shown: players share no common observations.

    Attributes:
        tensor: the numbers that were last shown; None if there are no tensors.
        dict: parts of it by their names.
    """

    def __init__(self, coder: Coder, players: int, *, recalls: bool, shows: bool = True) -> None:
        self._coder, self._recalls, self._shows = coder, recalls, shows
        self.dict: dict[str, Any] = {}
        self.tensor: Any = None
        if not shows or (recalls and not coder.has_information_states):
            return
        moves, width = len(coder.names.moves), coder.width
        shapes: list[tuple[str, tuple[int, ...]]] = [("player", (players,))]
        if recalls:
            assert coder.most_turns is not None
            shapes.append(("turns", (coder.most_turns, width)))
        else:
            shapes += [("last", (width,)), ("before", (width,))]
        shapes.append(("chosen", (moves,)))
        sizes = [int(np.prod(shape)) for _, shape in shapes]
        self.tensor = np.zeros(sum(sizes), dtype=np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        for (name, shape), part in zip(shapes, parts, strict=True):
            self.dict[name] = part.reshape(shape)

    def set_from(self, state: Any, player: int) -> None:
        """Show a state to a player."""
        if self.tensor is None:
            return
        position: Position = state.position
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        places = self._coder.places(position.turn, player)
        width = self._coder.width
        if self._recalls:
            self.dict["turns"].ravel()[places] = 1
        else:
            start = width * (position.turn.depth - 1)
            self.dict["last"][places[places >= start] - start] = 1
            self.dict["before"][places[places < start] % width] = 1
        chosen = position.choice(player)
        if chosen is not None:
            self.dict["chosen"][chosen] = 1

    def string_from(self, state: Any, player: int) -> str:
        """The player's name, and a line for each turn, or the last one: its move, its percepts."""
        if not self._shows:
            return ""
        path: str = state.position.path(player)
        if self._recalls:
            return path
        name, *lines = path.split("\n")
        unfinished = bool(lines) and lines[-1].endswith("/ ?")
        shown = lines[-2:] if unfinished else lines[-1:]
        before = sorted(
            {part for line in lines[: len(lines) - len(shown)] for part in _parts(line)}
        )
        return "\n".join([name, f"before: {' '.join(before)}", *shown])


def _parts(line: str) -> list[str]:
    """The move and the percepts of a line of a path."""
    move, _, seen = line.partition(" / ")
    if seen == "()":
        return [move]
    percepts = parse_term(f"(seen {seen[1:-1]})")
    assert isinstance(percepts, Compound)
    return [move, *map(str, percepts.args)]


def observer_of(coder: Coder, players: int, kind: Any, private: Any) -> PathObserver:
    """The observer that OpenSpiel asks for.

    Args:
        kind: an `IIGObservationType`; None for an observation.
        private: OpenSpiel's `PrivateInfoType`.

    Raises:
        ValueError: the common knowledge of all players is asked for, which is not available.
    """
    if kind is None:
        return PathObserver(coder, players, recalls=False)
    if kind.private_info == private.ALL_PLAYERS:
        raise ValueError("there are observations of single players only")
    shows = kind.private_info == private.SINGLE_PLAYER
    return PathObserver(coder, players, recalls=kind.perfect_recall, shows=shows)
