"""Recognises fluents that are cards, dice or counters, by the rules alone.

Shapes of fluents come in; a `Face` goes out for each shape that has one, which says what its leaves
are. A card is a constant made of ranks and suits (`jack_hearts`, `kh`), or one that the rules call
a card. Dice are words of the digits 1 to 6, in games whose rules speak of dice or rolls. A counter
is a fluent with one whole number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ggp.gdl.program import Program
from match_runner.pictures.coordinates import order_of
from match_runner.pictures.shapes import FluentLeaf, FluentShape, Skeleton, flatten
from match_runner.pictures.side_file import plain
from match_runner.pictures.symbols import CARD_CODE, RANKS, SUITS

_WHOLE = re.compile(r"-?\d{1,9}")
_DICE = re.compile(r"[1-6]{1,6}")
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")

_CARD_WORDS = frozenset({"card", "cards"})
_HELD_WORDS = frozenset({"hand", "hands", *_CARD_WORDS})
_DICE_WORDS = frozenset({"die", "dice", "roll", "rolls", "rolled"})
_LEAST_ROLLS = 6
_MOST_LEAVES = 4


class FaceKind(StrEnum):
    """Kinds of faces."""

    CARD = "card"
    DICE = "dice"
    COUNTER = "counter"


_SHOWN = {FaceKind.DICE: _DICE, FaceKind.COUNTER: _WHOLE}

CARDS = frozenset({FaceKind.CARD, FaceKind.DICE})
"""Faces that are drawn as cards."""


@dataclass(frozen=True, slots=True)
class Face:
    """What the leaves of a shape are.

    Attributes:
        leaf: the card, the dice or the number.
        owner: a leaf that names a role, or None.
        note: a number beside a card, such as how many there are; None for none.
    """

    kind: FaceKind
    leaf: int
    owner: int | None = None
    note: int | None = None

    def can_show(self, names: Sequence[str]) -> bool:
        """Whether it can draw a fact with these leaves; a percept may have others than fluents."""
        pattern = _SHOWN.get(self.kind)
        return pattern is None or pattern.fullmatch(names[self.leaf]) is not None


def faces_of(program: Program, shapes: Sequence[FluentShape]) -> dict[Skeleton, Face]:
    """The faces of a game's fluents; most fluents have none."""
    roles = set(program.roles)
    has_dice = not _DICE_WORDS.isdisjoint(_words_in(program))
    faces = {}
    for shape in shapes:
        face = _face(shape, roles, has_dice=has_dice)
        if face is not None:
            faces[shape.skeleton] = face
    return faces


def is_number(text: str) -> bool:
    """Whether a constant is a whole number."""
    return _WHOLE.fullmatch(text) is not None


def _face(shape: FluentShape, roles: set[str], *, has_dice: bool) -> Face | None:
    if not 0 < len(shape.leaves) <= _MOST_LEAVES or not all(leaf.values for leaf in shape.leaves):
        return None
    owners = [i for i, leaf in enumerate(shape.leaves) if roles.issuperset(leaf.values)]
    owner = owners[0] if owners else None
    others = {i: leaf for i, leaf in enumerate(shape.leaves) if i not in owners}
    numbers = [i for i, leaf in others.items() if all(map(is_number, leaf.values))]
    if len(numbers) > 1:
        return None
    if has_dice and len(numbers) == 1 and _are_rolls(others[numbers[0]]):
        return Face(FaceKind.DICE, numbers[0], owner)
    is_held = not _HELD_WORDS.isdisjoint(_words_of(shape.name))
    for i, leaf in others.items():
        alone = is_held and len(others) - len(numbers) == 1
        named = alone or not _CARD_WORDS.isdisjoint(_words_of(leaf.name))
        is_name = named and i not in numbers and order_of(leaf.values, ()) is None
        if is_name or _are_cards(leaf.values):
            return Face(FaceKind.CARD, i, owner, numbers[0] if numbers else None)
    return Face(FaceKind.COUNTER, numbers[0], owner) if numbers else None


def _are_cards(values: Sequence[str]) -> bool:
    """Whether constants are cards by their names; chess has kings and queens, but no jacks."""
    if len(values) > 1 and all(CARD_CODE.fullmatch(value) for value in values):
        return True
    parts = [value.split("_") for value in values]
    known = {*RANKS, *SUITS, "of"}
    words = {word for each in parts for word in each}
    named = all(any(word in known for word in each) for each in parts)
    return named and not words.isdisjoint({"jack", "ace", *SUITS})


def _are_rolls(leaf: FluentLeaf) -> bool:
    lengths = {len(value) for value in leaf.values}
    return (
        len(lengths) == 1
        and len(leaf.values) >= _LEAST_ROLLS
        and all(_DICE.fullmatch(value) for value in leaf.values)
    )


def _words_in(program: Program) -> set[str]:
    """Words of the names of all relations and functions."""
    names = {
        head[0]
        for rule in program.rules
        for atom in (rule.head, *(literal.atom for literal in rule.body))
        for head in flatten(atom)[0]
        if head is not None
    }
    return {word for name in names for word in _words_of(name)}


def _words_of(name: str) -> Iterator[str]:
    """Words of a name such as `handPos` or `dealt_card`."""
    return (word.lower() for word in _WORD.findall(name))


def card_face(name: str) -> tuple[str, str]:
    """What is printed on a card: its rank or its name, and the sign of its suit or nothing.

    >>> card_face("jack_hearts"), card_face("10s"), card_face("wasabi")
    (('J', '♥'), ('10', '♠'), ('wasabi', ''))
    """
    code = CARD_CODE.fullmatch(name)
    if code is not None:
        rank = "10" if code[1] == "t" else code[1].upper()
        return rank, next(sign for suit, sign in SUITS.items() if suit[0] == code[2])
    words = [word for word in re.split(r"[_\s]+", name) if word]
    suit = next((SUITS[word] for word in words if word in SUITS), "")
    ranks = [RANKS.get(word, word) for word in words if word not in SUITS and word != "of"]
    return " ".join(ranks) or name, suit


def label_of(words: str) -> str:
    """The words of a fluent around its face: `player1 holds the` is `player1 holds`."""
    text = re.sub(r"\s+", " ", words).strip(" :,=")
    text = re.sub(r"^(?:is|are) |(?:^| )(?:the|an?|is|are)$", "", text)
    return text.strip(" :,=")


def plain_label(name: str, leaves: Sequence[str], face: Face) -> str:
    """A label where the game has no words: `player1: hand`."""
    rest = [leaf for i, leaf in enumerate(leaves) if i not in (face.leaf, face.owner, face.note)]
    text = plain(" ".join((name, *rest)))
    return text if face.owner is None else f"{plain(leaves[face.owner])}: {text}"
