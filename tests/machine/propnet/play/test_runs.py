"""Queues of playouts against a clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.propnet.play import playouts

STEP_S = 0.001


def test_kernels_that_look_at_no_clock_are_not_asked_for_more_than_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One of its own: a machine remembers how long steps took by the clock of this computer.
    machine = build_machine(load("tic_tac_toe"), "propnet")
    now_s, budgets = 0.0, []

    def endless(plan: Any, queue: Any, block: Any, max_steps: int, budget: int, width: Any) -> bool:
        nonlocal now_s
        budgets.append(budget)
        now_s += budget * STEP_S
        return False

    class Endless:
        code_for = staticmethod(lambda *arguments: endless)

    monkeypatch.setattr(playouts, "play", Endless)
    for seconds in (1.0, 0.05, 0.0301):
        began_s = now_s
        ended = machine.playout(
            machine.initial(4),
            np.random.default_rng(0),
            max_seconds=seconds,
            clock=lambda: now_s,
        )
        assert not ended.finished.any()
        assert seconds <= now_s - began_s + 1e-9
        assert now_s - began_s < seconds + 1.5 * STEP_S
    assert (
        max(budgets) * STEP_S >= playouts.LOOK_AT_CLOCK_S / 2
    )  # nor is the clock looked at all the time
