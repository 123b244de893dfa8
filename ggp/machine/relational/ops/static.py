"""Evaluates relations that depend neither on the state nor on moves, and makes them facts.

A relation that has too many facts, or whose facts take too long to find, keeps its rules, and is
evaluated for the arguments that are asked for. The initial state cannot be left out.
"""

from __future__ import annotations

from ggp.errors import ReasonerLimitError
from ggp.gdl.analysis.dependencies import relation_components
from ggp.gdl.program import INIT
from ggp.gdl.terms import Signature
from ggp.machine.relational.kernels.play_kernels import find_all
from ggp.machine.relational.kernels.records import DONE, ENOUGH, FULL_OUT, OUT, STEPS
from ggp.machine.relational.kernels.room import UNBOUNDED, GameMemory
from ggp.machine.relational.ops.assemble import put_into
from ggp.machine.relational.ops.compile import Compiled
from ggp.machine.relational.ops.negation import recurring
from ggp.machine.relational.ops.order import CallPattern, Statistics
from ggp.machine.relational.ops.rules import RelationRules
from ggp.machine.relational.ops.terms import TermTable

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
