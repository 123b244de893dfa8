"""The positions with their answers, as they are stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.positions.boards import BOARDS, EMPTY, Board, Position

FILE = Path(__file__).with_name("positions.json")


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A position and the values of its moves.

    Attributes:
        name: of the position.
        game: its name in ggp.
        moves: that led to it, one a turn, of whose turn it was.
        values: the goal each legal move is worth if both then play their best.
        misleading: whether random play favours a move that is not best.
    """

    name: str
    game: str
    moves: tuple[str, ...]
    values: Mapping[str, int]
    misleading: bool

    @property
    def board(self) -> Board:
        return BOARDS[self.game]

    @property
    def role(self) -> str:
        """Who is on turn."""
        return self.board.roles[len(self.moves) % 2]

    @property
    def position(self) -> Position:
        position = EMPTY
        for move in self.moves:
            position = self.board.after(position, self.board.moves(position)[move])
        return position

    def lost_by(self, move: str) -> int:
        """How much less a move is worth than the best."""
        return max(self.values.values()) - self.values[move]

    def history(self) -> list[dict[str, Any]]:
        """The moves and percepts of the role on turn, as `ggp evaluate --history` takes them."""
        turns = []
        for number, move in enumerate(self.moves):
            mover = self.board.roles[number % 2]
            joint = {role: move if role == mover else "noop" for role in self.board.roles}
            percepts = sorted(f"(did {role} {actor})" for role, actor in joint.items())
            turns.append({"move": joint[self.role], "percepts": percepts})
        return turns


def read_puzzles(path: Path = FILE) -> tuple[Puzzle, ...]:
    """The set."""
    return tuple(
        Puzzle(**{**entry, "moves": tuple(entry["moves"])})
        for entry in json.loads(path.read_text(encoding="utf-8"))
    )


def puzzles_text(puzzles: Iterable[Puzzle]) -> str:
    """The set as JSON, a position a line."""
    lines = [
        json.dumps(
            {
                "name": puzzle.name,
                "game": puzzle.game,
                "moves": puzzle.moves,
                "values": puzzle.values,
                "misleading": puzzle.misleading,
            }
        )
        for puzzle in puzzles
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"
