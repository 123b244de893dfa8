"""An upper bound on how deep the terms of a game can nest."""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.analysis.domains import position
from ggp.gdl.program import NormalRule
from ggp.gdl.terms import Compound, Signature, Term, Variable, signature

_Place = tuple[Signature, int]


def terms_grow(rules: Sequence[NormalRule], depth: int) -> bool:
    """Whether functions may become nested deeper than `depth` in a relation's argument.

    False is certain; true is not.
    """
    known: dict[_Place, int] = {}
    waiting: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        for literal in rule.body:
            waiting.setdefault(_relation(literal.atom), []).append(rule)
    pending = list(rules)
    while pending:
        rule = pending.pop()
        if not isinstance(rule.head, Compound):
            continue
        bound = _bounds(rule, known)
        relation = _relation(rule.head)
        deeper = False
        for i, arg in enumerate(rule.head.args):
            found = _depth(arg, bound)
            if found > depth:
                return True
            if found > known.get((relation, i), -1):
                known[relation, i] = found
                deeper = True
        if deeper:
            pending.extend(waiting.get(relation, ()))
    return False


def _relation(atom: Term) -> Signature:
    """The relation that an atom shares arguments with: `true` for `next`, `legal` for `does`."""
    return position(signature(atom), 0)[0][0]


def _bounds(rule: NormalRule, known: dict[_Place, int]) -> dict[str, int]:
    """The greatest depth to which the values of each variable nest."""
    bounds: dict[str, int] = {}
    for literal in rule.body:
        if literal.binds and isinstance(literal.atom, Compound):
            relation = _relation(literal.atom)
            for i, arg in enumerate(literal.atom.args):
                _bound_inside(arg, known.get((relation, i), 0), bounds)
    return bounds


def _bound_inside(term: Term, depth: int, bounds: dict[str, int]) -> None:
    if isinstance(term, Variable):
        bounds[term.name] = min(depth, bounds.get(term.name, depth))
    elif isinstance(term, Compound):
        for arg in term.args:
            _bound_inside(arg, max(depth - 1, 0), bounds)


def _depth(term: Term, bounds: dict[str, int]) -> int:
    if isinstance(term, Variable):
        return bounds.get(term.name, 0)
    if isinstance(term, Compound):
        return 1 + max(_depth(arg, bounds) for arg in term.args)
    return 0
