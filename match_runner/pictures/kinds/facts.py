"""Facts that no other kind has taken."""

from __future__ import annotations

from dataclasses import dataclass

from match_runner.pictures.picture import LONGEST_FACT, Json, Rules, Taker, short


@dataclass(slots=True)
class Fact:
    """A line of text."""

    text: str
    share: float

    def to_json(self) -> Json:
        """As the page reads it."""
        return {"text": self.text, "share": self.share}


def taker(rules: Rules) -> Taker:
    """Takes all there are."""
    return lambda told: ([Fact(short(each.text, LONGEST_FACT), each.share) for each in told], [])


def certain(part: Json) -> Json | None:
    """It, if it holds for sure."""
    return part if part["share"] >= 1.0 else None


def is_view(part: Json) -> bool:
    """Percepts are listed anyway."""
    return False


def words(part: Json) -> str:
    """Its text."""
    return str(part["text"])
