"""Turns the fluents of a state into its picture.

A `Layout` is made once for a game, from its rules and its side file; then it draws states, percepts
and beliefs. An `Artist` does the same for callers that have KIF texts and want JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.gdl import parse_term
from ggp.gdl.program import RANDOM, Program
from ggp.gdl.terms import Term
from ggp.machine.definition import GameDefinition
from match_runner.pictures.faces import CARDS, faces_of, label_of
from match_runner.pictures.grids import recognise
from match_runner.pictures.kinds import (
    KINDS,
    MAX_FACTS,
    UNKNOWN,
    DrawnFact,
    Json,
    Picture,
    Rules,
    cell_id,
    fact,
    headers_of,
)
from match_runner.pictures.shapes import Values, chains_of, flatten, shapes_of
from match_runner.pictures.side_file import NO_SIDE_FILE, plain, read_side_file
from match_runner.pictures.words import CONTROL, GameWords, Moves, in_order, moves_of, short

_GAP = "\N{HORIZONTAL ELLIPSIS}"
"""Stands for what differs in a kind of fluents."""

_MAX_TERMS = 100_000
"""Most parsed terms that we keep: states of a match share most of their fluents."""


class Layout:
    """Layout of the states of a game; made by `Layout.of`.

    Attributes:
        words: puts its moves, percepts and fluents into words.
    """

    def __init__(self, rules: Rules, moves: Moves, words: GameWords) -> None:
        self._rules, self._moves = rules, moves
        self.words = words

    @classmethod
    def of(cls, program: Program, side_file: Path | None = None) -> Layout:
        """The layout that a game's rules suggest.

        Args:
            side_file: a file that describes the picture better than the rules (`side_file.py`).

        Raises:
            ConfigError: the side file cannot be used.
        """
        roles = tuple(role for role in program.roles if role != RANDOM)
        side = NO_SIDE_FILE if side_file is None else read_side_file(side_file, roles)
        values = Values(program)
        shapes = shapes_of(program, values)
        try:
            faces = faces_of(program, shapes)
            cards = {skeleton for skeleton, face in faces.items() if face.kind in CARDS}
            grids, places = recognise(program, shapes, chains_of(values.facts), side, cards)
        except ConfigError as error:
            raise ConfigError(f"{side_file}: {error}") from error
        moves = moves_of(program, roles, grids, places)
        words = GameWords(moves, side.sayings)
        rules = Rules(
            roles, headers_of(shapes, roles), grids, places, words.fluent, faces, words.around
        )
        return cls(rules, moves, words)

    def picture(self, facts: Iterable[Term]) -> Picture:
        """Picture of the fluents of a state, or of the percepts of a turn.

        It has every board, even empty ones.
        """
        return self._draw((fact, 1.0) for fact in facts)

    def heat(self, marginals: Mapping[Term, float]) -> Json:
        """Picture of a belief, as JSON for the page.

        Args:
            marginals: the probability of each fluent.
        """
        return self._draw(marginals.items()).to_json()

    def cells_of_move(self, move: Term, role: str) -> tuple[str, ...]:
        """Ids of the cells that a move names, in order; () if there are none.

        Args:
            role: the role that moves: each role may have its own board.
        """
        index, spots = self._moves.spots(move, role)
        return tuple(cell_id(self._rules.grids[index], *spot) for spot in spots)

    def drops_in(self, move: Term) -> bool:
        """Whether a move drops a piece into a column, so that any of its cells stands for it."""
        return self._moves.drops_in(move)

    def _draw(self, facts: Iterable[tuple[Term, float]]) -> Picture:
        drawn_facts = sorted(
            (DrawnFact(str(term), term, share) for term, share in facts), key=lambda f: f.text
        )
        parts: dict[str, list[Json]] = {}
        remaining: Sequence[DrawnFact] = drawn_facts[:MAX_FACTS]
        for name, kind in KINDS.items():
            parts[name], remaining = kind.take(self._rules, remaining)
        if len(drawn_facts) > MAX_FACTS:
            parts["facts"].append(fact(f"and {len(drawn_facts) - MAX_FACTS:,} more"))
        return Picture(parts, [short(role) for role in self._rules.roles])


class Artist:
    """Draws the states and percepts of one game, given in canonical KIF, as JSON values.

    Args:
        program: its rules.
        side_file: a file that describes its picture; None to use the rules alone.
    """

    def __init__(self, program: GameDefinition, side_file: Path | None = None) -> None:
        self.layout = Layout.of(program.as_program(), side_file)

    def picture(self, texts: Iterable[str], *, over: bool = False) -> Any:
        """Picture of some terms, given in canonical KIF.

        Args:
            over: whether the match is over, so that it is nobody's turn.
        """
        picture = self.layout.picture(map(term_of, texts)).to_json()
        for each in picture["facts"] if over else ():
            if each["text"].startswith(f"({CONTROL} "):
                each["words"] = ""
        return picture

    def heat(self, shares: Mapping[str, float]) -> Any:
        """Picture of terms with their probabilities."""
        return self.layout.heat({term_of(text): share for text, share in shares.items()})

    def certain(self, shares: Mapping[str, float], before: Json | None = None) -> Any:
        """Picture of the certain terms, with `UNKNOWN` in cells that may have other items.

        Args:
            shares: the probabilities of all terms that may hold.
            before: the same role's picture before, from which unknown cells keep what was last
                seen there and may still be there.
        """
        picture = self.heat(shares)
        for name, kind in KINDS.items():
            sure = map(kind.certain, picture[name])
            picture[name] = [part for part in sure if part is not None]
        if before:
            _recall(picture, before, shares)
        return picture

    def cells(self, move: str, role: str) -> list[str]:
        """Ids of the cells that a move of a role names, in order."""
        return list(self.layout.cells_of_move(term_of(move), role))

    def drops_in(self, move: str) -> bool:
        """Whether any cell of a column stands for a move."""
        return self.layout.drops_in(term_of(move))

    def words_of(
        self,
        moves: Iterable[tuple[str, str]],
        percepts: Iterable[str] = (),
        *,
        seer: str | None = None,
        mover: str | None = None,
    ) -> dict[str, dict[str, str]]:
        """Words for moves, each given with its role, and for percepts.

        Args:
            seer: the role that gets the percepts, for which the words are.
            mover: the role that was on turn; None if that is not known.
        """
        words = self.layout.words
        whose = "the" if mover is None else "your" if mover == seer else f"{plain(mover)}'s"
        return {
            "moves": {move: words.move(term_of(move), role) for role, move in moves},
            "percepts": {percept: words.percept(term_of(percept), whose) for percept in percepts},
        }

    def words_in(self, frame: Json) -> dict[str, dict[str, str]]:
        """Words for all moves and percepts of a frame."""
        candidates = [
            (role, value["move"])
            for role, decision in frame["decisions"].items()
            for value in decision["values"]
        ]
        seen = [percept for saw in frame["percepts"].values() for percept in saw]
        return self.words_of([*frame["moves"].items(), *candidates], seen)

    def fluent(self, text: str) -> str:
        """A fluent in words."""
        return self.layout.words.fluent(term_of(text)) or in_order(term_of(text))

    def name_of(self, text: str) -> str:
        """What a kind of fluents says, as an answer to what differs: `which wire is armed`.

        For words with gaps elsewhere than at the beginning or the end it is the relation's name.
        """
        term = term_of(text)
        skeleton, leaves = flatten(term)
        words = self.layout.words.around(term, range(len(leaves)), _GAP) or ""
        before, gap, after = words.partition(_GAP)
        if gap and not before.removesuffix("the ") and _GAP not in after and after.strip():
            return f"which{after}"
        label = label_of(before) if not after.replace(_GAP, "").strip() else ""
        return label or plain(str(term) if skeleton[0] is None else skeleton[0][0])

    def marks(self, moves: Mapping[str, str], old: Json, new: Json) -> list[str]:
        """Cells that moves name; for a piece dropped into a column, the cell where it landed.

        Args:
            old, new: pictures before and after the moves, as the viewer of the marks sees them;
                empty if there was none.
        """
        cells: list[str] = []
        for role, move in moves.items():
            named = self.cells(move, role)
            fell = self.drops_in(move)
            cells += (fell and _new_in_columns(old, new, named)) or named
        return cells

    def view(self, percepts: Sequence[str]) -> Any:
        """A picture of percepts if it shows more than a list would, else None."""
        if not percepts:
            return None
        picture = self.picture(percepts)
        has_view = any(kind.is_view(part) for name, kind in KINDS.items() for part in picture[name])
        return picture if has_view else None


def _recall(picture: Json, before: Json, shares: Mapping[str, float]) -> None:
    """Give unknown items the item that was seen in their cell before, if it may still be there."""
    seen = {cell["id"]: cell["items"] for board in before["boards"] for cell in board["cells"]}
    for board in picture["boards"]:
        for cell in board["cells"]:
            items = [item.get("last", item) for item in seen.get(cell["id"], ())]
            still = next((item for item in items if item["title"] in shares), None)
            if still and cell["items"] and cell["items"][-1]["title"] == UNKNOWN["title"]:
                cell["items"][-1]["last"] = still


def _new_in_columns(old: Json, new: Json, named: Sequence[str]) -> list[str]:
    """Cells with new items, in the same columns as some cells."""
    was = {
        (cell["id"], item["title"])
        for board in old.get("boards", ())
        for cell in board["cells"]
        for item in cell["items"]
    }
    cell_ids = []
    for board in new.get("boards", ()):
        columns = {cell["column"] for cell in board["cells"] if cell["id"] in named}
        for cell in board["cells"]:
            fresh = [item for item in cell["items"] if (cell["id"], item["title"]) not in was]
            if cell["column"] in columns and any(i["symbol"] not in ("", "?") for i in fresh):
                cell_ids.append(cell["id"])
    return cell_ids


@lru_cache(maxsize=_MAX_TERMS)
def term_of(text: str) -> Term:
    """A term of canonical KIF."""
    return parse_term(text)
