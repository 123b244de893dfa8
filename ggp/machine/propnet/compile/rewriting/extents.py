"""Estimates the numbers of atoms and of instances of conditions.

The estimates are those of a database: if q(X,Y) and r(Y,Z) have 100 atoms each and every argument
10 values, a pair of atoms agrees in Y by chance in 1 of 10 cases, so that both together have
100 * 100 / 10 instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ggp.gdl.analysis.domains import Domains, Position, occurrences, position
from ggp.gdl.program import Literal, NormalRule
from ggp.gdl.terms import Compound, Signature, Term, Variable, signature, variables

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
