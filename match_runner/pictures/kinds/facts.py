"""Facts that no other kind has taken: text and share."""

from __future__ import annotations

from match_runner.pictures.picture import LONGEST_FACT, Json, Rules, Taker, short


def taker(rules: Rules) -> Taker:
    """Takes all there are."""
    return lambda told: ([fact(short(each.text, LONGEST_FACT), each.share) for each in told], [])


def fact(text: str, share: float = 1.0) -> Json:
    """A line of text."""
    return {"text": text, "share": share}


def certain(part: Json) -> Json | None:
    """It, if it holds for sure."""
    return part if part["share"] >= 1.0 else None
