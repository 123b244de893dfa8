"""Evaluates relations that depend neither on the state nor on moves, and makes them facts.

A relation that has too many facts, or whose facts take too long to find, keeps its rules, and is
evaluated for the arguments that are asked for. The initial state cannot be left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.gdl.analysis.dependencies import may_unify, relation_components, strong_components
from ggp.gdl.program import INIT
from ggp.gdl.terms import Signature
from ggp.machine.relational.kernels.play_kernels import find_all
from ggp.machine.relational.kernels.records import (
    DONE,
    ENOUGH,
    FULL_OUT,
    I32,
    OUT,
    STEPS,
    Code,
    Rows,
)
from ggp.machine.relational.kernels.room import UNBOUNDED, GameMemory, rows_for
from ggp.machine.relational.kernels.row_kernels import add_facts
from ggp.machine.relational.ops.compile import Compiled, UnsupportedRulesError
from ggp.machine.relational.ops.order import CallPattern, RowKind, Statistics
from ggp.machine.relational.ops.rules import RelationRules, TermTable

MOST_FACTS = 100_000
"""Greatest number of facts of one relation."""

MOST_STEPS = 20_000_000
"""Greatest number of steps for all relations together, except the initial state."""


def evaluate(rules: RelationRules, terms: TermTable, room: GameMemory) -> None:
    """Replace rules of static relations by facts.

    Raises:
        ReasonerLimitError: there are too many fluents in the initial state.
        UnsupportedRulesError: see `negation.recurring`.
    """
    needed = [rule for each in rules.rules.values() for rule in each]
    relations = [
        relation
        for component in relation_components(needed)
        for relation in sorted(component)
        if relation in rules.rules and relation in rules.static | {INIT}
    ]
    roots = [CallPattern(relation, "f" * relation[1]) for relation in relations]
    compiled = Compiled(rules, terms, Statistics(), roots)
    recurring(compiled)
    put_into(room, compiled, frozenset())
    finder = _Finder(room)
    for procedure, relation in enumerate(relations):
        if finder.find(procedure, relation):
            memory = room.memory
            found = memory.out[: memory.counts[OUT]]
            num = len(found) // relation[1] if relation[1] else len(found)
            rules.know(relation, found[: num * relation[1]].reshape(num, relation[1]).copy())


class _Finder:
    """Finds the facts of relations, as long as there are steps left."""

    def __init__(self, room: GameMemory) -> None:
        self._room = room
        self._left = MOST_STEPS
        self._fresh = True

    def find(self, procedure: int, relation: Signature) -> bool:
        """Whether all facts of a relation were found, in `Memory.out`; if not, it has too many."""
        counts, must = self._room.memory.counts, relation == INIT
        counts[ENOUGH] = UNBOUNDED if must else MOST_FACTS
        before = int(counts[STEPS])
        try:
            self._find(procedure, self._room.budget if must else self._left)
            # A call that stops at enough answers is not complete.
            self._fresh = not must and int(counts[OUT]) >= MOST_FACTS * max(relation[1], 1)
            return not self._fresh
        except ReasonerLimitError:
            self._fresh = True
            if must:
                raise
            return False
        finally:
            counts[ENOUGH] = UNBOUNDED
            self._left = max(self._left - (int(counts[STEPS]) - before), 0)

    def _find(self, procedure: int, budget: int) -> None:
        while True:
            self._room.meanwhile()
            ended = find_all(self._room.memory, procedure, budget, self._fresh)
            if ended == DONE:
                self._fresh = False
                return
            self._room.grow(ended, "the initial state")
            # Memory that was full did not keep its contents when it was enlarged.
            self._fresh = ended != FULL_OUT


# ------------------------------------------------------------------------
# Assembles compiled rules into the arrays that kernels read.


def put_into(room: GameMemory, compiled: Compiled, unremembered: frozenset[CallPattern]) -> None:
    """Make kernels play by compiled rules.

    Args:
        unremembered: calls whose answer is quicker to find anew than to remember.
    """
    code = _code(compiled, unremembered)
    room.take(code, _facts(compiled, code), compiled.widest)


def _array(rows: Sequence[object], *width: int) -> I32:
    return np.array(rows, dtype=np.int32).reshape(-1, *width)


def _code(compiled: Compiled, unremembered: frozenset[CallPattern]) -> Code:
    procedures = [
        [start, end, p.args.count("k"), p.args.count("f"), registers, p not in unremembered]
        for start, end, p, registers in zip(
            [0, *compiled.rule_ends],
            compiled.rule_ends,
            compiled.patterns,
            compiled.registers,
            strict=False,
        )
    ]
    by_relation: list[list[int]] = [[] for _ in compiled.places]
    for number, (relation, _) in enumerate(compiled.indexes):
        by_relation[relation].append(number)
    functions = compiled.terms.functions
    for place in compiled.places:
        if place.kind in (RowKind.FLUENT, RowKind.MOVE) and place.name is not None:
            compiled.terms.function(place.name)
    fluents, moves = (np.full(len(functions) + 1, -1, dtype=np.int32) for _ in range(2))
    for number, place in enumerate(compiled.places):
        if place.kind in (RowKind.FLUENT, RowKind.MOVE):
            table = fluents if place.kind is RowKind.FLUENT else moves
            table[-1 if place.name is None else compiled.terms.function(place.name)] = number
    return Code(
        ops=_array(compiled.ops, 10),
        operands=_array(compiled.operands),
        outputs=_array(compiled.outputs, 3),
        rules=_array(compiled.rule_starts),
        procedures=_array(procedures, 6),
        relations=_slices(by_relation),
        relation_indexes=_array([index for indexes in by_relation for index in indexes]),
        indexes=_slices([columns for _, columns in compiled.indexes]),
        columns=_array([column for _, columns in compiled.indexes for column in columns]),
        roots=np.arange(len(compiled.patterns), dtype=np.int32),
        fluents=fluents,
        moves=moves,
    )


def _slices(lists: Sequence[Sequence[int]]) -> I32:
    """`[N, 2]` where each list begins and ends in the concatenation of all."""
    bounds = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return np.stack([bounds[:-1], bounds[1:]], axis=1)


def _facts(compiled: Compiled, code: Code) -> Rows:
    """The rows of all relations of facts that rules use."""
    asked = [
        (number, compiled.rules.facts.get(place.name, np.zeros((0, place.name[1]), dtype=np.int32)))
        for place, number in compiled.places.items()
        if place.kind is RowKind.FACT and place.name is not None
    ]
    indexes = code.relations[:, 1] - code.relations[:, 0]
    links = sum(len(rows) * int(indexes[number]) for number, rows in asked)
    rows = rows_for(sum(len(x) for _, x in asked), sum(x.size for _, x in asked), links)
    for number, found in asked:
        cells = np.ascontiguousarray(found).reshape(-1)
        add_facts(code, rows, number, cells, found.shape[1], len(found))
    return rows


# ------------------------------------------------------------------------
# Checks that negation can be evaluated the way it is compiled.
#
# Rules are stratified (see `ggp.gdl.checks.formal`), but calls are coarser than rules: `(q (f ?x))`
# may have to be found among all answers of `q`. If a negated condition may lead back to the call it
# is in, it would be asked before its answers are known.


def recurring(compiled: Compiled) -> frozenset[CallPattern]:
    """The calls that may lead back to themselves.

    Raises:
        UnsupportedRulesError: one may do so through a negated condition.
    """
    procedure_of = _procedures_of_rules(compiled)
    edges: dict[int, set[int]] = {}
    for use in compiled.uses:
        edges.setdefault(procedure_of[use.rule], set()).add(use.procedure)
    component = _components(edges, len(compiled.patterns))
    within = [u for u in compiled.uses if component[procedure_of[u.rule]] == component[u.procedure]]
    if any(use.negated for use in within):
        _check_rules(compiled)
    patterns = [*compiled.patterns]
    return frozenset(patterns[use.procedure] for use in within)


def _check_rules(compiled: Compiled) -> None:
    """Check the same by rules, whose heads may exclude a way back."""
    rules_of = list(zip([0, *compiled.rule_ends], compiled.rule_ends, strict=False))
    edges: dict[int, set[int]] = {}
    negated: list[tuple[int, int]] = []
    for use in compiled.uses:
        for rule in range(*rules_of[use.procedure]):
            if may_unify(use.asked, compiled.heads[rule]):
                edges.setdefault(use.rule, set()).add(rule)
                if use.negated:
                    negated.append((use.rule, rule))
    component = _components(edges, len(compiled.heads))
    for rule, asked in negated:
        if component[rule] == component[asked]:
            head = compiled.heads[rule]
            raise UnsupportedRulesError(f"a negated condition of {head} may lead back to it")


def _procedures_of_rules(compiled: Compiled) -> list[int]:
    starts = [0, *compiled.rule_ends]
    return [
        procedure
        for procedure, end in enumerate(compiled.rule_ends)
        for _ in range(starts[procedure], end)
    ]


def _components(edges: dict[int, set[int]], size: int) -> list[int]:
    """The number of the strongly connected component of each node."""
    found = [0] * size
    for number, members in enumerate(strong_components(edges, size)):
        for member in members:
            found[member] = number
    return found
