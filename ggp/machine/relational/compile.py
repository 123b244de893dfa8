"""Compiles rules to ops of the interpreter (`evaluation`), for each pattern of call arguments.

A rule becomes ops, in an order of its conditions with few possibilities to try:

    IS_SAME, IS_DIFFERENT     compare two operands
    BUILD, TAKE_APART         make a term from its arguments, or match a term with them
    FIND_FACT, FIND_ROW       test whether there is a fact, or a row of the state, with given values
    EACH_FACT, EACH_ROW       go through all facts, or rows of the state, with given values
    PROVE                     test whether a call has an answer
    EACH_ANSWER               go through all answers of a call
    ANSWER                    report that all conditions hold

Variables live in registers of the call's frame. For each op, the compiler records the last `EACH_`
op whose values it reads. If the op fails, the interpreter goes back directly to that `EACH_` op
(backjumping), since another value of any op in between would not help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import MachineError
from ggp.gdl.program import DOES, TRUE, Atom, Literal, NormalRule, local_variables
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables
from ggp.machine.arrays import first_seen
from ggp.machine.relational.records import (
    ANSWER,
    BUILD,
    COMPARE,
    EACH_ANSWER,
    EACH_FACT,
    EACH_ROW,
    FIND_FACT,
    FIND_ROW,
    IS_DIFFERENT,
    IS_SAME,
    PROVE,
    TAKE_APART,
    WRITE,
)
from ggp.machine.relational.rules import RelationRules, TermTable, arguments

MAX_OPS = 400_000
"""Greatest number of ops; games with more are left to the Prolog backend."""

_NO_OP = -1
"""Stands for the op that sets a value, if the value is known from the start."""

Operands = list[int]
Outputs = list[tuple[int, int, int]]  # see `records.Code`


class UnsupportedRulesError(MachineError):
    """This backend cannot play the rules."""


class Use(NamedTuple):
    """A condition that calls a procedure.

    Attributes:
        rule: index of the rule.
        procedure: number of the procedure.
        call: the atom of the call, with new variables for unknown arguments.
        negated: whether the condition is negated.
    """

    rule: int
    procedure: int
    call: Atom
    negated: bool


class Compiled:
    """A game as ops. Each pattern of calls becomes a procedure, whose calls may add patterns.

    Args:
        rules: the rules and facts of the game.
        terms: the table to which the terms of rules are added.
        statistics: counts that determine the order of conditions.
        roots: patterns of the calls that kernels make.

    Attributes:
        ops, operands, outputs: see `records.Code`.
        rule_starts: the first op of each rule.
        rule_ends: for each procedure, one more than the index of its last rule.
        heads: the head of each rule.
        registers: number of registers of each procedure.
        patterns: pattern -> number of its procedure.
        places: relation that has rows -> its number.
        indexes: relation and columns of an index -> number of the index.
        uses: all calls of procedures by rules.
        widest: the greatest number of arguments of a relation or function.

    Raises:
        UnsupportedRulesError: the rules cannot be compiled.
    """

    def __init__(
        self,
        rules: RelationRules,
        terms: TermTable,
        statistics: Statistics,
        roots: Sequence[CallPattern],
    ) -> None:
        self.rules, self.terms = rules, terms
        self.orders = Orders(rules, statistics)
        self.ops: list[list[int]] = []
        # Kernels pass the arguments of root procedures in the registers 0 and 1.
        self.operands: Operands = [0, 1]
        self.outputs: Outputs = []
        self.rule_starts: list[int] = []
        self.rule_ends: list[int] = []
        self.heads: list[Atom] = []
        self.registers: list[int] = []
        self.patterns: dict[CallPattern, int] = {}
        self.places: dict[RelationPlace, int] = {}
        self.indexes: dict[tuple[int, tuple[int, ...]], int] = {}
        self.uses: list[Use] = []
        self.widest = 2
        for root in roots:
            self.procedure(root)
        num_compiled = 0
        while num_compiled < len(self.patterns):
            self._compile([*self.patterns][num_compiled])
            num_compiled += 1

    def procedure(self, pattern: CallPattern) -> int:
        """The number of the procedure for a pattern of calls."""
        return self.patterns.setdefault(pattern, len(self.patterns))

    def index(self, place: RelationPlace, columns: Sequence[int]) -> int:
        """The number of the index for look-ups of rows by the values of some columns."""
        relation = self.places.setdefault(place, len(self.places))
        return self.indexes.setdefault((relation, tuple(columns)), len(self.indexes))

    def rules_for(self, pattern: CallPattern) -> list[NormalRule]:
        """The rules of a relation, recursive ones last, since these use the others' answers."""
        rules = self.rules.rules.get(pattern.relation, ())
        return sorted(rules, key=lambda rule: _recurs(rule, pattern.relation))

    def _compile(self, pattern: CallPattern) -> None:
        registers = 0
        for number, rule in enumerate(self.rules_for(pattern)):
            self.rule_starts.append(len(self.ops))
            self.heads.append(rule.head)
            compiler = _RuleCompiler(self, rule, RuleOf(pattern, number))
            registers = max(registers, compiler.compile())
        self.rule_ends.append(len(self.rule_starts))
        # The last register holds the op to resume at after a call.
        self.registers.append(registers + 1)
        self.widest = max(self.widest, pattern.relation[1])
        if len(self.ops) > MAX_OPS:
            raise UnsupportedRulesError(f"the rules compile to more than {MAX_OPS:,} ops")


def _recurs(rule: NormalRule, relation: Signature) -> bool:
    return any(signature(literal.atom) == relation for literal in rule.body)


class _RuleCompiler:
    """Compiles a rule for a pattern of calls of its relation (letters: see `CallPattern`)."""

    def __init__(self, game: Compiled, rule: NormalRule, rule_id: RuleOf) -> None:
        self._game, self._rule, self._id = game, rule, rule_id
        self._number = len(game.rule_starts) - 1
        self._registers: dict[str, int] = {}
        self._source_ops: dict[str, int] = {}  # the op that sets a variable
        self._term_registers: dict[Term, tuple[int, int]] = {}
        self._num = rule_id.pattern.args.count("k")
        self._last_each = _NO_OP

    def compile(self) -> int:
        """Add the ops of the rule; returns the number of registers."""
        self._take_arguments()
        for condition in self._game.orders.order(self._rule, self._id):
            self._condition(condition)
        self._op(ANSWER, 0, 0, *self._operands(_having(self._rule.head, self._id, "f")))
        return self._num

    def _take_arguments(self) -> None:
        """Bind variables to the known arguments, which are in the first registers."""
        structured: list[tuple[int, Term]] = []
        register = 0
        for arg, how in zip(arguments(self._rule.head), self._id.pattern.args, strict=True):
            if how == "k":
                if isinstance(arg, Variable) and arg.name not in self._registers:
                    self._registers[arg.name] = register
                    self._source_ops[arg.name] = _NO_OP
                else:
                    structured.append((register, arg))
                register += 1
        for register, arg in structured:
            self._match(register, arg, _NO_OP)

    def _condition(self, condition: PlacedCondition) -> None:
        """Add the ops of a condition."""
        literal, place, args, pattern = condition
        if literal.is_distinct:
            (first, source), (second, second_source) = map(self._operand, args)
            self._op(IS_DIFFERENT, first, second, [], max(source, second_source))
            return
        bound = [i for i, how in enumerate(pattern) if how == "k"]
        unbound = [i for i, how in enumerate(pattern) if how == "f"]
        operands, source = self._operands([args[i] for i in bound])
        self._game.widest = max(self._game.widest, len(args))
        if place.kind is RowKind.CALL:
            subject = self._call(literal, pattern)
            each_op, test_op = EACH_ANSWER, PROVE
        else:
            subject = self._game.index(place, bound)
            is_fact = place.kind is RowKind.FACT
            each_op, test_op = (EACH_FACT, FIND_FACT) if is_fact else (EACH_ROW, FIND_ROW)
        # A call needs a second register, for the entry of its answers in the table of calls.
        at = self._new_registers(2 if place.kind is RowKind.CALL else 1)
        if not unbound:
            self._op(test_op, subject, int(literal.negated), operands, source, place=at)
            return
        columns = list(range(len(unbound))) if place.kind is RowKind.CALL else unbound
        self._loop(each_op, subject, operands, source, at, [args[i] for i in unbound], columns)

    def _call(self, literal: Literal, pattern: str) -> int:
        """The procedure that a condition calls."""
        relation = signature(literal.atom)
        procedure = self._game.procedure(CallPattern(relation, pattern))
        args: list[Term] = [
            arg if how == "k" else Variable(f";{i}")
            for i, (arg, how) in enumerate(zip(arguments(literal.atom), pattern, strict=True))
        ]
        atom = Compound(relation[0], tuple(args)) if args else Symbol(relation[0])
        self._game.uses.append(Use(self._number, procedure, atom, literal.negated))
        return procedure

    def _loop(
        self,
        kind: int,
        subject: int,
        operands: Operands,
        source: int,
        at: int,
        args: Sequence[Term],
        columns: Sequence[int],
    ) -> None:
        """Add an op that goes through values, and the ops that match these against arguments."""
        pc = len(self._game.ops)
        outputs: Outputs = []
        structured: list[tuple[int, Term]] = []
        for column, arg in zip(columns, args, strict=True):
            if not isinstance(arg, Variable):
                register = self._new_registers(1)
                structured.append((register, arg))
                outputs.append((column, register, WRITE))
            elif arg.name in self._registers:
                outputs.append((column, self._registers[arg.name], COMPARE))
            else:
                self._registers[arg.name] = self._new_registers(1)
                self._source_ops[arg.name] = pc
                outputs.append((column, self._registers[arg.name], WRITE))
        self._op(kind, subject, 0, operands, source, outputs=outputs, place=at)
        self._last_each = pc
        for register, arg in structured:
            self._match(register, arg, pc)

    def _match(self, register: int, term: Term, source: int) -> None:
        """Add the ops that match the value in a register, set by op `source`, against a term."""
        if names_in(term) <= self._registers.keys():
            operand, operand_source = self._operand(term)
            self._op(IS_SAME, register, operand, [], max(source, operand_source))
            return
        assert isinstance(term, Compound)
        outputs: Outputs = []
        structured: list[tuple[int, Term]] = []
        last = source
        new_names: set[str] = set()
        for i, arg in enumerate(term.args):
            if isinstance(arg, Variable) and arg.name not in self._registers:
                self._registers[arg.name] = self._new_registers(1)
                self._source_ops[arg.name] = source
                new_names.add(arg.name)
                outputs.append((i, self._registers[arg.name], WRITE))
            elif isinstance(arg, Variable) and arg.name in new_names:
                outputs.append((i, self._registers[arg.name], COMPARE))
            elif names_in(arg) <= self._registers.keys() and not names_in(arg) & new_names:
                operand, operand_source = self._operand(arg)
                last = max(last, operand_source)
                outputs.append((i, operand, COMPARE))
            else:
                part = self._new_registers(1)
                outputs.append((i, part, WRITE))
                structured.append((part, arg))
        function = self._game.terms.function(signature(term))
        self._op(TAKE_APART, register, function, [], last, outputs=outputs)
        for part, arg in structured:
            self._match(part, arg, source)

    def _operands(self, terms: Sequence[Term]) -> tuple[Operands, int]:
        """The operands of terms, and the last op that gives a value to one of them."""
        pairs = [self._operand(term) for term in terms]
        return [operand for operand, _ in pairs], max((op for _, op in pairs), default=_NO_OP)

    def _operand(self, term: Term) -> tuple[int, int]:
        """The operand of a term whose variables are bound, and the last op that binds one."""
        if isinstance(term, Variable):
            return self._registers[term.name], self._source_ops[term.name]
        if not names_in(term):
            return -1 - self._game.terms.number(term), _NO_OP
        if term not in self._term_registers:
            assert isinstance(term, Compound)
            operands, source = self._operands(term.args)
            register = self._new_registers(1)
            function = self._game.terms.function(signature(term))
            self._op(BUILD, register, function, operands, source)
            self._game.widest = max(self._game.widest, len(operands))
            self._term_registers[term] = register, source
        return self._term_registers[term]

    def _new_registers(self, num: int) -> int:
        """The first of `num` new registers."""
        self._num += num
        return self._num - num

    def _op(
        self,
        kind: int,
        subject: int,
        extra: int,
        operands: Operands,
        source: int,
        *,
        outputs: Sequence[tuple[int, int, int]] = (),
        place: int = 0,
    ) -> None:
        """Add an op; `source` is the last `EACH_` op whose values it reads."""
        game = self._game
        game.ops.append(
            [
                *(kind, subject, extra, len(game.operands), len(operands)),
                *(len(game.outputs), len(outputs), source, self._last_each, place),
            ]
        )
        game.operands += operands
        game.outputs += outputs


__all__ = ["MAX_OPS", "Compiled", "UnsupportedRulesError", "Use"]


# ------------------------------------------------------------------------
# Orders the conditions of a rule so that few possibilities have to be tried.
#
# The order is greedy: the next condition is
# the one with the fewest values, given the variables that are bound by then; tests come first. The
# number of values is counted: for facts from their rows, for other relations in states of random
# matches (`tuning`). Without counts it is guessed. Nothing depends on a clock, so the order is
# reproducible.


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
        orders: what `Orders` found by these counts; other counts need an empty one.
        row_counts: what it found by `rows` alone.
    """

    rows: Mapping[RelationPlace, NDArray[np.int64]] = field(default_factory=dict)
    answers: Mapping[CallPattern, float] = field(default_factory=dict)
    costs: Mapping[CallPattern, float] = field(default_factory=dict)
    first: Mapping[RuleOf, int] = field(default_factory=dict)
    orders: dict[tuple[RuleOf, int | None], list[PlacedCondition]] = field(default_factory=dict)
    row_counts: dict[tuple[RelationPlace, tuple[int, ...]], float] = field(default_factory=dict)


class PlacedCondition(NamedTuple):
    """A condition at its place in the order of a rule.

    Attributes:
        place, args: see `Located`.
        pattern: a letter for each argument, see `CallPattern`.
    """

    literal: Literal
    place: RelationPlace
    args: tuple[Term, ...]
    pattern: str


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

    def order(self, rule: NormalRule, name: RuleOf) -> list[PlacedCondition]:
        """The conditions of a rule in order."""
        first = self._statistics.first.get(name)
        orders = self._statistics.orders
        if (name, first) not in orders:
            orders[name, first] = self._ordered(rule, name, first)
        return orders[name, first]

    def _ordered(self, rule: NormalRule, name: RuleOf, first: int | None) -> list[PlacedCondition]:
        bound = set[str]().union(*map(names_in, _having(rule.head, name, "k")))
        next_ = _Order(self, rule, set(bound)).next
        order = [next_(first if i == 0 else None) for i in range(len(rule.body))]
        # From the last condition to the first: the variables used after it.
        needs = [set[str]().union(*map(names_in, _having(rule.head, name, "f")))]
        for literal in reversed(order[1:]):
            needs.append(needs[-1] | names_in(literal.atom))
        conditions = []
        for literal, later in zip(order, reversed(needs), strict=False):
            place, args = located(literal.atom, self.rules)
            seen = [variable.name for arg in args for variable in variables(arg)]
            used = later | {name for name in seen if seen.count(name) > 1}
            pattern = ""
            for arg in args:
                is_unused = isinstance(arg, Variable) and arg.name not in used
                pattern += "k" if names_in(arg) <= bound else "-" if is_unused else "f"
            conditions.append(PlacedCondition(literal, place, args, pattern))
            if literal.binds:
                bound.update(seen)
        return conditions

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
        counts = self._statistics.row_counts
        if key not in counts:
            counts[key] = self._count(place, columns)
        return counts[key]

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


def _having(head: Atom, name: RuleOf, how: str) -> list[Term]:
    """The arguments of a rule's head that have a letter in its pattern of calls."""
    pairs = zip(arguments(head), name.pattern.args, strict=True)
    return [arg for arg, letter in pairs if letter == how]


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
