"""Facts that no other kind has taken.

fact  text: as KIF; share; words: what people read, empty for bookkeeping, which is folded away
"""

from __future__ import annotations

from collections.abc import Sequence

from match_runner.pictures.in_words.words import in_order
from match_runner.pictures.picture import LONGEST_FACT, DrawnFact, Json, Rules, Taker, short


def taker(rules: Rules) -> Taker:
    """Takes all there are."""

    def take(told: Sequence[DrawnFact]) -> tuple[list[Json], list[DrawnFact]]:
        found = []
        for each in told:
            words = rules.told(each.fact)
            words = in_order(each.fact) if words is None else words
            found.append(fact(short(each.text, LONGEST_FACT), each.share, words))
        return found, []

    return take


def fact(text: str, share: float = 1.0, words: str | None = None) -> Json:
    """A line of text, and what it is in words if that is something else."""
    return {"text": text, "share": share, "words": text if words is None else words}


def certain(part: Json) -> Json | None:
    """It, if it holds for sure."""
    return part if part["share"] >= 1.0 else None
