"""Dependency graphs of rules: by relation, and, finer, by unification of conditions and heads.

Checks (`formal`), repairs and backends ask these graphs for stratification, recursion, and static
relations. The last part of the module finds fluents that never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ggp.gdl.program import DOES, INIT, NEXT, TRUE, Atom, Literal, NormalRule, unify
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, applied, arguments, signature

_T = TypeVar("_T")


def strong_components(edges: Mapping[int, Iterable[int]], size: int) -> list[list[int]]:
    """Strongly connected components of nodes 0..size-1, callees before callers.

    Tarjan's algorithm (1972), with an explicit stack, since graphs are deeper than Python's. `low`
    of a node is the least index on the stack that the walk has reached from it. A node whose `low`
    is its own index is the root of a component: all nodes above it on the stack.
    """
    index = [-1] * size
    low = [0] * size
    on_stack = [False] * size
    stack: list[int] = []
    components: list[list[int]] = []
    counter = 0
    for root in range(size):
        if index[root] >= 0:
            continue
        work = [(root, iter(edges.get(root, ())))]
        index[root] = low[root] = counter
        counter += 1
        stack.append(root)
        on_stack[root] = True
        while work:
            node, targets = work[-1]
            for target in targets:
                if index[target] < 0:
                    index[target] = low[target] = counter
                    counter += 1
                    stack.append(target)
                    on_stack[target] = True
                    work.append((target, iter(edges.get(target, ()))))
                    break
                if on_stack[target]:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack[member] = False
                        component.append(member)
                        if member == node:
                            break
                    components.append(component)
    return components


def relation_components(rules: Sequence[NormalRule]) -> list[frozenset[Signature]]:
    """Groups of relations that depend on each other, callees before callers."""
    ids: dict[Signature, int] = {}
    edges: dict[int, set[int]] = {}
    for rule in rules:
        head = ids.setdefault(signature(rule.head), len(ids))
        for literal in rule.body:
            edges.setdefault(head, set()).add(ids.setdefault(signature(literal.atom), len(ids)))
    names = list(ids)
    return [frozenset(names[i] for i in c) for c in strong_components(edges, len(ids))]


def groups_by_relation(rules: Sequence[NormalRule]) -> dict[Signature, frozenset[Signature]]:
    """The group of each relation: see `relation_components`."""
    return {relation: group for group in relation_components(rules) for relation in group}


def closure(edges: Mapping[_T, Iterable[_T]], roots: Iterable[_T]) -> set[_T]:
    """Everything that `roots` lead to, and `roots` themselves."""
    reached = set(roots)
    pending = list(reached)
    while pending:
        new = set(edges.get(pending.pop(), ())) - reached
        reached |= new
        pending += new
    return reached


def relations_reaching(
    rules: Sequence[NormalRule], targets: Iterable[Signature]
) -> frozenset[Signature]:
    """The relations that depend on one of `targets`, and `targets` themselves."""
    callers: dict[Signature, set[Signature]] = {}
    for rule in rules:
        for literal in rule.body:
            callers.setdefault(signature(literal.atom), set()).add(signature(rule.head))
    return frozenset(closure(callers, targets))


def static_relations(rules: Sequence[NormalRule]) -> frozenset[Signature]:
    """The relations whose rules depend neither on the state nor on moves."""
    defined = {signature(rule.head) for rule in rules}
    return frozenset(defined - relations_reaching(rules, (TRUE, DOES)))


def relations_needed(
    rules: Sequence[NormalRule], roots: Iterable[Signature]
) -> frozenset[Signature]:
    """The relations that `roots` depend on, and `roots` themselves."""
    callees: dict[Signature, set[Signature]] = {}
    for rule in rules:
        callees.setdefault(signature(rule.head), set()).update(
            signature(literal.atom) for literal in rule.body
        )
    return frozenset(closure(callees, roots))


@dataclass(frozen=True, slots=True)
class _Call:
    literal: int
    callee: int
    negated: bool


class RuleGraph:
    """A graph of rules, with an edge from a condition to each rule whose head it unifies with.

    Facts, of which there may be thousands, have no edges: nothing depends on anything through them.
    This is finer than a graph of relations: `(goal ?r 0)` may depend on `(not (goal ?r 100))`
    without a cycle.
    """

    def __init__(self, rules: Sequence[NormalRule]) -> None:
        self.rules = rules
        by_head: dict[Signature, list[int]] = {}
        for i, rule in enumerate(rules):
            by_head.setdefault(signature(rule.head), []).append(i)
        self._by_head = by_head
        self._calls: dict[int, list[_Call]] = {}

    def calls(self, rule: int) -> list[_Call]:
        """The edges of a rule: the rules with conditions whose heads unify with its own."""
        edges = self._calls.get(rule)
        if edges is None:
            edges = []
            for i, literal in enumerate(self.rules[rule].body):
                atom = literal.atom
                for callee in self._by_head.get(signature(atom), ()):
                    if self.rules[callee].body and may_unify(atom, self.rules[callee].head):
                        edges.append(_Call(i, callee, literal.negated))
            self._calls[rule] = edges
        return edges

    def heads(self, sig: Signature) -> list[int]:
        """The indices of the rules of a relation."""
        return self._by_head.get(sig, [])

    def first_use(self, roots: Iterable[int], of: frozenset[Signature]) -> int | None:
        """The index of a rule reachable from `roots` that uses a relation of `of`, or None."""
        pending = list(roots)
        seen = set(pending)
        while pending:
            rule = pending.pop()
            if any(signature(literal.atom) in of for literal in self.rules[rule].body):
                return rule
            for call in self.calls(rule):
                if call.callee not in seen:
                    seen.add(call.callee)
                    pending.append(call.callee)
        return None

    def recursive_relations(self) -> frozenset[Signature]:
        """The relations with a rule that can lead back to itself."""
        nodes, edges = self._cyclic_part()
        return frozenset(
            signature(self.rules[nodes[member]].head)
            for members in strong_components(edges, len(nodes))
            for member in members
            if len(members) > 1 or member in edges[member]
        )

    def negative_cycles(self) -> list[tuple[int, int]]:
        """Rule and index of every negated condition that depends on the head of its own rule."""
        nodes, edges = self._cyclic_part()
        component_of = {
            nodes[member]: number
            for number, members in enumerate(strong_components(edges, len(nodes)))
            for member in members
        }
        return sorted(
            {
                (rule, call.literal)
                for rule in nodes
                for call in self.calls(rule)
                if call.negated and component_of.get(call.callee) == component_of[rule]
            }
        )

    def _cyclic_part(self) -> tuple[list[int], dict[int, list[int]]]:
        """The rules of relations that depend on themselves, and the edges between them."""
        cyclic: set[Signature] = set()
        for component in relation_components(self.rules):
            if len(component) > 1:
                cyclic |= component
        for rule in self.rules:
            head = signature(rule.head)
            if any(signature(literal.atom) == head for literal in rule.body):
                cyclic.add(head)
        nodes = sorted(i for sig in cyclic for i in self.heads(sig))
        local = {rule: number for number, rule in enumerate(nodes)}
        edges = {
            local[rule]: [local[c.callee] for c in self.calls(rule) if c.callee in local]
            for rule in nodes
        }
        return nodes, edges


def may_unify(left: Term, right: Term) -> bool:
    """Whether a condition and a head can be unified; equal names of variables mean nothing."""
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        return signature(left) == signature(right)
    return unify(_tag(left, "<"), _tag(right, ">")) is not None


def _tag(term: Term, mark: str) -> Term:
    if isinstance(term, Variable):
        return Variable(mark + term.name)
    if isinstance(term, Compound):
        return Compound(term.name, tuple(_tag(a, mark) for a in term.args))
    return term


# ------------------------------------------------------------------------
# Fluents that never change, such as the walls of a maze, as a static relation.
#
# The fluents of a function f never change if one rule is `(<= (next (f ?x)) (true (f ?x)))`, so
# that each is kept, and all other rules for `next` of f require the same fluent, so that none is
# added. Then `(true (f ?x))` means `(init (f ?x))`, which reasoners evaluate only once.

_PREFIX = "unchanging;"


def with_unchanging(
    rules: Sequence[NormalRule], functions: Sequence[Signature]
) -> list[NormalRule]:
    """Equivalent rules, with a static relation in place of fluents that never change.

    Args:
        rules: all rules of a game.
        functions: the functions of these fluents, from `unchanging`.
    """
    changed = [
        NormalRule(rule.head, tuple(_as_relation(x, functions) for x in rule.body), rule.start)
        for rule in rules
    ]
    for fluent in map(any_of, functions):
        init = Literal(Compound(INIT[0], (fluent,)))
        changed.append(NormalRule(_relation(fluent), (init,)))
    return changed


def always_true(functions: Sequence[Signature]) -> list[NormalRule]:
    """Rules for `true` of fluents that never change, for backends that need them."""
    return [
        NormalRule(Compound(TRUE[0], (fluent,)), (Literal(_relation(fluent)),))
        for fluent in map(any_of, functions)
    ]


def unchanging(rules: Sequence[NormalRule]) -> list[Signature]:
    """The functions whose fluents never change, in the order of the rules."""
    framed: dict[Signature, None] = {}
    changing: set[Signature] = set()
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
            changing.add(signature(fluent))
        elif len(rule.body) == 1 and _is_general(fluent):
            framed[signature(fluent)] = None
    return [function for function in framed if function not in changing]


def any_of(relation: Signature) -> Atom:
    """The pattern of all terms of a function, or of all atoms of a relation."""
    name, arity = relation
    return applied(name, tuple(Variable(str(i)) for i in range(arity)))


def _fluent(atom: Atom, relation: Signature) -> Term | None:
    """The argument of an atom of `init`, `next` or `true`; None for other atoms."""
    is_one = signature(atom) == relation and isinstance(atom, Compound)
    return atom.args[0] if is_one and isinstance(atom, Compound) else None


def _is_general(fluent: Term) -> bool:
    """Whether a fluent is a pattern of all fluents of its function."""
    args = arguments(fluent)
    names = {arg.name for arg in args if isinstance(arg, Variable)}
    return len(names) == len(args)


def _as_relation(literal: Literal, functions: Sequence[Signature]) -> Literal:
    """The condition, on the static relation if it is about a fluent that never changes."""
    fluent = _fluent(literal.atom, TRUE)
    if fluent is None or isinstance(fluent, Variable) or signature(fluent) not in functions:
        return literal
    return Literal(_relation(fluent), literal.negated)


def _relation(fluent: Atom) -> Atom:
    return applied(f"{_PREFIX}{fluent.name}", arguments(fluent))
