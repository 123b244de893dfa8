"""Suggests the nearest known name for a misspelled one, for error messages.

Distance is the number of slips: a letter too many, too few or wrong, or two neighbouring letters
exchanged (Damerau 1964). A short name may have fewer slips than a long one. Every name is near a
name of one or two letters, so nothing is suggested for these.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MAX_NAMES = 2_000
"""Number of names to compare; the rest are ignored, since a message need not be perfect."""

_LONGEST = 40


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that a misspelled one probably means; None if none or several are nearest.

    Where no name is near, the shortest name that begins with the given one.

    >>> nearest("wihte", ["white", "black"])
    'white'
    >>> nearest("player3", ["player1", "player2"])
    """
    max_slips = _slips_allowed(name)
    if not max_slips or len(name) > _LONGEST:
        return None
    near: dict[int, list[str]] = {}
    completions: list[str] = []
    for candidate in dict.fromkeys(islice(names, MAX_NAMES)):
        if candidate == name or len(candidate) > _LONGEST:
            continue
        near.setdefault(_slips(name, candidate, max_slips), []).append(candidate)
        if candidate.startswith(name):
            completions.append(candidate)
    for slips in range(1, max_slips + 1):
        if slips in near:
            return near[slips][0] if len(near[slips]) == 1 else None
    return min(completions, key=len, default=None)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message, ``; did you mean `NAME`?``; empty if no name is near."""
    guess = nearest(name, names)
    return "" if guess is None else f"; did you mean `{guess}`?"


def unknown(kind: str, name: str, names: Iterable[str], possible: str, of: str = "") -> str:
    """The message about an unknown name.

    Args:
        kind: the kind of thing that should have the name.
        names: all known names.
        possible: the possible names, as the end of the message.
        of: the owner of the names, as in "of player random".
    """
    guess = nearest(name, names)
    question = "" if guess is None else f" did you mean {guess!r}?"
    return f"unknown {kind} {name!r}{of and f' {of}'};{question} {possible}"


def _slips_allowed(name: str) -> int:
    return min(3, (len(name) + 2) // 4) if len(name) > 2 else 0


def _slips(left: str, right: str, limit: int) -> int:
    """The number of slips between two names; any number above `limit` if it exceeds that.

    Dynamic programming over prefixes: `row[j]` is the distance between the first i letters of
    `left` and the first j of `right`; a transposition reaches back two rows.
    """
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    above: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        earlier, above, row = above, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
