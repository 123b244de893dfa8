"""Splits rules into smaller ones that mean the same and have fewer ground instances.

A rule has about as many instances as there are values for all its variables together. Where a
variable occurs in a few conditions only, these become a relation of their own without the
variable: `p(X) :- q(X,Y), r(Y,Z), s(Z).` becomes `p(X) :- q(X,Y), t(Y).  t(Y) :- r(Y,Z), s(Z).`
This is bucket elimination as in Bichler, Morak and Woltran, *lpopt: A Rule Optimization Tool
for Answer Set Programming* (2016), except that estimates of the numbers of instances (`Extents`)
decide what is split off, instead of numbers of variables.

With 10 values for each variable, the first rule above has 1,000 instances, and the two that replace
it have 100 each. Had Y been eliminated first, q and r would have been joined: t(X,Z) would have
1,000 instances, and nothing would be gained. So orders of elimination are tried, and a split is
kept only where its parts are clearly cheaper than the whole (`WORTH`, `MIN_GAIN`).
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
"""In rules with more variables to eliminate, only `MAX_TOGETHER` at a time are tried."""

MAX_TOGETHER = 2

WORTH = 0.8
"""A rule is split if the parts cost less than this share of it."""

MIN_GAIN = 20.0
"""A rule is only split if the parts are cheaper by this much."""

GROUNDING_COST = 0.02
"""Cost of an instance of a rule that does not become a ground rule, where a ground rule costs 1 and
each of its conditions 1."""


def project_locals(rules: Sequence[NormalRule]) -> list[NormalRule]:
    """The rules, with each "there is no" as the negation of a relation of its own.

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
                kept = [name for name in names_in([literal.atom]) if name not in local]
                found = parts.atom([Literal(literal.atom)], kept, rule.start)
                literal = Literal(found, True)
            body.append(literal)
        projected.append(NormalRule(rule.head, tuple(body), rule.start))
    return [*projected, *parts.rules]


def decompose(
    rules: Sequence[NormalRule],
    extents: Extents,
    leave: frozenset[Signature] = frozenset(),
    prefix: str = "part",
    *,
    asked: bool = False,
) -> list[NormalRule]:
    """Equivalent rules, with new relations and fewer ground instances.

    Args:
        rules: rules in which no negated condition has a variable of its own.
        extents: estimates of numbers of atoms. Those of the new relations are added.
        leave: relations whose rules are left as they are.
        prefix: the new relations are called `prefix;0`, `prefix;1`, ...
        asked: whether it does not matter what binds the variables of tests in the new relations,
            because these will hold only for what is asked for (see `demand`). A condition in their
            rules then gives these variables.
    """
    splitter = _Splitter(extents, prefix, asked)
    split = []
    for rule in rules:
        split.append(rule if signature(rule.head) in leave else splitter.split(rule))
    return [*split, *splitter.rules]


GIVEN = "given;"
"""Beginning of the names of conditions that give the variables bound when a rule is asked for."""


def cost(rules: Sequence[NormalRule], extents: Extents) -> float:
    """The estimated cost of the ground instances of rules."""
    splitter = _Splitter(extents, "", asked=False)
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
    """A rule in two: `part` becomes a relation of the variables `kept`, `rest` stays."""

    part: tuple[_Condition, ...]
    kept: tuple[str, ...]
    rest: tuple[_Condition, ...]

    @property
    def table(self) -> RelationSize:
        """The estimated atoms of the new relation."""
        extent = _joined(self.part)
        columns = tuple(extent.values[name] for name in self.kept)
        return RelationSize(min(extent.size, prod(columns)), columns)

    @property
    def literals(self) -> tuple[Literal, ...]:
        """The conditions of the new relation."""
        return tuple(condition.literal for condition in self.part)

    @property
    def key(self) -> Key:
        """A key that is equal if the new relation is the same."""
        return NewRelations.key(self.literals, self.kept)

    @property
    def is_static(self) -> bool:
        """Whether the new relation becomes facts."""
        return all(condition.is_static for condition in self.part)


class _Splitter:
    """Splits rules for as long as that makes them cheaper."""

    def __init__(self, extents: Extents, prefix: str, asked: bool) -> None:
        self._extents = extents
        self._asked = asked
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
        while (found := self._best(head, body)) is not None:
            body = (self._condition(Literal(self._relation(found, rule.start))), *found.rest)
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
        """The new relation with its variables; its own rule is split in turn."""
        key = split.key
        is_new = not self._parts.has(key)
        atom = self._parts.atom(split.literals, split.kept, start)
        if is_new:
            self._extents.define(signature(atom), split.table, is_static=split.is_static)
            number = len(self._parts.rules) - 1
            self._unfinished.add(key)
            self._parts.rules[number] = self.split(self._parts.rules[number])
            self._unfinished.remove(key)
        return atom

    def _best(self, head: Sequence[str], body: Sequence[_Condition]) -> _Split | None:
        if len(body) < 2:
            return None
        now = _cost(head, body)
        # Costs are estimates: a split that seems to gain little may lose.
        best, least = None, min(WORTH * now, now - MIN_GAIN)
        for candidate in _splits(head, body, self._binders):
            cost = self._cost_of_split(head, candidate, least)
            # A relation must not be made of itself.
            if cost < least and candidate.key not in self._unfinished:
                best, least = candidate, cost
        return best

    def _binders(
        self, part: Sequence[_Condition], rest: Sequence[_Condition], bound: set[str]
    ) -> Sequence[_Condition]:
        """The conditions that bind the variables of a part's tests; these are added to `bound`."""
        if not self._asked:
            return _copies(part, rest, bound)
        tested = names_in(x.literal.atom for x in part if not x.extent)
        names = [name for name in tested if name not in bound]
        if not names:
            return ()
        bound.update(names)
        values = _joined(x for x in rest if x.extent).values
        columns = tuple(values[name] for name in names)
        # Equal conditions have equal names, so that equal parts are found.
        name = GIVEN + "x".join(f"{number:.6g}" for number in columns)
        literal = Literal(Compound(name, tuple(map(Variable, names))))
        self._extents.define(
            (name, len(names)), RelationSize(prod(columns), columns), is_static=True
        )
        return (self._condition(literal),)

    def _cost_of_split(self, head: Sequence[str], split: _Split, least: float) -> float:
        """The cost of both rules; counting stops early if it is not below `least` anyway."""
        table = split.table
        extent = Extent(table.size, dict(zip(split.kept, table.columns, strict=True)))
        new = _Condition(Literal(Symbol("part")), split.kept, split.is_static, extent)
        cost = _cost(head, (*split.rest, new))
        if cost >= least:
            return cost
        # A relation that was already made for another rule costs nothing.
        if self._parts.may_have(split.literals) and self._parts.has(split.key):
            return cost
        return cost + _cost(split.kept, split.part)


# -------------------------------------------------------------------- what can be split off


_Binders = Callable[[Sequence[_Condition], Sequence[_Condition], set[str]], Sequence[_Condition]]


def _splits(head: Sequence[str], body: Sequence[_Condition], binders: _Binders) -> Iterator[_Split]:
    """Ways to split the rule, one part without some variables that are not in the head."""
    names = [name for name in dict.fromkeys(n for x in body for n in x.names) if name not in head]
    most = len(names) if len(names) <= MAX_VARIABLES else MAX_TOGETHER
    for number in range(1, most + 1):
        for dropped in combinations(names, number):
            split = _without(frozenset(dropped), head, body, binders)
            if split is not None:
                yield split


def _without(
    dropped: frozenset[str],
    head: Sequence[str],
    body: Sequence[_Condition],
    find_binders: _Binders,
) -> _Split | None:
    """The rule split so that the rest does not have the dropped variables.

    Conditions that become facts and have no variables other than the part's go with the part.
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
    given = {name for x in part if x.literal.atom.name.startswith(GIVEN) for name in x.names}
    rest = [x for x in rest if x not in moved or not given.isdisjoint(x.names)]
    if not rest:
        return None
    needed = set(head).union(*(x.names for x in rest))
    kept = dict.fromkeys(name for x in part for name in x.names if name in needed)
    return _Split(tuple(part), tuple(kept), tuple(rest))


def _copies(
    part: Sequence[_Condition], rest: Sequence[_Condition], bound: set[str]
) -> list[_Condition]:
    """Copies of conditions of the rest that bind what the tests of the part need.

    Their other variables are renamed. The variables they bind are added to `bound`.
    """
    binders = []
    for name in (name for x in part if not x.extent for name in x.names):
        if name not in bound:
            candidates = [(x, x.extent) for x in rest if x.extent and name in x.names]
            best, extent = min(candidates, key=lambda x: (not x[0].is_static, x[1].size))
            fresh = {each: f"{each};{name}" for each in best.names if each != name}
            terms: dict[str, Term] = {each: Variable(new) for each, new in fresh.items()}
            binders.append(
                _Condition(
                    Literal(with_names(best.literal.atom, terms)),
                    tuple(fresh.get(each, each) for each in best.names),
                    best.is_static,
                    Extent(
                        extent.size,
                        {fresh.get(n, n): number for n, number in extent.values.items()},
                    ),
                )
            )
            bound.add(name)
    return binders


# -------------------------------------------------------------------- what rules cost


def _cost(head: Sequence[str], body: Sequence[_Condition]) -> float:
    """The cost of the ground instances of a rule with these variables in its head."""
    whole = _joined(body)
    moving = [condition for condition in body if not condition.is_static]
    if not moving:
        return GROUNDING_COST * whole.size
    matter = set(head).union(*(condition.names for condition in moving))
    # Static conditions are facts and vanish: instances that differ only in them become equal.
    instances = min(whole.size, prod(whole.values[name] for name in matter))
    return instances * (1 + len(moving)) + GROUNDING_COST * whole.size


def _joined(body: Iterable[_Condition]) -> Extent:
    return join(condition.extent for condition in body if condition.extent)


# ------------------------------------------------------------------------
# Makes new relations of conditions of rules: equal conditions share one.


def names_in(terms: Iterable[Term]) -> list[str]:
    """Names of the variables in terms, in order of first appearance."""
    return list(dict.fromkeys(v.name for term in terms for v in variables(term)))


Key = tuple[tuple[str, ...], tuple[Literal, ...]]
"""The variables that are kept, and the conditions, whatever the names of variables are."""


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
    def key(body: Sequence[Literal], kept: Sequence[str]) -> Key:
        """The conditions up to the names of variables, and the variables that are kept."""
        names = names_in(literal.atom for literal in body)
        numbers: dict[str, Term] = {name: Variable(str(i)) for i, name in enumerate(names)}
        renamed = tuple(Literal(with_names(x.atom, numbers), x.negated) for x in body)
        return tuple(str(numbers[name]) for name in kept), renamed

    def has(self, key: Key) -> bool:
        """Whether there is a relation for these conditions already."""
        return key in self._relations

    def may_have(self, body: Sequence[Literal]) -> bool:
        """Whether there is a relation for conditions of the same predicates: a quick check."""
        return _shape(body) in self._shapes

    def atom(self, body: Sequence[Literal], kept: Sequence[str], start: int) -> Atom:
        """An atom that holds if conditions do for some values of the variables not kept.

        Args:
            start: source offset of the rule that they come from.
        """
        key = self.key(body, kept)
        name = self._relations.get(key)
        if name is None:
            name = self._relations[key] = f"{self._prefix};{len(self._relations)}"
            self._shapes.add(_shape(body))
            self.rules.append(order_conditions(NormalRule(_atom(name, kept), tuple(body), start)))
        return _atom(name, kept)


def _shape(body: Sequence[Literal]) -> tuple[str, ...]:
    return tuple(literal.atom.name for literal in body)


def _atom(name: str, kept: Sequence[str]) -> Atom:
    return Compound(name, tuple(map(Variable, kept))) if kept else Symbol(name)


def with_names(atom: Atom, names: dict[str, Term]) -> Atom:
    """An atom with other terms for some of its variables."""
    found = substitute(atom, names)
    if isinstance(found, Variable):
        raise ValueError("an atom cannot be a variable")
    return found
