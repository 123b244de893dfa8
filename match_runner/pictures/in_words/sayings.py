"""Sayings: how terms that fit a pattern are told, such as `"(fire ?x ?y)" = "fire at ?x,?y"`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ggp.errors import ConfigError, GDLError
from ggp.gdl import parse_term
from ggp.gdl.terms import Term, Variable
from match_runner.pictures.shapes import Skeleton, flatten

_VARIABLE = re.compile(r"\?(\w+)")


def plain(name: str) -> str:
    """A name without underscores."""
    return name.replace("_", " ").strip() or name


@dataclass(frozen=True, slots=True)
class Saying:
    """How terms of one pattern are told.

    Attributes:
        skeleton: their shape.
        leaves: constants that they must have, and variables that stand for any.
        text: the words, in which variables stand for what they are; empty for what is not worth
            telling.
    """

    skeleton: Skeleton
    leaves: tuple[Term, ...]
    text: str

    def of(self, skeleton: Skeleton, leaves: Sequence[Term]) -> str | None:
        """The words for a term; None if it does not fit."""
        if skeleton != self.skeleton:
            return None
        bound: dict[str, str] = {}
        for wanted, leaf in zip(self.leaves, leaves, strict=True):
            if isinstance(wanted, Variable):
                bound[wanted.name.lower()] = plain(str(leaf))
            elif wanted != leaf:
                return None
        return _VARIABLE.sub(lambda found: bound[found[1].lower()], self.text)


Sayings = Sequence[Saying]


def saying(pattern: str, text: str) -> Saying:
    """Read a saying.

    Raises:
        ConfigError: the pattern is no term, or the text has variables that are not in it.
    """
    try:
        term = parse_term(pattern)
    except GDLError as error:
        raise ConfigError(f"{pattern!r} is not a term: {error}") from error
    skeleton, leaves = flatten(term)
    known = {leaf.name.lower() for leaf in leaves if isinstance(leaf, Variable)}
    for name in _VARIABLE.findall(text):
        if name.lower() not in known:
            raise ConfigError(f"{text!r} has ?{name}, which is not in {pattern}")
    return Saying(skeleton, leaves, text)
