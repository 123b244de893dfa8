"""Finds the order of conditions, and the calls worth tabling, by counting steps in sample states.

The last stage of building a relational machine. Rules are first compiled by guesses. Random matches
give sample states, in which calls, their steps and their answers are counted. By these counts the
rules are compiled again, twice. Then, in the rules that take longest, each condition is tried as
the first one, and improvements are kept. All decisions depend on counts of steps and not on a
clock, so the same rules are compiled in the same way on any computer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.gdl.analysis.dependencies import may_unify, relation_components, strong_components
from ggp.gdl.program import INIT
from ggp.gdl.terms import Signature
from ggp.machine.base import FloatArray
from ggp.machine.relational.compile import (
    CallPattern,
    Compiled,
    RelationPlace,
    RowKind,
    RuleOf,
    Statistics,
    UnsupportedRulesError,
)
from ggp.machine.relational.play_kernels import (
    LANE,
    LEGAL_ROOT,
    TERMINAL_ROOT,
    KernelQuestions,
    State,
    find_all,
)
from ggp.machine.relational.records import (
    ANSWERS_FOUND,
    COUNTING,
    DONE,
    ENOUGH,
    EVALUATED,
    FULL_OUT,
    I32,
    OUT,
    STEPS,
    STEPS_TAKEN,
    Code,
    Rows,
    add_facts,
)
from ggp.machine.relational.room import UNBOUNDED, GameMemory, rows_for
from ggp.machine.relational.rules import RelationRules, TermTable

# ------------------------------------------------------------------------
# Static relations become facts.
#
# A relation with too many facts, or whose facts take too many steps, keeps its rules, and is
# evaluated in play for given arguments. The initial state has to be found in any case.

MAX_FACTS = 100_000
"""Greatest number of facts of one relation."""

MAX_EVALUATED = 20_000_000
"""Greatest number of steps for all relations together, except the initial state."""


def evaluate(rules: RelationRules, terms: TermTable, room: GameMemory) -> None:
    """Replace rules of static relations by facts.

    Raises:
        ReasonerLimitError: there are too many fluents in the initial state.
        UnsupportedRulesError: see `recurring`.
    """
    all_rules = [rule for group in rules.rules.values() for rule in group]
    relations = [
        relation
        for component in relation_components(all_rules)
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
            cells = memory.out[: memory.counts[OUT]]
            num = len(cells) // relation[1] if relation[1] else len(cells)
            rules.know(relation, cells[: num * relation[1]].reshape(num, relation[1]).copy())


class _Finder:
    """Finds the facts of relations, within a budget of steps."""

    def __init__(self, room: GameMemory) -> None:
        self._room = room
        self._steps_left = MAX_EVALUATED
        self._fresh = True

    def find(self, procedure: int, relation: Signature) -> bool:
        """Write all facts of a relation to `Memory.out`; false if there are too many."""
        counts, must = self._room.memory.counts, relation == INIT
        counts[ENOUGH] = UNBOUNDED if must else MAX_FACTS
        start_steps = int(counts[STEPS])
        try:
            self._find(procedure, self._room.budget if must else self._steps_left)
            # A call that stopped at `ENOUGH` answers is not complete.
            self._fresh = not must and int(counts[OUT]) >= MAX_FACTS * max(relation[1], 1)
            return not self._fresh
        except ReasonerLimitError:
            self._fresh = True
            if must:
                raise
            return False
        finally:
            counts[ENOUGH] = UNBOUNDED
            self._steps_left = max(self._steps_left - (int(counts[STEPS]) - start_steps), 0)

    def _find(self, procedure: int, budget: int) -> None:
        while True:
            self._room.meanwhile()
            ended = find_all(self._room.memory, procedure, budget, self._fresh)
            if ended == DONE:
                self._fresh = False
                return
            self._room.grow(ended, "the initial state")
            # Except for the output, an enlarged array is empty.
            self._fresh = ended != FULL_OUT


# ------------------------------------------------------------------------
# Assembles compiled rules into the arrays that kernels read.


def put_into(room: GameMemory, compiled: Compiled, unremembered: frozenset[CallPattern]) -> None:
    """Load compiled rules into the memory of kernels.

    Args:
        unremembered: calls that are not tabled, because evaluating them again is cheaper.
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
    """`[N, 2]` start and end of each list in the concatenation of all."""
    bounds = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return np.stack([bounds[:-1], bounds[1:]], axis=1)


def _facts(compiled: Compiled, code: Code) -> Rows:
    """The rows of all facts that rules use."""
    tables = [
        (number, compiled.rules.facts.get(place.name, np.zeros((0, place.name[1]), dtype=np.int32)))
        for place, number in compiled.places.items()
        if place.kind is RowKind.FACT and place.name is not None
    ]
    indexes = code.relations[:, 1] - code.relations[:, 0]
    links = sum(len(rows) * int(indexes[number]) for number, rows in tables)
    rows = rows_for(sum(len(x) for _, x in tables), sum(x.size for _, x in tables), links)
    for number, table in tables:
        cells = np.ascontiguousarray(table).reshape(-1)
        add_facts(code, rows, number, cells, table.shape[1], len(table))
    return rows


# ------------------------------------------------------------------------
# Checks that negated conditions are complete when they are evaluated.
#
# Rules are stratified (see `ggp.gdl.formal`), but calls are coarser than rules: `(q (f ?x))`
# may be looked up among all answers of `q`. If a negated condition can lead back to the call that
# it is part of, it would be evaluated before that call has all its answers.


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
    cyclic = [u for u in compiled.uses if component[procedure_of[u.rule]] == component[u.procedure]]
    if any(use.negated for use in cyclic):
        _check_rules(compiled)
    patterns = [*compiled.patterns]
    return frozenset(patterns[use.procedure] for use in cyclic)


def _check_rules(compiled: Compiled) -> None:
    """Check the same rule by rule, since heads may rule out a way back."""
    rules_of = list(zip([0, *compiled.rule_ends], compiled.rule_ends, strict=False))
    edges: dict[int, set[int]] = {}
    negated: list[tuple[int, int]] = []
    for use in compiled.uses:
        for rule in range(*rules_of[use.procedure]):
            if may_unify(use.call, compiled.heads[rule]):
                edges.setdefault(use.rule, set()).add(rule)
                if use.negated:
                    negated.append((use.rule, rule))
    component = _components(edges, len(compiled.heads))
    for rule, callee in negated:
        if component[rule] == component[callee]:
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
    """`[size]` the number of each node's strongly connected component."""
    component = [0] * size
    for number, members in enumerate(strong_components(edges, size)):
        for member in members:
            component[member] = number
    return component


# ------------------------------------------------------------------------

MAX_STATES = 24
"""Number of sample states."""

EVERY = 3
"""Turns between two sample states of a match, since neighbours are similar."""

MAX_STEPS = 6_000_000
"""Greatest number of steps for finding sample states, and for the counts in them."""

_TRIAL_STATES = 3
"""One in this many sample states is used for trials of first conditions."""

_TRIAL_STEPS, _STEPS_TO_COMPILE = 150_000_000, 2_000
"""Greatest number of steps for all trials, and the steps that take as long as compiling an op."""

_SLOWEST = 12
"""Number of slowest calls whose rules are tried with other first conditions."""

_GAIN = 0.97
"""Greatest ratio of steps at which a way counts as better."""

_WORTH = 4
"""A trial ends when it takes this many times the steps of the best way."""

_STEPS_TO_REMEMBER = 8
"""Cost of looking up a call, and of tabling it, in steps."""

_STEPS_A_CALL, _STEPS_AN_ANSWER = 3, 2
"""Further cost of making an entry, and an answer, in steps."""


class Way(NamedTuple):
    """A way of evaluating a game.

    Attributes:
        compiled: the rules as ops.
        statistics: the counts that they were compiled by.
        unremembered: calls that are not tabled.
        steps: number of steps in the sample states; infinite if there were too many.
        tallies: `[Q, 4]` see `Memory.statistics`.
    """

    compiled: Compiled
    statistics: Statistics
    unremembered: frozenset[CallPattern]
    steps: float
    tallies: FloatArray

    def counts(self) -> Iterator[tuple[CallPattern, list[float]]]:
        """Yield the calls that were evaluated, and their counts."""
        for pattern, row in zip(self.compiled.patterns, self.tallies.tolist(), strict=True):
            if row[EVALUATED]:
                yield pattern, row

    @property
    def counted(self) -> Statistics:
        """The statistics together with the new counts."""
        answers, costs = dict(self.statistics.answers), dict(self.statistics.costs)
        for pattern, (num_asked, evaluated, steps, num_answers) in self.counts():
            answers[pattern] = num_answers / evaluated
            costs[pattern] = steps / max(evaluated, num_asked)
        return replace(self.statistics, answers=answers, costs=costs, orders={})

    @property
    def slowest(self) -> list[CallPattern]:
        """Calls in descending order of steps, including the steps of calls that they make."""
        order = np.argsort(-self.tallies[:, STEPS_TAKEN], kind="stable")
        patterns = [*self.compiled.patterns]
        return [patterns[i] for i in order.tolist() if self.tallies[i, STEPS_TAKEN]]


class Tuner:
    """Finds the best way to evaluate a game.

    Args:
        rules: the rules, with static relations as facts.
        terms: their terms, frozen.
        room: the memory, which gets the best way.
        questions: calls kernels on that memory.
        roots: the patterns of root procedures.
        initial: the initial state.
    """

    def __init__(
        self,
        rules: RelationRules,
        terms: TermTable,
        room: GameMemory,
        questions: KernelQuestions,
        roots: list[CallPattern],
        initial: State,
    ) -> None:
        self._rules, self._terms, self._room = rules, terms, room
        self._questions, self._roots, self._initial = questions, roots, initial

    def tune(self) -> None:
        """Compile the game, and put the best way into the room.

        Raises:
            UnsupportedRulesError: the rules cannot be compiled.
        """
        first = self._compile(Statistics())
        put_into(self._room, first, frozenset())
        states = self._sample()
        best = self._try(Statistics(self._rows(states)), states, np.inf)
        for _ in range(2):
            best = self._better(best, best.counted, states)
        best = self._with_first_conditions(best, states)
        forgotten = self._hardly_worth(best)
        way = self._measured(best.compiled, best.statistics, forgotten, states, 2 * best.steps)
        best = min(best, way, key=lambda way: way.steps)
        put_into(self._room, best.compiled, best.unremembered)

    def _better(self, best: Way, statistics: Statistics, states: list[State]) -> Way:
        """The better one of a way and the way for other statistics."""
        return min(
            best, self._try(statistics, states, _WORTH * best.steps), key=lambda way: way.steps
        )

    def _try(self, statistics: Statistics, states: list[State], most: float) -> Way:
        compiled = self._compile(statistics)
        return self._measured(compiled, statistics, frozenset(), states, most)

    def _with_first_conditions(self, best: Way, states: list[State]) -> Way:
        """Try other first conditions in the slowest rules, until no trial or no steps are left."""
        trial_states = states[::_TRIAL_STATES]
        best = self._try(best.statistics, trial_states, np.inf)
        counted = best.counted
        steps_left, trials = float(_TRIAL_STEPS), set[tuple[RuleOf, int]]()
        while (trial := self._next_trial(best, trials)) is not None and steps_left > 0:
            trials.add(trial)
            name, condition = trial
            first = {**best.statistics.first, name: condition}
            way = self._try(replace(counted, first=first), trial_states, best.steps)
            steps_left -= min(way.steps, best.steps) + _STEPS_TO_COMPILE * len(way.compiled.ops)
            if way.steps < _GAIN * best.steps:
                best, counted = way, way.counted
        return self._try(best.statistics, states, np.inf)

    def _next_trial(self, best: Way, trials: set[tuple[RuleOf, int]]) -> tuple[RuleOf, int] | None:
        """A condition not yet tried as the first one, of a rule whose calls take longest."""
        for pattern in best.slowest[:_SLOWEST]:
            for number, rule in enumerate(best.compiled.rules_for(pattern)):
                conditions = [i for i, literal in enumerate(rule.body) if literal.binds]
                for condition in conditions if len(conditions) > 1 else ():
                    trial = RuleOf(pattern, number), condition
                    if trial not in trials:
                        return trial
        return None

    def _compile(self, statistics: Statistics) -> Compiled:
        self._room.meanwhile()
        compiled = Compiled(self._rules, self._terms, statistics, self._roots)
        recurring(compiled)
        return compiled

    def _sample(self) -> list[State]:
        """States of random matches."""
        rng = np.random.default_rng(5)
        counts = self._room.memory.counts
        until = counts[STEPS] + MAX_STEPS
        budget, self._questions.budget = self._questions.budget, MAX_STEPS
        states = [self._initial]
        try:
            state = self._initial
            for i in range(1, EVERY * MAX_STATES):
                state = self._next(state, rng)
                if i % EVERY == 0:
                    states.append(state)
                if counts[STEPS] > until:
                    break
        except ReasonerLimitError:
            pass  # the match can go no further, so these states are all
        finally:
            self._questions.budget = budget
        return states

    def _next(self, state: State, rng: np.random.Generator) -> State:
        """The state after random moves; the initial state if the game is over or stuck."""
        questions = self._questions
        if len(questions.answers([state], TERMINAL_ROOT, "a sample")[1]):
            return self._initial
        joint = []
        for role in range(questions.num_roles):
            moves = questions.answers([state], LEGAL_ROOT, "a sample", role)[1]
            if not len(moves):
                return self._initial
            joint.append(rng.choice(moves))
        return questions.steps([state], np.array([joint], dtype=np.int32), sees=False)[1]

    def _rows(
        self, states: list[State]
    ) -> dict[RelationPlace, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        """The fluents of states as rows: see `Statistics`."""
        by_place: dict[RelationPlace, list[list[int]]] = {}
        terms = self._room.memory.terms
        for number, state in enumerate(states):
            for term in terms.by_name[state].tolist():
                function = self._terms.functions[terms.functions[term]]
                args = terms.arguments[terms.first[term] : terms.first[term + 1]].tolist()
                by_place.setdefault(RelationPlace(RowKind.FLUENT, function), []).append(
                    [number, *args]
                )
                by_place.setdefault(RelationPlace(RowKind.FLUENT, None), []).append([number, term])
        return {place: np.array(rows, dtype=np.int64) for place, rows in by_place.items()}

    def _measured(
        self,
        compiled: Compiled,
        statistics: Statistics,
        forgotten: frozenset[CallPattern],
        states: list[State],
        most: float,
    ) -> Way:
        """Count the steps of one random turn in each state; they are infinite if above `most`."""
        put_into(self._room, compiled, forgotten)
        memory = self._room.memory
        memory.counts[COUNTING] = 1
        budget, self._questions.budget = self._questions.budget, MAX_STEPS
        start = memory.counts[STEPS]
        most = min(most, 2 * MAX_STEPS)
        try:
            seeds = np.arange(1, len(states) + 1)
            match, _, _ = self._questions.playouts(
                states, seeds, 1, lambda: memory.counts[STEPS] - start > most
            )
            is_done = match.progress[LANE] == len(states)
        except ReasonerLimitError:
            is_done = False
        finally:
            memory.counts[COUNTING] = 0
            self._questions.budget = budget
        tallies = self._room.memory.statistics.astype(np.float64)
        steps = float(memory.counts[STEPS] - start)
        steps += _STEPS_A_CALL * tallies[:, EVALUATED].sum()
        steps += _STEPS_AN_ANSWER * tallies[:, ANSWERS_FOUND].sum()
        return Way(compiled, statistics, forgotten, steps if is_done else np.inf, tallies)

    def _hardly_worth(self, way: Way) -> frozenset[CallPattern]:
        """Calls without unknown arguments that are cheaper to evaluate again than to table."""
        circles = recurring(way.compiled) | {*self._roots}
        return frozenset(
            pattern
            for pattern, (num_asked, evaluated, steps, _) in way.counts()
            if "f" not in pattern.args and pattern not in circles
            if (num_asked - evaluated) * steps / evaluated <= _STEPS_TO_REMEMBER * num_asked
        )
