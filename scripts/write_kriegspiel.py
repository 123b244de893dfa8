"""Writes the rulesheets of kriegspiel, on the whole board and on a small one.

The rules are the same on every board and stand in `kriegspiel.gdl.in`, as GDL. What is said of
only one kind of board is between `;; if whole` or `;; if small` and `;; end` there. This script
adds the tables that a board needs: its files and ranks, its longer diagonals, the armies, and the
numbers up to the limits.

    python scripts/write_kriegspiel.py            write games/kriegspiel.gdl and ..._5x5.gdl
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
TEMPLATE = HERE / "kriegspiel.gdl.in"
GAMES = HERE.parent / "games"
PLIES = 160
QUIET = 50
WIDTH = 90
FOUR_DIAGONALS = 76
"""The width of four facts about diagonals."""


@dataclass(frozen=True, slots=True)
class Board:
    """A board and what stands on it.

    Attributes:
        name: of the rulesheet.
        title: its first line.
        army: the pieces of both players on their first rank, from the a-file on; the pawns stand
            before them.
        whole: whether pawns jump and are captured in passing, and kings castle.
    """

    name: str
    title: str
    army: tuple[str, ...]
    whole: bool

    @property
    def size(self) -> int:
        return len(self.army)

    @property
    def files(self) -> str:
        return "abcdefgh"[: self.size]

    @property
    def ranks(self) -> range:
        return range(1, self.size + 1)


BOARDS = (
    Board(
        "kriegspiel",
        "Kriegspiel",
        ("rook", "knight", "bishop", "queen", "king", "bishop", "knight", "rook"),
        whole=True,
    ),
    Board(
        "kriegspiel_5x5",
        "Kriegspiel on a board of five by five",
        ("rook", "knight", "bishop", "queen", "king"),
        whole=False,
    ),
)


def rulesheet(board: Board) -> str:
    """The text of the rulesheet of a board."""
    kind = "whole" if board.whole else "small"
    text = "\n".join(_kept(TEMPLATE.read_text(encoding="utf-8").splitlines(), kind)) + "\n"
    return Template(text).substitute(
        title=board.title,
        plies=PLIES,
        quiet=QUIET,
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
    numbers = range(PLIES + 1)
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
        lines.append(_facts(f"(init (cell {x} {first} {colour} {k}))" for x, k in pieces))
        lines.append(_facts(f"(init (cell {x} {second} {colour} pawn))" for x in board.files))
    return "\n".join([*lines, "", *_extras(last)] if board.whole else lines)


def _extras(last: int) -> list[str]:
    """Where pawns jump and capture in passing, and where kings and rooks castle."""
    lines = [
        "; jump C Y W V: pawns may jump from rank Y over W to V; fifth_rank C Y: where they may",
        "; capture in passing",
        f"(jump white 2 3 4) (jump black {last - 1} {last - 2} {last - 3})",
        f"(fifth_rank white 5) (fifth_rank black {last - 4})",
        "",
        "; castling C S: from where to where the king goes; rook_goes C S: and the rook;",
        "; between C S: these squares must be empty",
    ]
    for colour, y in (("white", 1), ("black", last)):
        for side, king, rook, between in (
            ("short", "g", ("h", "f"), "fg"),
            ("long", "c", ("a", "d"), "bcd"),
        ):
            facts = [
                f"(castling {colour} {side} e {y} {king} {y})",
                f"(rook_goes {colour} {side} {rook[0]} {y} {rook[1]} {y})",
                f"(init (may_castle {colour} {side}))",
                *(f"(between {colour} {side} {x} {y})" for x in between),
            ]
            lines.append(_facts(facts))
    return lines


def main() -> int:
    """Write the rulesheets, or with `--check` only compare; 1 if any differs."""
    parser = argparse.ArgumentParser(description="Write the rulesheets of kriegspiel.")
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
