"""Recognises sets of constants that are coordinates, and puts them in order.

Coordinates are whole numbers without gaps, single letters without gaps, numbers behind one prefix
(`c1`, `c2`), names of squares (`a1`, `h10`), and whatever a successor relation of the rules puts
into a chain. A few other words are allowed beside many coordinates (`pit1`...`pit12` and `home`);
they come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

MOST_COORDINATES = 64
"""Most values of one axis; longer ones are counters."""

_WHOLE = re.compile(r"-?\d{1,6}")
_PREFIXED = re.compile(r"([^\d\s]+?)[_-]?(\d{1,4})")
_SQUARE = re.compile(r"([a-z])[_-]?(\d{1,2})")
_ODD = 2


class CoordinateKind(StrEnum):
    """Kinds of coordinates."""

    NUMBERS = "numbers"
    LETTERS = "letters"
    PREFIXED = "prefixed"
    CHAIN = "chain"


@dataclass(frozen=True, slots=True)
class Order:
    """Coordinates in their order.

    Attributes:
        prefix: prefix of `PREFIXED` coordinates.
    """

    values: tuple[str, ...]
    kind: CoordinateKind
    prefix: str = ""


def order_of(
    values: Iterable[str], chains: Sequence[Mapping[str, str]], *, gaps: bool = False
) -> Order | None:
    """Put coordinates in order; None if these are not coordinates.

    Args:
        chains: successor relations of the rules: value -> the next one.
        gaps: whether some may be missing in between.
    """
    distinct = set(values)
    if not 2 <= len(distinct) <= MOST_COORDINATES:
        return None
    names = sorted(distinct)
    if all(_WHOLE.fullmatch(name) for name in names):
        numbers = sorted(names, key=int)
        if gaps or int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1:
            return Order(tuple(numbers), CoordinateKind.NUMBERS)
        return _by_chain(names, chains)
    if all(len(name) == 1 and name.isalpha() for name in names):
        if gaps or ord(names[-1]) - ord(names[0]) == len(names) - 1:
            return Order(tuple(names), CoordinateKind.LETTERS)
        return _by_chain(names, chains)
    return _by_prefix(names) or _by_chain(names, chains)


def square_of(name: str) -> tuple[str, str] | None:
    """Letter and number of the name of a square such as `a1`."""
    found = _SQUARE.fullmatch(name)
    return (found[1], found[2]) if found else None


def are_squares(names: Iterable[str]) -> bool:
    """Whether constants are names of squares of a grid of several columns and rows."""
    squares = [square_of(name) for name in names]
    parts = [square for square in squares if square is not None]
    if not squares or len(parts) < len(squares):
        return False
    return all(len({part[i] for part in parts}) > 1 for i in (0, 1))


def natural(name: str) -> tuple[str, int, str]:
    """Sort key that orders numbers by size, alone and behind a prefix."""
    found = re.fullmatch(r"(.*?)(\d{1,9})", name[:40])
    return (found[1], int(found[2]), name) if found else (name, -1, name)


def _by_prefix(names: Sequence[str]) -> Order | None:
    found = [(_PREFIXED.fullmatch(name), name) for name in names if len(name) <= 40]
    groups: dict[str, list[tuple[int, str]]] = {}
    for match, name in found:
        if match:
            groups.setdefault(match[1], []).append((int(match[2]), name))
    if not groups:
        return None
    prefix, members = max(groups.items(), key=lambda group: len(group[1]))
    members.sort()
    odd = [name for name in names if name not in {member for _, member in members}]
    if len(odd) > _ODD or (odd and len(members) < 4 * len(odd)) or len(members) < 2:
        return None
    if members[-1][0] - members[0][0] != len(members) - 1:
        return None
    return Order((*(name for _, name in members), *odd), CoordinateKind.PREFIXED, prefix)


def _by_chain(names: Sequence[str], chains: Sequence[Mapping[str, str]]) -> Order | None:
    wanted = set(names)
    for chain in chains:
        following = {a: b for a, b in chain.items() if a in wanted and b in wanted}
        firsts = wanted - set(following.values())
        if len(firsts) != 1 or len(following) != len(wanted) - 1:
            continue
        line = [firsts.pop()]
        while line[-1] in following and len(line) <= len(wanted):
            line.append(following[line[-1]])
        if len(line) == len(wanted):
            return Order(tuple(line), CoordinateKind.CHAIN)
    return None
