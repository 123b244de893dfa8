"""Unfolds `or`, `and` and nested negation into rules of plain literals.

In come rules with connectives, as the parser read them; out go `NormalRule`s. A disjunction becomes
several rules (disjunctive normal form). A negated conjunction, or a disjunction with too many
alternatives, becomes a relation of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from ggp.gdl.program import Atom, Literal, NormalRule, atom_of, resolve, unify
from ggp.gdl.terms import (
    CONNECTIVES,
    Compound,
    Rule,
    Symbol,
    Term,
    Variable,
    signature,
    substitute,
    variables,
)

MAX_ALTERNATIVES = 256
"""A rule that unfolds into more rules than this keeps its disjunctions as relations."""

_EQUAL = "equal;"
Conjunction = tuple[Literal, ...]


class Unfolder:
    """Turns parsed rules into rules of literals.

    New relations stand for what literals cannot express: a negated conjunction, or a disjunction
    too large to multiply out. Their names contain a `;`, which no rulesheet can spell.
    """

    def __init__(self) -> None:
        self._new_rules: list[NormalRule] = []
        self._count = 0

    def unfold(self, rule: Rule) -> list[NormalRule]:
        """Rules that together mean the same as `rule`; empty if no alternative can hold."""
        if not isinstance(rule.head, Symbol | Compound):
            raise ValueError(f"not a relation: {rule.head}")
        self._new_rules = []
        rules = self._expand(rule.head, rule.body, rule.start)
        return [*rules, *self._new_rules]

    def _expand(self, head: Atom, body: Sequence[Term], start: int) -> list[NormalRule]:
        branches = []
        size = 1
        # A variable that occurs only under negations is local to each of them.
        shared = _outside_of_negations(head, body)
        of_head = {v.name for v in variables(head)}
        names = [{v.name for v in variables(condition)} for condition in body]
        times = Counter(name for members in names for name in members)
        for condition, own_names in zip(body, names, strict=True):
            outside: set[str] = set()
            if signature(condition)[0] in CONNECTIVES:
                outside = {n for n in shared if n in of_head or times[n] > (n in own_names)}
            alternatives = self._alternatives(condition, True, outside, start)
            if size * len(alternatives) > MAX_ALTERNATIVES:
                alternatives = [(self._relation_of(alternatives, outside, start),)]
            size *= len(alternatives)
            branches.append(alternatives)
        rules = []
        for choice in product(*branches):
            merged = _apply_equalities(head, [x for part in choice for x in part])
            if merged is not None:
                rules.append(NormalRule(merged[0], merged[1], start))
        return rules

    def _alternatives(
        self, condition: Term, positive: bool, outside: set[str], start: int
    ) -> list[Conjunction]:
        """A disjunction of conjunctions equivalent to `condition`, or to its negation.

        Args:
            positive: false for the negation.
            outside: the variables that occur elsewhere in the rule.
        """
        name, arity = signature(condition)
        args = condition.args if isinstance(condition, Compound) else ()
        if name == "not" and arity == 1:
            return self._alternatives(args[0], not positive, outside, start)
        if name == "or" and positive:
            return [
                alternative
                for i, arg in enumerate(args)
                for alternative in self._alternatives(arg, True, _with(outside, args, i), start)
            ]
        if (name == "and" and positive) or name == "or":
            parts = []
            for i, arg in enumerate(args):
                if positive:
                    parts.append(self._alternatives(arg, True, _with(outside, args, i), start))
                else:
                    renamed = _rename_local(arg, outside, i)
                    parts.append(self._alternatives(renamed, False, outside, start))
            return [tuple(x for part in choice for x in part) for choice in product(*parts)]
        if name == "and":
            relation = self._relation_of(
                self._alternatives(condition, True, outside, start), outside, start
            )
            return [(Literal(relation.atom, negated=True),)]
        if isinstance(condition, Variable):
            raise ValueError(f"not a condition: {condition}")
        if name == "distinct" and arity == 2 and not positive:
            return [(Literal(Compound(_EQUAL, args, condition.start)),)]
        return [(Literal(condition, negated=not positive),)]

    def _relation_of(
        self, alternatives: Sequence[Conjunction], outside: set[str], start: int
    ) -> Literal:
        """A new relation that holds if one of the alternatives does."""
        names = dict.fromkeys(
            v.name for part in alternatives for x in part for v in variables(x.atom)
        )
        args = tuple(Variable(name) for name in names if name in outside)
        self._count += 1
        name = f"one;{start};{self._count}"
        head: Atom = Compound(name, args) if args else Symbol(name)
        for part in alternatives:
            merged = _apply_equalities(head, part)
            if merged is not None:
                self._new_rules.append(NormalRule(merged[0], merged[1], start))
        return Literal(head)


def _outside_of_negations(head: Atom, body: Sequence[Term]) -> set[str]:
    """Variables of a head, of conditions under no negation or two, and of every `distinct`."""
    names = {v.name for v in variables(head)}
    pending = [(condition, True) for condition in body]
    while pending:
        condition, positive = pending.pop()
        name, arity = signature(condition)
        args = condition.args if isinstance(condition, Compound) else ()
        if name == "not" and arity == 1:
            pending.append((args[0], not positive))
        elif name in ("and", "or"):
            pending.extend((arg, positive) for arg in args)
        elif positive or name == "distinct":
            names.update(v.name for v in variables(condition))
    return names


def _with(outside: set[str], args: Sequence[Term], skip: int) -> set[str]:
    return outside.union(
        *({v.name for v in variables(arg)} for i, arg in enumerate(args) if i != skip)
    )


def _rename_local(term: Term, outside: set[str], number: int) -> Term:
    """Rename local variables: under a negation, each part of an `or` quantifies its own."""
    local = {v.name for v in variables(term)} - outside
    return substitute(term, {name: Variable(f"{name};{number}") for name in local})


def _apply_equalities(
    head: Atom, body: Sequence[Literal]
) -> tuple[Atom, tuple[Literal, ...]] | None:
    """The rule with both sides of every equality unified; None if an equality cannot hold."""
    equal = [x for x in body if signature(x.atom) == (_EQUAL, 2)]
    if not equal:
        return head, tuple(body)
    left = Compound("=", tuple(_argument(x, 0) for x in equal))
    right = Compound("=", tuple(_argument(x, 1) for x in equal))
    binding = unify(left, right)
    if binding is None:
        return None
    rest = [x for x in body if x not in equal]
    new_head = atom_of(resolve(head, binding))
    return new_head, tuple(Literal(atom_of(resolve(x.atom, binding)), x.negated) for x in rest)


def _argument(literal: Literal, index: int) -> Term:
    atom = literal.atom
    return atom.args[index] if isinstance(atom, Compound) else atom
