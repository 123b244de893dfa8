"""A compiled game, with all that kernels need to answer questions about its states."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

import numpy as np

from ggp.gdl.analysis.growth import terms_grow
from ggp.gdl.analysis.joint_move_percepts import PLAIN
from ggp.gdl.program import INIT, LEGAL, NEXT, SEES, TERMINAL, Program
from ggp.gdl.terms import Symbol
from ggp.machine.base import Limits
from ggp.machine.relational.kernels.questions import Questions, State
from ggp.machine.relational.kernels.room import Room
from ggp.machine.relational.kernels.term_kernels import name_term
from ggp.machine.relational.ops.order import Pattern
from ggp.machine.relational.ops.rules import RANKED, Rules
from ggp.machine.relational.ops.static import evaluate
from ggp.machine.relational.ops.terms import TermTable
from ggp.machine.relational.ops.tuning import Tuner

MAX_UNCHECKED_DEPTH = 4
"""Where functions cannot nest deeper than this, the size of terms is not checked in play."""

_ROOTS = [
    Pattern(TERMINAL, ""),
    Pattern(LEGAL, "kf"),
    Pattern(NEXT, "f"),
    Pattern(RANKED, "fkf"),
    Pattern(SEES, "kf"),
    Pattern(LEGAL, "kk"),
]
"""Patterns asked for from outside, in the order of `play_kernels.TERMINAL_ROOT`."""


class RelationalGame:
    """A compiled game.

    Args:
        program: normalised rules.
        limits: bounds on steps, bytes, and sizes of terms.
        meanwhile: called again and again while it is compiled; what it raises ends that.

    Attributes:
        terms: the terms by number.
        room: the memory that kernels work on.
        questions: asks kernels about states.
        initial: the initial state.
        lock: held while kernels run.

    Raises:
        ReasonerLimitError: there is no initial state within the limits.
        UnsupportedRulesError: the rules cannot be compiled.
    """

    def __init__(
        self, program: Program, limits: Limits, meanwhile: Callable[[], None] | None = None
    ) -> None:
        self.lock = RLock()
        grows = terms_grow(program.rules, MAX_UNCHECKED_DEPTH)
        self.room = Room(limits, grows=grows)
        afterwards = self.room.meanwhile
        self.room.meanwhile = meanwhile or afterwards
        self.terms = TermTable(self.room)
        roles = [self.terms.number(Symbol(role)) for role in program.roles]
        self.questions = Questions(self.room, np.array(roles, dtype=np.int32))
        # A machine may show all roles the joint move.
        self.terms.function((PLAIN, 2))
        rules = Rules(program, self.terms)
        evaluate(rules, self.terms, self.room)
        self.terms.freeze()
        self.initial = self._state(rules.facts[INIT][:, 0])
        rules.answer_roots()
        tuner = Tuner(rules, self.terms, self.room, self.questions, _ROOTS, self.initial)
        tuner.tune()
        self.room.meanwhile = afterwards

    def _state(self, fluents: State) -> State:
        """The state of fluents given as terms."""
        return self.state_of([name_term(self.room.memory.terms, int(term)) for term in fluents])

    def state_of(self, names: list[int]) -> State:
        """The state of fluents given by their names."""
        terms = self.room.memory.terms
        state = np.unique(np.array(names, dtype=np.int32))
        return state[np.argsort(terms.keys[terms.shown[state]], kind="stable")]
