"""Estimates the numbers of atoms and of instances of conditions.

The estimates are those of a database: if q(X,Y) and r(Y,Z) have 100 atoms each and every argument
10 values, a pair of atoms agrees in Y by chance in 1 of 10 cases, so that both together have
100 * 100 / 10 instances.
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
"""Number of values up to which domains are counted."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The estimated number of instances of something with variables.

    Attributes:
        size: number of instances.
        values: number of values of each variable.
    """

    size: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RelationSize:
    """The number of atoms of a relation, and of values of each argument."""

    size: float
    columns: tuple[float, ...]


def join(extents: Iterable[Extent]) -> Extent:
    """The extent of all conditions together, whose values are assumed to meet at random."""
    size = 1.0
    values: dict[str, float] = {}
    for extent in extents:
        size *= extent.size
        for name, number in extent.values.items():
            known = values.get(name)
            if known is None:
                values[name] = number
            else:
                size /= max(known, number)
                values[name] = min(known, number)
    return Extent(min(size, prod(values.values())), values)


class Extents:
    """Estimates for the relations of a game.

    Args:
        rules: all rules of the game.
        static: relations that depend neither on the state nor on moves.
        tables: relations whose atoms have been counted; those given by facts alone are
            counted here.
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
        """Whether a condition leaves no condition in ground rules."""
        return literal.is_distinct or signature(literal.atom) in self._static

    def define(self, relation: Signature, table: RelationSize, *, is_static: bool) -> None:
        """Make a new relation known."""
        self._tables[relation] = table
        if is_static:
            self._static.add(relation)

    def table(self, relation: Signature) -> RelationSize | None:
        """The table of a relation that was counted or made known; None for others."""
        return self._tables.get(relation)

    @property
    def domains(self) -> Domains:
        """The values that arguments can take."""
        return self._domains

    def of(self, literal: Literal) -> Extent:
        """The instances of a condition that is neither negated nor `distinct`."""
        atom = literal.atom
        table = self._tables.get(signature(atom))
        if table is None or not isinstance(atom, Compound):
            return self._of_domains(literal)
        return matching(atom.args, table)

    def column(self, relation: Signature, place: int) -> float:
        """Number of values of an argument of a relation; `MAX_DOMAIN` if they may be functions."""
        table, at = self._tables.get(relation), position(relation, place)
        if table is None and self._domains.functions(at):
            return float(MAX_DOMAIN)
        return table.columns[place] if table else self._num_values(at)

    def _of_domains(self, literal: Literal) -> Extent:
        values: dict[str, float] = {}
        for name, at in occurrences(literal.atom):
            number = self._num_values(at)
            values[name] = min(number, values.get(name, number))
        return Extent(prod(values.values()), values)

    def _num_values(self, at: Position) -> float:
        if at not in self._sizes:
            found = self._domains.values(at, MAX_DOMAIN)
            self._sizes[at] = float(MAX_DOMAIN if found is None else max(1, len(found)))
        return self._sizes[at]


def matching(args: Sequence[Term], table: RelationSize) -> Extent:
    """The atoms of a relation that have these arguments, if constants match at random."""
    size, values = table.size, dict[str, float]()
    for arg, number in zip(args, table.columns, strict=True):
        names = {variable.name for variable in variables(arg)}
        if not isinstance(arg, Variable) or arg.name in values:
            size /= number
        for name in names:
            values[name] = min(number, values.get(name, number))
        if names and not isinstance(arg, Variable):
            size *= number  # a function: the number of its values that match is not known
    size = max(1.0, min(size, prod(values.values())))
    return Extent(size, {name: min(number, size) for name, number in values.items()})


def _facts(rules: Sequence[NormalRule]) -> dict[Signature, RelationSize]:
    """The relations that are given by facts alone."""
    facts: dict[Signature, list[Compound]] = {}
    others = set()
    for rule in rules:
        if rule.body or not isinstance(rule.head, Compound):
            others.add(signature(rule.head))
        else:
            facts.setdefault(signature(rule.head), []).append(rule.head)
    return {
        relation: table_of([head.args for head in heads])
        for relation, heads in facts.items()
        if relation not in others
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
# fluents: a piece may stand anywhere. It is far too much for what rules derive from them. In chess,
# a move is a piece and two squares, 6 * 64 * 64 terms, of which the rules of the pieces allow some
# 2,000. So derived relations are estimated bottom-up: the instances of a rule are its conditions
# joined, and the atoms of a relation are those that its rules make, as far as it has values for
# them.
#
# (<= (legal ?r (move ?x ?y ?u ?v)) (true (cell ?x ?y ?r)) (king ?x ?y ?u ?v))
#
# `cell` has 8 * 8 * 3 atoms by domains, `king` 420 by counting, and they agree in ?x and ?y in one
# of 64 cases: 192 * 420 / 64 = 1,260 instances, and as many atoms.
#
# GDL's own relations are told apart by the function in their last argument: `(true (cell ...))` and
# `(true (control ...))` have as little to do with each other as two relations.

Key = tuple[str, Signature | None]
"""An author's relation with its arity in its name, or one of GDL's with the function of its last
argument; None if that can be any."""

MAX_ROUNDS = 10
"""Greatest number of times that relations which lead back to themselves are estimated."""

SETTLED = 1.02
"""Greatest factor by which they may grow for the estimate to count as settled."""

PASSES = 2
"""Number of times that fluents are estimated by the rules that make them; initially, they are what
domains allow."""

LEAST_SHARE = 0.05
"""Least share of instances that pass a test: too little is known of joint values for less."""

_BY_TERM = {"true": "true", "next": "true", "init": "true", "legal": "legal", "does": "legal"}
_NONE = RelationSize(0.0, ())
_TERMS = frozenset(_BY_TERM.values())


class Flat(NamedTuple):
    """An atom without its inner function: `(true (cell 1 ?y))` as a relation `true cell` of 1, ?y.

    Attributes:
        key: the relation.
        args: its arguments.
        places: the positions of the arguments, where values of these are known.
    """

    key: Key
    args: tuple[Term, ...]
    places: tuple[Position, ...]


def flat(atom: Atom) -> Flat:
    """An atom flattened; one of what may hold counts like what holds (see `demand`)."""
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
        extents: estimates for these rules, with what has been counted.
        at_most: whether relations that lead back to themselves, and still grow when we stop, are
            assumed to have all atoms that domains allow.
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
                made = self._table([rule for rule in group if not _keeps(rule)])
                self._tables[key] = made
            self._spread(order)

    def instances(self, rule: NormalRule) -> float:
        """Estimated number of ground instances of a rule."""
        return self._joined(rule).size

    def made(self, rule: NormalRule) -> float:
        """Estimated number of atoms that a rule makes."""
        return self._made(rule, flat(rule.head)).size

    def atoms(self, name: str) -> float:
        """Estimated number of atoms of GDL's `true` or `legal`."""
        return sum(self._tables[key].size for key in self._named.get(name, ()))

    # ---------------------------------------------------------------- relations

    def _is_derived(self, rule: NormalRule) -> bool:
        """Whether the atoms of the head are estimated by its rules."""
        if rule.head.name.startswith(MAY) or rule.head.name in ("init", "true", "next", "sees"):
            return False
        return self._extents.table(signature(rule.head)) is None

    def _components(self) -> Iterator[tuple[list[Key], bool]]:
        """Groups of relations that lead back to each other, callees first, and whether they do."""
        keys = list(self._rules)
        numbers = {key: i for i, key in enumerate(keys)}
        edges: dict[int, set[int]] = {}
        for key, rules in self._rules.items():
            called = (x for rule in rules for x in rule.body if x.binds)
            asked = (each for x in called for each in self._asked(flat(x.atom).key))
            edges[numbers[key]] = {numbers[each] for each in asked if each in numbers}
        for component in strong_components(edges, len(keys)):
            recursive = any(edges[i] & set(component) for i in component)
            yield [keys[i] for i in component], recursive

    def _asked(self, key: Key) -> Sequence[Key]:
        """The relations that an atom of this kind depends on."""
        if key[1] is None:
            return self._named.get(key[0], ())
        return (key, (key[0], None))

    def _spread(self, components: Iterable[tuple[Sequence[Key], bool]]) -> None:
        """Estimate the relations that rules derive."""
        for keys, recursive in components:
            self._tables |= dict.fromkeys(keys, _NONE)
            for _ in range(MAX_ROUNDS if recursive else 1):
                before = {key: self._tables[key].size for key in keys}
                for key in keys:
                    self._tables[key] = self._table(self._rules[key])
                if all(self._tables[key].size <= SETTLED * before[key] for key in keys):
                    break
            else:
                if recursive and self._at_most:
                    self._tables |= {key: self._allowed(key) for key in keys}

    def _table(self, rules: Sequence[NormalRule]) -> RelationSize:
        """The atoms that rules with one head make."""
        heads = [flat(rule.head) for rule in rules]
        pairs = [(head, self._made(rule, head)) for rule, head in zip(rules, heads, strict=True)]
        pairs = [(head, table) for head, table in pairs if table.size]
        if not pairs:
            return _NONE
        columns = []
        for i, place in enumerate(heads[0].places):
            constants = {head.args[i] for head, _ in pairs if isinstance(head.args[i], Symbol)}
            others = (t.columns[i] for head, t in pairs if not isinstance(head.args[i], Symbol))
            columns.append(max(1.0, min(self._values.count(place), len(constants) + sum(others))))
        return RelationSize(
            min(sum(table.size for _, table in pairs), prod(columns)), tuple(columns)
        )

    def _allowed(self, key: Key) -> RelationSize:
        """All atoms of a relation that domains allow."""
        return self._by_domains(flat(self._rules[key][0].head))

    def _by_domains(self, head: Flat) -> RelationSize:
        """All atoms that domains allow."""
        columns = tuple(map(self._values.count, head.places))
        return RelationSize(prod(columns), columns)

    # ---------------------------------------------------------------- rules

    def _made(self, rule: NormalRule, head: Flat) -> RelationSize:
        """The atoms that one rule makes."""
        found = self._joined(rule)
        if not found.size:
            return _NONE
        names = {v.name for arg in head.args for v in variables(arg)}
        most = prod(found.values[name] for name in names)
        size = found.size
        if len(names) < len(found.values):
            # So many instances, each with any head: some heads come several times.
            size = -most * expm1(-size / most)
        columns = tuple(
            max(1.0, min(size, prod(found.values[v.name] for v in set(variables(arg)))))
            for arg in head.args
        )
        return RelationSize(min(size, most), columns)

    def _joined(self, rule: NormalRule) -> Extent:
        """The conditions of a rule together."""
        found = _join(self._of(literal.atom) for literal in rule.body if literal.binds)
        share = prod(self._share(x, found.values) for x in rule.body if not x.binds)
        return Extent(found.size * share, found.values)

    def _share(self, literal: Literal, values: Mapping[str, float]) -> float:
        """The share of instances that pass a test whose result is known before the game."""
        names = {v.name for v in variables(literal.atom)}
        if not names or not self._extents.is_static(literal):
            return 1.0
        if literal.is_distinct:
            return 1 - 1 / max(2.0, *(values[name] for name in names))
        refused = self._of(literal.atom).size / prod(values[name] for name in names)
        return max(LEAST_SHARE, 1 - refused)

    def _of(self, atom: Atom) -> Extent:
        """The instances of a condition."""
        known = self._extents.table(signature(atom))
        if known is not None and isinstance(atom, Compound):
            return matching(atom.args, known)
        found = flat(atom)
        if found.key[1] is None and found.key[0] in _TERMS:
            return _matching(found.args, self._of_any(found.key[0], len(found.args)))
        table = self._tables.get(found.key)
        anything = self._tables.get((found.key[0], None), _NONE) if found.key[1] else _NONE
        if anything.size or (table is None and found.key[0] not in _TERMS):
            table = self._by_domains(found)
        return _matching(found.args, table or _NONE)

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
    found: dict[Key, list[NormalRule]] = {}
    for rule in rules:
        found.setdefault(flat(rule.head).key, []).append(rule)
    return found


def _makers(rules: Sequence[NormalRule]) -> dict[Key, list[NormalRule]]:
    """The rules that make fluents, by their function."""
    return _by_head(rule for rule in rules if rule.head.name in ("init", "next", "true"))


def _keeps(rule: NormalRule) -> bool:
    """Whether a rule only keeps fluents that are there."""
    return (
        isinstance(rule.head, Compound) and Literal(Compound("true", rule.head.args)) in rule.body
    )


def _matching(args: Sequence[Term], table: RelationSize) -> Extent:
    if not table.size:
        return Extent(0.0, {v.name: 1.0 for arg in args for v in variables(arg)})
    return matching(args, table)


def _join(extents: Iterable[Extent]) -> Extent:
    """The extent of all conditions together, if of two conditions that share variables, the one
    with fewer values for these, taken together, has none that the other has not.

    So moves to a neighbour, 200 of 64 * 64, joined with legal moves are no fewer than these.
    """
    size, values = 1.0, dict[str, float]()
    for extent in extents:
        shared = [name for name in extent.values if name in values]
        apart = prod(max(values[name], extent.values[name]) for name in shared)
        ours = min(size, prod(values[name] for name in shared))
        theirs = min(extent.size, prod(extent.values[name] for name in shared))
        size *= extent.size / sqrt(apart * max(1.0, ours, theirs))
        for name, number in extent.values.items():
            values[name] = min(number, values.get(name, number))
        size = min(size, prod(values.values()))
    return Extent(size, {name: max(1.0, min(number, size)) for name, number in values.items()})


class _Values:
    """The numbers of values of positions."""

    def __init__(self, domains: Domains) -> None:
        self._domains = domains
        self._known: dict[Position, float] = {}

    def count(self, at: Position) -> float:
        """Number of ground terms of a position, at least one, without those nested too deep."""
        if at not in self._known:
            self._known[at] = max(1.0, self._count(at))
        return self._known[at]

    def _count(self, at: Position) -> float:
        found = float(len(self._domains.constants(at)))
        if len(at) < MAX_DEPTH:
            for function in self._domains.functions(at):
                inner = ((*at, (function, i)) for i in range(function[1]))
                found += prod(map(self.count, inner))
        return found
