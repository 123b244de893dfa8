"""The order of conditions, and which calls are remembered, found by what states of matches take.

Rules are compiled by guesses first. Then random matches are played, and counted is what was asked,
how long it took and how many answers there were; by that they are compiled again, twice, and the
best is kept. Everything is decided by counts of steps: so the same rules are compiled in the same
way, on any computer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.machine.relational.assemble import put_into
from ggp.machine.relational.compile import Compiled
from ggp.machine.relational.negation import recurring
from ggp.machine.relational.order import Pattern, Statistics
from ggp.machine.relational.places import Kind, Place
from ggp.machine.relational.play_kernels import LEGAL_ROOT, TERMINAL_ROOT
from ggp.machine.relational.questions import Questions, State
from ggp.machine.relational.records import (
    ANSWERS_FOUND,
    ASKED,
    COUNTING,
    EVALUATED,
    STEPS,
    STEPS_TAKEN,
)
from ggp.machine.relational.room import Room
from ggp.machine.relational.rules import Rules
from ggp.machine.relational.terms import TermTable

MOST_STATES = 24
"""States of random matches that are counted."""

EVERY = 3
"""Of so many states one is taken: neighbours are much alike."""

MOST_STEPS = 6_000_000
"""Steps for finding them, and for counting what they take."""

_WORTH = 4
"""A way that takes so many times as long as the best one is not tried to the end."""

_STEPS_TO_REMEMBER = 8
"""What it costs to look whether a call is known, and to remember it."""

_STEPS_A_CALL, _STEPS_AN_ANSWER = 3, 2
"""What making an entry and an answer takes besides."""


class Way(NamedTuple):
    """One way of evaluating a game, and the steps that the sampled states took."""

    compiled: Compiled
    unremembered: frozenset[Pattern]
    steps: float


class Tuner:
    """Finds how to evaluate a game.

    Args:
        rules: of which the static relations are known.
        terms: frozen.
        room: is left with the best way.
        questions: to it.
        roots: patterns asked for from outside.
        initial: the initial state.
    """

    def __init__(
        self,
        rules: Rules,
        terms: TermTable,
        room: Room,
        questions: Questions,
        roots: list[Pattern],
        initial: State,
    ) -> None:
        self._rules, self._terms, self._room = rules, terms, room
        self._questions, self._roots, self._initial = questions, roots, initial

    def tune(self) -> None:
        """Compile the game, and put what is best into the room.

        Raises:
            UnsupportedRulesError: the rules cannot be compiled.
        """
        first = self._compile(Statistics())
        put_into(self._room, first, frozenset())
        states = self._sample()
        rows = self._rows(states)
        best = self._measured(first, frozenset(), states, np.inf)
        statistics = self._statistics(first, Statistics(rows))
        for _ in range(2):
            way = self._measured(
                self._compile(statistics), frozenset(), states, _WORTH * best.steps
            )
            statistics = self._statistics(way.compiled, statistics)
            best = min(best, way, key=lambda each: each.steps)
        again = self._measured(best.compiled, frozenset(), states, np.inf)
        forgotten = self._hardly_worth(again.compiled)
        way = self._measured(best.compiled, forgotten, states, _WORTH * best.steps)
        best = min(again, way, key=lambda each: each.steps)
        put_into(self._room, best.compiled, best.unremembered)

    def _compile(self, statistics: Statistics) -> Compiled:
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
            pass  # of rules that can be played no further there is no more to know
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
    ) -> dict[Place, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        """The fluents of states as rows, see `Statistics`."""
        found: dict[Place, list[list[int]]] = {}
        terms = self._room.memory.terms
        for number, state in enumerate(states):
            for term in terms.shown[state].tolist():
                function = self._terms.functions[terms.functions[term]]
                args = terms.arguments[terms.first[term] : terms.first[term + 1]].tolist()
                found.setdefault(Place(Kind.FLUENT, function), []).append([number, *args])
                found.setdefault(Place(Kind.FLUENT, None), []).append([number, term])
        return {place: np.array(rows, dtype=np.int64) for place, rows in found.items()}

    def _measured(
        self, compiled: Compiled, forgotten: frozenset[Pattern], states: list[State], most: float
    ) -> Way:
        """Count what one random turn takes in each state; infinite if more than `most`."""
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
            is_done = match.progress[0] == len(states)
        except ReasonerLimitError:
            is_done = False
        finally:
            memory.counts[COUNTING] = 0
            self._questions.budget = budget
        found = self._room.memory.statistics
        steps = memory.counts[STEPS] - start
        steps += _STEPS_A_CALL * found[:, EVALUATED].sum()
        steps += _STEPS_AN_ANSWER * found[:, ANSWERS_FOUND].sum()
        return Way(compiled, forgotten, float(steps) if is_done else np.inf)

    def _counted(self, compiled: Compiled) -> Iterator[tuple[Pattern, float, float, float, float]]:
        """Calls that were asked: how often, how often evaluated, steps and answers."""
        for pattern, row in zip(compiled.patterns, self._room.memory.statistics, strict=True):
            if row[EVALUATED]:
                asked, evaluated = float(row[ASKED]), float(row[EVALUATED])
                yield pattern, asked, evaluated, float(row[STEPS_TAKEN]), float(row[ANSWERS_FOUND])

    def _statistics(self, compiled: Compiled, before: Statistics) -> Statistics:
        answers, costs = dict(before.answers), dict(before.costs)
        for pattern, asked, evaluated, steps, found in self._counted(compiled):
            answers[pattern] = found / evaluated
            costs[pattern] = steps / max(evaluated, asked)
        return Statistics(before.rows, answers, costs)

    def _hardly_worth(self, compiled: Compiled) -> frozenset[Pattern]:
        """Calls without unknown arguments that are cheaper to evaluate again than to remember."""
        circles = recurring(compiled) | {*self._roots}
        return frozenset(
            pattern
            for pattern, asked, evaluated, steps, _ in self._counted(compiled)
            if "f" not in pattern.args and pattern not in circles
            if (asked - evaluated) * steps / evaluated <= _STEPS_TO_REMEMBER * asked
        )
