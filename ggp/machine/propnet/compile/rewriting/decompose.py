"""Splits rules into equivalent smaller ones with fewer ground instances.

A rule has about as many instances as its variables have joint values. If a variable occurs in few
conditions, these become a new relation without it: `p(X) :- q(X,Y), r(Y,Z), s(Z).` becomes
`p(X) :- q(X,Y), t(Y).  t(Y) :- r(Y,Z), s(Z).` This is bucket elimination as in Bichler, Morak and
Woltran, *lpopt: A Rule Optimization Tool for Answer Set Programming* (2016), except that estimates
of the numbers of instances (`Extents`), not numbers of variables, decide which conditions to split
off.

With 10 values for each variable, the first rule above has 1,000 instances, and the two that replace
it have 100 each. If Y were eliminated first, q and r would be joined: t(X,Z) would have 1,000
instances, and nothing would be gained. So sets of variables are tried, and a split is used only if
its parts are clearly cheaper than the whole (`WORTH`, `MIN_GAIN`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from ggp.gdl.program import Atom, Literal, NormalRule, local_variables
from ggp.gdl.safety import order_conditions
from ggp.gdl.terms import (
    Compound,
    Signature,
    Symbol,
    Term,
    Variable,
    signature,
    substitute,
    variables,
)
from ggp.machine.propnet.compile.rewriting.extents import Extent, Extents, RelationSize, join

MAX_VARIABLES = 12
"""In rules with more variables to eliminate, sets of at most `MAX_TOGETHER` are tried."""

MAX_TOGETHER = 2

WORTH = 0.8
"""A rule is split if the parts cost less than this share of it."""

MIN_GAIN = 20.0
"""A rule is only split if the parts are cheaper by this much."""

GROUNDING_COST = 0.02
"""Cost of an instance of a rule that does not become a ground rule; a ground rule costs 1, and each
of its conditions 1."""


def project_locals(rules: Sequence[NormalRule]) -> list[NormalRule]:
    """The rules, with each condition "there is no ..." as the negation of a new relation.

    `(not (p ?x ?y))` where only `?y` is local becomes `(not (some;0 ?x))` with the rule
    `(<= (some;0 ?x) (p ?x ?y))`.
    """
    # gringo demands that a positive condition bind every variable; none binds a local one.
    parts = NewRelations("some")
    projected = []
    for rule in rules:
        body = []
        for i, literal in enumerate(rule.body):
            local = local_variables(rule, i)
            if local:
                arguments = [name for name in names_in([literal.atom]) if name not in local]
                projection = parts.atom([Literal(literal.atom)], arguments, rule.start)
                literal = Literal(projection, True)
            body.append(literal)
        projected.append(NormalRule(rule.head, tuple(body), rule.start))
    return [*projected, *parts.rules]


def decompose(
    rules: Sequence[NormalRule],
    extents: Extents,
    leave: frozenset[Signature] = frozenset(),
    prefix: str = "part",
    *,
    on_demand: bool = False,
) -> list[NormalRule]:
    """Equivalent rules, with new relations and fewer ground instances.

    Args:
        rules: rules in which no negated condition has a variable of its own.
        extents: estimates of numbers of atoms; estimates of the new relations are added.
        leave: relations whose rules are not split.
        prefix: the new relations are called `prefix;0`, `prefix;1`, ...
        on_demand: whether the new relations will be restricted to atoms that are asked for (see
            `splits.restricted`). Then the question binds the variables of their tests, and a
            condition with the prefix `GIVEN` stands for it.
    """
    splitter = _Splitter(extents, prefix, on_demand)
    split = []
    for rule in rules:
        split.append(rule if signature(rule.head) in leave else splitter.split(rule))
    return [*split, *splitter.rules]


GIVEN = "given;"
"""Prefix of conditions that stand for the question: they list the variables that it binds."""


def cost(rules: Sequence[NormalRule], extents: Extents) -> float:
    """The estimated cost of the ground instances of rules."""
    splitter = _Splitter(extents, "", on_demand=False)
    return sum(map(splitter.cost, rules))


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition, the names of its variables, and its instances if it binds them."""

    literal: Literal
    names: tuple[str, ...]
    is_static: bool
    extent: Extent | None


@dataclass(frozen=True, slots=True)
class _Split:
    """A rule in two: `part` becomes a new relation of `arguments`, `rest` stays."""

    part: tuple[_Condition, ...]
    arguments: tuple[str, ...]
    rest: tuple[_Condition, ...]

    @property
    def table(self) -> RelationSize:
        """The estimated atoms of the new relation."""
        extent = _joined(self.part)
        columns = tuple(extent.values[name] for name in self.arguments)
        return RelationSize(min(extent.size, prod(columns)), columns)

    @property
    def literals(self) -> tuple[Literal, ...]:
        """The conditions of the new relation."""
        return tuple(condition.literal for condition in self.part)

    @property
    def key(self) -> Key:
        """A key that is equal if the new relation is the same."""
        return NewRelations.key(self.literals, self.arguments)

    @property
    def is_static(self) -> bool:
        """Whether the new relation becomes facts."""
        return all(condition.is_static for condition in self.part)


class _Splitter:
    """Splits rules as long as that makes them cheaper."""

    def __init__(self, extents: Extents, prefix: str, on_demand: bool) -> None:
        self._extents = extents
        self._on_demand = on_demand
        self._parts = NewRelations(prefix)
        self._unfinished: set[Key] = set()

    @property
    def rules(self) -> list[NormalRule]:
        """The rules of the new relations."""
        return self._parts.rules

    def cost(self, rule: NormalRule) -> float:
        """The cost of the ground instances of a rule."""
        return _cost(names_in([rule.head]), tuple(map(self._condition, rule.body)))

    def split(self, rule: NormalRule) -> NormalRule:
        """The rule, with new relations where that pays."""
        head = names_in([rule.head])
        body = tuple(map(self._condition, rule.body))
        split = False
        while (best := self._best(head, body)) is not None:
            body = (self._condition(Literal(self._relation(best, rule.start))), *best.rest)
            split = True
        if not split:
            return rule
        return order_conditions(NormalRule(rule.head, tuple(x.literal for x in body), rule.start))

    def _condition(self, literal: Literal) -> _Condition:
        return _Condition(
            literal,
            tuple(names_in([literal.atom])),
            self._extents.is_static(literal),
            self._extents.of(literal) if literal.binds else None,
        )

    def _relation(self, split: _Split, start: int) -> Atom:
        """The atom of the new relation, whose own rule is split in turn."""
        key = split.key
        is_new = not self._parts.has(key)
        atom = self._parts.atom(split.literals, split.arguments, start)
        if is_new:
            self._extents.define(signature(atom), split.table, is_static=split.is_static)
            index = len(self._parts.rules) - 1
            self._unfinished.add(key)
            self._parts.rules[index] = self.split(self._parts.rules[index])
            self._unfinished.remove(key)
        return atom

    def _best(self, head: Sequence[str], body: Sequence[_Condition]) -> _Split | None:
        if len(body) < 2:
            return None
        now = _cost(head, body)
        # Costs are estimates: a split that seems to gain little may lose.
        best, best_cost = None, min(WORTH * now, now - MIN_GAIN)
        for candidate in _splits(head, body, self._binders):
            cost = self._cost_of_split(head, candidate, best_cost)
            # A relation must not be defined by itself.
            if cost < best_cost and candidate.key not in self._unfinished:
                best, best_cost = candidate, cost
        return best

    def _binders(
        self, part: Sequence[_Condition], rest: Sequence[_Condition], bound: set[str]
    ) -> Sequence[_Condition]:
        """Conditions that bind the variables of a part's tests, which are added to `bound`."""
        if not self._on_demand:
            return _copies(part, rest, bound)
        tested = names_in(x.literal.atom for x in part if not x.extent)
        names = [name for name in tested if name not in bound]
        if not names:
            return ()
        bound.update(names)
        values = _joined(x for x in rest if x.extent).values
        columns = tuple(values[name] for name in names)
        # Equal conditions get equal names, so that equal parts share a relation.
        name = GIVEN + "x".join(f"{number:.6g}" for number in columns)
        literal = Literal(Compound(name, tuple(map(Variable, names))))
        self._extents.define(
            (name, len(names)), RelationSize(prod(columns), columns), is_static=True
        )
        return (self._condition(literal),)

    def _cost_of_split(self, head: Sequence[str], split: _Split, limit: float) -> float:
        """The cost of both rules; the sum stops early if it reaches `limit`."""
        table = split.table
        extent = Extent(table.size, dict(zip(split.arguments, table.columns, strict=True)))
        new = _Condition(Literal(Symbol("part")), split.arguments, split.is_static, extent)
        cost = _cost(head, (*split.rest, new))
        if cost >= limit:
            return cost
        # A relation that was already made for another rule costs nothing.
        if self._parts.may_have(split.literals) and self._parts.has(split.key):
            return cost
        return cost + _cost(split.arguments, split.part)


# -------------------------------------------------------------------- candidates for splits


_Binders = Callable[[Sequence[_Condition], Sequence[_Condition], set[str]], Sequence[_Condition]]


def _splits(head: Sequence[str], body: Sequence[_Condition], binders: _Binders) -> Iterator[_Split]:
    """Ways to split a rule: the rest loses some variables that are not in the head."""
    names = [name for name in dict.fromkeys(n for x in body for n in x.names) if name not in head]
    most = len(names) if len(names) <= MAX_VARIABLES else MAX_TOGETHER
    for size in range(1, most + 1):
        for dropped in combinations(names, size):
            split = _without(frozenset(dropped), head, body, binders)
            if split is not None:
                yield split


def _without(
    dropped: frozenset[str],
    head: Sequence[str],
    body: Sequence[_Condition],
    find_binders: _Binders,
) -> _Split | None:
    """The rule split so that the rest does not have the dropped variables; None if impossible.

    Static conditions whose variables are all bound in the part move to the part.
    """
    part = [x for x in body if not dropped.isdisjoint(x.names)]
    rest = [x for x in body if dropped.isdisjoint(x.names)]
    bound = {name for x in part if x.extent for name in x.names}
    if not rest or not dropped <= bound:
        return None
    binders = find_binders(part, rest, bound)
    moved = [x for x in rest if x.is_static and bound.issuperset(x.names)]
    part += moved
    part += [x for x in binders if x not in part]
    # The rest must bind the variables that are given to the part.
    given_names = {name for x in part if x.literal.atom.name.startswith(GIVEN) for name in x.names}
    rest = [x for x in rest if x not in moved or not given_names.isdisjoint(x.names)]
    if not rest:
        return None
    rest_names = set(head).union(*(x.names for x in rest))
    arguments = dict.fromkeys(name for x in part for name in x.names if name in rest_names)
    return _Split(tuple(part), tuple(arguments), tuple(rest))


def _copies(
    part: Sequence[_Condition], rest: Sequence[_Condition], bound: set[str]
) -> list[_Condition]:
    """Copies of conditions of the rest that bind the variables of the part's tests.

    The copies only restrict the part to values that the rest allows, so the meaning stays the same.
    Their other variables are renamed. The variables that they bind are added to `bound`.
    """
    binders = []
    for name in (name for x in part if not x.extent for name in x.names):
        if name not in bound:
            candidates = [(x, x.extent) for x in rest if x.extent and name in x.names]
            best, extent = min(candidates, key=lambda x: (not x[0].is_static, x[1].size))
            fresh = {variable: f"{variable};{name}" for variable in best.names if variable != name}
            terms: dict[str, Term] = {variable: Variable(new) for variable, new in fresh.items()}
            binders.append(
                _Condition(
                    Literal(with_names(best.literal.atom, terms)),
                    tuple(fresh.get(variable, variable) for variable in best.names),
                    best.is_static,
                    Extent(
                        extent.size,
                        {fresh.get(n, n): number for n, number in extent.values.items()},
                    ),
                )
            )
            bound.add(name)
    return binders


# -------------------------------------------------------------------- costs


def _cost(head: Sequence[str], body: Sequence[_Condition]) -> float:
    """The cost of the ground instances of a rule with these variables in its head."""
    whole = _joined(body)
    moving = [condition for condition in body if not condition.is_static]
    if not moving:
        return GROUNDING_COST * whole.size
    matter = set(head).union(*(condition.names for condition in moving))
    # Static conditions vanish from ground rules: instances that differ only in them become equal.
    instances = min(whole.size, prod(whole.values[name] for name in matter))
    return instances * (1 + len(moving)) + GROUNDING_COST * whole.size


def _joined(body: Iterable[_Condition]) -> Extent:
    return join(condition.extent for condition in body if condition.extent)


# ------------------------------------------------------------------------
# Makes new relations for conditions of rules: conditions that are equal up to the names of
# variables share one.


def names_in(terms: Iterable[Term]) -> list[str]:
    """Names of the variables in terms, in order of first appearance."""
    return list(dict.fromkeys(v.name for term in terms for v in variables(term)))


Key = tuple[tuple[str, ...], tuple[Literal, ...]]
"""The arguments and the conditions of a relation, with variables renamed to numbers."""


class NewRelations:
    """New relations for conditions of some rules.

    Args:
        prefix: they are called `prefix;0`, `prefix;1`, ...
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._relations: dict[Key, str] = {}
        self._shapes: set[tuple[str, ...]] = set()
        self.rules: list[NormalRule] = []

    @staticmethod
    def key(body: Sequence[Literal], args: Sequence[str]) -> Key:
        """The key of a relation: equal for bodies that are equal up to the names of variables."""
        names = names_in(literal.atom for literal in body)
        numbers: dict[str, Term] = {name: Variable(str(i)) for i, name in enumerate(names)}
        renamed = tuple(Literal(with_names(x.atom, numbers), x.negated) for x in body)
        return tuple(str(numbers[name]) for name in args), renamed

    def has(self, key: Key) -> bool:
        """Whether there is a relation for these conditions already."""
        return key in self._relations

    def may_have(self, body: Sequence[Literal]) -> bool:
        """Whether some relation has conditions with the same predicates: a quick check."""
        return _shape(body) in self._shapes

    def atom(self, body: Sequence[Literal], args: Sequence[str], start: int) -> Atom:
        """An atom that holds if the conditions hold for some values of their other variables.

        Args:
            start: source offset of the rule that the conditions come from.
        """
        key = self.key(body, args)
        name = self._relations.get(key)
        if name is None:
            name = self._relations[key] = f"{self._prefix};{len(self._relations)}"
            self._shapes.add(_shape(body))
            self.rules.append(order_conditions(NormalRule(_atom(name, args), tuple(body), start)))
        return _atom(name, args)


def _shape(body: Sequence[Literal]) -> tuple[str, ...]:
    return tuple(literal.atom.name for literal in body)


def _atom(name: str, args: Sequence[str]) -> Atom:
    return Compound(name, tuple(map(Variable, args))) if args else Symbol(name)


def with_names(atom: Atom, names: dict[str, Term]) -> Atom:
    """An atom with other terms for some of its variables."""
    renamed = substitute(atom, names)
    if isinstance(renamed, Variable):
        raise ValueError("an atom cannot be a variable")
    return renamed
