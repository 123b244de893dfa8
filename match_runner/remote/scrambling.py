"""Renames the constants, functions and relations of a rulesheet, so that words tell nothing.

Keywords and numbers keep their names: a scrambled keyword would mean nothing, and goal values are
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from ggp.gdl.program import KEYWORD_ARITY, RANDOM
from ggp.gdl.syntax.names import ARROWS
from ggp.gdl.syntax.tuples import TUPLE
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable

KEPT = frozenset({*KEYWORD_ARITY, *CONNECTIVES, *ARROWS, RANDOM, TUPLE, "nil"})
"""Names that are never changed, nor given to anything else."""

_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwxyz", "aeiou"
_MIN_SYLLABLES = 3


class Scrambler:
    """A one-to-one renaming of constants, functions, relations and roles.

    Args:
        names: the names to change, see `names_of`; none for a renaming that changes nothing.
        rng: draws the new names.
    """

    def __init__(self, names: Iterable[str] = (), rng: np.random.Generator | None = None) -> None:
        old = sorted(set(names))
        self._to = dict(zip(old, _words(len(old), frozenset(old), rng), strict=True))
        self._back = {new: name for name, new in self._to.items()}

    def name(self, name: str) -> str:
        """The new name of a constant, function or relation."""
        return self._to.get(name, name)

    def term(self, term: Term) -> Term:
        """A term with its names changed."""
        return _renamed(term, self._to)

    def rule(self, rule: Rule) -> Rule:
        """A rule with its names changed."""
        return Rule(self.term(rule.head), tuple(map(self.term, rule.body)), rule.start)

    def back(self, term: Term) -> Term | None:
        """The term of which this is the renamed one; None if it has a name that was not sent."""
        if any(name in self._to and name not in self._back for name in names_in(term)):
            return None
        return _renamed(term, self._back)


def names_of(rules: Iterable[Rule]) -> set[str]:
    """All names in some rules that a scrambler changes."""
    return {
        name
        for rule in rules
        for term in (rule.head, *rule.body)
        for name in names_in(term)
        if name not in KEPT and not _NUMBER.fullmatch(name)
    }


def names_in(term: Term) -> Iterator[str]:
    """Every constant and function of a term; not recursive, terms may nest deeply."""
    pending = [term]
    while pending:
        part = pending.pop()
        if not isinstance(part, Variable):
            yield part.name
        if isinstance(part, Compound):
            pending += part.args


def _renamed(term: Term, names: dict[str, str]) -> Term:
    if not names or isinstance(term, Variable):
        return term
    name = names.get(term.name, term.name)
    if isinstance(term, Symbol):
        return Symbol(name, term.start)
    # The parser bounds how deep terms nest.
    return Compound(name, tuple(_renamed(arg, names) for arg in term.args), term.start)


def _words(number: int, taken: frozenset[str], rng: np.random.Generator | None) -> list[str]:
    """Different words that can be pronounced and are neither taken nor kept."""
    if not number:
        return []
    if rng is None:
        raise ValueError("renaming needs a generator")
    words: dict[str, None] = {}
    while len(words) < number:
        syllables = _MIN_SYLLABLES + int(rng.integers(2))
        letters = (
            _CONSONANTS[rng.integers(len(_CONSONANTS))] + _VOWELS[rng.integers(len(_VOWELS))]
            for _ in range(syllables)
        )
        word = "".join(letters)
        if word not in taken and word not in KEPT:
            words[word] = None
    return list(words)
