"""Orders the conditions of a rule.

The next condition is always the one that leaves the fewest possibilities, as far as is known:
tests at once, then conditions with few values, given what is known by then. The number of values of
a condition is counted: for facts by their rows, for others in states of random matches (`tuning`).
Before there are any, it is guessed. Nothing depends on a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.program import DOES, TRUE, Atom, Literal, NormalRule, local_variables
from ggp.gdl.terms import Signature, Term, Variable, signature, variables
from ggp.machine.arrays import first_seen
from ggp.machine.relational.rules import RelationRules, arguments


class CallPattern(NamedTuple):
    """A relation with, for each argument, `k` if it is known, `f` if it is to be found, and `-` if
    its value is not used."""

    relation: Signature
    args: str


class RuleOf(NamedTuple):
    """One of the rules for a pattern, in the order in which they are compiled."""

    pattern: CallPattern
    number: int


@dataclass(frozen=True)
class Statistics:
    """Counts made in states of random matches.

    Attributes:
        rows: for each place, the number of the state and the cells of each row, `[N, 1 + K]`.
        answers: average number of answers of an evaluated call.
        costs: average number of steps to evaluate a call, or to ask for it again.
        first: conditions that come first, because that was found to be better.
    """

    rows: Mapping[RelationPlace, NDArray[np.int64]] = field(default_factory=dict)
    answers: Mapping[CallPattern, float] = field(default_factory=dict)
    costs: Mapping[CallPattern, float] = field(default_factory=dict)
    first: Mapping[RuleOf, int] = field(default_factory=dict)


_GUESSED_FLUENTS, _GUESSED_MOVES, _NARROWED = 20.0, 1.0, 4.0
"""Rows of a function, and the factor by which a known argument divides them, before any count."""

_GUESSED_COST = 30.0
_TEST, _SOON, _OWN_ANSWERS, _LATE = -2.0, -1.0, 2.0, 1000.0
_COST_OF_TEST, _COST_OF_VALUE = 0.02, 0.005
_HARDLY_TESTS = 0.95
"""Ranks of conditions: see `_Order._rank`. The shares of a cost were found by trial, on chess."""


class Orders:
    """Orders conditions by the counts of the rows and calls of a game."""

    def __init__(self, rules: RelationRules, statistics: Statistics) -> None:
        self.rules = rules
        self._statistics = statistics
        self._found: dict[tuple[RelationPlace, tuple[int, ...]], float] = {}

    def order(self, rule: NormalRule, name: RuleOf, known: Iterable[str]) -> list[Literal]:
        """The conditions of a rule in order, where some variables already have values."""
        order = _Order(self, rule, set(known))
        first = self._statistics.first.get(name)
        return [order.next(first if i == 0 else None) for i in range(len(rule.body))]

    def answers(self, pattern: CallPattern) -> float:
        """Number of answers of a call, or, without unknown arguments, how often it holds."""
        guessed = _NARROWED ** pattern.args.count("f") if "f" in pattern.args else 0.5
        return self._statistics.answers.get(pattern, guessed)

    def cost(self, pattern: CallPattern) -> float:
        """Number of steps that a call takes."""
        return self._statistics.costs.get(pattern, _GUESSED_COST)

    def rows(self, place: RelationPlace, columns: tuple[int, ...]) -> float:
        """Average number of rows that agree in some columns."""
        key = place, columns
        if key not in self._found:
            self._found[key] = self._count(place, columns)
        return self._found[key]

    def _count(self, place: RelationPlace, columns: tuple[int, ...]) -> float:
        if place.kind is RowKind.FACT:
            assert place.name is not None
            rows = self.rules.facts.get(place.name, np.zeros((0, place.name[1]))).astype(np.int64)
            keys = rows[:, list(columns)]
        elif place in self._statistics.rows:
            rows = self._statistics.rows[place]
            keys = rows[:, [0, *(column + 1 for column in columns)]]
        else:
            guessed = _GUESSED_MOVES if place.kind is RowKind.MOVE else _GUESSED_FLUENTS
            return guessed / _NARROWED ** len(columns)
        if not len(rows) or not keys.shape[1]:
            return float(len(rows))
        return len(rows) / len(first_seen(keys)[0])


class _Order:
    """The order of one rule, while it is made."""

    def __init__(self, orders: Orders, rule: NormalRule, known: set[str]) -> None:
        self._orders, self._rule, self._known = orders, rule, known
        self._left = list(range(len(rule.body)))
        self._names = [names_in(literal.atom) for literal in rule.body]
        self._needed = [
            names - local_variables(rule, i) if not literal.binds else set()
            for i, (literal, names) in enumerate(zip(rule.body, self._names, strict=True))
        ]
        self._head = [i for i, arg in enumerate(arguments(rule.head)) if names_in(arg) <= known]

    def next(self, chosen: int | None) -> Literal:
        """The condition that comes next: the `chosen` one, or the best."""
        possible = [i for i in self._left if self._needed[i] <= self._known]
        best = min(possible, key=lambda i: (self._rank(i), i)) if chosen is None else chosen
        self._left.remove(best)
        literal = self._rule.body[best]
        if literal.binds:
            self._known |= self._names[best]
        return literal

    def _rank(self, i: int) -> float:
        """The rank of a condition; those of the lowest rank come first.

        Tests have ranks below 0, cheap ones the lowest, and so have conditions with less than one
        value; otherwise the rank is the number of values. A condition that has no variable in
        common with the known ones waits, because it multiplies the possibilities.
        """
        literal, names = self._rule.body[i], self._names[i]
        if literal.is_distinct:
            return _TEST - 1
        place, args = located(literal.atom, self._orders.rules)
        if literal.negated:
            return self._rank_of_call(literal, 0.5) if place.kind is RowKind.CALL else _TEST
        if place.kind is RowKind.CALL:
            rank = self._rank_of_own_call(literal, Located(place, args))
        elif names <= self._known:
            rank = _TEST
        else:
            columns = tuple(k for k, arg in enumerate(args) if names_in(arg) <= self._known)
            rank = self._orders.rows(place, columns)
            rank -= 1 if rank < 1 else 0
        is_apart = names and self._known and not names & self._known
        return rank + _LATE if is_apart and rank > 1 else rank

    def _rank_of_own_call(self, literal: Literal, at: Located) -> float:
        """The rank of a call; a call like the one in work goes through the answers so far."""
        if at.place.name == signature(self._rule.head):
            known = [k for k, arg in enumerate(at.args) if names_in(arg) <= self._known]
            head = arguments(self._rule.head)
            same = known == self._head and all(at.args[k] == head[k] for k in known)
            if same and len(known) < len(head):
                return _OWN_ANSWERS
        return self._rank_of_call(literal, None)

    def _rank_of_call(self, literal: Literal, size: float | None) -> float:
        """The rank of a call that has `size` answers, or if that is None, the counted number."""
        at = located(literal.atom, self._orders.rules)
        free = "-" if literal.negated else "f"
        pattern = CallPattern(
            signature(literal.atom),
            "".join("k" if names_in(arg) <= self._known else free for arg in at.args),
        )
        cost = self._orders.cost(pattern)
        found = self._orders.answers(pattern) if size is None else size
        if found < _HARDLY_TESTS:
            return min(0.9, _SOON + _COST_OF_TEST * (cost + 3) / (1 - found))
        return found + _COST_OF_VALUE * min(cost, 1e5)


def names_in(term: Term) -> set[str]:
    """Names of the variables of a term."""
    return {variable.name for variable in variables(term)}


# ------------------------------------------------------------------------
# Places where the values of a condition are found: among rows, or by a call.


class RowKind(Enum):
    """The kind of a place's rows, or that it is called."""

    FACT = "fact"
    FLUENT = "fluent"
    MOVE = "move"
    CALL = "call"


class RelationPlace(NamedTuple):
    """A relation; for fluents and moves, also the function, None for those of any function."""

    kind: RowKind
    name: Signature | None


class Located(NamedTuple):
    """A condition as a place and the arguments there."""

    place: RelationPlace
    args: tuple[Term, ...]


def located(atom: Atom, rules: RelationRules) -> Located:
    """The place of an atom's values. For fluents the arguments are those of the fluent, for moves
    the role and the arguments of the move."""
    relation, args = signature(atom), arguments(atom)
    if relation in (TRUE, DOES):
        kind = RowKind.FLUENT if relation == TRUE else RowKind.MOVE
        before, term = args[:-1], args[-1]
        if isinstance(term, Variable):
            return Located(RelationPlace(kind, None), args)
        return Located(RelationPlace(kind, signature(term)), (*before, *arguments(term)))
    return Located(
        RelationPlace(RowKind.CALL if relation in rules.rules else RowKind.FACT, relation), args
    )
