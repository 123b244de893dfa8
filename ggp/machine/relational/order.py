"""Orders the conditions of a rule so that few possibilities have to be tried.

`compile` asks for the order when it compiles a rule. The order is greedy: the next condition is the
one with the fewest values, given the variables that are bound by then; tests come first. The number
of values is counted: for facts from their rows, for other relations in states of random matches
(`tuning`). Without counts it is guessed. Nothing depends on a clock, so the order is reproducible.
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
    """A relation, and a letter for each argument: `k` for known, `f` for one to find, `-` for one
    whose value is not used."""

    relation: Signature
    args: str


class RuleOf(NamedTuple):
    """A rule, as the pattern that it is compiled for and its index among the rules for it."""

    pattern: CallPattern
    number: int


@dataclass(frozen=True)
class Statistics:
    """Counts from states of random matches.

    Attributes:
        rows: for each place, the index of the state and the cells of each row, `[N, 1 + K]`.
        answers: average number of answers of an evaluated call.
        costs: average number of steps of a call, whether it is evaluated or looked up.
        first: index of the condition that must come first, for rules where trials showed a gain.
    """

    rows: Mapping[RelationPlace, NDArray[np.int64]] = field(default_factory=dict)
    answers: Mapping[CallPattern, float] = field(default_factory=dict)
    costs: Mapping[CallPattern, float] = field(default_factory=dict)
    first: Mapping[RuleOf, int] = field(default_factory=dict)


_GUESSED_FLUENTS, _GUESSED_MOVES, _NARROWED = 20.0, 1.0, 4.0
"""Guesses: rows of a fluent's function, rows of a move's, and the factor by which a known argument
divides them."""

_GUESSED_COST = 30.0
_TEST, _SOON, _OWN_ANSWERS, _LATE = -2.0, -1.0, 2.0, 1000.0
_COST_OF_TEST, _COST_OF_VALUE = 0.02, 0.005
_HARDLY_TESTS = 0.95
"""Ranks of conditions: see `_Order._rank`. The weights of costs were tuned on chess."""


class Orders:
    """Orders conditions by the counts of the rows and calls of a game."""

    def __init__(self, rules: RelationRules, statistics: Statistics) -> None:
        self.rules = rules
        self._statistics = statistics
        self._row_counts: dict[tuple[RelationPlace, tuple[int, ...]], float] = {}

    def order(self, rule: NormalRule, name: RuleOf, bound: Iterable[str]) -> list[Literal]:
        """The conditions of a rule in order, where some variables already have values."""
        order = _Order(self, rule, set(bound))
        first = self._statistics.first.get(name)
        return [order.next(first if i == 0 else None) for i in range(len(rule.body))]

    def answers(self, pattern: CallPattern) -> float:
        """Expected number of answers of a call; without unknown arguments, its probability."""
        guessed = _NARROWED ** pattern.args.count("f") if "f" in pattern.args else 0.5
        return self._statistics.answers.get(pattern, guessed)

    def cost(self, pattern: CallPattern) -> float:
        """Expected number of steps of a call."""
        return self._statistics.costs.get(pattern, _GUESSED_COST)

    def rows(self, place: RelationPlace, columns: tuple[int, ...]) -> float:
        """Average number of rows with equal values in some columns."""
        key = place, columns
        if key not in self._row_counts:
            self._row_counts[key] = self._count(place, columns)
        return self._row_counts[key]

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
    """The order of one rule, built condition by condition."""

    def __init__(self, orders: Orders, rule: NormalRule, bound: set[str]) -> None:
        self._orders, self._rule, self._bound = orders, rule, bound
        self._pending = list(range(len(rule.body)))
        self._names = [names_in(literal.atom) for literal in rule.body]
        self._requirements = [
            names - local_variables(rule, i) if not literal.binds else set()
            for i, (literal, names) in enumerate(zip(rule.body, self._names, strict=True))
        ]
        self._head = [i for i, arg in enumerate(arguments(rule.head)) if names_in(arg) <= bound]

    def next(self, choice: int | None) -> Literal:
        """The next condition: the one with index `choice`, or the best one if that is None."""
        possible = [i for i in self._pending if self._requirements[i] <= self._bound]
        best = min(possible, key=lambda i: (self._rank(i), i)) if choice is None else choice
        self._pending.remove(best)
        literal = self._rule.body[best]
        if literal.binds:
            self._bound |= self._names[best]
        return literal

    def _rank(self, i: int) -> float:
        """The rank of a condition; the lowest rank comes first.

        The rank is the expected number of values. Tests have ranks below 0, the cheap ones the
        lowest; so have conditions with less than one value. A condition without a bound variable
        waits, because it multiplies the possibilities.
        """
        literal, names = self._rule.body[i], self._names[i]
        if literal.is_distinct:
            return _TEST - 1
        place, args = located(literal.atom, self._orders.rules)
        if literal.negated:
            return self._rank_of_call(literal, 0.5) if place.kind is RowKind.CALL else _TEST
        if place.kind is RowKind.CALL:
            rank = self._rank_of_own_call(literal, Located(place, args))
        elif names <= self._bound:
            rank = _TEST
        else:
            columns = tuple(k for k, arg in enumerate(args) if names_in(arg) <= self._bound)
            rank = self._orders.rows(place, columns)
            rank -= 1 if rank < 1 else 0
        is_apart = names and self._bound and not names & self._bound
        return rank + _LATE if is_apart and rank > 1 else rank

    def _rank_of_own_call(self, literal: Literal, at: Located) -> float:
        """The rank of a call; a recursive call with the same arguments uses the answers so far."""
        if at.place.name == signature(self._rule.head):
            columns = [k for k, arg in enumerate(at.args) if names_in(arg) <= self._bound]
            head = arguments(self._rule.head)
            is_same = columns == self._head and all(at.args[k] == head[k] for k in columns)
            if is_same and len(columns) < len(head):
                return _OWN_ANSWERS
        return self._rank_of_call(literal, None)

    def _rank_of_call(self, literal: Literal, size: float | None) -> float:
        """The rank of a call with `size` answers; if that is None, with the counted number."""
        at = located(literal.atom, self._orders.rules)
        free = "-" if literal.negated else "f"
        pattern = CallPattern(
            signature(literal.atom),
            "".join("k" if names_in(arg) <= self._bound else free for arg in at.args),
        )
        cost = self._orders.cost(pattern)
        num_answers = self._orders.answers(pattern) if size is None else size
        if num_answers < _HARDLY_TESTS:
            return min(0.9, _SOON + _COST_OF_TEST * (cost + 3) / (1 - num_answers))
        return num_answers + _COST_OF_VALUE * min(cost, 1e5)


def names_in(term: Term) -> set[str]:
    """Names of the variables of a term."""
    return {variable.name for variable in variables(term)}


# ------------------------------------------------------------------------
# The source of a condition's values: rows, or a call.


class RowKind(Enum):
    """The kind of rows of a place, or `CALL` for relations with rules."""

    FACT = "fact"
    FLUENT = "fluent"
    MOVE = "move"
    CALL = "call"


class RelationPlace(NamedTuple):
    """A relation; for fluents and moves, a function, or None for terms of any function."""

    kind: RowKind
    name: Signature | None


class Located(NamedTuple):
    """A condition, as a place and its arguments."""

    place: RelationPlace
    args: tuple[Term, ...]


def located(atom: Atom, rules: RelationRules) -> Located:
    """The place of an atom. Its arguments are, for a fluent, those of the fluent, and for a move,
    the role and the move's arguments."""
    relation, args = signature(atom), arguments(atom)
    if relation in (TRUE, DOES):
        kind = RowKind.FLUENT if relation == TRUE else RowKind.MOVE
        prefix, term = args[:-1], args[-1]
        if isinstance(term, Variable):
            return Located(RelationPlace(kind, None), args)
        return Located(RelationPlace(kind, signature(term)), (*prefix, *arguments(term)))
    return Located(
        RelationPlace(RowKind.CALL if relation in rules.rules else RowKind.FACT, relation), args
    )
