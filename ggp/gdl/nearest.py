"""The name that was probably meant, for messages about one that is not known.

The nearest name is the one that takes the fewest slips of the hand: a letter too many, too few,
wrong, or two next to each other exchanged (Damerau 1964). Short names must be nearer than long
ones. Every name is near one of one or two letters, so no name is suggested for these.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MOST_NAMES = 2_000
"""Number of names that are compared; the rest are left out, as a message need not be perfect."""

_LONGEST = 40


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that a wrong one stands for, or None if that cannot be guessed.

    None also where several are equally near: `player3` is no nearer to `player1` than to `player2`.
    Where no name is near, it is the shortest one that begins with what was given.
    """
    allowed = _slips_allowed(name)
    if not allowed or len(name) > _LONGEST:
        return None
    near: dict[int, list[str]] = {}
    begun: list[str] = []
    for other in dict.fromkeys(islice(names, MOST_NAMES)):
        if other == name or len(other) > _LONGEST:
            continue
        near.setdefault(_slips(name, other, allowed), []).append(other)
        if other.startswith(name):
            begun.append(other)
    for slips in range(1, allowed + 1):
        if slips in near:
            return near[slips][0] if len(near[slips]) == 1 else None
    return min(begun, key=len, default=None)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The text ``; did you mean `NAME`?``, to follow a message; empty if no name is near."""
    found = nearest(name, names)
    return "" if found is None else f"; did you mean `{found}`?"


def unknown(kind: str, name: str, names: Iterable[str], possible: str, of: str = "") -> str:
    """The message about a name that is not known.

    Args:
        kind: the kind of thing that it should be a name of.
        names: all known names.
        possible: the possible names, as a sentence without its end.
        of: the thing it should be a part of, as in "of player random".
    """
    found = nearest(name, names)
    meant = "" if found is None else f" did you mean {found!r}?"
    return f"unknown {kind} {name!r}{of and f' {of}'};{meant} {possible}"


def _slips_allowed(name: str) -> int:
    return min(3, (len(name) + 2) // 4) if len(name) > 2 else 0


def _slips(left: str, right: str, most: int) -> int:
    """The number of slips between two names; any number above `most` if there are more."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
