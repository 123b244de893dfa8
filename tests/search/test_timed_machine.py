"""A machine that keeps to a deadline, for work that does not look at the clock itself."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.search.anytime import Deadline, OutOfTime, timed_machine
from tests.support.games import machine_of_game


class SlowClock:
    """A clock that slow machines advance lane by lane, and each look at it a little."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.002
        return self.now_s

    def slowed(self, machine: Machine, lane_s: float) -> Machine:
        """A copy of a machine that needs this many seconds for each lane of each call."""
        slow = copy.copy(machine)
        for name in ("terminal", "goals", "legal", "chance", "step", "playout"):
            setattr(slow, name, self._slowed(getattr(slow, name), lane_s))
        return slow

    def _slowed(self, method: Callable[..., Any], lane_s: float) -> Callable[..., Any]:
        def call(states: Any, *args: Any, **options: Any) -> Any:
            self.now_s += lane_s * len(states)
            return method(states, *args, **options)

        return call


@pytest.mark.parametrize("backend", ["propnet", "relational", "prolog"])
def test_batches_give_what_one_call_gives(backend: str) -> None:
    machine = machine_of_game("kuhn_poker", backend)
    timed = timed_machine(machine, Deadline.after(1000))
    rng = np.random.default_rng(0)
    states = machine.initial(37)
    while not machine.terminal(states).any():
        assert (timed.terminal(states) == machine.terminal(states)).all()
        joint = np.zeros((37, len(machine.roles)), dtype=np.int64)
        for role in range(len(machine.roles)):
            moves = machine.legal(states, role)
            assert all(map(np.array_equal, timed.legal(states, role), moves))
            joint[:, role] = [rng.choice(moves[lane]) for lane in range(37)]
        assert all(map(np.array_equal, timed.chance(states), machine.chance(states)))
        stepped, expected = timed.step(states, joint), machine.step(states, joint)
        assert timed.fluents(stepped.states) == machine.fluents(expected.states)
        assert (stepped.percepts == expected.percepts).all()
        states = expected.states
    ends = states.take(np.flatnonzero(machine.terminal(states)))
    assert (timed.goals(ends) == machine.goals(ends)).all()
    assert timed.playout(machine.initial(20), rng, max_seconds=None).finished.all()
    none = machine.initial(0)
    assert len(timed.legal(none, 0).values) == len(timed.terminal(none)) == 0


def test_each_call_ends_soon_after_the_deadline_however_many_lanes_it_has() -> None:
    clock = SlowClock()
    slow = clock.slowed(machine_of_game("kuhn_poker", "prolog"), lane_s=0.2)
    timed = timed_machine(slow, Deadline(1.0, clock))
    assert len(timed.terminal(slow.initial(3))) == 3
    for call in (
        lambda: timed.legal(slow.initial(1000), 0),
        lambda: timed.playout(slow.initial(1000), np.random.default_rng(0)),
        lambda: timed.terminal(slow.initial(1)),
    ):
        with pytest.raises(OutOfTime):
            call()
        assert clock.now_s < 1.5
