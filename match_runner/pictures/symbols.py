"""Symbols and owners of well-known contents of cells.

The constants of a cell come in; a `Look` goes out. It recognises words (`white_king`, `redpawn`,
`arrow`), codes (`wk`, `bp`), names of roles, and cards (`jack_hearts`). Codes count only if a
fluent has several of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

EMPTY = frozenset({"blank", "empty", "none", "nil", "free", "vacant", "available", "nothing"})
"""Contents that mean an empty cell; `b` too, unless a role begins with it."""

CHESS = {
    "king": "♔♚",
    "queen": "♕♛",
    "rook": "♖♜",
    "bishop": "♗♝",
    "knight": "♘♞",
    "pawn": "♙♟",
}
"""White and black pieces; pieces of other colours look like black ones, in their colour."""

DRAUGHTS = {"man": "⛀⛂", "checker": "⛀⛂", "king": "⛁⛃"}

CODES = {"k": "king", "q": "queen", "r": "rook", "b": "bishop", "n": "knight", "p": "pawn"}

COLOURS = frozenset(
    {
        *("white", "black", "red", "blue", "green", "yellow", "orange", "purple", "pink"),
        *("teal", "magenta", "cyan", "brown", "grey", "gray", "gold", "silver"),
    }
)

MARKS = {"x": "✕", "ecks": "✕", "cross": "✕", "o": "○", "oh": "○", "nought": "○", "circle": "○"}

PLAIN = {
    **{"arrow": "➹", "wall": "▦", "hole": "◌", "peg": "●", "disc": "●", "stone": "●"},
    **{"pellet": "•", "dot": "•", "food": "•", "coin": "•"},
    **{"flag": "⚑", "queen": "♛", "ship": "⚓", "dirt": "▦", "ground": "▦", "exit": "⌂"},
}

SUITS = {"hearts": "♥", "spades": "♠", "diamonds": "♦", "clubs": "♣"}
RANKS = {
    **{"ace": "A", "king": "K", "queen": "Q", "jack": "J", "ten": "10", "nine": "9"},
    **{"eight": "8", "seven": "7", "six": "6", "five": "5", "four": "4", "three": "3", "two": "2"},
}
CARD_CODE = re.compile(r"(10|[2-9tjqka])([hsdc])")
"""Short names of cards: `kh`, `10s`."""

WALLS = {"north": "▔", "east": "▕", "south": "▁", "west": "▏"}
"""Walls, which are drawn along an edge of the cell."""

_BLOCKS = ("wall", "blocked", "block", "fence")

DISC = "●"

DISCS = "●◉◍◎"
"""Discs of the first role, the second, and so on: they differ in more than colour."""

PEGS = "●■▲◆★✚"
"""Discs of the first colour, the second, and so on, where colours are no roles."""

OWN_SHAPES = frozenset({*DISCS, "✕", "○"})
"""Symbols whose shape shows their owner."""

_FILLED = frozenset({"white", "black"})
"""Roles whose pieces differ even without colours: one is filled, the other is not."""

_CODE = re.compile(r"([a-z])[_-]?([kqrbnp])")


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a content: see items in `kinds`."""

    text: str
    symbol: str
    owner: str
    mark: int = 0


def unfilled(symbol: str, owner: str) -> str:
    """A symbol for media that cannot fill shapes with colour: white discs become rings."""
    return "○" if symbol == DISC and owner == "white" else symbol


class Symbols:
    """Looks of the contents of one grid.

    Args:
        roles: roles of the game, without `random`.
        values: each set of constants that a content may have.
        common_empty: whether `b` fills a good part of the board at the start.
        known, owners: symbols and owners by content, from the game's own side file.
    """

    def __init__(
        self,
        roles: Sequence[str],
        values: Sequence[Iterable[str]],
        *,
        common_empty: bool = False,
        symbols: Mapping[str, str] | None = None,
        owners: Mapping[str, str] | None = None,
    ) -> None:
        self._roles = roles
        self._symbols, self._owners = symbols or {}, owners or {}
        names = {name for constants in values for name in constants}
        self._colours = sorted({part for name in names for part in _parts(name)} & COLOURS)
        codes = {name for name in names if _CODE.fullmatch(name)}
        self._coded = len(codes) >= 3 and len(codes) >= len(names) - 2
        pieces = {name[-1] for name in codes} if self._coded else set()
        words = {part for name in names for part in _parts(name)}
        chess = bool(words & {"rook", "bishop", "knight", "queen"} or pieces - {"k", "p"})
        king = "king" in words or "k" in pieces
        man = bool(words & {"pawn", "man", "checker"} or "p" in pieces)
        self._cards = bool(words & {"jack", "ace", *SUITS})
        self._draughts = not chess and man and (king or not words & {"pawn"})
        self._chess = not self._cards and (chess or king or man)
        self._initials = self._by_initial(name[0] for name in codes if self._coded)
        roles_by = self._initial_roles(roles)
        self._b_is_empty = "b" in names and (
            common_empty or "b" not in roles_by or any(n != "b" and n[:1] == "b" for n in names)
        )

    def is_empty(self, words: Sequence[str]) -> bool:
        """Whether a content means that the cell is empty."""
        return len(words) == 1 and (words[0] in EMPTY or (words[0] == "b" and self._b_is_empty))

    def look(self, words: Sequence[str]) -> Look:
        """The look of a content, given as its constants."""
        look = self._unmarked(words)
        return replace(look, mark=self._mark(look.symbol, look.owner))

    def _mark(self, symbol: str, owner: str) -> int:
        """The mark of the owner; 0 if the symbol alone shows the owner.

        Discs and crosses have a shape for each role. Pieces and signs of white and black are filled
        with white and black; words are not.
        """
        if owner not in self._roles or symbol in OWN_SHAPES:
            return 0
        is_filled = len(symbol) == 1 and not symbol.isalnum()
        return 0 if is_filled and _FILLED.issuperset(self._roles) else self._roles.index(owner)

    def _unmarked(self, words: Sequence[str]) -> Look:
        if self.is_empty(words):
            return Look("empty", "", "")
        text = " ".join(words)
        wall = _wall(words)
        if wall:
            return Look(text, wall, "")
        owner = self._owner(words)
        if text in self._symbols:
            return Look(text, self._symbols[text], owner)
        piece, colour = self._piece(words)
        if piece:
            pair = (DRAUGHTS if self._draughts else CHESS)[piece]
            side = owner if owner in COLOURS or not colour else colour
            symbol = pair[0 if side == "white" else 1]
            return Look(f"{side} {piece}".strip(), symbol, owner)
        symbol = self._symbol(words, owner)
        return Look(text, self._disc_of(owner, words) if symbol == DISC else symbol, owner)

    def _disc_of(self, owner: str, words: Sequence[str]) -> str:
        if owner in self._roles:
            if _FILLED.issuperset(self._roles):
                return DISC
            return DISCS[self._roles.index(owner) % len(DISCS)]
        colours = [part for word in words for part in _parts(word) if part in COLOURS]
        return PEGS[self._colours.index(colours[0]) % len(PEGS)] if colours else DISC

    def _symbol(self, words: Sequence[str], owner: str) -> str:
        other_words = [word for word in words if word != owner]
        if not other_words:
            return self._mark_of_role(owner)
        word = other_words[-1]
        if self._cards and set(_parts(word)) & {*RANKS, *SUITS}:
            return "".join(RANKS.get(p, SUITS.get(p, p)) for p in _parts(word))
        if word in MARKS:
            return MARKS[word]
        parts = _parts(word)
        if len(parts) == 2 and parts[0] in COLOURS:
            word = parts[1]
        if word in PLAIN:
            return PLAIN[word]
        if word in COLOURS or (len(word) == 1 and owner and word == owner[0]):
            return DISC
        return " ".join(other_words)

    def _mark_of_role(self, role: str) -> str:
        for mark, role_names in (("✕", ("x", "xplayer")), ("○", ("o", "oplayer"))):
            if role in role_names:
                return mark
        return DISC

    def _piece(self, words: Sequence[str]) -> tuple[str, str]:
        """Name and colour of a piece of chess or draughts; empty if it is not one."""
        if not self._chess:
            return "", ""
        kinds = DRAUGHTS if self._draughts else CHESS
        colour = next((word for word in words if word in COLOURS), "")
        for word in words:
            if word in CHESS or word in kinds:
                return self._man(word), colour
            code = _CODE.fullmatch(word)
            if self._coded and code:
                kind = CODES[code[2]]
                return self._man(kind), {"w": "white", "b": "black"}.get(code[1], colour)
            parts = _parts(word)
            if len(parts) == 2 and (parts[1] in CHESS or parts[1] in kinds):
                return self._man(parts[1]), parts[0] if parts[0] in COLOURS else colour
        return "", ""

    def _man(self, piece: str) -> str:
        """Name of a piece of draughts that a game calls by a name of chess."""
        if not self._draughts:
            return piece
        return "king" if piece in ("king", "queen") else "man"

    def _owner(self, words: Sequence[str]) -> str:
        for word in (" ".join(words), *words):
            if word in self._owners:
                return self._owners[word]
            if word in self._roles:
                return word
        initials = self._initial_roles(self._roles)
        for word in words:
            code = _CODE.fullmatch(word)
            if self._coded and code:
                return self._initials.get(code[1], "")
            parts = _parts(word)
            if len(parts) > 1 and parts[0] in self._roles:
                return parts[0]
            letter = {"✕": "x", "○": "o"}.get(MARKS.get(word, ""), word)
            if len(letter) == 1 and letter in initials:
                return initials[letter]
        return ""

    def _by_initial(self, letters: Iterable[str]) -> dict[str, str]:
        """Roles by the letters that codes begin with; a last letter belongs to a last role."""
        seen = set(letters)
        roles = {k: v for k, v in self._initial_roles(self._roles).items() if k in seen}
        unmatched_roles = [role for role in self._roles if role not in roles.values()]
        unmatched_letters = seen - set(roles)
        if len(unmatched_roles) == len(unmatched_letters) == 1:
            roles[unmatched_letters.pop()] = unmatched_roles[0]
        return roles

    @staticmethod
    def _initial_roles(roles: Sequence[str]) -> dict[str, str]:
        """Roles by their first letter, if it is unique."""
        initials = [role[0] for role in roles]
        return {role[0]: role for role in roles if initials.count(role[0]) == 1}


def _wall(words: Sequence[str]) -> str:
    """The edge that a wall is on, from names such as `wall east` and `blockedeast`."""
    if len(words) == 2 and words[0] in _BLOCKS:
        return WALLS.get(words[1], "")
    for block in _BLOCKS:
        if len(words) == 1 and words[0].startswith(block):
            return WALLS.get(words[0].removeprefix(block), "")
    return ""


def _parts(name: str) -> list[str]:
    """Parts of a name: `white_king` and `whiteking` in two, anything else as it is."""
    if len(name) > 60:
        return [name]
    pieces = re.split(r"[_-]", name)
    if len(pieces) > 1:
        return pieces
    for colour in COLOURS:
        rest = name.removeprefix(colour)
        if rest != name and rest in {*CHESS, *DRAUGHTS, "disc", "stone"}:
            return [colour, rest]
    return pieces
