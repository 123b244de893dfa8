"""Fluents that never change, such as the walls of a maze, as a relation known beforehand.

The fluents of a function f remain as they are at the beginning if all rules for `next` of f keep
what is there: one of them is `(<= (next (f ?x)) (true (f ?x)))`, and the others demand the same
fluent too. Then `(true (f ?x))` means `(init (f ?x))`, which reasoners need to evaluate only once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.program import INIT, NEXT, TRUE, Atom, Literal, NormalRule
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature

_PREFIX = "unchanging;"


def with_unchanging(
    rules: Sequence[NormalRule], functions: Sequence[Signature]
) -> list[NormalRule]:
    """Equivalent rules, in which fluents that never change are a relation of their own.

    Args:
        rules: all rules of a game.
        functions: the functions of these fluents, from `unchanging`.
    """
    changed = [
        NormalRule(rule.head, tuple(_known(x, functions) for x in rule.body), rule.start)
        for rule in rules
    ]
    for fluent in map(_any, functions):
        init = Literal(Compound(INIT[0], (fluent,)))
        changed.append(NormalRule(_relation(fluent), (init,)))
    return changed


def always_true(functions: Sequence[Signature]) -> list[NormalRule]:
    """Rules for `true` of fluents that never change, for backends that need them."""
    return [
        NormalRule(Compound(TRUE[0], (fluent,)), (Literal(_relation(fluent)),))
        for fluent in map(_any, functions)
    ]


def unchanging(rules: Sequence[NormalRule]) -> list[Signature]:
    """The functions whose fluents never change, in the order of the rules."""
    kept: dict[Signature, None] = {}
    others: set[Signature] = set()
    for rule in rules:
        fluent = _fluent(rule.head, INIT)
        if isinstance(fluent, Variable):
            return []
        fluent = _fluent(rule.head, NEXT)
        if fluent is None:
            continue
        if isinstance(fluent, Variable):
            return []
        if Literal(Compound(TRUE[0], (fluent,))) not in rule.body:
            others.add(signature(fluent))
        elif len(rule.body) == 1 and _is_general(fluent):
            kept[signature(fluent)] = None
    return [function for function in kept if function not in others]


def _any(function: Signature) -> Compound | Symbol:
    """The pattern of all fluents of a function."""
    name, arity = function
    args = tuple(Variable(str(i)) for i in range(arity))
    return Compound(name, args) if args else Symbol(name)


def _fluent(atom: Atom, relation: Signature) -> Term | None:
    """The argument of an atom of `init`, `next` or `true`; None for other atoms."""
    is_one = signature(atom) == relation and isinstance(atom, Compound)
    return atom.args[0] if is_one and isinstance(atom, Compound) else None


def _is_general(fluent: Term) -> bool:
    """Whether a fluent is a pattern of all fluents of its function."""
    args = fluent.args if isinstance(fluent, Compound) else ()
    names = {arg.name for arg in args if isinstance(arg, Variable)}
    return len(names) == len(args)


def _known(literal: Literal, functions: Sequence[Signature]) -> Literal:
    """A condition on a fluent that never changes, as a condition on the relation in its place."""
    fluent = _fluent(literal.atom, TRUE)
    if fluent is None or isinstance(fluent, Variable) or signature(fluent) not in functions:
        return literal
    return Literal(_relation(fluent), literal.negated)


def _relation(fluent: Compound | Symbol) -> Atom:
    name = f"{_PREFIX}{fluent.name}"
    return Compound(name, fluent.args) if isinstance(fluent, Compound) else Symbol(name)
