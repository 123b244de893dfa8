"""Estimates how many atoms relations have, and how many ground instances rules become.

`splits` and `decompose` decide by these numbers, and `forecast` adds them up. They are estimated as
in a database: if q(X,Y) and r(Y,Z) have 100 atoms each and every argument 10 values, a pair of
atoms agrees in Y by chance in 1 of 10 cases, so that both together have 100 * 100 / 10 instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import expm1, prod, sqrt
from typing import NamedTuple

from ggp.gdl.analysis.dependencies import strong_components
from ggp.gdl.analysis.domains import MAX_DEPTH, Domains, Position, occurrences, position
from ggp.gdl.program import Atom, Literal, NormalRule
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables
from ggp.machine.propnet.compile.rewriting.translate import MAY

MAX_DOMAIN = 2_000
"""Counting the values of a domain stops at this number."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The estimated number of ground instances of one or more conditions.

    Attributes:
        size: number of instances.
        values: number of values of each variable.

    >>> q = Extent(100.0, {"x": 10.0, "y": 10.0})
    >>> r = Extent(100.0, {"y": 10.0, "z": 10.0})
    >>> join([q, r]).size
    1000.0
    """

    size: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RelationSize:
    """The number of atoms of a relation, and of values of each argument."""

    size: float
    columns: tuple[float, ...]


def join(extents: Iterable[Extent]) -> Extent:
    """The extent of all conditions together, if values of shared variables agree by chance."""
    size = 1.0
    values: dict[str, float] = {}
    for extent in extents:
        size *= extent.size
        for name, number in extent.values.items():
            earlier = values.get(name)
            if earlier is None:
                values[name] = number
            else:
                size /= max(earlier, number)
                values[name] = min(earlier, number)
    return Extent(min(size, prod(values.values())), values)


class Extents:
    """Estimates for the relations of a game.

    Args:
        rules: all rules of the game.
        static: relations that depend neither on the state nor on moves.
        tables: relations whose atoms have been counted; relations with facts alone are counted
            here.
    """

    def __init__(
        self,
        rules: Sequence[NormalRule],
        static: frozenset[Signature],
        tables: Mapping[Signature, RelationSize],
    ) -> None:
        self._domains = Domains(rules)
        self._static = set(static)
        self._tables = {**_facts(rules), **tables}
        self._sizes: dict[Position, float] = {}

    def is_static(self, literal: Literal) -> bool:
        """Whether a condition is decided by grounding, and vanishes from ground rules."""
        return literal.is_distinct or signature(literal.atom) in self._static

    def define(self, relation: Signature, table: RelationSize, *, is_static: bool) -> None:
        """Add a new relation."""
        self._tables[relation] = table
        if is_static:
            self._static.add(relation)

    def table(self, relation: Signature) -> RelationSize | None:
        """The table of a relation that was counted or added; None for others."""
        return self._tables.get(relation)

    @property
    def domains(self) -> Domains:
        """The values that arguments can take."""
        return self._domains

    def of(self, literal: Literal) -> Extent:
        """The extent of a condition that is neither negated nor `distinct`."""
        atom = literal.atom
        table = self._tables.get(signature(atom))
        if table is None or not isinstance(atom, Compound):
            return self._of_domains(literal)
        return matching(atom.args, table)

    def column(self, relation: Signature, index: int) -> float:
        """Number of values of an argument of a relation; `MAX_DOMAIN` if they may be functions."""
        table, at = self._tables.get(relation), position(relation, index)
        if table is None and self._domains.functions(at):
            return float(MAX_DOMAIN)
        return table.columns[index] if table else self._num_values(at)

    def _of_domains(self, literal: Literal) -> Extent:
        values: dict[str, float] = {}
        for name, at in occurrences(literal.atom):
            number = self._num_values(at)
            values[name] = min(number, values.get(name, number))
        return Extent(prod(values.values()), values)

    def _num_values(self, at: Position) -> float:
        if at not in self._sizes:
            values = self._domains.values(at, MAX_DOMAIN)
            self._sizes[at] = float(MAX_DOMAIN if values is None else max(1, len(values)))
        return self._sizes[at]


def matching(args: Sequence[Term], table: RelationSize) -> Extent:
    """The extent of the atoms of a relation that match arguments, if constants agree by chance."""
    size, values = table.size, dict[str, float]()
    for arg, number in zip(args, table.columns, strict=True):
        names = {variable.name for variable in variables(arg)}
        if not isinstance(arg, Variable) or arg.name in values:
            size /= number
        for name in names:
            values[name] = min(number, values.get(name, number))
        if names and not isinstance(arg, Variable):
            size *= number  # a function: how many of its values match is unknown
    size = max(1.0, min(size, prod(values.values())))
    return Extent(size, {name: min(number, size) for name, number in values.items()})


def _facts(rules: Sequence[NormalRule]) -> dict[Signature, RelationSize]:
    """The tables of relations with facts alone."""
    facts: dict[Signature, list[Compound]] = {}
    derived = set()
    for rule in rules:
        if rule.body or not isinstance(rule.head, Compound):
            derived.add(signature(rule.head))
        else:
            facts.setdefault(signature(rule.head), []).append(rule.head)
    return {
        relation: table_of([head.args for head in heads])
        for relation, heads in facts.items()
        if relation not in derived
    }


def table_of(rows: Sequence[Sequence[object]]) -> RelationSize:
    """Count rows of arguments, of which there must be at least one."""
    return RelationSize(
        float(len(rows)), tuple(float(len(set(column))) for column in zip(*rows, strict=True))
    )


# ------------------------------------------------------------------------
# Estimates the atoms and ground rules of rules that depend on the state or on moves.
#
# `Extents` counts facts, and takes the product of domains for everything else. That is right for
# fluents: a piece may stand anywhere. It is far too much for derived relations. In chess, a move is
# a piece and two squares, 6 * 64 * 64 terms, of which the rules of the pieces allow some 2,000. So
# derived relations are estimated bottom-up: the instances of a rule are the join of its conditions,
# and the atoms of a relation are the sum over its rules, at most the product of its domains.
#
#     (<= (legal ?r (move ?x ?y ?u ?v)) (true (cell ?x ?y ?r)) (king ?x ?y ?u ?v))
#
# `cell` has 8 * 8 * 3 atoms by domains, `king` 420 by counting, and they agree in ?x and ?y in one
# of 64 cases: 192 * 420 / 64 = 1,260 instances, and as many atoms.
#
# GDL's own relations are split by the function in their last argument: `(true (cell ...))` and
# `(true (control ...))` are as independent as two relations.

Key = tuple[str, Signature | None]
"""A relation of the rulesheet with its arity in the name, or one of GDL's with the function of its
last argument; None if the function is unknown."""

MAX_ROUNDS = 10
"""Greatest number of rounds of estimates for recursive relations."""

SETTLED = 1.02
"""Estimates of recursive relations have settled if a round makes none grow by more than this."""

PASSES = 2
"""Number of times that fluents are estimated by their rules; the first estimate is the product of
domains."""

MIN_SHARE = 0.05
"""Least share of instances assumed to pass a test: joint values are too uncertain for less."""

_BY_TERM = {"true": "true", "next": "true", "init": "true", "legal": "legal", "does": "legal"}
_NONE = RelationSize(0.0, ())
_TERMS = frozenset(_BY_TERM.values())


class Flat(NamedTuple):
    """An atom without its inner function: `(true (cell 1 ?y))` as a relation `true cell` of 1, ?y.

    Attributes:
        key: the relation.
        args: its arguments.
        places: the positions of the arguments in `Domains`.
    """

    key: Key
    args: tuple[Term, ...]
    places: tuple[Position, ...]


def flat(atom: Atom) -> Flat:
    """An atom without its inner function; a relation of `MAY` counts as the original one."""
    name, arity = atom.name.removeprefix(MAY), signature(atom)[1]
    args = atom.args if isinstance(atom, Compound) else ()
    places = tuple(position((name, arity), i) for i in range(arity))
    if name not in _BY_TERM or not args:
        return Flat((f"{name}/{arity}", None), args, places)
    name, last, place = _BY_TERM[name], args[-1], places[-1]
    if isinstance(last, Variable):
        return Flat((name, None), args, places)
    if isinstance(last, Symbol):
        return Flat((name, (last.name, 0)), args[:-1], places[:-1])
    inner = tuple((*place, (signature(last), i)) for i in range(len(last.args)))
    return Flat((name, signature(last)), (*args[:-1], *last.args), (*places[:-1], *inner))


class Sizes:
    """Estimates for the relations of a game.

    Args:
        rules: all rules, as they are ground.
        extents: estimates for these rules, with the counted tables.
        at_most: whether a recursive relation that still grows in the last round gets the upper
            bound, all atoms that domains allow.
    """

    def __init__(
        self, rules: Sequence[NormalRule], extents: Extents, *, at_most: bool = False
    ) -> None:
        self._extents, self._at_most = extents, at_most
        self._values = _Values(extents.domains)
        self._rules = _by_head(rule for rule in rules if self._is_derived(rule))
        makers = _makers(rules)
        self._named: dict[str, list[Key]] = {}
        for key in (*self._rules, *makers):
            self._named.setdefault(key[0], []).append(key)
        self._tables = {key: self._by_domains(flat(rules[0].head)) for key, rules in makers.items()}
        order = [*self._components()]
        self._spread(order)
        for _ in range(PASSES if all(key[1] for key in makers) else 0):
            for key, group in makers.items():
                table = self._table([rule for rule in group if not _keeps(rule)])
                self._tables[key] = table
            self._spread(order)

    def instances(self, rule: NormalRule) -> float:
        """Estimated number of ground instances of a rule."""
        return self._joined(rule).size

    def derived_atoms(self, rule: NormalRule) -> float:
        """Estimated number of atoms that a rule derives."""
        return self._derived(rule, flat(rule.head)).size

    def atoms(self, name: str) -> float:
        """Estimated number of atoms of GDL's `true` or `legal`."""
        return sum(self._tables[key].size for key in self._named.get(name, ()))

    # ---------------------------------------------------------------- relations

    def _is_derived(self, rule: NormalRule) -> bool:
        """Whether the atoms of the head are estimated by its rules, not by domains or counts."""
        if rule.head.name.startswith(MAY) or rule.head.name in ("init", "true", "next", "sees"):
            return False
        return self._extents.table(signature(rule.head)) is None

    def _components(self) -> Iterator[tuple[list[Key], bool]]:
        """Strong components of relations, callees first, and whether each is recursive."""
        keys = list(self._rules)
        numbers = {key: i for i, key in enumerate(keys)}
        edges: dict[int, set[int]] = {}
        for key, rules in self._rules.items():
            called = (x for rule in rules for x in rule.body if x.binds)
            callees = (k for x in called for k in self._dependencies(flat(x.atom).key))
            edges[numbers[key]] = {numbers[k] for k in callees if k in numbers}
        for component in strong_components(edges, len(keys)):
            recursive = any(edges[i] & set(component) for i in component)
            yield [keys[i] for i in component], recursive

    def _dependencies(self, key: Key) -> Sequence[Key]:
        """The relations whose atoms match an atom with this key."""
        if key[1] is None:
            return self._named.get(key[0], ())
        return (key, (key[0], None))

    def _spread(self, components: Iterable[tuple[Sequence[Key], bool]]) -> None:
        """Estimate derived relations, callees first, recursive ones in rounds until they settle."""
        for keys, recursive in components:
            self._tables |= dict.fromkeys(keys, _NONE)
            for _ in range(MAX_ROUNDS if recursive else 1):
                old_sizes = {key: self._tables[key].size for key in keys}
                for key in keys:
                    self._tables[key] = self._table(self._rules[key])
                if all(self._tables[key].size <= SETTLED * old_sizes[key] for key in keys):
                    break
            else:
                if recursive and self._at_most:
                    self._tables |= {key: self._upper_bound(key) for key in keys}

    def _table(self, rules: Sequence[NormalRule]) -> RelationSize:
        """The atoms that the rules of one relation derive."""
        heads = [flat(rule.head) for rule in rules]
        pairs = [(head, self._derived(rule, head)) for rule, head in zip(rules, heads, strict=True)]
        pairs = [(head, table) for head, table in pairs if table.size]
        if not pairs:
            return _NONE
        columns = []
        for i, place in enumerate(heads[0].places):
            constants = {head.args[i] for head, _ in pairs if isinstance(head.args[i], Symbol)}
            sizes = (t.columns[i] for head, t in pairs if not isinstance(head.args[i], Symbol))
            columns.append(max(1.0, min(self._values.count(place), len(constants) + sum(sizes))))
        return RelationSize(
            min(sum(table.size for _, table in pairs), prod(columns)), tuple(columns)
        )

    def _upper_bound(self, key: Key) -> RelationSize:
        """All atoms of a relation that domains allow."""
        return self._by_domains(flat(self._rules[key][0].head))

    def _by_domains(self, head: Flat) -> RelationSize:
        """All atoms that domains allow."""
        columns = tuple(map(self._values.count, head.places))
        return RelationSize(prod(columns), columns)

    # ---------------------------------------------------------------- rules

    def _derived(self, rule: NormalRule, head: Flat) -> RelationSize:
        """The atoms that one rule derives."""
        joined = self._joined(rule)
        if not joined.size:
            return _NONE
        names = {v.name for arg in head.args for v in variables(arg)}
        most = prod(joined.values[name] for name in names)
        size = joined.size
        if len(names) < len(joined.values):
            # Each instance has a random head, and several may have the same: the expected number of
            # different heads of `size` draws from `most`.
            size = -most * expm1(-size / most)
        columns = tuple(
            max(1.0, min(size, prod(joined.values[v.name] for v in set(variables(arg)))))
            for arg in head.args
        )
        return RelationSize(min(size, most), columns)

    def _joined(self, rule: NormalRule) -> Extent:
        """The extent of all conditions of a rule together."""
        joined = _join(self._of(literal.atom) for literal in rule.body if literal.binds)
        share = prod(self._share(x, joined.values) for x in rule.body if not x.binds)
        return Extent(joined.size * share, joined.values)

    def _share(self, literal: Literal, values: Mapping[str, float]) -> float:
        """The share of instances that pass a negated or `distinct` condition, if it is static."""
        names = {v.name for v in variables(literal.atom)}
        if not names or not self._extents.is_static(literal):
            return 1.0
        if literal.is_distinct:
            return 1 - 1 / max(2.0, *(values[name] for name in names))
        refused = self._of(literal.atom).size / prod(values[name] for name in names)
        return max(MIN_SHARE, 1 - refused)

    def _of(self, atom: Atom) -> Extent:
        """The extent of a condition."""
        counted = self._extents.table(signature(atom))
        if counted is not None and isinstance(atom, Compound):
            return matching(atom.args, counted)
        flattened = flat(atom)
        if flattened.key[1] is None and flattened.key[0] in _TERMS:
            return _matching(flattened.args, self._of_any(flattened.key[0], len(flattened.args)))
        table = self._tables.get(flattened.key)
        anything = self._tables.get((flattened.key[0], None), _NONE) if flattened.key[1] else _NONE
        if anything.size or (table is None and flattened.key[0] not in _TERMS):
            table = self._by_domains(flattened)
        return _matching(flattened.args, table or _NONE)

    def _of_any(self, name: str, arity: int) -> RelationSize:
        """The atoms of `true`, or of `legal`, of all functions together."""
        tables = [self._tables[key] for key in self._named.get(name, ()) if key in self._tables]
        size = sum(table.size for table in tables)
        if not size:
            return _NONE
        if arity == 1:
            return RelationSize(size, (size,))
        roles = max(table.columns[0] for table in tables if table.size)
        return RelationSize(size, (roles, max(1.0, size / roles)))


def _by_head(rules: Iterable[NormalRule]) -> dict[Key, list[NormalRule]]:
    groups: dict[Key, list[NormalRule]] = {}
    for rule in rules:
        groups.setdefault(flat(rule.head).key, []).append(rule)
    return groups


def _makers(rules: Sequence[NormalRule]) -> dict[Key, list[NormalRule]]:
    """The rules of `init`, `next` and `true`, by the function of the fluent."""
    return _by_head(rule for rule in rules if rule.head.name in ("init", "next", "true"))


def _keeps(rule: NormalRule) -> bool:
    """Whether a rule only keeps fluents that hold already."""
    return (
        isinstance(rule.head, Compound) and Literal(Compound("true", rule.head.args)) in rule.body
    )


def _matching(args: Sequence[Term], table: RelationSize) -> Extent:
    if not table.size:
        return Extent(0.0, {v.name: 1.0 for arg in args for v in variables(arg)})
    return matching(args, table)


def _join(extents: Iterable[Extent]) -> Extent:
    """The extent of all conditions together, with an estimate between chance and inclusion.

    By chance, values of the shared variables agree once in the product of their numbers; with
    inclusion, the values of one condition all occur in the other. The divisor is the geometric mean
    of the two. So legal moves joined with moves to a neighbour, 200 of 64 * 64, do not vanish.
    """
    size, values = 1.0, dict[str, float]()
    for extent in extents:
        shared = [name for name in extent.values if name in values]
        chance = prod(max(values[name], extent.values[name]) for name in shared)
        ours = min(size, prod(values[name] for name in shared))
        theirs = min(extent.size, prod(extent.values[name] for name in shared))
        size *= extent.size / sqrt(chance * max(1.0, ours, theirs))
        for name, number in extent.values.items():
            values[name] = min(number, values.get(name, number))
        size = min(size, prod(values.values()))
    return Extent(size, {name: max(1.0, min(number, size)) for name, number in values.items()})


class _Values:
    """The numbers of values of positions."""

    def __init__(self, domains: Domains) -> None:
        self._domains = domains
        self._counts: dict[Position, float] = {}

    def count(self, at: Position) -> float:
        """Number of ground terms of a position, at least 1, without terms that nest too deep."""
        if at not in self._counts:
            self._counts[at] = max(1.0, self._count(at))
        return self._counts[at]

    def _count(self, at: Position) -> float:
        total = float(len(self._domains.constants(at)))
        if len(at) < MAX_DEPTH:
            for function in self._domains.functions(at):
                inner = ((*at, (function, i)) for i in range(function[1]))
                total += prod(map(self.count, inner))
        return total
