"""Puts moves, percepts and fluents into words for people.

The first saying of the game's side file that matches a term gives its words (`side_file`). Without
one, the words follow the arguments: arguments that name a cell become one word, so `(move a 2 a 3)`
is a2-a3, and names lose their underscores. The words of a move or percept depend only on the term
and the role, so they reveal nothing more than the term does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ggp.gdl.analysis.told_moves import PLAIN
from ggp.gdl.program import RANDOM
from ggp.gdl.terms import Compound, Symbol, Term
from match_runner.pictures.moves import Moves, Spot
from match_runner.pictures.shapes import Skeleton, flatten
from match_runner.pictures.side_file import NOTHING, WHOSE, Sayings, plain

WAITING = frozenset({"noop", "no_op", "wait"})
"""Moves of roles that have nothing to do."""

CONTROL = "control"
"""The fluent that says whose turn it is, in most rulesheets."""

LONGEST, MAX_LETTERS = 120, 200
"""Most characters of a text, and of a text in words; the rest is cut off."""

_TO = " to "


class GameWords:
    """Words of one game.

    Args:
        moves: reads which cells a move names.
        said: sayings of its side file for `moves`, `percepts` and `fluents`.
    """

    def __init__(self, moves: Moves, sayings: Mapping[str, Sayings]) -> None:
        self._moves, self._sayings = moves, sayings

    def move(self, move: Term, role: str) -> str:
        """A move of a role."""
        saying = self._find("moves", flatten(move))
        if saying:
            return saying
        if str(move) in WAITING:
            return "wait"
        parts = self._moves.parts(move, role)
        cells = [_cell(argument) if isinstance(argument, tuple) else None for argument in parts]
        words = ""
        for index, (part, cell) in enumerate(zip(parts, cells, strict=True)):
            text = plain(str(part)) if cell is None else cell
            if not index:
                words = text
            elif cell and cells[index - 1]:
                words += ("-" if cell[0].isalpha() else _TO) + text
            else:
                words += f" {text}"
        if len(parts) == 3 and str(parts[0]) == "move" and cells[1] and cells[2]:
            words = words.removeprefix("move ")
        return short(words, MAX_LETTERS)

    def percept(self, percept: Term, whose: str = "the") -> str:
        """A percept of a role; empty for one that the board shows.

        Args:
            whose: what `?whose` stands for in a saying: whose move led to the percept.
        """
        if isinstance(percept, Compound) and percept.name == PLAIN and len(percept.args) == 2:
            role = str(percept.args[0])
            return short(f"{plain(role)}: {self.move(percept.args[1], role)}", MAX_LETTERS)
        text = self._find("percepts", flatten(percept), {WHOSE: whose})
        return in_order(percept) if text is None else text

    def fluent(self, fluent: Term) -> str | None:
        """A fluent that holds; empty for bookkeeping, None if the game has no words for it."""
        text = self._find("fluents", flatten(fluent))
        if text is not None:
            return text
        if isinstance(fluent, Compound) and fluent.name == CONTROL and len(fluent.args) == 1:
            mover = str(fluent.args[0])
            return short(f"{'chance' if mover == RANDOM else plain(mover)} to move", MAX_LETTERS)
        return None

    def around(self, fluent: Term, gaps: Collection[int], gap: str = " ") -> str | None:
        """The words for a fluent without some of its leaves; None if there are none.

        Args:
            gap: what stands in their place.
        """
        skeleton, leaves = flatten(fluent)
        shown = [Symbol(gap) if i in gaps else leaf for i, leaf in enumerate(leaves)]
        return self._find("fluents", (skeleton, shown))

    def _find(
        self,
        kind: str,
        flat: tuple[Skeleton, Sequence[Term]],
        given: Mapping[str, str] = NOTHING,
    ) -> str | None:
        """The first saying of a kind that matches a term, given flat."""
        for saying in self._sayings.get(kind, ()):
            text = saying.of(*flat, given)
            if text is not None:
                return short(text, MAX_LETTERS)
        return None


def in_order(term: Term) -> str:
    """The names in a term, one after the other: `(dealt (card king))` is dealt card king."""
    names: list[str] = []
    pending = [term]
    while pending and len(names) < MAX_LETTERS:
        item = pending.pop()
        if isinstance(item, Compound):
            names.append(plain(item.name))
            pending += reversed(item.args)
        else:
            names.append(plain(str(item)))
    return short(" ".join(names), MAX_LETTERS)


def _cell(spot: Spot) -> str:
    """Name of a cell: `a2`, `3,1`, or its column if there are no rows."""
    _, column, row = spot
    if not row:
        return plain(column)
    joined = column[-1:].isalpha() and row.isdecimal()
    return f"{column}{row}" if joined else f"{plain(column)},{plain(row)}"


def short(text: str, longest: int = LONGEST) -> str:
    """A text, cut off if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
