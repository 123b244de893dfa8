"""Finds the order of conditions, and the calls worth remembering, by measuring states of matches.

Rules are first compiled by guesses. Then random matches are played, and the calls made, the steps
they took and their answers are counted. By these counts the rules are compiled again, twice. Then
other conditions are tried as the first one in the rules that take longest, one after the other, and
improvements are kept. Everything is decided by counts of steps, so the same rules are compiled in
the same way on any computer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.machine.base import FloatArray
from ggp.machine.relational.kernels.play_kernels import LANE, LEGAL_ROOT, TERMINAL_ROOT
from ggp.machine.relational.kernels.questions import KernelQuestions, State
from ggp.machine.relational.kernels.records import (
    ANSWERS_FOUND,
    COUNTING,
    EVALUATED,
    STEPS,
    STEPS_TAKEN,
)
from ggp.machine.relational.kernels.room import GameMemory
from ggp.machine.relational.ops.compile import Compiled
from ggp.machine.relational.ops.order import CallPattern, RelationPlace, RowKind, RuleOf, Statistics
from ggp.machine.relational.ops.rules import RelationRules, TermTable
from ggp.machine.relational.ops.static import put_into, recurring

MOST_STATES = 24
"""Number of states of random matches in which counts are made."""

EVERY = 3
"""One of this many states is taken, as neighbours are much alike."""

MOST_STEPS = 6_000_000
"""Steps for finding these states, and for the counts in them."""

_TRIAL_STATES = 3
"""One of this many of these states is used for trials of first conditions."""

_TRIAL_STEPS, _STEPS_TO_COMPILE = 150_000_000, 2_000
"""Steps for all trials, and the number of steps that take as long as compiling an op."""

_SLOWEST = 12
"""Number of calls whose rules are looked at."""

_GAIN = 0.97
"""Greatest share of the steps that a way may take to count as better."""

_WORTH = 4
"""A way that takes this many times as long as the best one is not tried to the end."""

_STEPS_TO_REMEMBER = 8
"""Steps that it costs to look whether a call is known, and to remember it."""

_STEPS_A_CALL, _STEPS_AN_ANSWER = 3, 2
"""Further steps that it takes to make an entry, and an answer."""


class Way(NamedTuple):
    """A way of evaluating a game.

    Attributes:
        statistics: the counts it was compiled by.
        unremembered: calls that are evaluated each time.
        steps: the steps that the sampled states took; infinite if they were too many.
        found: `[Q, 4]` see `Memory.statistics`.
    """

    compiled: Compiled
    statistics: Statistics
    unremembered: frozenset[CallPattern]
    steps: float
    found: FloatArray

    def counts(self) -> Iterator[tuple[CallPattern, list[float]]]:
        """Calls that were evaluated, and their counts."""
        for pattern, row in zip(self.compiled.patterns, self.found.tolist(), strict=True):
            if row[EVALUATED]:
                yield pattern, row

    @property
    def counted(self) -> Statistics:
        """The statistics together with the new counts."""
        answers, costs = dict(self.statistics.answers), dict(self.statistics.costs)
        for pattern, (asked, evaluated, steps, found) in self.counts():
            answers[pattern] = found / evaluated
            costs[pattern] = steps / max(evaluated, asked)
        return replace(self.statistics, answers=answers, costs=costs)

    @property
    def slowest(self) -> list[CallPattern]:
        """Calls by the steps they take, most first, with the steps of the calls that they make."""
        order = np.argsort(-self.found[:, STEPS_TAKEN], kind="stable")
        patterns = [*self.compiled.patterns]
        return [patterns[i] for i in order.tolist() if self.found[i, STEPS_TAKEN]]


class Tuner:
    """Finds the best way to evaluate a game.

    Args:
        rules: rules whose static relations are known.
        terms: their terms, frozen.
        room: the memory, which is left with the best way.
        questions: asks kernels about it.
        roots: patterns that are asked for from outside.
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
        best = self._tried(Statistics(self._rows(states)), states, np.inf)
        for _ in range(2):
            best = self._better(best, best.counted, states)
        best = self._with_first_conditions(best, states)
        forgotten = self._hardly_worth(best)
        way = self._measured(best.compiled, best.statistics, forgotten, states, 2 * best.steps)
        best = min(best, way, key=lambda each: each.steps)
        put_into(self._room, best.compiled, best.unremembered)

    def _better(self, best: Way, statistics: Statistics, states: list[State]) -> Way:
        """The better of a way and the one by other statistics."""
        return min(
            best, self._tried(statistics, states, _WORTH * best.steps), key=lambda each: each.steps
        )

    def _tried(self, statistics: Statistics, states: list[State], most: float) -> Way:
        compiled = self._compile(statistics)
        return self._measured(compiled, statistics, frozenset(), states, most)

    def _with_first_conditions(self, best: Way, states: list[State]) -> Way:
        """Try other conditions as the first ones of rules that take long, until none is better."""
        few = states[::_TRIAL_STATES]
        best = self._tried(best.statistics, few, np.inf)
        left, known = float(_TRIAL_STEPS), set[tuple[RuleOf, int]]()
        while (trial := self._next_trial(best, known)) is not None and left > 0:
            known.add(trial)
            name, condition = trial
            first = {**best.statistics.first, name: condition}
            way = self._tried(replace(best.counted, first=first), few, best.steps)
            left -= min(way.steps, best.steps) + _STEPS_TO_COMPILE * len(way.compiled.ops)
            if way.steps < _GAIN * best.steps:
                best = way
        return self._tried(best.statistics, states, np.inf)

    def _next_trial(self, best: Way, known: set[tuple[RuleOf, int]]) -> tuple[RuleOf, int] | None:
        """A condition not yet tried as the first one, of a rule whose calls take longest."""
        for pattern in best.slowest[:_SLOWEST]:
            for number, rule in enumerate(best.compiled.rules_for(pattern)):
                conditions = [i for i, literal in enumerate(rule.body) if literal.binds]
                for condition in conditions if len(conditions) > 1 else ():
                    trial = RuleOf(pattern, number), condition
                    if trial not in known:
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
        until = counts[STEPS] + MOST_STEPS
        budget, self._questions.budget = self._questions.budget, MOST_STEPS
        states = [self._initial]
        try:
            state = self._initial
            for i in range(1, EVERY * MOST_STATES):
                state = self._next(state, rng)
                if i % EVERY == 0:
                    states.append(state)
                if counts[STEPS] > until:
                    break
        except ReasonerLimitError:
            pass  # these rules can be played no further, so there is no more to learn
        finally:
            self._questions.budget = budget
        return states

    def _next(self, state: State, rng: np.random.Generator) -> State:
        """The state after random moves; the initial one after the last."""
        asked = self._questions
        if len(asked.answers([state], TERMINAL_ROOT, "a sample")[1]):
            return self._initial
        joint = []
        for role in range(asked.num_roles):
            moves = asked.answers([state], LEGAL_ROOT, "a sample", role)[1]
            if not len(moves):
                return self._initial
            joint.append(rng.choice(moves))
        return asked.steps([state], np.array([joint], dtype=np.int32), sees=False)[1]

    def _rows(
        self, states: list[State]
    ) -> dict[RelationPlace, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        """The fluents of states as rows, see `Statistics`."""
        found: dict[RelationPlace, list[list[int]]] = {}
        terms = self._room.memory.terms
        for number, state in enumerate(states):
            for term in terms.shown[state].tolist():
                function = self._terms.functions[terms.functions[term]]
                args = terms.arguments[terms.first[term] : terms.first[term + 1]].tolist()
                found.setdefault(RelationPlace(RowKind.FLUENT, function), []).append(
                    [number, *args]
                )
                found.setdefault(RelationPlace(RowKind.FLUENT, None), []).append([number, term])
        return {place: np.array(rows, dtype=np.int64) for place, rows in found.items()}

    def _measured(
        self,
        compiled: Compiled,
        statistics: Statistics,
        forgotten: frozenset[CallPattern],
        states: list[State],
        most: float,
    ) -> Way:
        """Count the steps of one random turn in each state; infinite if more than `most`."""
        put_into(self._room, compiled, forgotten)
        memory = self._room.memory
        memory.counts[COUNTING] = 1
        budget, self._questions.budget = self._questions.budget, MOST_STEPS
        start = memory.counts[STEPS]
        most = min(most, 2 * MOST_STEPS)
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
        found = self._room.memory.statistics.astype(np.float64)
        steps = float(memory.counts[STEPS] - start)
        steps += _STEPS_A_CALL * found[:, EVALUATED].sum()
        steps += _STEPS_AN_ANSWER * found[:, ANSWERS_FOUND].sum()
        return Way(compiled, statistics, forgotten, steps if is_done else np.inf, found)

    def _hardly_worth(self, way: Way) -> frozenset[CallPattern]:
        """Calls without unknown arguments that are cheaper to evaluate again than to remember."""
        circles = recurring(way.compiled) | {*self._roots}
        return frozenset(
            pattern
            for pattern, (asked, evaluated, steps, _) in way.counts()
            if "f" not in pattern.args and pattern not in circles
            if (asked - evaluated) * steps / evaluated <= _STEPS_TO_REMEMBER * asked
        )
