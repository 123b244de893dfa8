"""What a page draws of a state: parts of several kinds, such as boards, all of them plain text.

Every fact is in a picture exactly once. Names come from rulesheets, so they may be anything: texts
are cut to `LONGEST` characters, and ids are built from their parts so that no two cells share one.
`match_runner.pictures.kinds` has the table of kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from ggp.gdl.terms import Term
from match_runner.pictures.grids import Grid, Place
from match_runner.pictures.shapes import FluentShape, Skeleton

LONGEST = 120
"""Most characters of a text that are shown; the rest is cut off."""

LONGEST_FACT = 400
"""The same of a whole fact."""

MOST_FACTS = 5_000
"""Most facts in one picture; of the others only the number is shown."""

Json = dict[str, Any]


class DrawnFact(NamedTuple):
    """A fact to be drawn.

    Attributes:
        text: the fact as KIF; facts come in its order.
        share: its probability, from 0 to 1.
    """

    text: str
    fact: Term
    share: float


class Rules(NamedTuple):
    """What is known of a game's fluents before any of them is drawn.

    Attributes:
        roles: without `random`.
        grids, places: its boards, and which fluents go where on them.
        told: a fluent in words; empty for bookkeeping that people need not see, None where the game
            has no words for it.
    """

    roles: tuple[str, ...]
    shapes: Sequence[FluentShape]
    grids: Sequence[Grid]
    places: Mapping[Skeleton, Place]
    told: Callable[[Term], str | None] = lambda fluent: None


Taker = Callable[[Sequence[DrawnFact]], tuple[Sequence[Json], Sequence[DrawnFact]]]
"""Makes parts of facts, and leaves those that it has no use for."""


class Kind(NamedTuple):
    """One kind of parts; a part is what the page reads.

    Attributes:
        taker: what makes them in one game.
        certain: what is left of a part for somebody who is told only what is certain, if anything
            is; it may change the part.
        is_view: whether it is worth a picture of its own where it stands for percepts.
        words: the part in plain text, where the terminal does not draw it.
    """

    taker: Callable[[Rules], Taker]
    certain: Callable[[Json], Json | None]
    is_view: Callable[[Json], bool] = lambda part: False
    words: Callable[[Json], str] = str


@dataclass(slots=True)
class Picture:
    """Picture of a state, of the percepts of a turn, or of a belief.

    Attributes:
        parts: of every kind, by its name.
        owners: the roles in their order, for colours.
    """

    parts: Mapping[str, Sequence[Json]]
    owners: Sequence[str] = ()

    def to_json(self) -> Json:
        """What the page draws: made of dicts, lists, strings and numbers."""
        return {**self.parts, "owners": list(self.owners)}


def short(text: str, longest: int = LONGEST) -> str:
    """A text, cut off if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def id_part(name: str) -> str:
    """A name as a part of an id: no separators, and short; different for different names."""
    safe = name.replace("%", "%25").replace(",", "%2C").replace(":", "%3A").replace(" ", "%20")
    if len(safe) <= 40:
        return safe
    return f"{safe[:20]}%{blake2b(name.encode(errors='replace'), digest_size=8).hexdigest()}"
