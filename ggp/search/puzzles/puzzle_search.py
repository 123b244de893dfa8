"""The search for the best line of a puzzle: three searches that share the time.

Which one finds a line first depends on the puzzle: few states are all visited, a goal that is
reached step by step is found by a policy, and one that is all or nothing by a solver. Against a
clock the one that had least time so far goes on next; without one, each does a piece of work in
turn. The first line to the best goal ends all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.belief.solving.windows import can_unroll
from ggp.machine.base import Machine, States
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.puzzles.adaptation import Adaptation
from ggp.search.puzzles.breadth import BreadthFirst
from ggp.search.puzzles.lines import Line, LineSearch, better
from ggp.search.puzzles.planning import Planner


class PuzzleSearch:
    """Looks for lines from a state.

    Args:
        machine: of a puzzle, see `is_puzzle`.
        state: one, not terminal.
        rng: of playouts.
        line: one from this state on that is known.

    Attributes:
        line: the best so far.
        is_proved: whether no line is better.
    """

    def __init__(
        self, machine: Machine, state: States, rng: np.random.Generator, line: Line | None = None
    ) -> None:
        self.line, self.is_proved = line, False
        self._searches: list[LineSearch] = [
            BreadthFirst(machine, state),
            Adaptation(machine, state, rng),
        ]
        if can_unroll(machine):
            self._searches.append(Planner(machine, state))
        self._used_s = [0.0 for _ in self._searches]

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return self.is_proved or all(search.is_done for search in self._searches)

    def run(self, rounds: int, deadline: Deadline | None, report: Callable[[], None]) -> None:
        """Search for some rounds, or, where there is a deadline, until then.

        Args:
            report: called when there is a better line.
        """
        if deadline is None:
            for _ in range(rounds):
                for search in self._searches:
                    self._go_on(search, None, report)
            return
        while not self.is_over and not deadline.passed():
            going = [k for k, search in enumerate(self._searches) if not search.is_done]
            chosen = min(going, key=lambda k: self._used_s[k])
            began_s = deadline.clock()
            try:
                self._go_on(self._searches[chosen], deadline, report)
            except OutOfTime:
                return
            finally:
                self._used_s[chosen] += deadline.clock() - began_s

    def _go_on(
        self, search: LineSearch, deadline: Deadline | None, report: Callable[[], None]
    ) -> None:
        if search.is_done or self.is_proved:
            return
        search.advance(deadline)
        self.is_proved = search.is_proved
        found = better(self.line, search.line)
        if found is not self.line:
            self.line = found
            report()
