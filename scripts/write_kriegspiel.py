"""Writes the rulesheets of kriegspiel and dark chess, on the whole board and on small ones.

The rules of a game are the same on every board and stand in its template, `kriegspiel.gdl.in` or
`dark_chess.gdl.in`, as GDL. What is said of only one kind of board is between `;; if whole` or
`;; if small` and `;; end` there. This script adds the tables that a board needs: its files and
ranks, its longer diagonals, the armies, and the numbers up to the limits.

    python scripts/write_kriegspiel.py            write the four rulesheets in games/
    python scripts/write_kriegspiel.py --check    only say which of them it would change
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from string import Template

HERE = Path(__file__).resolve().parent
GAMES = HERE.parent / "games"
PLIES = 160
WIDTH = 90
FOUR_DIAGONALS = 76
"""The width of four facts about diagonals."""


@dataclass(frozen=True, slots=True)
class Board:
    """A board and what stands on it.

    Attributes:
        name: of the rulesheet.
        title: its first line.
        template: the name of the rules, without `.gdl.in`.
        army: the pieces of both players on their first rank, from the a-file on, `-` where there is
            none; the pawns stand before them.
        whole: whether pawns jump and are captured in passing, and kings castle.
        quiet: plies in a row without a capture or a move of a pawn that draw.
        numbers: up to which the rules count.
    """

    name: str
    title: str
    template: str
    army: tuple[str, ...]
    whole: bool
    quiet: int = 50
    numbers: int = PLIES

    @property
    def size(self) -> int:
        return len(self.army)

    @property
    def files(self) -> str:
        return "abcdefgh"[: self.size]

    @property
    def ranks(self) -> range:
        return range(1, self.size + 1)


CHESS = ("rook", "knight", "bishop", "queen", "king", "bishop", "knight", "rook")
GARDNER = ("rook", "knight", "bishop", "queen", "king")
FOUR = ("rook", "-", "king", "rook")

BOARDS = (
    Board("kriegspiel", "Kriegspiel", "kriegspiel", CHESS, whole=True),
    Board(
        "kriegspiel_5x5",
        "Kriegspiel on a board of five by five",
        "kriegspiel",
        GARDNER,
        whole=False,
    ),
    Board("dark_chess", "Dark chess", "dark_chess", CHESS, whole=True, quiet=100, numbers=100),
    Board(
        "dark_chess_4x4",
        "Dark chess on a board of four by four",
        "dark_chess",
        FOUR,
        whole=False,
        quiet=100,
        numbers=100,
    ),
)


def rulesheet(board: Board) -> str:
    """The text of the rulesheet of a board."""
    kind = "whole" if board.whole else "small"
    template = HERE / f"{board.template}.gdl.in"
    text = "\n".join(_kept(template.read_text(encoding="utf-8").splitlines(), kind)) + "\n"
    return Template(text).substitute(
        title=board.title,
        plies=PLIES,
        quiet=board.quiet,
        size=board.size,
        board=_board(board),
        long=_facts(_long_diagonals(board), FOUR_DIAGONALS),
        army=_army(board),
    )


def _kept(lines: Iterable[str], kind: str) -> Iterator[str]:
    """The lines for all kinds of boards and for this one, without the marks."""
    only = None
    for line in lines:
        if line.startswith(";; if "):
            only = line.removeprefix(";; if ")
        elif line == ";; end":
            only = None
        elif only in (None, kind):
            yield line


def _facts(facts: Iterable[str], width: int = WIDTH) -> str:
    """Facts in lines that are as long as they may be."""
    lines = [""]
    for fact in facts:
        longer = f"{lines[-1]} {fact}".lstrip()
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(fact)
    return "\n".join(lines)


def _board(board: Board) -> str:
    numbers = range(board.numbers + 1)
    return "\n".join(
        [
            _facts(f"(file {x})" for x in board.files),
            _facts(f"(rank {y})" for y in board.ranks),
            _facts(f"(next_file {x} {u})" for x, u in pairwise(board.files)),
            _facts(f"(next_rank {y} {v})" for y, v in pairwise(board.ranks)),
            "",
            _facts(f"(succ {m} {n})" for m, n in pairwise(numbers)),
        ]
    )


def _long_diagonals(board: Board) -> Iterator[str]:
    """(long AXIS FILE RANK) wherever the diagonal along the axis is no shorter than the other."""
    for x, file in enumerate(board.files, 1):
        for y in board.ranks:
            # A diagonal is the shorter the farther it is from the main one.
            rising, falling = abs(x - y), abs(x + y - board.size - 1)
            if rising <= falling:
                yield f"(long rising {file} {y})"
            if falling <= rising:
                yield f"(long falling {file} {y})"


def _army(board: Board) -> str:
    last = board.size
    lines = []
    for colour, first, second in (("white", 1, 2), ("black", last, last - 1)):
        pieces = zip(board.files, board.army, strict=True)
        lines.append(
            _facts(f"(init (cell {x} {first} {colour} {k}))" for x, k in pieces if k != "-")
        )
        lines.append(_facts(f"(init (cell {x} {second} {colour} pawn))" for x in board.files))
    return "\n".join(lines)


def main() -> int:
    """Write the rulesheets, or with `--check` only compare; 1 if any differs."""
    parser = argparse.ArgumentParser(
        description="Write the rulesheets of kriegspiel and dark chess."
    )
    parser.add_argument("--check", action="store_true", help="only say which would change")
    check = parser.parse_args().check
    changed = []
    for board in BOARDS:
        path = GAMES / f"{board.name}.gdl"
        text = rulesheet(board)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(path.name)
            if not check:
                path.write_text(text, encoding="utf-8")
    print(f"{'would change' if check else 'changed'}: {', '.join(changed) or 'nothing'}")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
