"""Rules split into smaller ones that mean the same and have fewer ground instances.

A rule has about as many instances as there are values for all its variables together. Where a
variable occurs in a few conditions only, these become a relation of their own without the
variable: `p(X) :- q(X,Y), r(Y,Z), s(Z).` becomes `p(X) :- q(X,Y), t(Y).  t(Y) :- r(Y,Z), s(Z).`
This is bucket elimination as in Bichler, Morak and Woltran, *lpopt: A Rule Optimization Tool
for Answer Set Programming* (2016), but for what is split off, which is decided by estimates of
the numbers of instances (`Extents`) instead of numbers of variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from ggp.gdl.program import Atom, Literal, NormalRule, local_variables
from ggp.gdl.safety import order_conditions
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, substitute
from ggp.gdl.terms import variables as occurring
from ggp.machine.propnet.extents import Extent, Extents, Table, join

MAX_VARIABLES = 12
"""Of rules with more variables to eliminate, only `MAX_TOGETHER` at a time are tried."""

MAX_TOGETHER = 2

WORTH = 0.8
"""A rule is split if the parts cost less than this share of it."""

MIN_GAIN = 20.0
"""And if they are cheaper by this much."""

GROUNDING_COST = 0.02
"""What an instance of a rule costs when it does not become a ground rule, where a ground rule
costs 1 and each of its conditions 1."""


def project_locals(rules: Sequence[NormalRule]) -> list[NormalRule]:
    """The rules with "there is no" as the negation of a relation of its own.

    `(not (p ?x ?y))` where only `?y` is local becomes `(not (some;0 ?x))` with the rule
    `(<= (some;0 ?x) (p ?x ?y))`.
    """
    parts = _Parts()
    projected = []
    for rule in rules:
        body = []
        for i, literal in enumerate(rule.body):
            local = local_variables(rule, i)
            if local:
                kept = [name for name in names_in([literal.atom]) if name not in local]
                literal = Literal(parts.atom([Literal(literal.atom)], kept), True)
            body.append(literal)
        projected.append(NormalRule(rule.head, tuple(body), rule.start))
    return [*projected, *parts.rules]


def decompose(
    rules: Sequence[NormalRule], extents: Extents, leave: frozenset[Signature]
) -> list[NormalRule]:
    """Rules that mean the same, with relations of their own, and fewer ground instances.

    Args:
        rules: in which no negated condition has a variable of its own.
        extents: estimates of how many atoms there are.
        leave: relations whose rules are left as they are.
    """
    splitter = _Splitter(extents)
    split = []
    for rule in rules:
        split.append(rule if signature(rule.head) in leave else splitter.split(rule))
    return [*split, *splitter.rules]


def names_in(terms: Iterable[Term]) -> list[str]:
    """Names of the variables in terms, in order of first appearance."""
    return list(dict.fromkeys(v.name for term in terms for v in occurring(term)))


class _Parts:
    """Relations made of conditions; equal ones are shared."""

    def __init__(self, prefix: str = "some") -> None:
        self._prefix = prefix
        self._relations: dict[tuple[tuple[str, ...], tuple[Literal, ...]], str] = {}
        self.rules: list[NormalRule] = []

    def key(
        self, body: Sequence[Literal], kept: Sequence[str]
    ) -> tuple[tuple[str, ...], tuple[Literal, ...]]:
        """The conditions up to the names of variables."""
        numbers: dict[str, Term] = {}
        for name in names_in(literal.atom for literal in body):
            numbers[name] = Variable(str(len(numbers)))
        renamed = tuple(Literal(_renamed(x.atom, numbers), x.negated) for x in body)
        return tuple(str(numbers[name]) for name in kept), renamed

    def has(self, body: Sequence[Literal], kept: Sequence[str]) -> bool:
        """Whether there is a relation for these conditions already."""
        return self.key(body, kept) in self._relations

    def atom(self, body: Sequence[Literal], kept: Sequence[str]) -> Atom:
        """An atom that says that conditions hold for some values of the variables not kept."""
        key = self.key(body, kept)
        name = self._relations.get(key)
        if name is None:
            name = self._relations[key] = f"{self._prefix};{len(self._relations)}"
            self.rules.append(order_conditions(NormalRule(_atom(name, kept), tuple(body))))
        return _atom(name, kept)


@dataclass(frozen=True, slots=True)
class _Split:
    """A rule in two: `part` becomes a relation of `kept`, `rest` stays."""

    part: tuple[Literal, ...]
    kept: tuple[str, ...]
    rest: tuple[Literal, ...]


class _Splitter:
    """Splits rules as long as that makes them cheaper."""

    def __init__(self, extents: Extents) -> None:
        self._extents = extents
        self._parts = _Parts("part")

    @property
    def rules(self) -> list[NormalRule]:
        """The rules of the new relations."""
        return self._parts.rules

    def split(self, rule: NormalRule) -> NormalRule:
        """The rule, made of new relations where that pays."""
        while True:
            found = self._best(rule)
            if found is None:
                return rule
            atom = self._relation(found)
            rule = order_conditions(NormalRule(rule.head, (Literal(atom), *found.rest), rule.start))

    def _relation(self, split: _Split) -> Atom:
        if not self._parts.has(split.part, split.kept):
            extent = self._join(split.part)
            atom = self._parts.atom(split.part, split.kept)
            self._extents.define(
                signature(atom),
                self._table(extent, split.kept),
                is_static=all(map(self._extents.is_static, split.part)),
            )
            last = len(self._parts.rules) - 1
            self._parts.rules[last] = self.split(self._parts.rules[last])
        return self._parts.atom(split.part, split.kept)

    def _best(self, rule: NormalRule) -> _Split | None:
        if len(rule.body) < 2:
            return None
        head = names_in([rule.head])
        now = self._cost(head, rule.body)
        best, least = None, min(WORTH * now, now - MIN_GAIN)
        for candidate in self._candidates(rule, head):
            cost = self._cost_of_split(head, candidate)
            if cost < least:
                best, least = candidate, cost
        return best

    def _candidates(self, rule: NormalRule, head: Sequence[str]) -> Iterator[_Split]:
        names = [name for name in names_in(x.atom for x in rule.body) if name not in head]
        most = len(names) if len(names) <= MAX_VARIABLES else MAX_TOGETHER
        for number in range(1, most + 1):
            for dropped in combinations(names, number):
                candidate = self._without(frozenset(dropped), rule, head)
                if candidate is not None:
                    yield candidate

    def _without(
        self, dropped: frozenset[str], rule: NormalRule, head: Sequence[str]
    ) -> _Split | None:
        """The rule split so that the rest does not have the dropped variables."""
        part = [x for x in rule.body if not dropped.isdisjoint(names_in([x.atom]))]
        bound = set(names_in(x.atom for x in part if x.binds))
        if not dropped <= bound:
            return None
        rest = [x for x in rule.body if x not in part]
        binders = self._binders(part, rest, bound)
        for literal in rest:
            if self._extents.is_static(literal) and bound.issuperset(names_in([literal.atom])):
                part.append(literal)
        rest = [x for x in rest if x not in part]
        if not rest:
            return None
        needed = {*head, *names_in(x.atom for x in rest)}
        part += binders
        kept = tuple(name for name in names_in(x.atom for x in part) if name in needed)
        return _Split(tuple(part), kept, tuple(rest))

    def _binders(
        self, part: Sequence[Literal], rest: Sequence[Literal], bound: set[str]
    ) -> list[Literal]:
        """Copies of conditions of the rest that bind what the tests of the part need.

        Their other variables are renamed. Adds to `bound` what they bind.
        """
        binders = []
        for name in names_in(x.atom for x in part if not x.binds):
            if name in bound:
                continue
            literals = [x for x in rest if x.binds and name in names_in([x.atom])]
            best = min(literals, key=self._binder_cost)
            others = [each for each in names_in([best.atom]) if each != name]
            fresh: dict[str, Term] = {each: Variable(f"{each};{name}") for each in others}
            binders.append(Literal(_renamed(best.atom, fresh)))
            bound.add(name)
        return binders

    def _binder_cost(self, literal: Literal) -> tuple[bool, float]:
        return not self._extents.is_static(literal), self._extents.of(literal).size

    def _cost_of_split(self, head: Sequence[str], split: _Split) -> float:
        extent = self._join(split.part)
        is_static = all(map(self._extents.is_static, split.part))
        cost = 0.0
        if not self._parts.has(split.part, split.kept):
            cost = self._cost(split.kept, split.part)
        table = self._table(extent, split.kept)
        values = dict(zip(split.kept, table.columns, strict=True))
        return cost + self._cost(
            head, split.rest, (Extent(table.size, values), frozenset(split.kept), is_static)
        )

    def _cost(
        self,
        head: Sequence[str],
        body: Sequence[Literal],
        part: tuple[Extent, frozenset[str], bool] | None = None,
    ) -> float:
        """What the ground instances of a rule cost.

        Args:
            head: its variables in the head.
            body: its conditions.
            part: of one more condition the extent, the variables, and whether it is static.
        """
        extents = [self._extents.of(x) for x in body if x.binds]
        matter = set(head)
        num_conditions = 0
        for literal in body:
            if not self._extents.is_static(literal):
                num_conditions += 1
                matter.update(names_in([literal.atom]))
        if part is not None:
            extents.append(part[0])
            if not part[2]:
                num_conditions += 1
                matter |= part[1]
        whole = join(extents)
        if not num_conditions:
            return GROUNDING_COST * whole.size
        instances = min(whole.size, prod(whole.values[name] for name in matter))
        return instances * (1 + num_conditions) + GROUNDING_COST * whole.size

    def _join(self, body: Sequence[Literal]) -> Extent:
        return join(self._extents.of(x) for x in body if x.binds)

    @staticmethod
    def _table(extent: Extent, kept: Sequence[str]) -> Table:
        columns = tuple(extent.values[name] for name in kept)
        return Table(min(extent.size, prod(columns)), columns)


def _atom(name: str, variables: Sequence[str]) -> Atom:
    return Compound(name, tuple(map(Variable, variables))) if variables else Symbol(name)


def _renamed(atom: Atom, names: dict[str, Term]) -> Atom:
    renamed = substitute(atom, names)
    if isinstance(renamed, Variable):
        raise ValueError("an atom cannot be a variable")
    return renamed
