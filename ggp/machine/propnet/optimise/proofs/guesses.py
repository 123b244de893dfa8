"""Guesses, from random matches, which fluents are constant, equal, or exclude each other.

What never happened in random matches may never happen at all; `induction` finds out. For fluents
that only differ in their last argument, such as the marks of a cell, states may have been

    (cell 1 1 x)   0 0 1 1        at most one of them held: `Guess(2, (x, o, b))`, never two
    (cell 1 1 o)   0 0 0 0        at least one of them held: `Guess(0, (x, o, b))`, never none
    (cell 1 1 b)   1 1 0 0        o was constant, and b was not x: guesses as well

The groups to look at follow from the terms: fluents that agree in all arguments except some.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl import parse_term
from ggp.gdl.terms import Compound, Term
from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit

MAX_VARIED = 3
"""Most arguments in which fluents of a group differ, unless they differ in all, or all but one."""

MAX_ARGUMENTS = 8
"""Number of constants above which a fluent is in no group."""

MAX_DEPTH = 3
"""Depth below which functions count as constants."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)

Words = NDArray[np.uint64]


class Guess(NamedTuple):
    """A guess that `least` or more of some literals of fluents never hold together.

    With `least` 0, the guess is that it never happens that none of them holds.
    """

    least: int
    literals: tuple[int, ...]

    def may_be(self, fluents: NDArray[np.bool_]) -> bool:
        """Whether the guess is right in a state `[F]`."""
        held = sum(bool(fluents[(x >> 1) - 1]) ^ (x & 1) for x in self.literals)
        return held < self.least if self.least else held > 0


def equal_fluents(circuit: Circuit, values: Words) -> dict[int, int]:
    """For each fluent (as a net) that always equalled an earlier one, the literal of that one.

    Args:
        circuit: the circuit of a game.
        values: `[F, S, W]` values of the fluents in random matches.
    """
    becomes = {}
    first = {np.zeros_like(values[0]).tobytes(): FALSE} if len(values) else {}
    for net, words in enumerate(values, 1):
        # Inverted where needed so that the first bit is 0, so that fluents which were always
        # opposite are found, too.
        inverted = int(words[0, 0] & np.uint64(1))
        key = (words ^ _ONES if inverted else words).tobytes()
        literal = first.setdefault(key, 2 * net + inverted)
        if literal >> 1 != net:
            becomes[net] = literal ^ inverted
    return becomes


def equality(net: int, literal: int) -> list[Guess]:
    """The guesses that together mean that a fluent equals a literal."""
    if literal in (FALSE, TRUE):
        return [Guess(1, (2 * net + literal,))]
    return [Guess(2, (2 * net, literal ^ 1)), Guess(2, (2 * net + 1, literal))]


def exclusive_fluents(circuit: Circuit, values: Words) -> list[Guess]:
    """Guesses about fluents that differ in some arguments only: at most, or at least, one held."""
    members: dict[tuple[object, ...], list[int]] = {}
    for net, fluent in enumerate(circuit.fluents, 1):
        shape, leaves = _shape(parse_term(fluent))
        for varied in _varied(len(leaves)):
            kept = tuple(None if i in varied else leaf for i, leaf in enumerate(leaves))
            members.setdefault((shape, kept), []).append(net)
    guesses: dict[Guess, None] = {}
    for nets in members.values():
        if len(nets) < 2:
            continue
        literals = tuple(2 * net for net in nets)
        at_most_one, at_least_one = _counts(values[np.array(nets) - 1])
        if at_most_one:
            guesses[Guess(2, literals)] = None
        if at_least_one:
            guesses[Guess(0, literals)] = None
    return list(guesses)


def strongest(guesses: Iterable[Guess]) -> list[Guess]:
    """The guesses about groups that do not follow from others of them.

    At most one of a group implies at most one of a part of it, and at least one of it implies at
    least one of any group that it is part of.
    """
    kept: list[Guess] = []
    sets: dict[tuple[int, int], list[frozenset[int]]] = {}
    # Guesses that others may follow from come first: large groups of "at most one", small ones of
    # "at least one".
    for guess in sorted(guesses, key=lambda x: -len(x.literals) if x.least else len(x.literals)):
        members = frozenset(guess.literals)
        known = (each for x in guess.literals for each in sets.get((guess.least, x), ()))
        if any(members <= each if guess.least else each <= members for each in known):
            continue
        kept.append(guess)
        for literal in guess.literals if guess.least else guess.literals[:1]:
            sets.setdefault((guess.least, literal), []).append(members)
    return kept


def _counts(values: Words) -> tuple[bool, bool]:
    """Whether at most one, and whether at least one, of some fluents held everywhere."""
    once = np.zeros_like(values[0])
    twice = False
    for words in values:
        twice = twice or bool((once & words).any())
        once |= words
    return not twice, bool((once == _ONES).all())


def _shape(term: Term) -> tuple[str, list[str]]:
    """A term without its constants, and the constants from left to right."""
    leaves: list[str] = []

    def walk(inner: Term, depth: int) -> str:
        if isinstance(inner, Compound) and depth:
            return f"({inner.name} {' '.join(walk(arg, depth - 1) for arg in inner.args)})"
        leaves.append(str(inner))
        return "_"

    return walk(term, MAX_DEPTH), leaves


def _varied(num_leaves: int) -> list[tuple[int, ...]]:
    """The sets of arguments that may differ within a group."""
    if num_leaves > MAX_ARGUMENTS:
        return []
    sizes = [
        size for size in range(1, num_leaves + 1) if size <= MAX_VARIED or size >= num_leaves - 1
    ]
    return [each for size in sizes for each in combinations(range(num_leaves), size)]
